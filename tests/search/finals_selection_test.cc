#include "search/finals_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "measure/race.h"
#include "search/search_ledger.h"

namespace tuneonce {
namespace {

using Minimize = RankPolicy::Minimize;

struct FinalsCase {
  const char* name;
  std::vector<std::vector<double>> times_us;  // By finalist, then by rank; the baseline first.
  std::optional<std::size_t> worst, mean;
};

TEST(FinalsSelectionTest, TheMostPreferredWithinATieOfTheBestOverAllRanksIsChosen) {
  const FinalsCase cases[] = {
      {"one rank", {{100}, {50}, {60}}, 1, 1},
      {"all alike", {{100, 100}, {50, 52}, {60, 60}}, 1, 1},
      {"bad on one rank", {{100, 100}, {50, 80}, {60, 60}}, 2, 2},
      {"bad on one rank of three", {{100, 100, 100}, {50, 50, 65}, {60, 60, 60}}, 2, 1},
      {"within a tie the earlier one", {{100, 100}, {50.4, 50.4}, {50, 50}}, 1, 1},
      {"beyond a tie the best", {{100, 100}, {50.6, 50.6}, {50, 50}}, 2, 2},
      {"the baseline, by its margin", {{50.9, 50.9}, {50, 50}}, 0, 0},
      {"beyond the baseline's margin", {{51.1, 51.1}, {50, 50}}, 1, 1},
      {"who failed somewhere is out", {{100, 100}, {}, {60, 60}}, 2, 2},
      {"a baseline that failed is out", {{}, {50, 50}}, 1, 1},
      {"all failed", {{}, {}}, std::nullopt, std::nullopt},
      {"nobody", {}, std::nullopt, std::nullopt},
  };
  for (const FinalsCase& each : cases) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(ChooseForAll(each.times_us, {Minimize::kWorst, 0.01, 0.02}), each.worst);
    EXPECT_EQ(ChooseForAll(each.times_us, {Minimize::kMean, 0.01, 0.02}), each.mean);
  }
}

TEST(FinalsSelectionTest, TheGreatestOfNormalValuesVariesAsItIsTabulated) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  constexpr int kDraws = 40000;
  for (int ranks : {1, 2, 3, 5, 8}) {
    double sum = 0, squares = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      double greatest = normal(random);
      for (int rank = 1; rank < ranks; ++rank) greatest = std::max(greatest, normal(random));
      sum += greatest;
      squares += greatest * greatest;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(squares / kDraws - mean * mean, ShareOfVariance(ranks, Minimize::kWorst), 0.02) << ranks;
    EXPECT_DOUBLE_EQ(ShareOfVariance(ranks, Minimize::kMean), 1.0 / ranks);
  }
  EXPECT_DOUBLE_EQ(ShareOfVariance(64, Minimize::kWorst), ShareOfVariance(8, Minimize::kWorst));
}

struct SharedRaces {
  int good = 0;       ///< Of those that chose within 2 % of the best: a tie, and what the selection may miss.
  double rounds = 0;  ///< Of one rank, in the mean.
};

/// Races of finalists on four ranks whose samples spread by 2 %.
SharedRaces RaceOnFourRanks(Minimize minimize, double share_of_variance, int races) {
  constexpr int kRanks = 4;
  const std::vector<double> true_us = {106, 101.5, 104, 100, 103};
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  SharedRaces result;
  for (int i = 0; i < races; ++i) {
    std::vector<std::vector<double>> times_us(true_us.size());
    for (int rank = 0; rank < kRanks; ++rank) {
      RaceOptions options;
      options.share_of_variance = share_of_variance;
      options.seed = static_cast<std::uint64_t>(i);
      Race race(true_us.size(), options);
      for (auto round = race.NextRound(); !round.empty(); round = race.NextRound()) {
        std::vector<double> samples;
        for (std::size_t entrant : round) samples.push_back(true_us[entrant] * std::exp(0.02 * normal(random)));
        race.Record(samples);
      }
      result.rounds += static_cast<double>(race.num_rounds()) / (kRanks * races);
      for (std::size_t entrant = 0; entrant < true_us.size(); ++entrant) {
        const std::vector<double>& samples = race.samples_us(entrant);
        times_us[entrant].push_back(std::accumulate(samples.begin(), samples.end(), 0.0) /
                                    static_cast<double>(samples.size()));
      }
    }
    const std::optional<std::size_t> selection = ChooseForAll(times_us, {minimize, 0.01, 0.01});
    result.good += selection && true_us[*selection] <= 102 ? 1 : 0;
  }
  return result;
}

TEST(FinalsSelectionTest, RanksThatRaceTheSameNeedFewerRoundsEachForTheSameSelection) {
  constexpr int kRaces = 200;
  for (auto minimize : {Minimize::kWorst, Minimize::kMean}) {
    const SharedRaces alone = RaceOnFourRanks(minimize, 1, kRaces);
    const SharedRaces together = RaceOnFourRanks(minimize, ShareOfVariance(4, minimize), kRaces);
    EXPECT_LT(together.rounds, 0.75 * alone.rounds);
    EXPECT_GE(together.good, kRaces * 95 / 100) << "of " << kRaces;
  }
}

SearchAnswer Measured(const std::vector<std::pair<std::uint64_t, double>>& times_us) {
  SearchAnswer answer;
  for (const auto& [place, us] : times_us) {
    answer.tried.emplace_back().place = place;
    answer.tried.back().kind = TriedCandidate::kMeasured;
    answer.tried.back().success.measurement.mean_us = us;
  }
  return answer;
}

TEST(SearchLedgerTest, SharesAreComparedByTheBaselineOfTheirOwnRank) {
  SearchLedger ledger(5, 0);
  EXPECT_EQ(ledger.Open(), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  ledger.Take(0, Measured({{0, 100}, {1, 80}, {2, 60}}));
  ledger.Take(1, Measured({{0, 200}, {3, 125}}));  // A GPU that is half as fast.
  EXPECT_EQ(ledger.Open(), std::vector<std::uint64_t>{4});
  EXPECT_EQ(ledger.Finalists(), (std::vector<std::uint64_t>{0, 2, 3}));
}

TEST(SearchLedgerTest, WhatComesTwiceOrFromARankWhoseBaselineFailedDoesNotCount) {
  SearchLedger ledger(3, 0);
  SearchAnswer bad = Measured({{1, 10}});  // Not verified: its baseline is not there.
  ledger.Take(2, bad);
  EXPECT_EQ(ledger.Open(), (std::vector<std::uint64_t>{1, 2}));
  bad.status = InternalError("it failed");
  ledger.Take(2, bad);
  EXPECT_EQ(ledger.Open(), (std::vector<std::uint64_t>{1, 2}));
  ledger.Take(0, Measured({{0, 100}, {1, 50}}));
  ledger.Take(1, Measured({{0, 100}, {1, 10}, {2, 90}}));
  EXPECT_EQ(ledger.Find(1)->success.measurement.mean_us, 50) << "the first word counts";
  SearchAnswer nothing = Measured({{0, 100}});
  nothing.tried.emplace_back().place = 2;  // Not measured: it knows less.
  ledger.Take(0, nothing);
  EXPECT_EQ(ledger.Find(2)->kind, TriedCandidate::kMeasured);
}

TEST(SearchLedgerTest, WhatTiesOnlyWithTheFastestOfItsShareTiesWithNoOther) {
  SearchLedger ledger(3, 0);
  SearchAnswer share = Measured({{0, 100}, {1, 80}, {2, 50}});
  for (TriedCandidate& tried : share.tried) tried.success.ties_with_fastest = true;
  ledger.Take(0, share);
  EXPECT_FALSE(ledger.Find(1)->success.ties_with_fastest);
  EXPECT_FALSE(ledger.Find(2)->success.ties_with_fastest) << "before the finals nobody knows";
  SearchAnswer finals = Measured({{0, 100}, {2, 50}});
  finals.tried[1].success.ties_with_fastest = true;
  ledger.TakeFinals(0, finals);
  EXPECT_TRUE(ledger.Find(2)->success.ties_with_fastest);
}

TEST(SearchLedgerTest, WithoutABaselineTimesAreComparedAsTheyAre) {
  SearchLedger ledger(3, std::nullopt);
  ledger.Take(0, Measured({{0, 100}, {1, 50}}));
  ledger.Take(1, Measured({{2, 54}}));
  EXPECT_EQ(ledger.Finalists(), (std::vector<std::uint64_t>{1, 2}));
}

TEST(SearchLedgerTest, AFinalistsTimeIsItsWorstAndOneThatFailsOnARankHasNone) {
  SearchLedger ledger(3, 0);
  ledger.Take(0, Measured({{0, 100}, {1, 50}, {2, 50}}));
  ledger.TakeFinals(0, Measured({{0, 100}, {1, 50}, {2, 51}}));
  SearchAnswer of_other = Measured({{0, 100}, {1, 70}});
  of_other.tried.emplace_back().place = 2;
  of_other.tried.back().kind = TriedCandidate::kFailed;
  of_other.tried.back().failure.message = "wrong there";
  ledger.TakeFinals(1, of_other);
  EXPECT_EQ(ledger.TimeOf(1, Minimize::kWorst), 70);
  EXPECT_EQ(ledger.TimeOf(1, Minimize::kMean), 60);
  EXPECT_EQ(ledger.TimeOf(2, Minimize::kWorst), std::nullopt);
  EXPECT_EQ(ledger.Find(2)->failure.message, "wrong there");
  EXPECT_EQ(ledger.Selected({0, 1, 2}, FinalsOptions()), std::optional<std::uint64_t>(1));
}

}  // namespace
}  // namespace tuneonce
