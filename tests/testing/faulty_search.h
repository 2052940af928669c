#ifndef TUNEONCE_TESTS_TESTING_FAULTY_SEARCH_H_
#define TUNEONCE_TESTS_TESTING_FAULTY_SEARCH_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "testing/expect_status.h"
#include "testing/faulty_rank.h"
#include "testing/sharing_ranks.h"

namespace tuneonce::testing {

/// A warm-up of ranks that share its search, of which `bad` has a fault. It must end with one selection or words, for
/// all but that rank within `silence_ms` and `beyond_ms` of the fault.
class FaultySearch {
 public:
  FaultySearch(std::unique_ptr<SharingRanks> ranks, int bad, const RankFault& fault, int silence_ms, int beyond_ms)
      : bad_(bad),
        most_ms_(silence_ms + beyond_ms),
        ranks_(std::move(ranks)),
        statuses_(ranks_->policies.size()),
        runs_(statuses_.size()),
        after_fault_(statuses_.size()) {
    const bool is_read = fault.kind == RankFault::kTorn || fault.kind == RankFault::kDamaged;
    for (int rank = 0; rank < size(); ++rank) {
      RankPolicy& policy = ranks_->policies[static_cast<std::size_t>(rank)].ranks;
      policy.silence_ms = silence_ms;
      const bool has_it = rank == bad && !is_read;
      policy.group =
          std::make_shared<FaultyRank>(policy.group, has_it ? fault : RankFault(), clock_,
                                       is_read && rank != bad ? std::make_shared<RankFault>(fault) : nullptr);
    }
  }

  void Run() {
    std::atomic<int> well{0};
    ranks_->Run([&](RankThread& rank) {
      const auto index = static_cast<std::size_t>(rank.rank);
      statuses_[index] = rank.Warmup(kScaleN);
      after_fault_[index] = clock_->Since();
      if (rank.rank != bad_ && ++well == size() - 1) clock_->Release();
      EXPECT_OK(rank.Launch(kScaleN));
      runs_[index] = rank.Runs(kScaleN);
    });
    ExpectOneSelectionOrWords();
  }

  int size() const { return static_cast<int>(statuses_.size()); }
  bool is_served(int rank) const { return status(rank).ok(); }
  const Status& status(int rank) const { return statuses_[static_cast<std::size_t>(rank)]; }
  const std::string& runs(int rank) const { return runs_[static_cast<std::size_t>(rank)]; }
  SharingRanks& ranks() const { return *ranks_; }
  FaultClock& clock() const { return *clock_; }

 private:
  void ExpectOneSelectionOrWords() const {
    std::set<std::string> chosen;
    for (int rank = 0; rank < size(); ++rank) {
      if (is_served(rank)) chosen.insert(runs(rank));
      if (!is_served(rank)) {
        EXPECT_EQ(runs(rank), NameOf(0)) << rank << ": " << status(rank).ToString();
        EXPECT_NE(status(rank).message().find("rank"), std::string::npos) << status(rank).ToString();
      }
      if (rank == bad_) continue;
      EXPECT_LE(after_fault_[static_cast<std::size_t>(rank)].count(), most_ms_) << rank;
    }
    EXPECT_LE(chosen.size(), 1u);
  }

  const int bad_;
  const int most_ms_;
  const std::unique_ptr<SharingRanks> ranks_;
  const std::shared_ptr<FaultClock> clock_ = std::make_shared<FaultClock>();
  std::vector<Status> statuses_;
  std::vector<std::string> runs_;
  std::vector<std::chrono::milliseconds> after_fault_;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_FAULTY_SEARCH_H_
