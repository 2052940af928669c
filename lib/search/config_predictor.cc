#include "search/config_predictor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <variant>

namespace tuneonce {
inline namespace v0 {
namespace {

/// Slowdowns above this, in octaves, count as this: the difference between slow configs does not help to tell fast ones
/// from slower ones.
constexpr float kSlowdownCap = 2;
constexpr float kNoSlowdown = -1;

/// The fastest kFastestOfShape configs of the nearest shapes are ranked, until there are kMostRanked.
constexpr std::size_t kFastestOfShape = 16;
constexpr std::size_t kMostRanked = 32;
constexpr std::size_t kNearShapes = 16;
/// The most shapes that a prediction is made of. A prediction's time grows with the third power of this.
constexpr std::size_t kMostPoints = 32;

/// The slowdown that is expected where nothing is known, for each octave of work more than the least (PriorsFor), and
/// the standard deviation of measured ones.
constexpr float kPriorSlowdown = 1;
constexpr float kPriorOfWork = 0.2F;
constexpr float kNoise = 0.1F;

// Inverse lengths of the kernel. They were chosen on benchmarks/results/tables. Logarithms are binary ones.
constexpr double kOfExtents = 0.053;
constexpr double kOfZeroBits = 0.106;
constexpr double kOfBlocks = 0.106;
constexpr double kOfWaves = 0.212;
constexpr double kOfDoubleWaves = 0.141;
constexpr double kOfPadding = 0.177;
constexpr double kOfSteps = 0.424;
constexpr double kOfStepPadding = 0.085;
constexpr int kMostZeroBits = 4;  // Alignment by more than 16 elements makes no difference.

double Log2(double value) { return value > 0 ? std::log2(value) : 0; }

/// Returns by how much, as a logarithm, steps of an extent exceed the extent that they cover.
double Excess(double extent, double step) { return Log2(std::ceil(extent / step) * step) - Log2(extent); }

std::vector<float> SlowdownsOf(const ConfigPredictor::Shape& shape) {
  double best_us = std::numeric_limits<double>::infinity();
  for (double time_us : shape.times_us) {
    if (time_us > 0) best_us = std::min(best_us, time_us);
  }
  std::vector<float> slowdowns;
  for (double time_us : shape.times_us) {
    const double slowdown = time_us > 0 ? std::log2(time_us / best_us) : static_cast<double>(kNoSlowdown);
    slowdowns.push_back(std::min(kSlowdownCap, static_cast<float>(slowdown)));
  }
  return slowdowns;
}

/// Returns the sum of `term(i)` for all i below `count`. Eight sums, so that a compiler can use vectors.
template <typename Term>
float Sum(std::size_t count, const Term& term) {
  constexpr std::size_t kLanes = 8;
  float sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += term(i + lane);
  }
  for (; i < count; ++i) sums[0] += term(i);
  return std::accumulate(sums, sums + kLanes, 0.0F);
}

float Dot(const float* a, const float* b, std::size_t count) {
  return Sum(count, [&](std::size_t i) { return a[i] * b[i]; });
}

float SquaredDistance(const std::vector<float>& a, const std::vector<float>& b) {
  return Sum(a.size(), [&](std::size_t i) { return (a[i] - b[i]) * (a[i] - b[i]); });
}

/// Returns the covariance of slowdowns at two points: a part that all of a config's slowdowns share, and a part that
/// falls with the distance.
float Covariance(float squared_distance) { return 1 + 1 / (1 + squared_distance); }

/// Replaces `*b` by the solution x of A x = b. `*a`: the lower triangle of the positive definite A, row by row, n by n,
/// which becomes its Cholesky factor.
void Solve(std::vector<float>* a, std::vector<float>* b) {
  const std::size_t n = b->size();
  float* const x = b->data();
  for (std::size_t i = 0; i < n; ++i) {
    float* const row = a->data() + i * n;
    for (std::size_t j = 0; j <= i; ++j) {
      const float* const other = a->data() + j * n;
      const float rest = row[j] - Dot(row, other, j);
      row[j] = i == j ? std::sqrt(std::max(rest, kNoise * kNoise / 4)) : rest / other[j];
    }
    x[i] = (x[i] - Dot(row, x, i)) / row[i];
  }
  for (std::size_t i = n; i-- > 0;) {
    const float* const row = a->data() + i * n;
    x[i] /= row[i];
    for (std::size_t j = 0; j < i; ++j) x[j] -= row[j] * x[i];
  }
}

}  // namespace

ConfigPredictor::ConfigPredictor(const KernelDefinition& definition, const Problem& like, std::vector<Config> configs,
                                 std::vector<Shape> shapes)
    : configs_(std::move(configs)), shapes_(std::move(shapes)) {
  const Result<std::vector<const Variant*>> variants = definition.VariantsFor(*like.target);
  for (const Config& config : configs_) {
    variants_.push_back(nullptr);
    if (!variants.ok()) continue;
    const auto found = std::find_if(variants->begin(), variants->end(), [&](const Variant* variant) {
      return !variant->launcher && variant->IsBackendOf(config);
    });
    if (found != variants->end()) variants_.back() = *found;
  }
  FindTiles(like);
  FindSteps();
  Problem problem = like;
  for (const Shape& shape : shapes_) {
    slowdowns_.push_back(SlowdownsOf(shape));
    shared_.push_back(SharedNumbers(shape.dims));
    problem.dims = shape.dims;
    const std::vector<double> blocks = BlocksAt(problem);
    priors_.push_back(PriorsFor(blocks, problem));
    std::vector<Numbers>& numbers = numbers_.emplace_back();
    for (std::size_t config = 0; config < configs_.size(); ++config) {
      numbers.push_back(NumbersOf(config, problem, blocks[config]));
    }
  }
}

double ConfigPredictor::BlocksOf(std::size_t config, const Problem& problem) const {
  if (variants_[config] == nullptr) return 0;
  const Dim3 grid = variants_[config]->geometry(configs_[config], problem).grid;
  return static_cast<double>(grid.x) * static_cast<double>(grid.y) * static_cast<double>(grid.z);
}

std::vector<double> ConfigPredictor::BlocksAt(const Problem& problem) const {
  std::vector<double> blocks;
  for (std::size_t config = 0; config < configs_.size(); ++config) blocks.push_back(BlocksOf(config, problem));
  return blocks;
}

std::vector<float> ConfigPredictor::PriorsFor(const std::vector<double>& blocks, const Problem& problem) const {
  if (!tiles_the_same_dims_) return std::vector<float>(configs_.size(), kPriorSlowdown);
  const double num_sms = std::max(1, problem.target->num_sms);
  std::vector<float> priors;
  for (std::size_t config = 0; config < configs_.size(); ++config) {
    double work = std::max(1.0, blocks[config] / num_sms);
    for (double tile : tiles_[config]) work *= std::max(1.0, tile);
    priors.push_back(static_cast<float>(Log2(work)));
  }
  const float least = *std::min_element(priors.begin(), priors.end());
  for (float& prior : priors) prior = std::min(kSlowdownCap, kPriorSlowdown + kPriorOfWork * (prior - least));
  return priors;
}

void ConfigPredictor::FindTiles(const Problem& like) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 16;
  for (std::size_t config = 0; config < configs_.size(); ++config) {
    std::vector<double>& tiles = tiles_.emplace_back();
    for (int dim = 0; dim < like.dims.count(); ++dim) {
      Problem problem = like;
      problem.dims[Dim{dim}] = 1;
      const double fewest = BlocksOf(config, problem);
      problem.dims[Dim{dim}] = kLarge;
      const double most = BlocksOf(config, problem);
      tiles.push_back(fewest > 0 && most > fewest ? static_cast<double>(kLarge) * fewest / most : 0);
    }
  }
  auto is_like_first = [&](const std::vector<double>& tiles) {
    auto is_tiled_alike = [](double a, double b) { return (a > 0) == (b > 0); };
    return std::equal(tiles.begin(), tiles.end(), tiles_.front().begin(), is_tiled_alike);
  };
  auto is_tiled = [](double tile) { return tile > 0; };
  tiles_the_same_dims_ = std::any_of(tiles_.front().begin(), tiles_.front().end(), is_tiled) &&
                         std::all_of(tiles_.begin(), tiles_.end(), is_like_first);
}

void ConfigPredictor::FindSteps() {
  steps_.resize(configs_.size());
  for (std::size_t axis = 0; axis < configs_.front().values().size(); ++axis) {
    if (configs_.front().Kind(axis) != AxisKind::kStructural) continue;
    std::vector<double> values;
    bool is_of_grid = true;
    for (std::size_t config = 0; config < configs_.size(); ++config) {
      const auto* number = std::get_if<std::int64_t>(&configs_[config].values()[axis]);
      if (number == nullptr) break;
      values.push_back(static_cast<double>(*number));
      is_of_grid &= std::any_of(tiles_[config].begin(), tiles_[config].end(), [&](double tile) {
        return std::abs(tile - values.back()) < 0.01 * tile;  // The last tile of FindTiles may not be full.
      });
    }
    if (values.size() < configs_.size() || is_of_grid) continue;
    for (std::size_t config = 0; config < configs_.size(); ++config) steps_[config].push_back(values[config]);
  }
}

ConfigPredictor::Numbers ConfigPredictor::SharedNumbers(const Dims& dims) {
  Numbers numbers;
  for (int dim = 0; dim < dims.count(); ++dim) {
    const std::int64_t extent = dims[Dim{dim}];
    int zero_bits = 0;
    while (zero_bits < kMostZeroBits && (extent >> zero_bits) % 2 == 0) ++zero_bits;
    numbers.push_back(static_cast<float>(kOfExtents * Log2(static_cast<double>(extent))));
    numbers.push_back(static_cast<float>(kOfZeroBits * zero_bits));
  }
  return numbers;
}

ConfigPredictor::Numbers ConfigPredictor::NumbersOf(std::size_t config, const Problem& problem, double blocks) const {
  Numbers numbers;
  auto add = [&](double number) { numbers.push_back(static_cast<float>(number)); };
  const double waves = blocks / std::max(1, problem.target->num_sms);
  add(kOfBlocks * Log2(blocks));
  add(kOfWaves * Log2(std::ceil(waves)));
  add(kOfDoubleWaves * Log2(std::ceil(waves / 2)));
  for (int dim = 0; dim < problem.dims.count(); ++dim) {
    const double tile = tiles_[config][static_cast<std::size_t>(dim)];
    const auto extent = static_cast<double>(problem.dims[Dim{dim}]);
    add(tile > 0 ? kOfPadding * Excess(extent, tile) : 0);
    for (double step : steps_[config]) {
      const bool is_step = tile == 0 && step > 1;
      add(is_step && extent > step ? kOfSteps : 0);
      add(is_step ? kOfStepPadding * Excess(extent, step) : 0);
    }
  }
  return numbers;
}

std::vector<std::size_t> ConfigPredictor::ByDistance(const Numbers& shared) const {
  std::vector<float> distances;
  for (const Numbers& of_shape : shared_) distances.push_back(SquaredDistance(of_shape, shared));
  std::vector<std::size_t> order(shapes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return distances[a] < distances[b]; });
  return order;
}

std::vector<std::size_t> ConfigPredictor::FastAt(const std::vector<std::size_t>& near) const {
  std::vector<std::size_t> found;
  std::vector<bool> is_found(configs_.size());
  for (std::size_t i = 0; i < std::min(kNearShapes, near.size()); ++i) {
    const std::vector<float>& slowdowns = slowdowns_[near[i]];
    std::vector<std::size_t> fast;
    for (std::size_t config = 0; config < configs_.size(); ++config) {
      if (slowdowns[config] != kNoSlowdown && slowdowns[config] < kSlowdownCap) fast.push_back(config);
    }
    std::stable_sort(fast.begin(), fast.end(),
                     [&](std::size_t a, std::size_t b) { return slowdowns[a] < slowdowns[b]; });
    if (fast.size() > kFastestOfShape) fast.resize(kFastestOfShape);
    for (std::size_t config : fast) {
      if (is_found[config] || found.size() == kMostRanked) continue;
      found.push_back(config);
      is_found[config] = true;
    }
  }
  return found;
}

std::vector<float> ConfigPredictor::SlowdownsAt(const Problem& problem, const Numbers& shared,
                                                const std::vector<std::size_t>& near,
                                                const std::vector<std::size_t>& configs) const {
  // By near shape: the shared part of its squared distances to the shapes before it and to itself, then to `shared`.
  std::vector<std::vector<float>> distances;
  for (std::size_t shape : near) {
    std::vector<float>& row = distances.emplace_back();
    for (std::size_t i = 0; i < distances.size(); ++i) {
      row.push_back(SquaredDistance(shared_[shape], shared_[near[i]]));
    }
    row.push_back(SquaredDistance(shared_[shape], shared));
  }
  const std::vector<double> blocks = BlocksAt(problem);
  const std::vector<float> priors = PriorsFor(blocks, problem);
  std::vector<float> slowdowns;
  for (std::size_t config : configs) {
    std::vector<std::size_t> known;  // Indices in `near`.
    for (std::size_t i = 0; i < near.size(); ++i) {
      if (slowdowns_[near[i]][config] != kNoSlowdown) known.push_back(i);
    }
    auto numbers = [&](std::size_t i) -> const Numbers& { return numbers_[near[known[i]]][config]; };
    const std::size_t n = known.size();
    std::vector<float> covariances(n * n), weights(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        const float distance = distances[known[i]][known[j]] + SquaredDistance(numbers(i), numbers(j));
        covariances[i * n + j] = Covariance(distance) + (i == j ? kNoise * kNoise : 0);
      }
      weights[i] = slowdowns_[near[known[i]]][config] - priors_[near[known[i]]][config];
    }
    Solve(&covariances, &weights);
    const Numbers here = NumbersOf(config, problem, blocks[config]);
    float slowdown = priors[config];
    for (std::size_t i = 0; i < n; ++i) {
      slowdown += weights[i] * Covariance(distances[known[i]].back() + SquaredDistance(numbers(i), here));
    }
    slowdowns.push_back(slowdown);
  }
  return slowdowns;
}

ConfigPredictor::Prediction ConfigPredictor::Predict(const Problem& problem) const {
  const Numbers shared = SharedNumbers(problem.dims);
  std::vector<std::size_t> near = ByDistance(shared);
  Prediction prediction;
  prediction.nearest = near.front();
  prediction.ranking = FastAt(near);
  prediction.is_by_model = shapes_.size() >= kFewestShapes;
  if (!prediction.is_by_model || prediction.ranking.empty()) return prediction;
  near.resize(std::min(near.size(), kMostPoints));
  const std::vector<float> expected = SlowdownsAt(problem, shared, near, prediction.ranking);
  std::vector<float> slowdowns(configs_.size());
  for (std::size_t i = 0; i < expected.size(); ++i) slowdowns[prediction.ranking[i]] = expected[i];
  std::stable_sort(prediction.ranking.begin(), prediction.ranking.end(),
                   [&](std::size_t a, std::size_t b) { return slowdowns[a] < slowdowns[b]; });
  prediction.slowdown = std::exp2(static_cast<double>(std::max(0.0F, slowdowns[prediction.ranking.front()])));
  return prediction;
}

}  // namespace v0
}  // namespace tuneonce
