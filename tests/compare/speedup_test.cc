#include "compare/speedup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tuneonce {
namespace {

Measurement Took(double mean_us, double margin_us) {
  Measurement m;
  m.mean_us = mean_us;
  m.error_margin_us = margin_us;
  return m;
}

TEST(SpeedupTest, WhatSlowsBothDownCancels) {
  // B takes .9 of A's time, while the clock falls to a third.
  std::vector<double> a, b;
  for (int i = 0; i < 50; ++i) {
    a.push_back(100 + 4 * i);
    b.push_back(.9 * a.back());
  }
  std::optional<Speedup> speedup = PairedSpeedup(a, b);
  ASSERT_TRUE(speedup.has_value());
  EXPECT_NEAR(speedup->ratio, 1 / .9, 1e-12);
  EXPECT_GT(speedup->low, 1.1);
  EXPECT_LT(speedup->high, 1.13);
}

TEST(SpeedupTest, OnePairSaysNothing) {
  EXPECT_FALSE(PairedSpeedup({}, {}).has_value());
  EXPECT_FALSE(PairedSpeedup({1}, {2}).has_value());
  EXPECT_TRUE(PairedSpeedup({1, 1}, {2, 2}).has_value());
}

TEST(SpeedupTest, TheIntervalHoldsWheneverSamplingStops) {
  // Two that are the same, in 1000 races that look after each pair and stop at the first interval without 1.
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> noise(0, .05);
  int mistakes = 0;
  for (int race = 0; race < 1000; ++race) {
    std::vector<double> a, b;
    for (int pair = 0; pair < 60; ++pair) {
      a.push_back(100 * noise(random));
      b.push_back(100 * noise(random));
      if (pair < 9) continue;
      const Speedup speedup = *PairedSpeedup(a, b);
      if (speedup.low <= 1 && speedup.high >= 1) continue;
      ++mistakes;
      break;
    }
  }
  EXPECT_LE(mistakes, 50) << "5 % of 1000";
}

TEST(SpeedupTest, OfTwoMeasurementsTheMarginsAddInSquares) {
  std::optional<Speedup> speedup = SpeedupOf(Took(200, 6), Took(100, 4));
  ASSERT_TRUE(speedup.has_value());
  EXPECT_NEAR(speedup->ratio, 2, 1e-12);
  EXPECT_NEAR(std::log(speedup->high / speedup->ratio), .05, 1e-12) << ".03 and .04";
  EXPECT_NEAR(std::log(speedup->ratio / speedup->low), .05, 1e-12);
  EXPECT_FALSE(SpeedupOf(Took(0, 1), Took(1, 1)).has_value());
  Measurement single;
  single.mean_us = 3;
  EXPECT_FALSE(SpeedupOf(single, Took(1, 1)).has_value()) << "one sample has no margin";
}

TEST(SpeedupTest, TheGeometricMeanOfRatiosAndOfTheirIntervals) {
  Speedup mean = GeometricMean({{2, 2 / 1.03, 2 * 1.03}, {.5, .5 / 1.04, .5 * 1.04}});
  EXPECT_NEAR(mean.ratio, 1, 1e-12);
  EXPECT_NEAR(std::log(mean.high), std::hypot(std::log(1.03), std::log(1.04)) / 2, 1e-12);
  Speedup one = GeometricMean({{1.5, 1.4, 1.6}});
  EXPECT_NEAR(one.ratio, 1.5, 1e-12);
}

TEST(SpeedupTest, Verdicts) {
  struct Case {
    Speedup speedup;
    Verdict verdict;
    bool is_conclusive;
  };
  for (const Case& each :
       {Case{{1.10, 1.09, 1.11}, Verdict::kAccept, true}, Case{{1.05, 1.049, 1.051}, Verdict::kAccept, false},
        Case{{1.10, 1.03, 1.17}, Verdict::kAccept, false}, Case{{1.03, 1.025, 1.035}, Verdict::kMinor, true},
        Case{{1.02, 1.02, 1.021}, Verdict::kMinor, true}, Case{{1.03, 1.01, 1.05}, Verdict::kMinor, false},
        Case{{1.00, .99, 1.01}, Verdict::kNoChange, true}, Case{{1.015, 1.012, 1.018}, Verdict::kNoChange, true},
        Case{{1.10, .98, 1.22}, Verdict::kNoChange, false}, Case{{.95, .90, 1.001}, Verdict::kNoChange, false},
        Case{{.99, .985, .995}, Verdict::kNoChange, true}, Case{{.97, .965, .975}, Verdict::kRevert, true},
        Case{{.98, .975, .985}, Verdict::kRevert, false}, Case{{.5, .4, .6}, Verdict::kRevert, true}}) {
    const std::string text = std::to_string(each.speedup.ratio) + " from " + std::to_string(each.speedup.low);
    EXPECT_EQ(VerdictName(VerdictOf(each.speedup)), VerdictName(each.verdict)) << text;
    EXPECT_EQ(IsConclusive(each.speedup), each.is_conclusive) << text;
  }
}

}  // namespace
}  // namespace tuneonce
