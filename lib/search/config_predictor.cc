#include "search/config_predictor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

#include "search/random_numbers.h"
#include "search/strategy_run.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Slowdowns are logarithms to base 2. A config that is four times as slow as the best, or fails, is not to be told
/// from slower ones.
constexpr float kSlowdownCap = 2;
constexpr float kNoSlowdown = -1;
constexpr std::size_t kNoShape = std::numeric_limits<std::size_t>::max();

constexpr int kModelTrees = 24;
constexpr double kModelFeatures = 0.35;
/// The most samples of all shapes, so that a model is made in milliseconds. Of a shape with more, the fastest half
/// count and a random sample of the others.
constexpr std::size_t kMostModelSamples = 4000;
/// The fastest kFastestOfShape configs of the kNearShapes nearest shapes are ranked.
constexpr std::size_t kFastestOfShape = 16;
constexpr std::size_t kNearShapes = 16;
/// A spread of the distance, in octaves, within which shapes are about as near as others.
constexpr double kSpread = 0.25;
/// Axes and dims have more pairs than this in kernels with many dims, of which the first ones count.
constexpr std::size_t kMostTilings = 24;

/// Puts the logarithm of a feature on a scale of integers, with steps of less than 0.3 %.
std::uint16_t Scaled(double logarithm) {
  constexpr double kStep = 1.0 / 256;
  constexpr double kZero = 64;  // Logarithms from -64 to 192.
  return static_cast<std::uint16_t>(std::clamp((logarithm + kZero) / kStep, 0.0, 65535.0));
}

double Log2(double value) { return value > 0 ? std::log2(value) : -60; }

std::vector<float> SlowdownsOf(const ConfigPredictor::Shape& shape) {
  double best_us = std::numeric_limits<double>::infinity();
  for (double time_us : shape.times_us) {
    if (time_us > 0) best_us = std::min(best_us, time_us);
  }
  std::vector<float> slowdowns;
  for (double time_us : shape.times_us) {
    const auto slowdown = static_cast<float>(std::isinf(time_us) ? kSlowdownCap : std::log2(time_us / best_us));
    slowdowns.push_back(time_us > 0 ? std::min(slowdown, kSlowdownCap) : kNoSlowdown);
  }
  return slowdowns;
}

/// Returns the value of each config's axis as a number, or nothing if one has another type.
std::vector<double> NumbersOf(const std::vector<Config>& configs, std::size_t axis) {
  std::vector<double> numbers;
  for (const Config& config : configs) {
    const auto* number = std::get_if<std::int64_t>(&config.values()[axis]);
    if (number == nullptr) return {};
    numbers.push_back(static_cast<double>(*number));
  }
  return numbers;
}

}  // namespace

ConfigPredictor::ConfigPredictor(const KernelDefinition& definition, const Problem& like, std::vector<Config> configs,
                                 std::vector<Shape> shapes)
    : definition_(definition),
      configs_(std::move(configs)),
      shapes_(std::move(shapes)),
      features_(StrategySpaceOf(configs_)),
      occupancies_(configs_.size(), 1) {
  for (const Shape& shape : shapes_) slowdowns_.push_back(SlowdownsOf(shape));
  FindTilings(like.dims.count());
  const Result<std::vector<const Variant*>> variants = definition_.VariantsFor(*like.target);
  for (const Config& config : configs_) {
    variants_.push_back(nullptr);
    if (!variants.ok()) continue;
    auto found = std::find_if(variants->begin(), variants->end(), [&](const Variant* variant) {
      return !variant->launcher && variant->IsBackendOf(config);
    });
    if (found != variants->end()) variants_.back() = *found;
  }
  if (shapes_.size() >= kFewestShapes) Fit(like);
}

void ConfigPredictor::FindTilings(int num_dims) {
  const std::size_t num_axes = configs_.front().values().size();
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    std::vector<double> numbers = NumbersOf(configs_, axis);
    if (numbers.empty()) continue;
    if (configs_.front().AxisName(axis) == "occupancy") occupancies_ = numbers;
    if (configs_.front().Kind(axis) != AxisKind::kStructural) continue;
    if (*std::min_element(numbers.begin(), numbers.end()) < 1) continue;
    for (int dim = 0; dim < num_dims && tilings_.size() < kMostTilings; ++dim) {
      tilings_.push_back({Dim{dim}, numbers});
    }
  }
}

double ConfigPredictor::Distance(const Dims& a, const Dims& b) const {
  double squares = 0;
  for (int dim = 0; dim < a.count(); ++dim) {
    const double difference = Log2(static_cast<double>(a[Dim{dim}])) - Log2(static_cast<double>(b[Dim{dim}]));
    squares += difference * difference;
  }
  return std::sqrt(squares);
}

std::vector<std::size_t> ConfigPredictor::ByDistance(const Dims& dims, std::size_t left_out) const {
  std::vector<double> distances;
  for (const Shape& shape : shapes_) distances.push_back(Distance(shape.dims, dims));
  std::vector<std::size_t> order(shapes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (left_out != kNoShape) order.erase(order.begin() + static_cast<std::ptrdiff_t>(left_out));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return distances[a] < distances[b]; });
  return order;
}

std::vector<float> ConfigPredictor::SlowdownsNear(const Dims& dims, std::size_t left_out) const {
  std::vector<double> sums(configs_.size(), 0);
  std::vector<double> weights(configs_.size(), 0);
  for (std::size_t s = 0; s < shapes_.size(); ++s) {
    if (s == left_out) continue;
    const double distance = Distance(shapes_[s].dims, dims);
    const double weight = std::pow(kSpread * kSpread + distance * distance, -2);
    for (std::size_t config = 0; config < configs_.size(); ++config) {
      if (slowdowns_[s][config] == kNoSlowdown) continue;
      sums[config] += weight * static_cast<double>(slowdowns_[s][config]);
      weights[config] += weight;
    }
  }
  std::vector<float> slowdowns;
  for (std::size_t config = 0; config < configs_.size(); ++config) {
    slowdowns.push_back(weights[config] > 0 ? static_cast<float>(sums[config] / weights[config]) : kSlowdownCap);
  }
  return slowdowns;
}

double ConfigPredictor::BlocksOf(std::size_t config, const Problem& problem) const {
  if (variants_[config] == nullptr) return 0;
  const Dim3 grid = variants_[config]->geometry(configs_[config], problem).grid;
  return static_cast<double>(grid.x) * static_cast<double>(grid.y) * static_cast<double>(grid.z);
}

void ConfigPredictor::AddFeatures(std::size_t config, const Problem& problem, float slowdown_near,
                                  std::vector<std::uint16_t>* values) const {
  const std::uint16_t* of_config = features_.rows().of(config);
  values->insert(values->end(), of_config, of_config + features_.rows().num_features);
  auto add = [&](double logarithm) { values->push_back(Scaled(logarithm)); };
  for (int dim = 0; dim < problem.dims.count(); ++dim) add(Log2(static_cast<double>(problem.dims[Dim{dim}])));
  const double operations = definition_.WorkOperations(problem);
  const double bytes = definition_.WorkBytes(problem);
  add(Log2(operations));
  add(Log2(bytes));
  add(Log2(operations) - Log2(bytes));
  for (const Tiling& tiling : tilings_) {
    const auto extent = static_cast<double>(problem.dims[tiling.dim]);
    const double tiles = std::ceil(extent / tiling.extents[config]);
    add(Log2(tiles));
    add(Log2(tiles * tiling.extents[config]) - Log2(extent));
  }
  const double blocks = BlocksOf(config, problem);
  const double at_a_time = std::max(1, problem.target->num_sms) * occupancies_[config];
  const double waves = blocks / at_a_time;
  add(Log2(blocks));
  add(Log2(waves));
  add(blocks > 0 ? Log2(waves / std::ceil(waves)) : 0);
  add(Log2(operations) - Log2(blocks));
  add(static_cast<double>(slowdown_near));
}

void ConfigPredictor::Fit(const Problem& like) {
  RandomNumbers random(/*seed=*/1);
  FeatureRows rows;
  std::vector<RegressionTrees::Sample> samples;
  const std::size_t most_of_shape = std::max(2 * kFastestOfShape, kMostModelSamples / shapes_.size());
  for (std::size_t s = 0; s < shapes_.size(); ++s) {
    std::vector<std::size_t> known;
    for (std::size_t config = 0; config < configs_.size(); ++config) {
      if (slowdowns_[s][config] != kNoSlowdown) known.push_back(config);
    }
    std::stable_sort(known.begin(), known.end(),
                     [&](std::size_t a, std::size_t b) { return slowdowns_[s][a] < slowdowns_[s][b]; });
    for (std::size_t i = most_of_shape / 2; i < most_of_shape && known.size() > most_of_shape; ++i) {
      std::swap(known[i], known[i + random.Below(known.size() - i)]);
    }
    known.resize(std::min(known.size(), most_of_shape));
    const std::vector<float> near = SlowdownsNear(shapes_[s].dims, /*left_out=*/s);
    Problem problem = like;
    problem.dims = shapes_[s].dims;
    for (std::size_t config : known) {
      samples.push_back({samples.size(), slowdowns_[s][config]});
      AddFeatures(config, problem, near[config], &rows.values);
    }
  }
  rows.num_features = rows.values.size() / samples.size();
  trees_ = std::make_unique<const RegressionTrees>(rows, samples, kModelTrees, kModelFeatures, &random);
}

ConfigPredictor::Prediction ConfigPredictor::Predict(const Problem& problem) const {
  Prediction prediction;
  const std::vector<std::size_t> order = ByDistance(problem.dims, kNoShape);
  prediction.nearest = order.front();
  prediction.is_by_model = trees_ != nullptr;
  std::vector<bool> is_ranked(configs_.size());
  for (std::size_t i = 0; i < std::min(kNearShapes, order.size()); ++i) {
    const std::vector<float>& slowdowns = slowdowns_[order[i]];
    std::vector<std::size_t> fast;
    for (std::size_t config = 0; config < configs_.size(); ++config) {
      if (slowdowns[config] != kNoSlowdown && slowdowns[config] < kSlowdownCap) fast.push_back(config);
    }
    std::stable_sort(fast.begin(), fast.end(),
                     [&](std::size_t a, std::size_t b) { return slowdowns[a] < slowdowns[b]; });
    fast.resize(std::min(fast.size(), kFastestOfShape));
    // Without a model this is the ranking.
    for (std::size_t config : fast) {
      if (!is_ranked[config]) prediction.ranking.push_back(config);
      is_ranked[config] = true;
    }
  }
  if (trees_ == nullptr || prediction.ranking.empty()) return prediction;
  const std::vector<float> near = SlowdownsNear(problem.dims, kNoShape);
  std::vector<float> predicted(configs_.size(), kSlowdownCap);
  for (std::size_t config : prediction.ranking) {
    std::vector<std::uint16_t> features;
    AddFeatures(config, problem, near[config], &features);
    float sum = 0;
    for (int tree = 0; tree < kModelTrees; ++tree) sum += trees_->Predict(tree, features.data());
    predicted[config] = sum / kModelTrees;
  }
  std::stable_sort(prediction.ranking.begin(), prediction.ranking.end(),
                   [&](std::size_t a, std::size_t b) { return predicted[a] < predicted[b]; });
  prediction.slowdown = std::exp2(static_cast<double>(predicted[prediction.ranking.front()]));
  return prediction;
}

}  // namespace v0
}  // namespace tuneonce
