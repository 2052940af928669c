#include "definition/space_walk.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Factor = ConfigSet::Contents::Factor;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::int64_t SaturatingProduct(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}

/// The number that a term reads for a value of an axis. Terms do not read other axes.
std::int64_t NumberOf(const AxisValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  const auto* truth = std::get_if<bool>(&value);
  return truth != nullptr && *truth ? 1 : 0;
}

}  // namespace

SpaceWalk::SpaceWalk(std::shared_ptr<AxisTable> axes, const std::vector<const NamedCondition*>& conditions,
                     const Problem& problem, Drops* drops, bool first_only)
    : axes_(std::move(axes)), problem_(problem), drops_(drops), first_only_(first_only) {
  const std::size_t count = axes_->axes.size();
  point_.values.resize(count);
  point_.indices.resize(count);
  point_.bounds.resize(count);
  point_.index_bounds.resize(count);
  for (std::size_t axis = 0; axis < count; ++axis) {
    TermProgram::Bounds range = {kMost, Term::kNoValue};
    for (const AxisValue& value : axes_->axes[axis].values) {
      range.low = std::min(range.low, NumberOf(value));
      range.high = std::max(range.high, NumberOf(value));
    }
    ranges_.push_back(range);
    Free(axis);
  }
  for (const NamedCondition* named : conditions) AddRules(*named);
}

void SpaceWalk::AddRules(const NamedCondition& named) {
  for (Condition& part : named.condition.Conjuncts()) {
    Rule rule{&named, {}, nullptr, std::move(part)};
    const ConditionReads reads = rule.condition.reads();
    if (reads.any_axis) {
      for (std::size_t axis = 0; axis < axes_->axes.size(); ++axis) rule.axes.push_back(axis);
    } else {
      rule.axes.assign(reads.axes.begin(), reads.axes.end());
    }
    if (!reads.function) {
      rule.program = std::make_unique<TermProgram>(rule.condition, *axes_, problem_);
    }
    rules_.push_back(std::move(rule));
  }
}

Result<ConfigSet> SpaceWalk::Run() {
  auto contents = std::make_shared<ConfigSet::Contents>();
  contents->axes = axes_;
  contents->factor_of.resize(axes_->axes.size());
  contents->size = 1;
  std::int64_t points = 1;
  for (std::size_t axis = 0; axis < axes_->axes.size(); ++axis) points = SaturatingProduct(points, SizeOf(axis));
  for (Rule& rule : rules_) {  // Rules without axes hold for all configs or for none.
    if (!rule.axes.empty()) continue;
    TUNEONCE_ASSIGN_OR_RETURN(
        bool holds, rule.program != nullptr ? Result<bool>(rule.program->Holds(point_)) : HoldsFunction(rule));
    if (holds) continue;
    (*drops_)[rule.named->ToString()] += points;
    contents->size = 0;
    return ConfigSet(std::move(contents));
  }
  for (const std::vector<std::size_t>& axes : DivideAxes()) {
    TUNEONCE_ASSIGN_OR_RETURN(Factor factor, WalkFactor(axes));
    for (std::size_t axis : axes) contents->factor_of[axis] = contents->factors.size();
    contents->size = SaturatingProduct(contents->size, factor.size);
    contents->factors.push_back(std::move(factor));
  }
  for (const Rule& rule : rules_) {
    if (rule.dropped == 0) continue;
    std::int64_t factor_points = 1;
    for (std::size_t axis : contents->factors[contents->factor_of[rule.axes.front()]].axes) {
      factor_points = SaturatingProduct(factor_points, SizeOf(axis));
    }
    (*drops_)[rule.named->ToString()] += SaturatingProduct(rule.dropped, points / factor_points);
  }
  if (contents->size == kMost) {
    return InvalidArgumentError("the search space has more than 2^63 configs: remove axes or values");
  }
  return ConfigSet(std::move(contents));
}

std::vector<std::vector<std::size_t>> SpaceWalk::DivideAxes() const {
  std::vector<std::size_t> group(axes_->axes.size());
  std::iota(group.begin(), group.end(), 0);
  for (const Rule& rule : rules_) {
    if (rule.axes.empty()) continue;
    std::size_t lowest = group.size();
    for (std::size_t axis : rule.axes) lowest = std::min(lowest, group[axis]);
    std::set<std::size_t> joined;
    for (std::size_t axis : rule.axes) joined.insert(group[axis]);
    for (std::size_t& each : group) {
      if (joined.count(each) > 0) each = lowest;
    }
  }
  std::map<std::size_t, std::vector<std::size_t>> axes;
  for (std::size_t axis = 0; axis < group.size(); ++axis) axes[group[axis]].push_back(axis);
  std::vector<std::vector<std::size_t>> divided;
  for (auto& [first, members] : axes) divided.push_back(std::move(members));
  return divided;
}

std::vector<std::size_t> SpaceWalk::OrderOf(std::vector<std::size_t> axes) const {
  std::set<std::size_t> open(axes.begin(), axes.end());
  std::vector<std::size_t> order;
  while (!open.empty()) {
    const Rule* best = nullptr;
    std::int64_t fewest = kMost;
    for (const Rule& rule : rules_) {
      std::int64_t combinations = 1;
      bool is_open = false;
      for (std::size_t axis : rule.axes) {
        if (open.count(axis) == 0) continue;
        is_open = true;
        combinations = SaturatingProduct(combinations, SizeOf(axis));
      }
      if (!is_open || combinations >= fewest) continue;
      best = &rule;
      fewest = combinations;
    }
    for (std::size_t axis : best == nullptr ? axes : best->axes) {
      if (open.erase(axis) > 0) order.push_back(axis);
    }
  }
  return order;
}

void SpaceWalk::SetLevels(const Factor& factor) {
  levels_.clear();
  std::set<std::size_t> fixed;
  for (std::size_t axis : first_only_ ? factor.axes : OrderOf(factor.axes)) {
    Level level;
    level.axis = axis;
    auto at = std::find(factor.axes.begin(), factor.axes.end(), axis) - factor.axes.begin();
    level.stride = factor.strides[static_cast<std::size_t>(at)];
    fixed.insert(axis);
    for (Rule& rule : rules_) {
      if (std::find(rule.axes.begin(), rule.axes.end(), axis) == rule.axes.end()) continue;
      const bool is_complete =
          std::all_of(rule.axes.begin(), rule.axes.end(), [&](std::size_t each) { return fixed.count(each) > 0; });
      if (is_complete) {
        level.complete.push_back(&rule);
      } else if (rule.program != nullptr) {
        level.incomplete.push_back(&rule);
      }
    }
    // Functions last: they are slower.
    std::stable_partition(level.complete.begin(), level.complete.end(),
                          [](const Rule* rule) { return rule->program != nullptr; });
    levels_.push_back(std::move(level));
  }
  for (std::size_t i = levels_.size() - 1; i-- > 0;) {
    levels_[i].below = SaturatingProduct(levels_[i + 1].below, SizeOf(levels_[i + 1].axis));
  }
}

Result<Factor> SpaceWalk::WalkFactor(const std::vector<std::size_t>& axes) {
  Factor factor;
  factor.axes = axes;
  factor.strides.resize(axes.size());
  std::int64_t size = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    factor.strides[i] = size;
    size = SaturatingProduct(size, SizeOf(axes[i]));
  }
  const bool is_asked = std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return std::find(rule.axes.begin(), rule.axes.end(), axes.front()) != rule.axes.end();
  });
  if (!is_asked) {  // One axis that no condition reads.
    factor.size = size;
    factor.is_whole = true;
    return factor;
  }
  if (size == kMost) return InvalidArgumentError("the search space has more than 2^63 points: remove axes or values");
  SetLevels(factor);
  TUNEONCE_RETURN_IF_ERROR(Descend(0, 0, &factor));
  std::sort(factor.positions.begin(), factor.positions.end());
  factor.positions.shrink_to_fit();
  factor.size = static_cast<std::int64_t>(factor.positions.size());
  return factor;
}

Status SpaceWalk::Descend(std::size_t depth, std::int64_t position, Factor* factor) {
  const Level& level = levels_[depth];
  const auto size = static_cast<std::size_t>(SizeOf(level.axis));
  for (std::size_t index = 0; index < size; ++index) {
    Fix(level.axis, index);
    TUNEONCE_ASSIGN_OR_RETURN(Rule * failing, FailingRule(level));
    if (failing != nullptr) {
      failing->dropped += level.below;
      continue;
    }
    const std::int64_t at = position + static_cast<std::int64_t>(index) * level.stride;
    if (depth + 1 < levels_.size()) {
      TUNEONCE_RETURN_IF_ERROR(Descend(depth + 1, at, factor));
      if (first_only_ && !factor->positions.empty()) break;
      continue;
    }
    if (static_cast<std::int64_t>(factor->positions.size()) == kMaxListed) {
      return InvalidArgumentError(absl::StrCat("the search space has more than ", kMaxListed,
                                               " configs: remove axes or values, or add conditions"));
    }
    factor->positions.push_back(at);
    if (first_only_) break;
  }
  Free(level.axis);
  return Status();
}

Result<SpaceWalk::Rule*> SpaceWalk::FailingRule(const Level& level) {
  questions_ += static_cast<std::int64_t>(level.complete.size() + level.incomplete.size());
  if (questions_ > kMaxQuestions) {
    return InvalidArgumentError(absl::StrCat(
        "enumerating the search space asks its conditions more than ", kMaxQuestions, " times, or functions ",
        kMaxQuestions / kQuestionsPerFunction, " times: remove axes or values, or add conditions that read few axes"));
  }
  for (Rule* rule : level.complete) {
    if (rule->program != nullptr) {
      if (!rule->program->Holds(point_)) return rule;
      continue;
    }
    questions_ += kQuestionsPerFunction;
    TUNEONCE_ASSIGN_OR_RETURN(bool holds, HoldsFunction(*rule));
    if (!holds) return rule;
  }
  for (Rule* rule : level.incomplete) {
    if (!rule->program->MayHold(point_)) return rule;
  }
  return static_cast<Rule*>(nullptr);
}

Result<bool> SpaceWalk::HoldsFunction(const Rule& rule) {
  std::vector<AxisValue> values;
  for (std::size_t axis = 0; axis < axes_->axes.size(); ++axis) {
    values.push_back(axes_->axes[axis].values[static_cast<std::size_t>(point_.indices[axis])]);
  }
  const Config config(axes_, std::move(values));
  return CallUser(absl::StrCat("condition '", rule.named->name, "'"),
                  [&] { return rule.condition.Holds(config, problem_); });
}

void SpaceWalk::Fix(std::size_t axis, std::size_t index) {
  const std::int64_t value = NumberOf(axes_->axes[axis].values[index]);
  const auto at = static_cast<std::int64_t>(index);
  point_.values[axis] = value;
  point_.indices[axis] = at;
  point_.bounds[axis] = {value, value};
  point_.index_bounds[axis] = {at, at};
}

void SpaceWalk::Free(std::size_t axis) {
  point_.bounds[axis] = ranges_[axis];
  point_.index_bounds[axis] = {0, SizeOf(axis) - 1};
}

}  // namespace v0
}  // namespace tuneonce
