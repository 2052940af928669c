// Which configs a SearchSpace has on a target and for a problem, and which conditions exclude the others.
#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/short_list.h"
#include "definition/axis_table.h"
#include "definition/compiler_option.h"
#include "definition/config_set_contents.h"
#include "definition/space_walk.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Adds `count` configs of a larger set in its order, one of each of `count` equal parts.
void AddSample(const ConfigSet& set, std::size_t count, std::vector<Config>* configs) {
  const std::vector<Config> first = *configs;
  std::mt19937_64 random;  // Its numbers are equal on every machine, unlike those of distributions.
  for (std::size_t i = 0; i < count; ++i) {
    const double within = static_cast<double>(random() >> 11) * 0x1p-53;
    const double place = (static_cast<double>(i) + within) / static_cast<double>(count);
    const auto index = static_cast<std::int64_t>(place * static_cast<double>(set.size()));
    Config config = set.At(std::min(index, set.size() - 1));
    if (std::find(first.begin(), first.end(), config) == first.end()) configs->push_back(std::move(config));
  }
}

/// Returns " on sm_90", or nothing if the target is not known.
std::string OnTarget(const Target& target) {
  return target.is_cpu_device || target.capability() > 0 ? " on " + target.name() : "";
}

/// Every result is verified against the baseline's, so that no option may make these less exact.
Status CheckIsExact(const Config& baseline) {
  for (std::size_t i = 0; i < baseline.values().size(); ++i) {
    const bool* is_set = std::get_if<bool>(&baseline.values()[i]);
    if (baseline.Kind(i) != AxisKind::kOption || is_set == nullptr || !*is_set) continue;
    const std::string& name = baseline.AxisName(i);
    Result<const CompilerOption*> option = FindCompilerOption(name);
    if (!option.ok() || (*option)->results != CompilerOption::Results::kLessExact) continue;
    return InvalidArgumentError(absl::StrCat(
        "the baseline has ", name,
        "=true, but all results are verified against the baseline's, which must be exact: use ", name, "=false"));
  }
  return Status();
}

}  // namespace

Result<Config> SearchSpace::ConfigNamed(const std::vector<std::pair<std::string, AxisValue>>& values,
                                        const Target& target) const {
  TUNEONCE_RETURN_IF_ERROR(status_);
  const std::vector<AxisDefinition>& axes = axes_->axes;
  std::vector<std::optional<AxisValue>> by_axis(axes.size());
  for (const auto& [name, value] : values) {
    auto axis = std::find_if(axes.begin(), axes.end(),
                             [&wanted = name](const AxisDefinition& each) { return each.name == wanted; });
    if (axis == axes.end()) {
      return InvalidArgumentError(absl::StrCat("the search space has no axis '", name,
                                               "'; its axes are: ", ShortListOf(axes, &AxisDefinition::name, name)));
    }
    std::optional<AxisValue>& slot = by_axis[static_cast<std::size_t>(axis - axes.begin())];
    if (slot) return InvalidArgumentError(absl::StrCat("the config has two values for axis '", name, "'"));
    slot = value;
    const auto* whole = std::get_if<std::int64_t>(&value);
    bool is_double_axis = std::holds_alternative<double>(axis->values.front());
    if (whole != nullptr && is_double_axis) slot = static_cast<double>(*whole);
    if (slot->index() == axis->values.front().index()) continue;
    return InvalidArgumentError(absl::StrCat("the value ", AxisValueString(value), " for axis '", name,
                                             "' has another type than the axis's values {",
                                             ShortListOf(axis->values, AxisValueString), "}"));
  }
  std::vector<AxisValue> all;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!by_axis[i]) return InvalidArgumentError(absl::StrCat("the config has no value for axis '", axes[i].name, "'"));
    all.push_back(*std::move(by_axis[i]));
  }
  Config config(axes_, std::move(all));
  TUNEONCE_ASSIGN_OR_RETURN(std::string dropped, NotAmong(config, target));
  if (dropped.empty()) return config;
  return InvalidArgumentError(absl::StrCat("{", config.ToString(), "} breaks ", dropped, OnTarget(target)));
}

bool SearchSpace::IsListed(const Config& config) const { return listed_by_value_.count(config.values()) > 0; }

std::int64_t SearchSpace::NumPoints() const {
  if (!listed_.empty()) return static_cast<std::int64_t>(listed_.size());
  std::int64_t points = 1;
  for (const AxisDefinition& axis : axes_->axes) {
    auto size = static_cast<std::int64_t>(axis.values.size());
    if (size != 0 && points > std::numeric_limits<std::int64_t>::max() / size) {
      return std::numeric_limits<std::int64_t>::max();
    }
    points *= size;
  }
  return points;
}

std::set<std::int64_t> SearchSpace::StructuralNumbers() const {
  std::set<std::int64_t> numbers;
  for (const AxisDefinition& axis : axes_->axes) {
    for (const AxisValue& value : axis.values) {
      const auto* number = std::get_if<std::int64_t>(&value);
      if (number != nullptr && axis.kind == AxisKind::kStructural) numbers.insert(*number);
    }
  }
  return numbers;
}

namespace {

/// Returns the first condition that does not hold, or "". An exception becomes an error.
Result<std::string> FirstFailing(const std::vector<NamedCondition>& conditions, const Config& config,
                                 const Problem& problem) {
  for (const NamedCondition& each : conditions) {
    TUNEONCE_ASSIGN_OR_RETURN(bool holds, CallUser(absl::StrCat("condition '", each.name, "'"),
                                                   [&] { return each.condition.Holds(config, problem); }));
    if (!holds) return each.ToString();
  }
  return std::string();
}

}  // namespace

Result<std::string> SearchSpace::DroppedBy(const Config& config, const Target& target) const {
  Problem problem;
  problem.target = &target;
  return FirstFailing(conditions_, config, problem);
}

Result<std::string> SearchSpace::NotAmong(const Config& config, const Target& target) const {
  if (!listed_.empty() && !IsListed(config)) return std::string("the list of configs");
  return DroppedBy(config, target);
}

Result<std::string> SearchSpace::FailingGuard(const Config& config, const Problem& problem) const {
  return FirstFailing(guards_, config, problem);
}

std::vector<Condition> SearchSpace::GuardsFor(const Config& config) const {
  std::vector<Condition> guards;
  for (const NamedCondition& guard : guards_) {
    Condition for_config = guard.condition.For(config);
    if (!for_config.IsAlways()) guards.push_back(std::move(for_config));
  }
  return guards;
}

Status SearchSpace::CheckGuards(const Config& config, const Problem& problem) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string failing, FailingGuard(config, problem));
  if (failing.empty()) return Status();
  return FailedPreconditionError(absl::StrCat(failing, " does not hold for config {", config.ToString(), "}"));
}

Status SearchSpace::CheckBuilt(const Target& target) const {
  TUNEONCE_RETURN_IF_ERROR(status_);
  for (const Config& baseline : BaselinesOn(target)) {
    TUNEONCE_RETURN_IF_ERROR(CheckIsExact(baseline));
    TUNEONCE_ASSIGN_OR_RETURN(std::string dropped, NotAmong(baseline, target));
    if (dropped.empty()) continue;
    return InvalidArgumentError(
        absl::StrCat("the baseline {", baseline.ToString(), "} breaks ", dropped, OnTarget(target)));
  }
  return Status();
}

Status SearchSpace::DropUnfit(const Problem& problem, std::vector<Config>* configs, Exclusions* excluded) const {
  std::vector<Config> fit;
  for (Config& config : *configs) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string failing, FailingGuard(config, problem));
    if (failing.empty()) {
      fit.push_back(std::move(config));
    } else {
      ++(*excluded)[failing];
    }
  }
  *configs = std::move(fit);
  return Status();
}

Result<std::vector<Config>> SearchSpace::NotEmpty(std::vector<Config> configs, const Target& target,
                                                  const Problem* problem, const Exclusions& excluded) const {
  if (!configs.empty()) return configs;
  if (fallback_) {
    if (problem != nullptr) TUNEONCE_RETURN_IF_ERROR(CheckGuards(*fallback_, *problem));
    return std::vector<Config>{*fallback_};
  }
  if (problem != nullptr) {  // Its guards exclude each baseline: what excludes the one that applies is reported.
    Problem asked = *problem;
    asked.target = &target;
    for (const PlacedBaseline& baseline : baselines_) {
      TUNEONCE_ASSIGN_OR_RETURN(bool applies, CallUser("the condition of a baseline",
                                                       [&] { return baseline.where.Holds(baseline.config, asked); }));
      if (applies) TUNEONCE_RETURN_IF_ERROR(CheckGuards(baseline.config, asked));
    }
    if (std::optional<Config> first = BaselineOn(target)) TUNEONCE_RETURN_IF_ERROR(CheckGuards(*first, asked));
  }
  auto most = std::max_element(excluded.begin(), excluded.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  return InvalidArgumentError(absl::StrCat(
      "the search space is empty", OnTarget(target), ": ",
      most == excluded.end() ? std::string("it has no points") : most->first,
      most == excluded.end() ? std::string() : absl::StrCat(" dropped ", most->second, " of ", NumPoints(), " configs"),
      "; relax the conditions, or set a baseline or a fallback"));
}

Result<ConfigSet> SearchSpace::WalkList(const Target& target, const Problem* problem, Exclusions* excluded,
                                        bool first_only) const {
  auto contents = std::make_shared<ConfigSet::Contents>();
  contents->axes = axes_;
  contents->is_list = true;
  for (const std::vector<AxisValue>& values : listed_) {
    if (first_only && !contents->list.empty()) break;
    const Config config(axes_, values);
    TUNEONCE_ASSIGN_OR_RETURN(std::string dropped, DroppedBy(config, target));
    if (dropped.empty() && problem != nullptr) {
      TUNEONCE_ASSIGN_OR_RETURN(dropped, FailingGuard(config, *problem));
    }
    if (dropped.empty()) {
      contents->list.push_back(values);
    } else {
      ++(*excluded)[dropped];
    }
  }
  contents->size = static_cast<std::int64_t>(contents->list.size());
  return ConfigSet(std::move(contents));
}

Result<ConfigSet> SearchSpace::Walk(const Target& target, const Problem* problem, Exclusions* excluded,
                                    bool first_only) const {
  TUNEONCE_RETURN_IF_ERROR(CheckBuilt(target));
  for (const NamedCondition& guard : guards_) {
    if (problem == nullptr || !guard.condition.reads().unresolved) continue;
    return InvalidArgumentError(
        absl::StrCat(guard.ToString(), " names a dim or scalar that the search space does not know: call Resolve"));
  }
  ConfigSet set;
  if (!listed_.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(set, WalkList(target, problem, excluded, first_only));
  } else {
    Problem asked;
    if (problem != nullptr) asked = *problem;
    asked.target = &target;
    std::vector<const NamedCondition*> conditions;
    for (const NamedCondition& each : conditions_) conditions.push_back(&each);
    for (const NamedCondition& each : guards_) {
      if (problem != nullptr) conditions.push_back(&each);
    }
    TUNEONCE_ASSIGN_OR_RETURN(set, SpaceWalk(axes_, conditions, asked, excluded, first_only).Run());
  }
  TUNEONCE_RETURN_IF_ERROR(TakeMisuse());
  return set;
}

Result<ConfigSet> SearchSpace::Configs(const Target& target, const Problem* problem, Exclusions* excluded) const {
  Exclusions not_wanted;
  return Walk(target, problem, excluded != nullptr ? excluded : &not_wanted);
}

Result<Config> SearchSpace::First(const Target& target) const {
  Exclusions excluded;
  Result<ConfigSet> set = Walk(target, nullptr, &excluded, /*first_only=*/true);
  // The order that stops early asks more than the order of an enumeration in some spaces.
  if (!set.ok()) set = Configs(target);
  TUNEONCE_RETURN_IF_ERROR(set.status());
  if (!set->empty()) return set->At(0);
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> fallback, NotEmpty({}, target, nullptr, excluded));
  return fallback.front();
}

Result<std::vector<Config>> SearchSpace::Enumerate(const Target& target, const Problem* problem) const {
  Exclusions excluded;
  TUNEONCE_ASSIGN_OR_RETURN(ConfigSet set, Walk(target, problem, &excluded));
  std::vector<Config> configs;
  if (set.size() > kMostConfigs) {
    for (const Config& baseline : BaselinesOn(target)) {
      if (Contains(baseline, target, problem).ok()) configs.push_back(baseline);
    }
    AddSample(set, kSampledConfigs, &configs);
    return configs;
  }
  configs.reserve(static_cast<std::size_t>(set.size()));
  for (std::int64_t i = 0; i < set.size(); ++i) configs.push_back(set.At(i));
  return NotEmpty(std::move(configs), target, problem, excluded);
}

Status SearchSpace::Contains(const Config& config, const Target& target, const Problem* problem) const {
  TUNEONCE_RETURN_IF_ERROR(status_);
  const std::vector<AxisDefinition>& axes = axes_->axes;
  std::vector<AxisValue> values;
  for (const AxisDefinition& axis : axes) {
    const AxisValue* value = config.Find(axis.name);
    if (value == nullptr || axis.set.count(*value) == 0) {
      return InvalidArgumentError(absl::StrCat("{", config.ToString(), "} is not in the search space: it has no ",
                                               value == nullptr ? "axis '" : "such value of axis '", axis.name, "'"));
    }
    values.push_back(*value);
  }
  if (config.values().size() != axes.size()) {
    return InvalidArgumentError(
        absl::StrCat("{", config.ToString(), "} is not in the search space: it has other axes"));
  }
  const Config own(axes_, std::move(values));
  TUNEONCE_ASSIGN_OR_RETURN(std::string dropped, NotAmong(own, target));
  if (!dropped.empty()) {
    return InvalidArgumentError(absl::StrCat("{", own.ToString(), "} breaks ", dropped, OnTarget(target)));
  }
  return problem == nullptr ? Status() : CheckGuards(own, *problem);
}

Result<std::vector<Config>> SearchSpace::Fitting(std::vector<Config> configs, const Target& target,
                                                 const Problem& problem) const {
  if (!has_guards()) return configs;
  Exclusions excluded;
  TUNEONCE_RETURN_IF_ERROR(DropUnfit(problem, &configs, &excluded));
  TUNEONCE_RETURN_IF_ERROR(TakeMisuse());
  return NotEmpty(std::move(configs), target, &problem, excluded);
}

Status SearchSpace::TakeMisuse() const {
  if (axes_->misused_by.exchange(0) == 0) return Status();
  return InvalidArgumentError(
      absl::StrCat("a config was read with an axis of another search space, or a default-constructed Axis; the axes of "
                   "its space are: ",
                   ShortListOf(axes_->axes, &AxisDefinition::name)));
}

}  // namespace v0
}  // namespace tuneonce
