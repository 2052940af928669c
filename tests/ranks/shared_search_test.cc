// Searches that ranks share out: each candidate is compiled once and tried once, in the whole group; all race the
// finalists; what goes wrong with a rank costs its share alone.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "testing/counted_kernel.h"
#include "testing/expect_status.h"
#include "testing/rank_threads.h"
#include "testing/runtimes.h"

namespace tuneonce::testing {
namespace {

constexpr int kCandidates = 70;
/// The candidate that does least, and one that does as much within a tie.
constexpr std::int64_t kBest = 41, kNearlyBest = 58;
constexpr std::int64_t kLeastWork = 1000;

std::int64_t WorkOf(std::int64_t candidate) {
  if (candidate == kBest) return kLeastWork;
  if (candidate == kNearlyBest) return kLeastWork + 5;
  return 2 * kLeastWork + candidate * 37 % kCandidates * 10;
}

/// Ranks that have stores, caches, compilers' caches and devices of their own, as processes have, and share a search.
struct SharingRanks : RankThreads {
  explicit SharingRanks(int size, const std::function<std::int64_t(int rank, std::int64_t candidate)>& work_of =
                                      [](int, std::int64_t candidate) { return WorkOf(candidate); })
      : RankThreads(size), compiler(std::make_shared<CountingCompiler>()) {
    for (int rank = 0; rank < size; ++rank) {
      kernels.push_back(std::make_unique<CountedKernel>(
          kCandidates, [work_of, rank](std::int64_t candidate) { return work_of(rank, candidate); }));
      timers.push_back(std::make_unique<LedgerTimer>(kernels.back()->ledger()));
      const auto index = static_cast<std::size_t>(rank);
      definitions[index] = kernels.back()->Definition();
      AutotunePolicy& policy = policies[index];
      policy.search.runtime = RuntimeWith(compiler);
      policy.search.timer = timers.back().get();
      policy.search.max_rounds = 300;
      policy.ranks.share_search = true;
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

  std::shared_ptr<CountingCompiler> compiler;
  std::vector<std::unique_ptr<CountedKernel>> kernels;
  std::vector<std::unique_ptr<LedgerTimer>> timers;
};

struct SharedEnd {
  Status status;
  std::string runs;
  Counters counters;
};

std::vector<SharedEnd> WarmUp(SharingRanks& ranks) {
  std::vector<SharedEnd> ends(ranks.policies.size());
  ranks.Run([&](RankThread& rank) {
    SharedEnd& mine = ends[static_cast<std::size_t>(rank.rank)];
    mine.status = rank.Warmup(kScaleN);
    EXPECT_OK(rank.Launch(kScaleN));
    mine.runs = rank.Runs(kScaleN);
    mine.counters = rank.kernel->counters();
  });
  return ends;
}

std::string NameOf(std::int64_t candidate) { return "CANDIDATE=" + std::to_string(candidate); }

TEST(SharedSearchTest, EachCandidateIsCompiledOnceAndTriedOnceInTheGroup) {
  SharingRanks ranks(4);
  const std::vector<SharedEnd> ends = WarmUp(ranks);
  for (const SharedEnd& end : ends) {
    EXPECT_OK(end.status);
    EXPECT_EQ(end.runs, NameOf(kBest)) << "of two that tie, the earlier one";
  }
  const std::map<std::string, int> compiled = ranks.compiler->compiled();
  EXPECT_EQ(compiled.size(), static_cast<std::size_t>(kCandidates));
  for (const auto& [define, times] : compiled) EXPECT_EQ(times, 1) << define;
  const std::set<std::int64_t> finalists = {0, kBest, kNearlyBest};  // With the baseline.
  for (std::int64_t candidate = 0; candidate < kCandidates; ++candidate) {
    EXPECT_EQ(ranks.RanksThatRan(candidate), finalists.count(candidate) > 0 ? 4 : 1) << candidate;
  }
  for (int rank = 0; rank < 4; ++rank) EXPECT_GT(ranks.RunBy(rank), static_cast<int>(finalists.size())) << rank;
  for (const AutotunePolicy& policy : ranks.policies) {
    const std::vector<TuningRecord> records = *policy.store->List();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].candidates.size(), static_cast<std::size_t>(kCandidates)) << "the whole space";
    EXPECT_TRUE(records[0].is_complete);
    EXPECT_NE(records[0].speedup_over_baseline, std::nullopt);
  }
  EXPECT_EQ(std::accumulate(ends.begin(), ends.end(), std::int64_t{0},
                            [](std::int64_t sum, const SharedEnd& end) { return sum + end.counters.tunes; }),
            1);
}

}  // namespace
}  // namespace tuneonce::testing
