#include "measure/race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "../../benchmarks/internal/selection_rules.h"
#include "measure/statistics.h"

namespace tuneonce {
namespace {

/// Samples around a mean with a relative spread.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : random_(seed) {}
  double operator()(double mean, double spread) { return mean * std::exp(spread * normal_(random_)); }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

/// Runs a race to its end; `sample(entrant, round)`.
void RunRace(Race& race, const std::function<double(std::size_t, int)>& sample) {
  int number = 0;
  for (auto round = race.NextRound(); !round.empty(); round = race.NextRound(), ++number) {
    std::vector<double> samples;
    for (std::size_t entrant : round) samples.push_back(sample(entrant, number));
    race.Record(samples);
  }
}

TEST(RaceTest, ALoneEntrantWinsAfterWarmUpAndOneSample) {
  Race race(1);
  RunRace(race, [](std::size_t, int) { return 5.0; });
  EXPECT_EQ(race.Selected(), 0u);
  EXPECT_TRUE(race.is_conclusive());
  EXPECT_EQ(race.samples_us(0).size(), 1u);
}

TEST(RaceTest, NoEntrantsNoRoundsNoSelection) {
  Race race(0);
  EXPECT_TRUE(race.NextRound().empty());
  EXPECT_FALSE(race.Selected().has_value());
}

TEST(RaceTest, EntrantsAreEliminatedAfterTwoRuns) {
  Race race(4);
  RunRace(race, [](std::size_t entrant, int) { return entrant == 2 ? 10.0 : 40.0; });
  EXPECT_EQ(race.Selected(), 2u);
  EXPECT_TRUE(race.is_conclusive());
  EXPECT_EQ(race.num_rounds(), 1);
  EXPECT_FALSE(race.Ties(0));
  EXPECT_DOUBLE_EQ(race.spent_ms(), 2 * 130.0 / 1000);
}

TEST(RaceTest, ASlowFirstRunDoesNotLose) {
  Race race(3);
  Noise noise(1);
  RunRace(race, [&](std::size_t entrant, int round) {
    if (round == 0 && entrant == 1) return 1000.0;  // Lazy loading, cold instruction cache.
    return noise(entrant == 1 ? 10 : 11, 0.01);
  });
  EXPECT_EQ(race.Selected(), 1u);
}

TEST(RaceTest, OneOutlierAfterTheWarmUpDoesNotLose) {
  Race race(3);
  Noise noise(1);
  RunRace(race, [&](std::size_t entrant, int round) {
    if (round == 1 && entrant == 1) return 30.0;
    return noise(entrant == 1 ? 10 : 11, 0.01);
  });
  EXPECT_EQ(race.Selected(), 1u);
}

TEST(RaceTest, AmongEqualsTheMostPreferredWinsWhateverTheSeed) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    RaceOptions options;
    options.seed = seed;
    Race race(4, options);
    Noise noise(seed);
    RunRace(race, [&](std::size_t entrant, int) { return noise(entrant == 0 ? 12 : 10 - 0.01 * entrant, 0.02); });
    EXPECT_EQ(race.Selected(), 1u) << seed;
    EXPECT_TRUE(race.Ties(2)) << seed;
  }
}

TEST(RaceTest, CommonDriftDoesNotChangeTheSelection) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    RaceOptions options;
    options.seed = seed;
    Race race(3, options);
    Noise noise(seed);
    // The clock falls by a third over 30 rounds: far more than the difference between entrants.
    RunRace(race, [&](std::size_t entrant, int round) {
      return noise(entrant == 1 ? 10 : 10.5, 0.01) * (1 + std::min(round, 30) / 60.0);
    });
    EXPECT_EQ(race.Selected(), 1u) << seed;
  }
}

TEST(RaceTest, EntrantsWithoutAValidSampleAreOut) {
  for (double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Race race(3);
    RunRace(race, [&](std::size_t entrant, int round) { return entrant == 0 && round == 2 ? bad : 10.0 + entrant; });
    EXPECT_EQ(race.Selected(), 1u) << bad;
    EXPECT_FALSE(race.Ties(0));
  }
  Race race(2);
  RunRace(race, [](std::size_t, int) { return 0.0; });
  EXPECT_FALSE(race.Selected().has_value());
  EXPECT_FALSE(race.is_conclusive());
}

TEST(RaceTest, BudgetAndRoundsEndItAndItSaysSo) {
  RaceOptions options;
  options.budget_ms = 0.1;
  Race out_of_budget(2, options);
  RunRace(out_of_budget, [](std::size_t, int) { return 60.0; });
  EXPECT_FALSE(out_of_budget.is_conclusive());
  EXPECT_EQ(out_of_budget.Selected(), 0u);
  options = RaceOptions();
  options.max_rounds = 5;
  Race out_of_rounds(2, options);
  Noise noise(1);
  RunRace(out_of_rounds, [&](std::size_t, int) { return noise(10, 0.3); });
  EXPECT_FALSE(out_of_rounds.is_conclusive());
  EXPECT_EQ(out_of_rounds.num_rounds(), 5);
}

TEST(RaceTest, TheSameSeedAndSamplesGiveTheSameRace) {
  std::vector<std::vector<std::size_t>> orders[2];
  for (auto& order : orders) {
    Race race(5);
    for (auto round = race.NextRound(); !round.empty(); round = race.NextRound()) {
      order.push_back(round);
      race.Record(std::vector<double>(round.size(), 10.0));
    }
  }
  EXPECT_EQ(orders[0], orders[1]);
  std::set<std::vector<std::size_t>> distinct(orders[0].begin(), orders[0].end());
  EXPECT_GT(distinct.size(), 1u);
}

Trace Recorded(const std::string& name) {
  std::string error;
  Trace trace = ReadTrace(std::string(TUNEONCE_TEST_DATA) + "/traces/" + name + ".csv", &error);
  EXPECT_EQ(error, "");
  return trace;
}

class RecordedRaceTest : public testing::TestWithParam<const char*> {};

TEST_P(RecordedRaceTest, ChoosesWellTheSameEachTimeAndCheaply) {
  constexpr int kSearches = 300;
  Trace trace = Recorded(GetParam());
  std::vector<double> long_run = trace.Means();
  double best = *std::min_element(long_run.begin(), long_run.end());
  int within = 0, covered = 0;
  double ours = 0, cutile = 0;
  std::vector<int> chosen(trace.num_configs());
  for (int search = 1; search <= kSearches; ++search) {
    Selection selection = SelectByRace(trace, static_cast<std::uint64_t>(search));
    ++chosen[selection.config];
    within += long_run[selection.config] <= 1.01 * best;
    covered += std::abs(selection.measurement.mean_us - long_run[selection.config]) <=
               selection.measurement.error_margin_us.value_or(HUGE_VAL);
    ours += selection.gpu_us;
    cutile += SelectAsCutile(trace, static_cast<std::uint64_t>(search)).gpu_us;
  }
  EXPECT_GE(within, 0.98 * kSearches);
  EXPECT_GE(covered, 0.94 * kSearches);
  EXPECT_GE(*std::max_element(chosen.begin(), chosen.end()), 0.97 * kSearches);
  EXPECT_LT(ours, 8 * cutile);
}
INSTANTIATE_TEST_SUITE_P(Traces, RecordedRaceTest,
                         testing::Values("vadd_f32_65536", "rmsnorm_bf16_4096x4096", "matmul_f16_1024x256x512"));

TEST(RaceTest, TwoCopiesOfOneConfigAreSeldomDeclaredDifferent) {
  for (double spread : {0.01, 0.03, 0.08}) {
    int different = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      Race race(2);
      Noise noise(seed);
      RunRace(race, [&](std::size_t, int) { return noise(10, spread); });
      different += race.Ties(0) && race.Ties(1) ? 0 : 1;
    }
    EXPECT_LE(different, 10) << spread;
  }
}

TEST(RaceTest, IntervalsHoldTheMeanUnderDriftWhereverSamplingStops) {
  for (double spread : {0.01, 0.05}) {
    int covered = 0;
    constexpr int kSearches = 2000;
    for (std::uint64_t seed = 1; seed <= kSearches; ++seed) {
      Noise noise(seed);
      std::vector<double> samples;
      Measurement m;
      double truth = 0;
      // Stops as soon as the interval misses the mean so far, which is the worst that a stopping rule can do.
      for (int i = 0; i < 100; ++i) {
        double mean = 10 * (1 + 0.01 * i / 100);
        truth += mean;
        samples.push_back(noise(mean, spread));
        m = SummarizeStoppedEarly(samples);
        if (i > 0 && std::abs(m.mean_us - truth / (i + 1)) > *m.error_margin_us) break;
      }
      covered += samples.size() == 100;
    }
    EXPECT_GE(covered, 0.94 * kSearches) << spread;
  }
}

}  // namespace
}  // namespace tuneonce
