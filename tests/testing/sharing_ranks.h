#ifndef TUNEONCE_TESTS_TESTING_SHARING_RANKS_H_
#define TUNEONCE_TESTS_TESTING_SHARING_RANKS_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "testing/counted_kernel.h"
#include "testing/expect_status.h"
#include "testing/rank_threads.h"
#include "testing/runtimes.h"
#include "testing/work_timer.h"

namespace tuneonce::testing {

/// The candidate that does least, and one that does as much within a tie, which comes later. The baseline is 0.
inline constexpr std::int64_t kBest = 5, kNearlyBest = 8;
inline constexpr std::int64_t kLeastWork = 1000;

inline std::int64_t WorkOf(int /*rank*/, std::int64_t candidate) {
  if (candidate == kBest) return kLeastWork;
  if (candidate == kNearlyBest) return kLeastWork + 5;
  return 2 * kLeastWork + candidate * 37 % kMostCounted * 10;
}

inline std::string NameOf(std::int64_t candidate) { return "CANDIDATE=" + std::to_string(candidate); }

/// What of a policy a rank of such kernels has that shares its searches.
inline void ShareSearches(Timer& timer, std::shared_ptr<CountingCompiler> compiler, AutotunePolicy* policy) {
  policy->search.runtime = RuntimeWith(std::move(compiler));
  policy->search.timer = &timer;
  policy->ranks.share_search = true;
}

/// Ranks that share a search, with stores, caches, compilers and devices of their own, as processes have.
struct SharingRanks : RankThreads {
  SharingRanks(int size, int its_num_candidates,
               const std::function<std::int64_t(int rank, std::int64_t candidate)>& work_of = WorkOf)
      : RankThreads(size), num_candidates(its_num_candidates) {
    for (int rank = 0; rank < size; ++rank) {
      kernels.push_back(std::make_unique<CountedKernel>(
          num_candidates, [work_of, rank](std::int64_t candidate) { return work_of(rank, candidate); }));
      timers.push_back(std::make_unique<WorkTimer>(kernels.back()->ledger().work));
      compilers.push_back(std::make_shared<CountingCompiler>());
      const auto index = static_cast<std::size_t>(rank);
      definitions[index] = kernels.back()->Definition();
      policies[index].search.max_rounds = SearchOptions().max_rounds;
      ShareSearches(*timers.back(), compilers.back(), &policies[index]);
    }
  }

  /// How many ranks ran a candidate.
  int RanksThatRan(std::int64_t candidate) const {
    int ranks = 0;
    for (const auto& kernel : kernels) ranks += kernel->ledger().runs[static_cast<std::size_t>(candidate)] > 0 ? 1 : 0;
    return ranks;
  }
  /// How many candidates a rank ran.
  int RunBy(int rank) const {
    int candidates = 0;
    for (const auto& runs : kernels[static_cast<std::size_t>(rank)]->ledger().runs) candidates += runs > 0 ? 1 : 0;
    return candidates;
  }
  /// How often each candidate was compiled, by all ranks together.
  std::map<std::string, int> Compiled() const {
    std::map<std::string, int> all;
    for (const auto& compiler : compilers) {
      for (const auto& [define, times] : compiler->compiled()) all[define] += times;
    }
    return all;
  }
  /// The record in a rank's store, if there is one.
  std::optional<TuningRecord> RecordOf(int rank) const {
    Result<std::vector<TuningRecord>> records = policies[static_cast<std::size_t>(rank)].store->List();
    if (!records.ok() || records->empty()) return std::nullopt;
    return records->front();
  }

  const int num_candidates;
  std::vector<std::shared_ptr<CountingCompiler>> compilers;  // By rank.
  std::vector<std::unique_ptr<CountedKernel>> kernels;
  std::vector<std::unique_ptr<WorkTimer>> timers;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_SHARING_RANKS_H_
