#include <algorithm>
#include <utility>

#include "definition/config_set_contents.h"
#include "tuneonce/config.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The part of a factor whose combinations have the values that were chosen so far.
struct Range {
  std::int64_t first = 0;  // Indices of combinations.
  std::int64_t last = 0;
  std::int64_t base = 0;  // The position that the chosen values add up to.
  std::size_t next_axis = 0;

  std::int64_t count() const { return last - first; }
};

/// Returns the index of the first combination at or behind a position.
std::int64_t LowerBound(const ConfigSet::Contents::Factor& factor, const Range& in, std::int64_t position) {
  if (factor.is_whole) return std::clamp(position, in.first, in.last);
  const auto begin = factor.positions.begin();
  return std::lower_bound(begin + in.first, begin + in.last, position) - begin;
}

}  // namespace

ConfigSet::ConfigSet(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

std::int64_t ConfigSet::size() const { return contents_ == nullptr ? 0 : contents_->size; }

Config ConfigSet::At(std::int64_t index) const {
  if (contents_->is_list) return Config(contents_->axes, contents_->list[static_cast<std::size_t>(index)]);
  return Config(contents_->axes, contents_->ValuesAt(index));
}

// The configs are in the order of the axes, but the factors may interleave. So the value of one axis after the other is
// chosen: among the configs that remain, those with one value of the axis are consecutive, and there are as many as the
// combinations of its factor with that value, times those that remain of the other factors.
std::vector<AxisValue> ConfigSet::Contents::ValuesAt(std::int64_t index) const {
  std::vector<Range> ranges;
  for (const Factor& factor : factors) ranges.push_back(Range{0, factor.size, 0, 0});
  std::vector<AxisValue> values(axes->axes.size());
  std::int64_t remaining = size;
  for (std::size_t axis = 0; axis < values.size(); ++axis) {
    const Factor& factor = factors[factor_of[axis]];
    Range& range = ranges[factor_of[axis]];
    const std::int64_t others = remaining / range.count();
    const std::int64_t stride = factor.strides[range.next_axis++];
    const std::int64_t at = range.first + index / others;
    const std::int64_t position = factor.is_whole ? at : factor.positions[static_cast<std::size_t>(at)];
    const std::int64_t value = (position - range.base) / stride;
    const std::int64_t begin = range.base + value * stride;
    Range part = {LowerBound(factor, range, begin), LowerBound(factor, range, begin + stride), begin, range.next_axis};
    index -= (part.first - range.first) * others;
    remaining = part.count() * others;
    range = part;
    values[axis] = axes->axes[axis].values[static_cast<std::size_t>(value)];
  }
  return values;
}

}  // namespace v0
}  // namespace tuneonce
