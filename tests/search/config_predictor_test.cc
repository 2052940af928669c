#include "search/config_predictor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "search/random_numbers.h"
#include "testing/expect_status.h"
#include "tuneonce/device.h"

namespace tuneonce {
namespace {

constexpr int kMultiprocessors = 132;

/// A matrix product with square tiles and others, whose times follow from waves of blocks and from the tiles' reuse.
class ConfigPredictorTest : public ::testing::Test {
 protected:
  ConfigPredictorTest() {
    target_.num_sms = kMultiprocessors;
    SearchSpace space;
    const IntAxis rows = space.AddAxis("TILE_M", {16, 32, 64, 128, 256});
    const IntAxis columns = space.AddAxis("TILE_N", {32, 64, 128, 256});
    space.AddAxis("TILE_K", {32, 64});
    definition_
        .Parameters({In("a", kFloat32, {"M", "K"}), In("b", kFloat32, {"K", "N"}), Out("c", kFloat32, {"M", "N"})})
        .DimsInOrder({"M", "N", "K"})
        .Space(space)
        .Grid(Grid::TileCoverage({{"M", rows}, {"N", columns}}))
        .AddVariant(CpuCpp("never compiled", "matmul"));
    EXPECT_OK(definition_.Validate());
    configs_ = *definition_.space().Enumerate(target_);
    like_.target = &target_;
    like_.values = {};
  }
  static double TimeUs(const Config& config, const Dims& dims) {
    auto number = [&](std::size_t axis) { return static_cast<double>(std::get<std::int64_t>(config.values()[axis])); };
    auto extent = [&](int dim) { return static_cast<double>(dims[Dim{dim}]); };
    const double rows = number(0), columns = number(1);
    const double blocks = std::ceil(extent(0) / rows) * std::ceil(extent(1) / columns);
    const double waves = std::ceil(blocks / kMultiprocessors);
    const double reuse = rows * columns / (rows + columns);
    const double per_step = rows * columns * (1 + 24 / reuse) + 400;
    return 2 + waves * extent(2) * per_step / 4e6 * (number(2) == 64 && extent(2) < 1024 ? 1.1 : 1);
  }
  static Dims DimsOf(std::int64_t m, std::int64_t n, std::int64_t k) {
    Dims dims(3);
    dims[Dim{0}] = m;
    dims[Dim{1}] = n;
    dims[Dim{2}] = k;
    return dims;
  }
  static Dims Drawn(RandomNumbers* random) {
    auto extent = [&](double least, double most) {
      return static_cast<std::int64_t>(std::exp2(least + random->Uniform() * (most - least)));
    };
    return DimsOf(extent(0, 13), extent(8, 14), extent(8, 13));
  }
  ConfigPredictor::Shape ShapeAt(const Dims& dims) const {
    ConfigPredictor::Shape shape{dims, {}};
    for (const Config& config : configs_) shape.times_us.push_back(TimeUs(config, dims));
    return shape;
  }
  std::vector<ConfigPredictor::Shape> Shapes(int count) const {
    RandomNumbers random(7);
    std::vector<ConfigPredictor::Shape> shapes;
    for (int i = 0; i < count; ++i) shapes.push_back(ShapeAt(Drawn(&random)));
    return shapes;
  }
  ConfigPredictor::Prediction PredictionAt(const ConfigPredictor& predictor, const Dims& dims,
                                           std::uint64_t variants = 0) const {
    Problem problem = like_;
    problem.dims = dims;
    return predictor.Predict(problem, variants);
  }
  ConfigPredictor Predictor(std::vector<ConfigPredictor::Shape> shapes) const {
    Problem like = like_;
    like.dims = shapes.front().dims;
    return ConfigPredictor(definition_, like, configs_, std::move(shapes));
  }
  /// Returns the best time at the dims divided by the best time of the first `count` configs of the ranking.
  double Fraction(const ConfigPredictor::Prediction& prediction, const Dims& dims, std::size_t count) const {
    double best = std::numeric_limits<double>::infinity();
    double best_of_first = best;
    for (const Config& config : configs_) best = std::min(best, TimeUs(config, dims));
    for (std::size_t i = 0; i < std::min(count, prediction.ranking.size()); ++i) {
      best_of_first = std::min(best_of_first, TimeUs(configs_[prediction.ranking[i]], dims));
    }
    return best / best_of_first;
  }

  Target target_;
  KernelDefinition definition_{"matmul"};
  std::vector<Config> configs_;
  Problem like_;
};

TEST_F(ConfigPredictorTest, AModelPredictsShapesThatItHasNotSeenBetterThanTheNearestShapeDoes) {
  const ConfigPredictor predictor = Predictor(Shapes(120));
  RandomNumbers random(8);
  constexpr int kUnseen = 60;
  double first = 0, first_eight = 0, nearest = 0;
  for (int i = 0; i < kUnseen; ++i) {
    const Dims dims = Drawn(&random);
    const ConfigPredictor::Prediction prediction = PredictionAt(predictor, dims);
    EXPECT_TRUE(prediction.is_by_model);
    first += Fraction(prediction, dims, 1) / kUnseen;
    first_eight += Fraction(prediction, dims, 8) / kUnseen;
    const std::vector<double>& times = predictor.shapes()[prediction.nearest].times_us;
    const auto best = static_cast<std::size_t>(std::min_element(times.begin(), times.end()) - times.begin());
    ConfigPredictor::Prediction of_nearest;
    of_nearest.ranking = {best};
    nearest += Fraction(of_nearest, dims, 1) / kUnseen;
  }
  EXPECT_GT(first, 0.95);
  EXPECT_GT(first_eight, 0.985);
  EXPECT_GT(first, nearest);
}

TEST_F(ConfigPredictorTest, TooFewShapesForAModelRankAsTheNearestShapeDoes) {
  std::vector<ConfigPredictor::Shape> shapes = {ShapeAt(DimsOf(16, 4096, 4096)), ShapeAt(DimsOf(4096, 4096, 4096))};
  const ConfigPredictor predictor = Predictor(shapes);
  for (std::size_t near : {0, 1}) {
    Dims dims = shapes[near].dims;
    dims[Dim{0}] += 5;
    const ConfigPredictor::Prediction prediction = PredictionAt(predictor, dims);
    EXPECT_FALSE(prediction.is_by_model);
    EXPECT_EQ(prediction.nearest, near);
    const std::vector<double>& times = shapes[near].times_us;
    ASSERT_FALSE(prediction.ranking.empty());
    EXPECT_EQ(times[prediction.ranking.front()], *std::min_element(times.begin(), times.end()));
  }
}

TEST_F(ConfigPredictorTest, ConfigsThatFailedOrWereNotMeasuredAreNotPredicted) {
  std::vector<ConfigPredictor::Shape> shapes = Shapes(20);
  for (ConfigPredictor::Shape& shape : shapes) {
    for (std::size_t config = 0; config < configs_.size(); ++config) {
      if (config % 3 == 0) shape.times_us[config] = std::numeric_limits<double>::infinity();
      if (config % 3 == 1) shape.times_us[config] = 0;
    }
  }
  const ConfigPredictor predictor = Predictor(shapes);
  const ConfigPredictor::Prediction prediction = PredictionAt(predictor, DimsOf(300, 4096, 1024));
  ASSERT_FALSE(prediction.ranking.empty());
  for (std::size_t config : prediction.ranking) EXPECT_EQ(config % 3, 2u) << configs_[config].ToString();
}

TEST_F(ConfigPredictorTest, AlignmentOfAnExtentDecidesLikeItsSize) {
  // With columns that are not aligned, the half of the configs that is the fastest else takes twice as long.
  auto is_odd = [](const Dims& dims) { return dims[Dim{1}] % 2 != 0; };
  auto is_wide = [&](std::size_t config) { return std::get<std::int64_t>(configs_[config].values()[2]) == 64; };
  std::vector<ConfigPredictor::Shape> shapes = Shapes(40);
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    shapes[s].dims[Dim{1}] = shapes[s].dims[Dim{1}] / 16 * 16 + static_cast<std::int64_t>(s % 2);
    shapes[s] = ShapeAt(shapes[s].dims);
    for (std::size_t config = 0; config < configs_.size(); ++config) {
      if (is_wide(config)) shapes[s].times_us[config] *= is_odd(shapes[s].dims) ? 2 : 0.5;
    }
  }
  const ConfigPredictor predictor = Predictor(shapes);
  for (std::int64_t columns : {1008, 1009, 4096, 4097}) {
    const Dims dims = DimsOf(500, columns, 1000);
    const ConfigPredictor::Prediction prediction = PredictionAt(predictor, dims);
    ASSERT_FALSE(prediction.ranking.empty());
    EXPECT_EQ(is_wide(prediction.ranking.front()), !is_odd(dims)) << columns;
  }
}

TEST_F(ConfigPredictorTest, DimsThatRunOtherVariantsTellLessThanDistantOnesThatRunTheSame) {
  // With other variants the half of the configs that is the fastest else takes twice as long.
  auto is_wide = [&](std::size_t config) { return std::get<std::int64_t>(configs_[config].values()[2]) == 64; };
  std::vector<ConfigPredictor::Shape> shapes = Shapes(40);
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    shapes[s].variants = s % 2;
    for (std::size_t config = 0; config < configs_.size(); ++config) {
      if (is_wide(config)) shapes[s].times_us[config] *= s % 2 == 1 ? 2 : 0.5;
    }
  }
  const ConfigPredictor predictor = Predictor(shapes);
  for (const ConfigPredictor::Shape& shape : shapes) {
    const std::uint64_t other = 1 - shape.variants;
    const ConfigPredictor::Prediction prediction = PredictionAt(predictor, shape.dims, other);
    ASSERT_FALSE(prediction.ranking.empty());
    EXPECT_EQ(is_wide(prediction.ranking.front()), other == 0);
    EXPECT_EQ(shapes[prediction.nearest].variants, other);
  }
}

TEST_F(ConfigPredictorTest, ManyShapesThatAreAlikeDoNotHideAFewOthers) {
  std::vector<ConfigPredictor::Shape> shapes;
  for (int i = 0; i < 300; ++i) shapes.push_back(ShapeAt(DimsOf(4096 + i, 8192, 8192)));
  for (const ConfigPredictor::Shape& other : Shapes(20)) shapes.push_back(other);
  const ConfigPredictor predictor = Predictor(shapes);
  double first = 0;
  for (std::size_t i = 300; i < shapes.size(); ++i) {
    Dims near = shapes[i].dims;
    near[Dim{0}] += 1;
    first += Fraction(PredictionAt(predictor, near), near, 1) / 20;
  }
  EXPECT_GT(first, 0.95);
}

TEST_F(ConfigPredictorTest, ThreadsMayPredictAtATime) {
  const ConfigPredictor alone = Predictor(Shapes(60)), shared = Predictor(Shapes(60));
  std::vector<std::vector<std::size_t>> rankings(4);
  std::vector<std::thread> threads;
  for (std::vector<std::size_t>& ranking : rankings) {
    threads.emplace_back([&] { ranking = PredictionAt(shared, DimsOf(300, 4096, 1024)).ranking; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<std::size_t>& ranking : rankings) {
    EXPECT_EQ(ranking, PredictionAt(alone, DimsOf(300, 4096, 1024)).ranking);
  }
}

TEST_F(ConfigPredictorTest, EqualMeasurementsGiveEqualPredictions) {
  const ConfigPredictor a = Predictor(Shapes(30)), b = Predictor(Shapes(30));
  RandomNumbers random(9);
  for (int i = 0; i < 10; ++i) {
    const Dims dims = Drawn(&random);
    EXPECT_EQ(PredictionAt(a, dims).ranking, PredictionAt(b, dims).ranking);
  }
}

}  // namespace
}  // namespace tuneonce
