// SearchSpace's configs that are named one by one: its list, its baselines and its fallback.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/short_list.h"
#include "definition/axis_table.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
inline namespace v0 {

void SearchSpace::TakeAxis(const std::vector<AxisValue>& values) {
  // A list is held in memory, and a manifest can come from anybody.
  constexpr std::size_t kMostListed = 10'000;
  if (listed_.size() > kMostListed / values.size()) {
    return NoteError(
        InvalidArgumentError(absl::StrCat("the list of configs has more than ", kMostListed, " with axis '",
                                          axes_->axes.back().name, "': remove axes or values")));
  }
  auto with_first = [&](const Config& config) {
    std::vector<AxisValue> all = config.values();
    all.push_back(values.front());
    return Config(axes_, std::move(all));
  };
  for (TargetBaseline& baseline : baselines_) baseline.config = with_first(baseline.config);
  if (fallback_) fallback_ = with_first(*fallback_);
  std::vector<std::vector<AxisValue>> listed;
  for (const std::vector<AxisValue>& config : listed_) {
    for (const AxisValue& value : values) {
      listed.push_back(config);
      listed.back().push_back(value);
    }
  }
  listed_ = std::move(listed);
  listed_by_value_.clear();
  listed_by_value_.insert(listed_.begin(), listed_.end());
}

SearchSpace& SearchSpace::SetConfigs(const std::vector<std::vector<AxisAssignment>>& list) {
  listed_.clear();
  listed_by_value_.clear();
  if (list.empty()) NoteError(InvalidArgumentError("the list of configs is empty"));
  for (const std::vector<AxisAssignment>& values : list) AddListed(values);
  return *this;
}

void SearchSpace::AddListed(const std::vector<AxisAssignment>& values) {
  std::optional<Config> config = MakeConfig("list of configs", values);
  if (!config) return;
  if (IsListed(*config)) {
    return NoteError(InvalidArgumentError(absl::StrCat("the list of configs has {", config->ToString(), "} twice")));
  }
  listed_.push_back(config->values());
  listed_by_value_.insert(config->values());
}

SearchSpace& SearchSpace::AddConfig(const std::vector<AxisAssignment>& values) {
  if (listed_.empty()) {
    NoteError(
        InvalidArgumentError("AddConfig needs a list of configs, but this space has all combinations of the axes' "
                             "values: call SetConfigs first"));
    return *this;
  }
  for (const AxisAssignment& assignment : values) {
    if (assignment.space_id != id() || assignment.index >= static_cast<int>(axes_->axes.size())) continue;
    AxisDefinition& axis = axes_->axes[static_cast<std::size_t>(assignment.index)];
    if (axis.kind == AxisKind::kOption) continue;  // Their values are checked where the axis is made.
    if (axis.set.insert(assignment.value).second) axis.values.push_back(assignment.value);
  }
  AddListed(values);
  return *this;
}

SearchSpace& SearchSpace::SetBaseline(std::vector<AxisAssignment> values) {
  return SetBaselinesByTarget({{std::move(values), nullptr}});
}

SearchSpace& SearchSpace::SetBaselines(const std::vector<std::vector<AxisAssignment>>& list) {
  std::vector<Baseline> baselines;
  for (const std::vector<AxisAssignment>& values : list) baselines.push_back({values, nullptr});
  return SetBaselinesByTarget(std::move(baselines));
}

SearchSpace& SearchSpace::SetBaselinesByTarget(std::vector<Baseline> list) {
  baselines_.clear();
  for (Baseline& baseline : list) {
    if (std::optional<Config> config = MakeConfig("baseline", baseline.values)) {
      baselines_.push_back({*std::move(config), std::move(baseline.targets)});
    }
  }
  return *this;
}

std::optional<Config> SearchSpace::BaselineOn(const Target& target) const {
  auto first = std::find_if(baselines_.begin(), baselines_.end(),
                            [&](const TargetBaseline& baseline) { return baseline.CountsOn(target); });
  return first == baselines_.end() ? std::nullopt : std::optional<Config>(first->config);
}

std::vector<Config> SearchSpace::BaselinesOn(const Target& target) const {
  std::vector<Config> configs;
  for (const TargetBaseline& baseline : baselines_) {
    if (baseline.CountsOn(target)) configs.push_back(baseline.config);
  }
  return configs;
}

Result<std::optional<Config>> SearchSpace::BaselineFor(const Problem& problem) const {
  for (const TargetBaseline& baseline : baselines_) {
    if (!baseline.CountsOn(problem.target)) continue;
    TUNEONCE_ASSIGN_OR_RETURN(std::string failing, FailingGuard(baseline.config, problem));
    if (failing.empty()) return std::optional<Config>(baseline.config);
  }
  return std::optional<Config>();
}

SearchSpace& SearchSpace::SetFallback(std::vector<AxisAssignment> values) {
  fallback_ = MakeConfig("fallback", values);
  return *this;
}

std::optional<Config> SearchSpace::MakeConfig(const char* what, const std::vector<AxisAssignment>& values) {
  std::vector<std::optional<AxisValue>> by_axis(axes_->axes.size());
  for (const AxisAssignment& assignment : values) {
    if (assignment.space_id != id() || assignment.index >= static_cast<int>(by_axis.size())) {
      NoteError(InvalidArgumentError(absl::StrCat("the ", what, " names an axis of another space")));
      return std::nullopt;
    }
    const AxisDefinition& axis = axes_->axes[static_cast<std::size_t>(assignment.index)];
    if (axis.set.count(assignment.value) == 0) {
      NoteError(InvalidArgumentError(absl::StrCat("the ", what, " sets ", axis.name, "=",
                                                  AxisValueString(assignment.value), ", which is not one of {",
                                                  ShortListOf(axis.values, AxisValueString), "}")));
      return std::nullopt;
    }
    auto& slot = by_axis[static_cast<std::size_t>(assignment.index)];
    if (slot) NoteError(InvalidArgumentError(absl::StrCat("the ", what, " sets ", axis.name, " twice")));
    slot = assignment.value;
  }
  std::vector<AxisValue> all;
  for (std::size_t i = 0; i < by_axis.size(); ++i) {
    if (!by_axis[i]) {
      NoteError(InvalidArgumentError(absl::StrCat("the ", what, " gives no value for axis ", axes_->axes[i].name)));
      return std::nullopt;
    }
    all.push_back(*by_axis[i]);
  }
  return Config(axes_, std::move(all));
}

}  // namespace v0
}  // namespace tuneonce
