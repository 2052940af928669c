#include "tuneonce/search_space.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/callback.h"
#include "definition/axis_table.h"
#include "definition/compiler_option.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::uint64_t NextSpaceId() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1);
}

template <typename T>
std::vector<AxisValue> ToValues(std::vector<T> values) {
  return std::vector<AxisValue>(std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
}

bool IsPowerOfTwo(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

}  // namespace

std::string ValuesString(const std::vector<AxisValue>& values) {
  return absl::StrJoin(values, ", ",
                       [](std::string* out, const AxisValue& v) { absl::StrAppend(out, AxisValueString(v)); });
}

SearchSpace::SearchSpace() : axes_(std::make_shared<AxisTable>()) { axes_->space_id = NextSpaceId(); }

SearchSpace::SearchSpace(const SearchSpace& other)
    : axes_(std::make_shared<AxisTable>()),
      constraints_(other.constraints_),
      filters_(other.filters_),
      guards_(other.guards_),
      guards_read_problem_(other.guards_read_problem_),
      listed_(other.listed_),
      listed_by_value_(other.listed_by_value_),
      baselines_(other.baselines_),
      stand_in_(other.stand_in_),
      max_configs_(other.max_configs_),
      status_(other.status_) {
  axes_->space_id = other.axes_->space_id;
  axes_->axes = other.axes_->axes;
}

SearchSpace& SearchSpace::operator=(SearchSpace other) noexcept {
  axes_.swap(other.axes_);
  constraints_.swap(other.constraints_);
  filters_.swap(other.filters_);
  guards_.swap(other.guards_);
  guards_read_problem_ = other.guards_read_problem_;
  listed_.swap(other.listed_);
  listed_by_value_.swap(other.listed_by_value_);
  baselines_.swap(other.baselines_);
  stand_in_.swap(other.stand_in_);
  max_configs_ = other.max_configs_;
  status_ = std::move(other.status_);
  return *this;
}

SearchSpace::~SearchSpace() = default;

std::uint64_t SearchSpace::id() const { return axes_->space_id; }

void SearchSpace::NoteError(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

int SearchSpace::Add(const std::string& name, AxisKind kind, std::vector<AxisValue> values) {
  if (name.empty()) NoteError(InvalidArgumentError("an axis needs a name"));
  if (values.empty()) NoteError(InvalidArgumentError(absl::StrCat("axis '", name, "' has no values")));
  for (const AxisDefinition& axis : axes_->axes) {
    if (axis.name == name) NoteError(InvalidArgumentError(absl::StrCat("two axes are named '", name, "'")));
  }
  std::set<AxisValue, AxisValueOrder> seen;  // Not a scan per value: a bundle may list many.
  for (const AxisValue& value : values) {
    const auto* real = std::get_if<double>(&value);
    if (real != nullptr && std::isnan(*real)) {
      NoteError(
          InvalidArgumentError(absl::StrCat("axis '", name, "' lists a NaN, which equals nothing: leave it out")));
    }
    if (!seen.insert(value).second) {
      NoteError(InvalidArgumentError(absl::StrCat("axis '", name, "' lists the value ", AxisValueString(value),
                                                  " twice: that would make duplicate configs")));
    }
  }
  if (!baselines_.empty() || stand_in_) {
    NoteError(InvalidArgumentError(
        absl::StrCat("axis '", name, "' was added after the baseline or stand-in, which must name every axis")));
  }
  axes_->axes.push_back(AxisDefinition{name, kind, std::move(values), std::move(seen)});
  return static_cast<int>(axes_->axes.size()) - 1;
}

IntAxis SearchSpace::AddAxis(const std::string& name, std::initializer_list<std::int64_t> values) {
  return AddAxis(name, std::vector<std::int64_t>(values));
}

IntAxis SearchSpace::AddAxis(const std::string& name, std::vector<std::int64_t> values) {
  return IntAxis(Add(name, AxisKind::kStructural, ToValues(std::move(values))), id());
}

Axis<double> SearchSpace::AddDoubleAxis(const std::string& name, std::vector<double> values) {
  return Axis<double>(Add(name, AxisKind::kStructural, ToValues(std::move(values))), id());
}

Axis<bool> SearchSpace::AddBoolAxis(const std::string& name) {
  return Axis<bool>(Add(name, AxisKind::kStructural, {AxisValue(false), AxisValue(true)}), id());
}

Axis<std::string> SearchSpace::AddStringAxis(const std::string& name, std::vector<std::string> values) {
  return Axis<std::string>(Add(name, AxisKind::kStructural, ToValues(std::move(values))), id());
}

IntAxis SearchSpace::AddPowerOfTwoAxis(const std::string& name, std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values;
  if (!IsPowerOfTwo(first) || !IsPowerOfTwo(last) || first > last) {
    NoteError(InvalidArgumentError(
        absl::StrCat("axis '", name, "': ", first, " to ", last, " is no range of powers of two")));
    values.push_back(first);
  } else {
    for (std::int64_t value = first;; value *= 2) {
      values.push_back(value);
      if (value == last) break;
    }
  }
  return AddAxis(name, std::move(values));
}

IntAxis SearchSpace::AddHintAxis(const std::string& name, std::vector<std::int64_t> values) {
  return IntAxis(Add(name, AxisKind::kHint, ToValues(std::move(values))), id());
}

int SearchSpace::AddOption(const std::string& name, std::vector<AxisValue> values) {
  Result<const CompilerOption*> option = FindCompilerOption(name);
  if (!option.ok()) NoteError(option.status());
  for (const AxisValue& value : values) {
    if (option.ok()) NoteError(CheckOptionValue(**option, value));
  }
  return Add(name, AxisKind::kOption, std::move(values));
}

IntAxis SearchSpace::AddOptionAxis(const std::string& name, std::vector<std::int64_t> values) {
  return IntAxis(AddOption(name, ToValues(std::move(values))), id());
}

Axis<bool> SearchSpace::AddBoolOptionAxis(const std::string& name) {
  return Axis<bool>(AddOption(name, {AxisValue(false), AxisValue(true)}), id());
}

Axis<std::string> SearchSpace::AddStringOptionAxis(const std::string& name, std::vector<std::string> values) {
  return Axis<std::string>(AddOption(name, ToValues(std::move(values))), id());
}

std::vector<std::string> SearchSpace::OptionsThatChangeResults() const {
  std::vector<std::string> names;
  for (const AxisDefinition& axis : axes_->axes) {
    if (axis.kind != AxisKind::kOption || axis.values.size() < 2) continue;
    Result<const CompilerOption*> option = FindCompilerOption(axis.name);
    if (option.ok() && (*option)->changes_results) names.push_back(axis.name);
  }
  return names;
}

SearchSpace& SearchSpace::AddConstraint(const std::string& name, std::function<bool(const Config&)> holds) {
  constraints_.push_back(Constraint{name, std::move(holds)});
  return *this;
}

SearchSpace& SearchSpace::AddTargetFilter(const std::string& name,
                                          std::function<bool(const Config&, const Target&)> holds) {
  filters_.push_back(Filter{name, std::move(holds)});
  return *this;
}

SearchSpace& SearchSpace::Add(Guard guard) {
  guards_.push_back(std::move(guard));
  return *this;
}

bool SearchSpace::HasIntAxis(const std::string& name) const {
  return std::any_of(axes_->axes.begin(), axes_->axes.end(), [&](const AxisDefinition& axis) {
    return axis.name == name && std::holds_alternative<std::int64_t>(axis.values.front());
  });
}

SearchSpace& SearchSpace::AllowConfigs(int max_configs) {
  max_configs_ = max_configs;
  return *this;
}

SearchSpace& SearchSpace::SetConfigs(const std::vector<std::vector<AxisAssignment>>& list) {
  listed_.clear();
  listed_by_value_.clear();
  if (list.empty()) NoteError(InvalidArgumentError("the list of configs is empty"));
  for (const std::vector<AxisAssignment>& values : list) {
    std::optional<Config> config = MakeConfig("list of configs", values);
    if (!config) continue;
    if (IsListed(*config)) {
      NoteError(InvalidArgumentError(absl::StrCat("the list of configs has {", config->ToString(), "} twice")));
      continue;
    }
    listed_.push_back(config->values());
    listed_by_value_.insert(config->values());
  }
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

Result<std::optional<Config>> SearchSpace::BaselineFor(const Problem& problem) const {
  for (const TargetBaseline& baseline : baselines_) {
    if (!baseline.CountsOn(problem.target)) continue;
    TUNEONCE_ASSIGN_OR_RETURN(std::string failing, FailingGuard(baseline.config, problem));
    if (failing.empty()) return std::optional<Config>(baseline.config);
  }
  return std::optional<Config>();
}

SearchSpace& SearchSpace::SetStandIn(std::vector<AxisAssignment> values) {
  stand_in_ = MakeConfig("stand-in", values);
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
      NoteError(
          InvalidArgumentError(absl::StrCat("the ", what, " sets ", axis.name, "=", AxisValueString(assignment.value),
                                            ", which is none of {", ValuesString(axis.values), "}")));
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

std::string SearchSpace::ToString() const {
  std::string text = absl::StrJoin(axes_->axes, " x ", [](std::string* out, const AxisDefinition& axis) {
    const char* kind = axis.kind == AxisKind::kHint ? " (hint)" : axis.kind == AxisKind::kOption ? " (option)" : "";
    absl::StrAppend(out, axis.name, kind, " in {", ValuesString(axis.values), "}");
  });
  if (axes_->axes.empty()) text = "no axes";
  for (const Constraint& constraint : constraints_) absl::StrAppend(&text, "; constraint ", constraint.name);
  for (const Filter& filter : filters_) absl::StrAppend(&text, "; target filter ", filter.name);
  for (const Guard& guard : guards_) absl::StrAppend(&text, "; guard ", guard.name);
  for (const TargetBaseline& baseline : baselines_) {
    absl::StrAppend(&text, "; baseline {", baseline.config.ToString(), "}");
  }
  if (stand_in_) absl::StrAppend(&text, "; stand-in {", stand_in_->ToString(), "}");
  return text;
}

}  // namespace v0
}  // namespace tuneonce
