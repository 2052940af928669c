// SearchSpace's configs: which of its points there are on a target and for a problem, and what drops the others.
#include <algorithm>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/short_list.h"
#include "definition/axis_table.h"
#include "definition/compiler_option.h"
#include "definition/term_guard.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
inline namespace v0 {
namespace {

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
  return InvalidArgumentError(absl::StrCat("{", config.ToString(), "} breaks ", dropped, " on ", target.name()));
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

Result<std::string> SearchSpace::DroppedBy(const Config& config, const Target& target) const {
  for (const Constraint& constraint : constraints_) {
    TUNEONCE_ASSIGN_OR_RETURN(bool holds, CallUser(absl::StrCat("constraint '", constraint.name, "'"),
                                                   [&] { return constraint.holds(config); }));
    if (!holds) return absl::StrCat("constraint '", constraint.name, "'");
  }
  for (const Filter& filter : filters_) {
    TUNEONCE_ASSIGN_OR_RETURN(bool holds, CallUser(absl::StrCat("target filter '", filter.name, "'"),
                                                   [&] { return filter.holds(config, target); }));
    if (!holds) return absl::StrCat("target filter '", filter.name, "'");
  }
  return std::string();
}

Result<std::string> SearchSpace::NotAmong(const Config& config, const Target& target) const {
  if (!listed_.empty() && !IsListed(config)) return std::string("the list of configs");
  return DroppedBy(config, target);
}

Result<std::string> SearchSpace::FailingGuard(const Config& config, const Problem& problem) const {
  for (const Guard& guard : guards_) {
    TUNEONCE_ASSIGN_OR_RETURN(
        bool holds, CallUser(absl::StrCat("guard '", guard.name, "'"), [&] { return guard.holds(config, problem); }));
    if (!holds) return absl::StrCat("guard '", guard.name, "'");
  }
  return std::string();
}

std::vector<SearchSpace::GuardFn> SearchSpace::GuardsFor(const Config& config) const {
  std::vector<GuardFn> guards;
  for (const Guard& guard : guards_) {
    const auto* of_terms = guard.holds.target<TermGuard>();
    guards.push_back(of_terms == nullptr ? guard.holds : GuardFn(of_terms->For(config)));
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
  // A bound on the walk itself: constraints cannot be asked about billions of points.
  constexpr std::int64_t kMaxPoints = 1'000'000;
  if (NumPoints() > kMaxPoints) {
    return InvalidArgumentError(
        absl::StrCat("the search space has more than ", kMaxPoints, " points: remove axes or values"));
  }
  for (const TargetBaseline& baseline : baselines_) {
    if (!baseline.CountsOn(target)) continue;
    TUNEONCE_RETURN_IF_ERROR(CheckIsExact(baseline.config));
    TUNEONCE_ASSIGN_OR_RETURN(std::string dropped, NotAmong(baseline.config, target));
    if (dropped.empty()) continue;
    return InvalidArgumentError(
        absl::StrCat("the baseline {", baseline.config.ToString(), "} breaks ", dropped, " on ", target.name()));
  }
  return Status();
}

Status SearchSpace::DropUnfit(const Problem& problem, std::vector<Config>* configs, Drops* drops) const {
  std::vector<Config> fit;
  for (Config& config : *configs) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string failing, FailingGuard(config, problem));
    if (failing.empty()) {
      fit.push_back(std::move(config));
    } else {
      ++(*drops)[failing];
    }
  }
  *configs = std::move(fit);
  return Status();
}

Result<std::vector<Config>> SearchSpace::NotEmpty(std::vector<Config> configs, const Target& target,
                                                  const Problem* problem, const Drops& drops) const {
  if (!configs.empty()) return configs;
  if (fallback_) return std::vector<Config>{*fallback_};
  std::optional<Config> first = BaselineOn(target);
  if (problem != nullptr && first) TUNEONCE_RETURN_IF_ERROR(CheckGuards(*first, *problem));
  auto most =
      std::max_element(drops.begin(), drops.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return InvalidArgumentError(absl::StrCat(
      "the search space is empty on ", target.name(), ": ",
      most == drops.end() ? std::string("it has no points") : most->first,
      most == drops.end() ? std::string() : absl::StrCat(" dropped ", most->second, " of ", NumPoints(), " configs"),
      "; relax the constraints, or set a baseline or a fallback"));
}

Config SearchSpace::PointAt(std::int64_t place) const {
  if (!listed_.empty()) return Config(axes_, listed_[static_cast<std::size_t>(place)]);
  std::vector<AxisValue> values(axes_->axes.size());
  for (std::size_t i = values.size(); i-- > 0;) {  // The last axis turns fastest.
    const std::vector<AxisValue>& of_axis = axes_->axes[i].values;
    auto size = static_cast<std::int64_t>(of_axis.size());
    values[i] = of_axis[static_cast<std::size_t>(place % size)];
    place /= size;
  }
  return Config(axes_, std::move(values));
}

Result<std::vector<Config>> SearchSpace::Enumerate(const Target& target, const Problem* problem) const {
  TUNEONCE_RETURN_IF_ERROR(CheckBuilt(target));
  std::vector<Config> configs;
  Drops drops;
  for (std::int64_t place = 0, end = NumPoints(); place < end; ++place) {
    Config config = PointAt(place);
    TUNEONCE_ASSIGN_OR_RETURN(std::string dropped, DroppedBy(config, target));
    if (dropped.empty()) {
      configs.push_back(std::move(config));
    } else {
      ++drops[dropped];
    }
  }
  if (problem != nullptr) TUNEONCE_RETURN_IF_ERROR(DropUnfit(*problem, &configs, &drops));
  TUNEONCE_RETURN_IF_ERROR(TakeMisuse());
  if (static_cast<std::int64_t>(configs.size()) > max_configs_) {
    return InvalidArgumentError(absl::StrCat("the search space has ", configs.size(), " configs; at most ",
                                             max_configs_, " are allowed: narrow it, or call MaxConfigs(",
                                             configs.size(), ")"));
  }
  return NotEmpty(std::move(configs), target, problem, drops);
}

Result<std::vector<Config>> SearchSpace::Fitting(std::vector<Config> configs, const Target& target,
                                                 const Problem& problem) const {
  if (!has_guards()) return configs;
  Drops drops;
  TUNEONCE_RETURN_IF_ERROR(DropUnfit(problem, &configs, &drops));
  TUNEONCE_RETURN_IF_ERROR(TakeMisuse());
  return NotEmpty(std::move(configs), target, &problem, drops);
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
