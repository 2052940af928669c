#include "search/config_features.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

namespace tuneonce {
inline namespace v0 {
namespace {

/// The most pairs of axes: a space with more pairs than this (of more than twelve such axes) does without the others.
constexpr std::size_t kMostPairs = 66;

bool IsConstant(const std::vector<std::uint16_t>& column) {
  return std::all_of(column.begin(), column.end(), [&](std::uint16_t value) { return value == column.front(); });
}

/// Returns whether products and quotients of the axis' values can mean something.
bool IsQuantity(const StrategyAxis& axis) {
  return axis.kind == StrategyAxis::Kind::kOrdinal && axis.values.size() >= 3 &&
         std::all_of(axis.values.begin(), axis.values.end(), [](double value) { return value > 0; });
}

/// Returns by value the exponent of the largest power of two that divides it. Empty if some value has a fraction, or if
/// a larger value never has a smaller exponent: then, as for powers of two, the order of the values decides.
std::vector<std::uint16_t> Alignments(const StrategyAxis& axis) {
  constexpr double kMostExact = 0x1p53;  // Up to it a double holds every integer.
  std::vector<std::uint16_t> exponents;
  for (double value : axis.values) {
    if (value != std::floor(value) || value > kMostExact) return {};
    std::uint16_t exponent = 0;
    while (std::fmod(value, 2) == 0) {
      value /= 2;
      ++exponent;
    }
    exponents.push_back(exponent);
  }
  if (std::is_sorted(exponents.begin(), exponents.end())) return {};
  return exponents;
}

/// The pairs of values that configs have on two axes: far fewer than configs in a large space.
class ValuePairs {
 public:
  ValuePairs(const StrategySpace& space, std::size_t a, std::size_t b)
      : space_(space), a_(a), b_(b), is_dense_(SizeOf(a) * SizeOf(b) <= space.num_configs()) {
    config_of_.resize(is_dense_ ? SizeOf(a) * SizeOf(b) : space.num_configs(), kNone);
    for (std::size_t config = 0; config < space.num_configs(); ++config) config_of_[PairOf(config)] = config;
  }

  /// Returns by config the rank of the number that `number(log_a, log_b)` makes of its values' logarithms.
  template <typename NumberFn>
  std::vector<std::uint16_t> RanksOf(const NumberFn& number) const;

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  std::size_t SizeOf(std::size_t axis) const { return space_.axes[axis].values.size(); }
  double LogOf(std::size_t config, std::size_t axis) const {
    return std::log(space_.axes[axis].values[space_.config(config)[axis]]);
  }
  std::size_t PairOf(std::size_t config) const {
    return is_dense_ ? space_.config(config)[a_] * SizeOf(b_) + space_.config(config)[b_] : config;
  }

  const StrategySpace& space_;
  const std::size_t a_, b_;
  const bool is_dense_;                 // Else each config counts as a pair of its own.
  std::vector<std::size_t> config_of_;  // One that has the pair, or kNone.
};

/// Replaces each number by the rank of its value among the finite ones. Numbers that differ by rounding alone have one
/// rank.
std::vector<std::uint16_t> Ranks(const std::vector<float>& numbers) {
  constexpr float kRounding = 1e-4F;  // For logarithms of values up to 2^32.
  std::vector<float> sorted;
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(sorted), [](float n) { return std::isfinite(n); });
  std::sort(sorted.begin(), sorted.end());
  std::vector<float> distinct;
  for (float number : sorted) {
    if (distinct.empty() || number > distinct.back() + kRounding) distinct.push_back(number);
  }
  std::vector<std::uint16_t> ranks(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    auto above = std::upper_bound(distinct.begin(), distinct.end(), numbers[i]);
    ranks[i] = static_cast<std::uint16_t>(std::min<std::ptrdiff_t>(above - distinct.begin() - 1, UINT16_MAX));
  }
  return ranks;
}

template <typename NumberFn>
std::vector<std::uint16_t> ValuePairs::RanksOf(const NumberFn& number) const {
  std::vector<float> numbers(config_of_.size(), std::numeric_limits<float>::infinity());
  for (std::size_t pair = 0; pair < numbers.size(); ++pair) {
    const std::size_t config = config_of_[pair];
    if (config != kNone) numbers[pair] = static_cast<float>(number(LogOf(config, a_), LogOf(config, b_)));
  }
  const std::vector<std::uint16_t> ranks = Ranks(numbers);
  std::vector<std::uint16_t> by_config(space_.num_configs());
  for (std::size_t config = 0; config < by_config.size(); ++config) by_config[config] = ranks[PairOf(config)];
  return by_config;
}

}  // namespace

ConfigFeatures::ConfigFeatures(const StrategySpace& space) {
  std::vector<Column> columns = AxisColumns(space);
  AddAlignments(space, &columns);
  AddPairs(space, &columns);
  columns.erase(std::remove_if(columns.begin(), columns.end(), IsConstant), columns.end());
  rows_.num_features = columns.size();
  rows_.values.resize(space.num_configs() * columns.size());
  for (std::size_t f = 0; f < columns.size(); ++f) {
    for (std::size_t config = 0; config < space.num_configs(); ++config) {
      rows_.values[config * columns.size() + f] = columns[f][config];
    }
  }
}

std::vector<ConfigFeatures::Column> ConfigFeatures::AxisColumns(const StrategySpace& space) {
  std::vector<Column> columns;
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    Column column(space.num_configs());
    for (std::size_t config = 0; config < column.size(); ++config) column[config] = space.config(config)[a];
    const StrategyAxis& axis = space.axes[a];
    if (axis.kind == StrategyAxis::Kind::kOrdinal || axis.values.size() <= 2) {
      columns.push_back(std::move(column));
      continue;
    }
    for (std::size_t value = 0; value < axis.values.size(); ++value) {
      Column has_value(column.size());
      std::transform(column.begin(), column.end(), has_value.begin(),
                     [&](std::uint16_t index) { return static_cast<std::uint16_t>(index == value ? 1 : 0); });
      columns.push_back(std::move(has_value));
    }
  }
  return columns;
}

void ConfigFeatures::AddAlignments(const StrategySpace& space, std::vector<Column>* columns) {
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    if (!IsQuantity(space.axes[a])) continue;
    const std::vector<std::uint16_t> alignments = Alignments(space.axes[a]);
    if (alignments.empty()) continue;
    Column column(space.num_configs());
    for (std::size_t config = 0; config < column.size(); ++config) column[config] = alignments[space.config(config)[a]];
    columns->push_back(std::move(column));
  }
}

void ConfigFeatures::AddPairs(const StrategySpace& space, std::vector<Column>* columns) {
  std::vector<std::size_t> quantities;
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    if (IsQuantity(space.axes[a])) quantities.push_back(a);
  }
  std::size_t num_pairs = 0;
  for (std::size_t second = 1; second < quantities.size(); ++second) {
    for (std::size_t first = 0; first < second && num_pairs < kMostPairs; ++first, ++num_pairs) {
      const ValuePairs pairs(space, quantities[first], quantities[second]);
      columns->push_back(pairs.RanksOf([](double log_a, double log_b) { return log_a + log_b; }));
      columns->push_back(pairs.RanksOf([](double log_a, double log_b) { return log_a - log_b; }));
    }
  }
}

}  // namespace v0
}  // namespace tuneonce
