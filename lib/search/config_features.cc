#include "search/config_features.h"

#include <algorithm>
#include <cmath>
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

/// Replaces each number by the rank of its value. Numbers that differ by rounding alone have one rank.
std::vector<std::uint16_t> Ranks(const std::vector<float>& numbers) {
  constexpr float kRounding = 1e-4F;  // For logarithms of values up to 2^32.
  std::vector<float> sorted = numbers;
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
      const std::size_t a = quantities[first];
      const std::size_t b = quantities[second];
      std::vector<float> products(space.num_configs());
      std::vector<float> quotients(space.num_configs());
      for (std::size_t config = 0; config < space.num_configs(); ++config) {
        const double log_a = std::log(space.axes[a].values[space.config(config)[a]]);
        const double log_b = std::log(space.axes[b].values[space.config(config)[b]]);
        products[config] = static_cast<float>(log_a + log_b);
        quotients[config] = static_cast<float>(log_a - log_b);
      }
      columns->push_back(Ranks(products));
      columns->push_back(Ranks(quotients));
    }
  }
}

}  // namespace v0
}  // namespace tuneonce
