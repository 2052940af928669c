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
/// The most shapes that the process of a config is made of. The time to solve it grows with the third power of this.
constexpr std::size_t kMostPoints = 192;

/// The slowdown that is expected where nothing is known, for each octave of work more than the least (PriorsFor), and
/// the standard deviation of measured ones.
constexpr float kPriorSlowdown = 1;
constexpr float kPriorOfWork = 0.25F;
constexpr float kNoise = 0.115F;

// Inverse lengths of the kernel. They were chosen on benchmarks/results/tables, as were the constants above and the
// exponent of Covariance. Logarithms are binary ones.
constexpr double kOfExtents = 0.07;
constexpr double kOfZeroBits = 0.05;
constexpr double kOfBlocks = 0.1;
constexpr double kOfWaves = 0.42;
constexpr double kOfDoubleWaves = 0.38;
constexpr double kOfSteps = 1.1;
constexpr double kOfStepPadding = 0.2;
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

/// Returns the covariance of slowdowns at two points: a part that all of a config's slowdowns share, and the rational
/// quadratic kernel.
float Covariance(float squared_distance) { return 1 + 2 / std::sqrt(std::sqrt(std::sqrt(1 + squared_distance))); }

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
    places_.push_back(PlaceOf(shape.dims, shape.variants));
    problem.dims = shape.dims;
    const std::vector<double> blocks = BlocksAt(problem);
    priors_.push_back(PriorsFor(blocks, problem));
    std::vector<Numbers>& numbers = numbers_.emplace_back();
    for (std::size_t config = 0; config < configs_.size(); ++config) {
      numbers.push_back(NumbersOf(config, problem, blocks[config]));
    }
    fastest_.push_back(FastestAt(slowdowns_.size() - 1));
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

ConfigPredictor::Place ConfigPredictor::PlaceOf(const Dims& dims, std::uint64_t variants) {
  Place place{variants, {}};
  for (int dim = 0; dim < dims.count(); ++dim) {
    const std::int64_t extent = dims[Dim{dim}];
    int zero_bits = 0;
    while (zero_bits < kMostZeroBits && (extent >> zero_bits) % 2 == 0) ++zero_bits;
    place.numbers.push_back(static_cast<float>(kOfExtents * Log2(static_cast<double>(extent))));
    place.numbers.push_back(static_cast<float>(kOfZeroBits * zero_bits));
  }
  return place;
}

float ConfigPredictor::Place::DistanceTo(const Place& other) const {
  return variants == other.variants ? SquaredDistance(numbers, other.numbers) : std::numeric_limits<float>::infinity();
}

ConfigPredictor::Numbers ConfigPredictor::NumbersOf(std::size_t config, const Problem& problem, double blocks) const {
  Numbers numbers;
  auto add = [&](double number) { numbers.push_back(static_cast<float>(number)); };
  const double waves = blocks / std::max(1, problem.target->num_sms);
  add(kOfBlocks * Log2(blocks));
  add(kOfWaves * Log2(std::ceil(waves)));
  add(kOfDoubleWaves * Log2(std::ceil(waves / 2)));
  for (int dim = 0; dim < problem.dims.count(); ++dim) {
    const bool is_tiled = tiles_[config][static_cast<std::size_t>(dim)] > 0;
    const auto extent = static_cast<double>(problem.dims[Dim{dim}]);
    for (double step : steps_[config]) {
      const bool is_step = !is_tiled && step > 1;
      add(is_step && extent > step ? kOfSteps : 0);
      add(is_step ? kOfStepPadding * Excess(extent, step) : 0);
    }
  }
  return numbers;
}

std::vector<std::size_t> ConfigPredictor::ByDistance(const Place& place) const {
  std::vector<std::pair<bool, float>> distances;  // Those that run other variants are last.
  for (const Place& each : places_) {
    distances.emplace_back(each.variants != place.variants, SquaredDistance(each.numbers, place.numbers));
  }
  std::vector<std::size_t> order(shapes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return distances[a] < distances[b]; });
  return order;
}

std::vector<std::size_t> ConfigPredictor::FastestAt(std::size_t shape) const {
  const std::vector<float>& slowdowns = slowdowns_[shape];
  std::vector<std::size_t> fastest;
  for (std::size_t config = 0; config < configs_.size(); ++config) {
    if (slowdowns[config] != kNoSlowdown && slowdowns[config] < kSlowdownCap) fastest.push_back(config);
  }
  std::stable_sort(fastest.begin(), fastest.end(),
                   [&](std::size_t a, std::size_t b) { return slowdowns[a] < slowdowns[b]; });
  if (fastest.size() > kFastestOfShape) fastest.resize(kFastestOfShape);
  return fastest;
}

std::vector<std::size_t> ConfigPredictor::FastestNear(const std::vector<std::size_t>& near) const {
  std::vector<std::size_t> found;
  std::vector<bool> is_found(configs_.size());
  for (std::size_t i = 0; i < std::min(kNearShapes, near.size()); ++i) {
    for (std::size_t config : fastest_[near[i]]) {
      if (is_found[config] || found.size() == kMostRanked) continue;
      found.push_back(config);
      is_found[config] = true;
    }
  }
  return found;
}

std::vector<std::size_t> ConfigPredictor::PointsOf(std::size_t config) const {
  std::vector<std::size_t> known;
  for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
    if (slowdowns_[shape][config] != kNoSlowdown) known.push_back(shape);
  }
  if (known.size() <= kMostPoints) return known;
  std::vector<std::size_t> points;
  std::vector<float> distances(known.size(), std::numeric_limits<float>::infinity());  // To the nearest of `points`.
  while (points.size() < kMostPoints) {
    const auto farthest = std::max_element(distances.begin(), distances.end());
    points.push_back(known[static_cast<std::size_t>(farthest - distances.begin())]);
    for (std::size_t i = 0; i < known.size(); ++i) {
      distances[i] = std::min(distances[i], places_[known[i]].DistanceTo(places_[points.back()]));
    }
    *farthest = -1;
  }
  return points;
}

ConfigPredictor::Process ConfigPredictor::Solved(std::size_t config) const {
  Process process;
  process.points = PointsOf(config);
  const std::size_t n = process.points.size();
  std::vector<float> covariances(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t shape = process.points[i];
    for (std::size_t j = 0; j <= i; ++j) {
      const std::size_t other = process.points[j];
      const float distance =
          places_[shape].DistanceTo(places_[other]) + SquaredDistance(numbers_[shape][config], numbers_[other][config]);
      covariances[i * n + j] = Covariance(distance) + (i == j ? kNoise * kNoise : 0);
    }
    process.weights.push_back(slowdowns_[shape][config] - priors_[shape][config]);
  }
  Solve(&covariances, &process.weights);
  return process;
}

const ConfigPredictor::Process& ConfigPredictor::ProcessOf(std::size_t config) const {
  {
    MutexLock lock(mutex_);
    if (auto found = processes_.find(config); found != processes_.end()) return found->second;
  }
  Process solved = Solved(config);  // Without the lock, so that no other prediction waits for it.
  MutexLock lock(mutex_);
  return processes_.try_emplace(config, std::move(solved)).first->second;
}

std::vector<float> ConfigPredictor::SlowdownsAt(const Problem& problem, const Place& place,
                                                const std::vector<std::size_t>& configs) const {
  std::vector<float> distances;
  for (const Place& each : places_) distances.push_back(each.DistanceTo(place));
  const std::vector<double> blocks = BlocksAt(problem);
  std::vector<float> slowdowns = PriorsFor(blocks, problem);
  for (std::size_t config : configs) {
    const Numbers here = NumbersOf(config, problem, blocks[config]);
    const Process& process = ProcessOf(config);
    for (std::size_t i = 0; i < process.points.size(); ++i) {
      const std::size_t shape = process.points[i];
      const float distance = distances[shape] + SquaredDistance(numbers_[shape][config], here);
      slowdowns[config] += process.weights[i] * Covariance(distance);
    }
  }
  return slowdowns;
}

ConfigPredictor::Prediction ConfigPredictor::Predict(const Problem& problem, std::uint64_t variants) const {
  const Place place = PlaceOf(problem.dims, variants);
  const std::vector<std::size_t> near = ByDistance(place);
  Prediction prediction;
  prediction.nearest = near.front();
  prediction.ranking = FastestNear(near);
  prediction.is_by_model = shapes_.size() >= kFewestShapes;
  if (!prediction.is_by_model || prediction.ranking.empty()) return prediction;
  const std::vector<float> slowdowns = SlowdownsAt(problem, place, prediction.ranking);
  std::stable_sort(prediction.ranking.begin(), prediction.ranking.end(),
                   [&](std::size_t a, std::size_t b) { return slowdowns[a] < slowdowns[b]; });
  prediction.slowdown = std::exp2(static_cast<double>(std::max(0.0F, slowdowns[prediction.ranking.front()])));
  return prediction;
}

}  // namespace v0
}  // namespace tuneonce
