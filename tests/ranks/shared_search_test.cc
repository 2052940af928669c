// Searches that ranks share out: each candidate is compiled once and tried once, in the whole group, and all race the
// finalists.
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "testing/sharing_ranks.h"

namespace tuneonce::testing {
namespace {

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

std::int64_t SearchesOf(const std::vector<SharedEnd>& ends) {
  return std::accumulate(ends.begin(), ends.end(), std::int64_t{0},
                         [](std::int64_t sum, const SharedEnd& end) { return sum + end.counters.tunes; });
}

TEST(SharedSearchTest, EachCandidateIsCompiledOnceAndTriedOnceInTheGroup) {
  constexpr int kCandidates = 70;
  SharingRanks ranks(4, kCandidates);
  const std::vector<SharedEnd> ends = WarmUp(ranks);
  for (const SharedEnd& end : ends) {
    EXPECT_OK(end.status);
    EXPECT_EQ(end.runs, NameOf(kBest)) << "of two that tie, the earlier one";
  }
  const std::map<std::string, int> compiled = ranks.Compiled();
  EXPECT_EQ(compiled.size(), static_cast<std::size_t>(kCandidates));
  for (const auto& [define, times] : compiled) EXPECT_EQ(times, 1) << define;
  const std::set<std::int64_t> finalists = {0, kBest, kNearlyBest};  // With the baseline.
  for (std::int64_t candidate = 0; candidate < kCandidates; ++candidate) {
    EXPECT_EQ(ranks.RanksThatRan(candidate), finalists.count(candidate) > 0 ? 4 : 1) << candidate;
  }
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_GT(ranks.RunBy(rank), static_cast<int>(finalists.size())) << rank;
    const std::optional<TuningRecord> record = ranks.RecordOf(rank);
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->candidates.size(), static_cast<std::size_t>(kCandidates)) << "the whole space";
    EXPECT_TRUE(record->is_complete);
    EXPECT_NE(record->speedup_over_baseline, std::nullopt);
  }
  EXPECT_EQ(SearchesOf(ends), 1);
}

TEST(SharedSearchTest, TheSelectionIsThatOfOneRanksSearch) {
  for (unsigned seed : {1u, 2u, 3u}) {
    // Ties, too: a third of the candidates does as much as another one.
    auto work_of = [seed](int, std::int64_t candidate) {
      return kLeastWork + (candidate * 7919 + 31 * static_cast<std::int64_t>(seed)) % 13 * 100;
    };
    SharingRanks shared(3, 30, work_of);
    SharingRanks alone(1, 30, work_of);
    const std::string by_three = WarmUp(shared).front().runs;
    EXPECT_EQ(by_three, WarmUp(alone).front().runs);
  }
}

TEST(SharedSearchTest, TheWorstOverTheRanksCountsOrTheMean) {
  // Of two that are near, one is best on most ranks, and the other one as good on all.
  auto work_of = [](int rank, std::int64_t candidate) {
    if (candidate == kBest) return rank == 2 ? kLeastWork + 100 : kLeastWork;
    if (candidate == kNearlyBest) return kLeastWork + 50;
    return 3 * kLeastWork + candidate;
  };
  for (auto minimize : {RankPolicy::Minimize::kWorst, RankPolicy::Minimize::kMean}) {
    SharingRanks ranks(3, 12, work_of);
    for (AutotunePolicy& policy : ranks.policies) policy.ranks.minimize = minimize;
    for (const SharedEnd& end : WarmUp(ranks)) {
      EXPECT_OK(end.status);
      EXPECT_EQ(end.runs, NameOf(minimize == RankPolicy::Minimize::kMean ? kBest : kNearlyBest));
    }
  }
}

}  // namespace
}  // namespace tuneonce::testing
