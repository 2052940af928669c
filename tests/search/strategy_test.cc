// What strategies propose, on spaces whose times a formula gives: no device, no clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "search/config_features.h"
#include "search/exhaustive_strategy.h"
#include "search/guided_strategy.h"
#include "search/portfolio.h"
#include "search/random_numbers.h"
#include "search/random_strategy.h"
#include "search/regression_trees.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/search_strategy.h"
#include "tuneonce/search_space.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using Kind = StrategyAxis::Kind;
/// Returns the time of a config of these indices, or a value that is not positive if it fails.
using TimeOf = std::function<double(const std::uint16_t*)>;

StrategyAxis PowersOfTwo(std::size_t count) {
  StrategyAxis axis;
  for (std::size_t i = 0; i < count; ++i) axis.values.push_back(std::exp2(i));
  return axis;
}

/// Returns all combinations of the axes' values.
StrategySpace WholeSpace(std::vector<StrategyAxis> axes) {
  StrategySpace space;
  std::size_t num_configs = 1;
  for (const StrategyAxis& axis : axes) num_configs *= axis.values.size();
  for (std::size_t config = 0; config < num_configs; ++config) {
    std::size_t rest = config;
    for (const StrategyAxis& axis : axes) {
      space.indices.push_back(static_cast<std::uint16_t>(rest % axis.values.size()));
      rest /= axis.values.size();
    }
  }
  space.axes = std::move(axes);
  return space;
}

/// 8 * 8 * 6 * 4 * 2 = 3,072 configs: tiles, threads, and a switch.
StrategySpace TiledSpace() {
  return WholeSpace({PowersOfTwo(8), PowersOfTwo(8), PowersOfTwo(6), PowersOfTwo(4), {Kind::kCategorical, {0, 1}}});
}

/// The fastest config is {5, 2, 3, 1, 1}: 100 us.
double TiledTime(const std::uint16_t* i) {
  const double threads = std::abs(i[0] + i[1] - 7);
  const double shape = std::abs(i[0] - i[1] - 3);
  return 100 * std::exp2(0.5 * threads + 0.2 * shape + 0.3 * std::abs(i[2] - 3) + 0.2 * std::abs(i[3] - 1)) +
         40 * (1 - i[4]);
}

std::vector<std::unique_ptr<SearchStrategy>> AllStrategies(const StrategySpace& space) {
  std::vector<std::unique_ptr<SearchStrategy>> strategies;
  strategies.push_back(std::make_unique<GuidedStrategy>(space));
  strategies.push_back(std::make_unique<RandomStrategy>(space.num_configs()));
  strategies.push_back(std::make_unique<ExhaustiveStrategy>(space.num_configs()));
  return strategies;
}

/// Tries what was proposed.
void Try(const StrategySpace& space, const TimeOf& time_of, const Proposal& proposal, SearchHistory* history) {
  for (std::size_t config : proposal.configs) {
    const double time_us = time_of(space.config(config));
    history->trials.push_back({config, time_us > 0 ? OutcomeKind::kMeasured : OutcomeKind::kResources, time_us, 100});
  }
}

/// Returns the history of a search until it has at least `most` trials.
SearchHistory RunSearch(const SearchStrategy& strategy, const StrategySpace& space, const TimeOf& time_of,
                        std::size_t most, SearchHistory history = {}) {
  while (history.trials.size() < most) {
    const Proposal proposal = strategy.Propose(history);
    if (proposal.configs.empty()) break;
    Try(space, time_of, proposal, &history);
  }
  return history;
}

std::vector<std::size_t> ConfigsOf(const SearchHistory& history) {
  std::vector<std::size_t> configs;
  for (const StrategyTrial& trial : history.trials) configs.push_back(trial.config);
  return configs;
}

double BestTime(const SearchHistory& history) {
  double best = std::numeric_limits<double>::infinity();
  for (const StrategyTrial& trial : history.trials) {
    if (trial.kind == OutcomeKind::kMeasured) best = std::min(best, trial.time_us);
  }
  return best;
}

TEST(StrategyTest, EqualHistoriesGiveEqualProposals) {
  const StrategySpace space = TiledSpace();
  const auto strategies = AllStrategies(space);
  const auto others = AllStrategies(space);
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const SearchHistory history = RunSearch(*strategies[i], space, TiledTime, 64);
    EXPECT_EQ(ConfigsOf(RunSearch(*others[i], space, TiledTime, 64)), ConfigsOf(history));
    // A search that another process continues goes on as it would have here.
    SearchHistory cut_short = history;
    cut_short.trials.resize(32);
    EXPECT_EQ(ConfigsOf(RunSearch(*others[i], space, TiledTime, 64, cut_short)), ConfigsOf(history));
  }
}

TEST(StrategyTest, AnotherSeedGivesAnotherSearch) {
  const StrategySpace space = TiledSpace();
  SearchHistory other;
  other.seed = 2;
  const GuidedStrategy guided(space);
  EXPECT_NE(ConfigsOf(RunSearch(guided, space, TiledTime, 8)),
            ConfigsOf(RunSearch(guided, space, TiledTime, 8, other)));
  const RandomStrategy random(space.num_configs());
  EXPECT_NE(ConfigsOf(RunSearch(random, space, TiledTime, 8)),
            ConfigsOf(RunSearch(random, space, TiledTime, 8, other)));
}

TEST(StrategyTest, EachConfigIsProposedOnceUntilNoneIsLeft) {
  const StrategySpace space = WholeSpace({PowersOfTwo(5), PowersOfTwo(4), {Kind::kCategorical, {0, 1, 2}}});
  const TimeOf some_fail = [](const std::uint16_t* i) { return i[0] == 3 ? 0.0 : 1.0 + i[0] * i[1] + i[2]; };
  const TimeOf all_fail = [](const std::uint16_t*) { return 0.0; };
  for (const TimeOf& time_of : {some_fail, all_fail}) {
    for (std::size_t batch_size : {1, 7, 8}) {
      for (const auto& strategy : AllStrategies(space)) {
        SearchHistory start;
        start.batch_size = batch_size;
        start.baseline = 17;
        start.portfolio = {17, 3, 3, 59};
        const SearchHistory history = RunSearch(*strategy, space, time_of, SIZE_MAX, start);
        const std::vector<std::size_t> configs = ConfigsOf(history);
        EXPECT_EQ(configs.size(), 60);
        EXPECT_EQ(std::set<std::size_t>(configs.begin(), configs.end()).size(), 60);
        EXPECT_EQ(configs.front(), 17) << "the baseline";
        EXPECT_TRUE(strategy->Propose(history).should_stop());
      }
    }
  }
}

TEST(StrategyTest, FeaturesOfPairsOfValuesAreThoseOfTheConfigsThatHaveThem) {
  StrategyAxis axis;
  for (int value = 1; value <= 8; ++value) axis.values.push_back(value);
  const ConfigFeatures of_all(WholeSpace({axis, axis}));
  // 2 * 2 and 2 / 2 are products and quotients of other configs, too.
  constexpr std::size_t kLeftOut = 9;
  StrategySpace most = WholeSpace({axis, axis});
  most.indices.erase(most.indices.begin() + 2 * kLeftOut, most.indices.begin() + 2 * kLeftOut + 2);
  const ConfigFeatures of_most(most);
  const FeatureRows& all = of_all.rows();
  const auto left_out = all.values.begin() + static_cast<std::ptrdiff_t>(kLeftOut * all.num_features);
  std::vector<std::uint16_t> expected(all.values.begin(), left_out);
  expected.insert(expected.end(), left_out + static_cast<std::ptrdiff_t>(all.num_features), all.values.end());
  EXPECT_EQ(of_most.rows().num_features, all.num_features);
  EXPECT_EQ(of_most.rows().values, expected);
}

TEST(StrategyTest, SpacesWithoutAChoiceAreSearched) {
  for (const StrategySpace& space : {WholeSpace({PowersOfTwo(1)}), WholeSpace({PowersOfTwo(1), PowersOfTwo(20)})}) {
    for (const auto& strategy : AllStrategies(space)) {
      const SearchHistory history = RunSearch(
          *strategy, space, [](auto) { return 1.0; }, SIZE_MAX);
      EXPECT_EQ(history.trials.size(), space.num_configs());
    }
  }
  for (const auto& strategy : AllStrategies({})) EXPECT_TRUE(strategy->Propose({}).configs.empty());
}

TEST(StrategyTest, ThePortfolioComesEarlyButNotAlone) {
  const StrategySpace space = TiledSpace();
  const GuidedStrategy strategy(space);
  SearchHistory history;
  history.baseline = 1000;
  history.portfolio = {7, 2000, 1, 3000, 500, 600, 700, 800};
  auto is_of_portfolio = [&](std::size_t config) {
    return std::count(history.portfolio.begin(), history.portfolio.end(), config) > 0;
  };
  const std::vector<std::size_t> first = strategy.Propose(history).configs;
  ASSERT_EQ(first.size(), 8);
  EXPECT_EQ(first.front(), 1000);
  EXPECT_TRUE(std::equal(first.begin() + 1, first.begin() + 5, history.portfolio.begin())) << "the best ones first";
  EXPECT_FALSE(is_of_portfolio(first.back()));
  const std::vector<std::size_t> two_batches = ConfigsOf(RunSearch(strategy, space, TiledTime, 16, history));
  EXPECT_EQ(std::count_if(two_batches.begin(), two_batches.end(), is_of_portfolio), 8);
}

TEST(StrategyTest, FailuresTeachTheModelWhatToAvoid) {
  const StrategySpace space = TiledSpace();
  // Too many threads fail: 36 of the 64 pairs of the first two axes.
  const TimeOf time_of = [](const std::uint16_t* i) { return i[0] + i[1] > 6 ? 0.0 : TiledTime(i); };
  int num_failed = 0;
  int num_tried = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SearchHistory start;
    start.seed = seed;
    const SearchHistory history = RunSearch(GuidedStrategy(space), space, time_of, 96, start);
    for (std::size_t i = 32; i < history.trials.size(); ++i) {
      num_failed += history.trials[i].kind == OutcomeKind::kMeasured ? 0 : 1;
      ++num_tried;
    }
  }
  EXPECT_LT(num_failed, num_tried / 3) << "at random more than a half fail";
}

TEST(StrategyTest, TheModelFindsFasterConfigsThanChance) {
  const StrategySpace space = TiledSpace();
  double guided_us = 0;
  double random_us = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SearchHistory start;
    start.seed = seed;
    guided_us += BestTime(RunSearch(GuidedStrategy(space), space, TiledTime, 64, start)) / 10;
    random_us += BestTime(RunSearch(RandomStrategy(space.num_configs()), space, TiledTime, 256, start)) / 10;
  }
  EXPECT_LT(guided_us, random_us) << "with a quarter of its trials";
}

TEST(StrategyTest, TheExpectedGainEndsASearchThatHasNothingLeftToFind) {
  const StrategySpace space = TiledSpace();
  const GuidedStrategy strategy(space);
  EXPECT_FALSE(strategy.Propose({}).should_stop()) << "nothing is known";
  const SearchHistory early = RunSearch(strategy, space, TiledTime, 16);
  EXPECT_FALSE(strategy.Propose(early).should_stop());
  const SearchHistory flat = RunSearch(
      strategy, space, [](auto) { return 5.0; }, 160);
  EXPECT_EQ(strategy.Propose(flat).expected_gain, 0.0);
  EXPECT_TRUE(strategy.Propose(flat).should_stop());
  const SearchHistory late = RunSearch(strategy, space, TiledTime, 600);
  EXPECT_LT(BestTime(late), 101);
  EXPECT_TRUE(strategy.Propose(late).should_stop());
}

TEST(StrategyTest, ABatchScoresABoundedPartOfALargeSpace) {
  // 256 * 256 * 4 configs: an incumbent has more than 65,000 neighbours on two axes.
  StrategyAxis long_axis;
  for (int i = 1; i <= 256; ++i) long_axis.values.push_back(i);
  const StrategySpace space = WholeSpace({long_axis, long_axis, PowersOfTwo(4)});
  const TimeOf time_of = [](const std::uint16_t* i) { return 1.0 + std::abs(i[0] - 99) + std::abs(i[1] - 30) + i[2]; };
  const GuidedStrategy strategy(space);
  const SearchHistory history = RunSearch(strategy, space, time_of, 64);
  const std::size_t num_scored = strategy.Propose(history).num_scored;
  EXPECT_GT(num_scored, 1000);
  EXPECT_LE(num_scored, GuidedStrategy::kMostScored);
}

TEST(StrategyTest, ProductsAndCategoriesAreFeatures) {
  const StrategySpace space = WholeSpace({PowersOfTwo(3), PowersOfTwo(3), {Kind::kCategorical, {0, 1, 2}}});
  const ConfigFeatures features(space);
  ASSERT_EQ(features.rows().num_features, 2 + 3 + 2) << "axes, one per category, product and quotient";
  for (std::size_t config = 0; config < space.num_configs(); ++config) {
    const std::uint16_t* i = space.config(config);
    const std::vector<std::uint16_t> expected = {i[0],
                                                 i[1],
                                                 static_cast<std::uint16_t>(i[2] == 0),
                                                 static_cast<std::uint16_t>(i[2] == 1),
                                                 static_cast<std::uint16_t>(i[2] == 2),
                                                 static_cast<std::uint16_t>(i[0] + i[1]),
                                                 static_cast<std::uint16_t>(i[0] - i[1] + 2)};
    EXPECT_EQ(std::vector<std::uint16_t>(features.rows().of(config), features.rows().of(config) + 7), expected);
  }
}

TEST(StrategyTest, ThePowerOfTwoThatDividesAValueIsAFeatureUnlessTheOrderOfTheValuesHasIt) {
  const StrategySpace blocks = WholeSpace({{Kind::kOrdinal, {16, 48, 64, 100}}});
  const ConfigFeatures features(blocks);
  ASSERT_EQ(features.rows().num_features, 2u);
  const std::vector<int> exponents = {4, 4, 6, 2};
  for (std::size_t config = 0; config < blocks.num_configs(); ++config) {
    EXPECT_EQ(features.rows().of(config)[1], exponents[blocks.config(config)[0]]);
  }
  for (const std::vector<double>& values : {std::vector<double>{1, 2, 4}, {0, 3, 4}, {0.5, 4, 5}, {1, 3, 5}}) {
    EXPECT_EQ(ConfigFeatures(WholeSpace({{Kind::kOrdinal, values}})).rows().num_features, 1u);
  }
}

TEST(StrategyTest, TreesPredictWhatTheyDidNotSee) {
  const StrategySpace space = TiledSpace();
  const ConfigFeatures features(space);
  RandomNumbers random(1);
  auto step = [&](std::size_t config) { return space.config(config)[0] > 3 ? 2.0F : -1.0F; };
  std::vector<RegressionTrees::Sample> samples;
  for (int i = 0; i < 200; ++i) {
    const std::size_t config = random.Below(space.num_configs());
    samples.push_back({config, step(config)});
  }
  const RegressionTrees trees(features.rows(), samples, 16, 0.5, &random);
  double squares = 0;
  for (std::size_t config = 0; config < space.num_configs(); ++config) {
    double mean = 0;
    for (int tree = 0; tree < trees.num_trees(); ++tree) mean += trees.Predict(tree, features.rows().of(config));
    squares += std::pow(mean / trees.num_trees() - step(config), 2) / static_cast<double>(space.num_configs());
  }
  EXPECT_LT(std::sqrt(squares), 0.3) << "the standard deviation of what is predicted is 1.5";
}

TEST(StrategyTest, APortfolioCoversWhatWonElsewhere) {
  struct Case {
    std::vector<std::vector<double>> relative_speed;
    std::size_t most;
    std::vector<std::size_t> portfolio;
  };
  const Case cases[] = {
      {{}, 8, {}},
      {{{0, 0, 0, 0, 0}}, 8, {}},
      // The config that is good in both, then the winners; 0 failed.
      {{{0, 1, 0.9, 0.1, 0}, {0, 0.2, 0.9, 1, 0}}, 2, {2, 1}},
      // One elsewhere is covered by its winner; its next best ones follow.
      {{{0.3, 0.7, 1, 0, 0.9}}, 8, {2, 4, 1, 0}},
      {{{0.3, 0.7, 1, 0, 0.9}}, 3, {2, 4, 1}},
  };
  for (const Case& c : cases) EXPECT_EQ(CoverElsewheres(c.relative_speed, c.most), c.portfolio);
}

TEST(StrategyTest, RecordsOfOtherKeysMakeAPortfolio) {
  SearchSpace space;
  const IntAxis tile = space.AddAxis("TILE", {16, 32, 64, 128});
  const std::vector<Config> configs = *space.Enumerate(Target());
  // By tile; 0: not measured.
  auto record = [&](std::vector<double> times_us, std::int64_t made_at) {
    TuningRecord made;
    made.unix_seconds = made_at;
    for (std::size_t i = 0; i < times_us.size(); ++i) {
      made.candidates.emplace_back();
      made.candidates.back().config = configs[i];
      if (times_us[i] == 0) continue;
      made.candidates.back().kind = OutcomeKind::kMeasured;
      made.candidates.back().measurement.mean_us = times_us[i];
    }
    return made;
  };
  auto tiles = [&](const std::vector<TuningRecord>& records, std::size_t most) {
    std::vector<std::int64_t> values;
    for (const Config& config : PortfolioOf(records, most)) values.push_back(config[tile]);
    return values;
  };
  EXPECT_TRUE(tiles({}, 8).empty());
  EXPECT_TRUE(tiles({record({0, 0, 0, 0}, 1)}, 8).empty());
  EXPECT_EQ(tiles({record({30, 10, 20, 0}, 1)}, 2), (std::vector<std::int64_t>{32, 64}));
  EXPECT_EQ(tiles({record({90, 10, 11, 0}, 1), record({0, 90, 11, 9}, 2)}, 2), (std::vector<std::int64_t>{64, 128}))
      << "the one that is good in both comes first";
}

}  // namespace
}  // namespace tuneonce
