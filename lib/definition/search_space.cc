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

std::string JoinValues(const std::vector<AxisValue>& values) {
  return absl::StrJoin(values, ", ",
                       [](std::string* out, const AxisValue& v) { absl::StrAppend(out, AxisValueString(v)); });
}

template <typename T>
std::vector<AxisValue> ToValues(std::vector<T> values) {
  return std::vector<AxisValue>(std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
}

template <typename Iterator>
Iterator FindValue(Iterator begin, Iterator end, const AxisValue& value) {
  return std::find_if(begin, end, [&](const AxisValue& each) { return IsSameValue(each, value); });
}

bool IsPowerOfTwo(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

}  // namespace

SearchSpace::SearchSpace() : axes_(std::make_shared<AxisTable>()) { axes_->space_id = NextSpaceId(); }

SearchSpace::SearchSpace(const SearchSpace& other)
    : axes_(std::make_shared<AxisTable>()),
      constraints_(other.constraints_),
      filters_(other.filters_),
      guards_(other.guards_),
      guards_read_problem_(other.guards_read_problem_),
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
  axes_->axes.push_back(AxisDefinition{name, kind, std::move(values)});
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

SearchSpace& SearchSpace::AllowConfigs(int max_configs) {
  max_configs_ = max_configs;
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
    if (FindValue(axis.values.begin(), axis.values.end(), assignment.value) == axis.values.end()) {
      NoteError(
          InvalidArgumentError(absl::StrCat("the ", what, " sets ", axis.name, "=", AxisValueString(assignment.value),
                                            ", which is none of {", JoinValues(axis.values), "}")));
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

Result<Config> SearchSpace::ConfigNamed(const std::vector<std::pair<std::string, AxisValue>>& values,
                                        const Target& target) const {
  TUNEONCE_RETURN_IF_ERROR(status_);
  const std::vector<AxisDefinition>& axes = axes_->axes;
  std::vector<std::optional<AxisValue>> by_axis(axes.size());
  for (const auto& [name, value] : values) {
    auto axis = std::find_if(axes.begin(), axes.end(),
                             [&wanted = name](const AxisDefinition& each) { return each.name == wanted; });
    if (axis == axes.end()) {
      std::string names = absl::StrJoin(
          axes, ", ", [](std::string* out, const AxisDefinition& each) { absl::StrAppend(out, each.name); });
      return InvalidArgumentError(absl::StrCat("there is no axis '", name, "'; the space has: ", names));
    }
    std::optional<AxisValue>& slot = by_axis[static_cast<std::size_t>(axis - axes.begin())];
    if (slot) return InvalidArgumentError(absl::StrCat("the axis ", name, " has two values"));
    slot = value;
    const auto* whole = std::get_if<std::int64_t>(&value);
    bool is_double_axis = std::holds_alternative<double>(axis->values.front());
    if (whole != nullptr && is_double_axis) slot = static_cast<double>(*whole);
    if (slot->index() == axis->values.front().index()) continue;
    return InvalidArgumentError(absl::StrCat("the axis ", name, " has values as {", JoinValues(axis->values), "}, and ",
                                             AxisValueString(value), " is none of their type"));
  }
  std::vector<AxisValue> all;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!by_axis[i]) return InvalidArgumentError(absl::StrCat("the axis ", axes[i].name, " has no value"));
    all.push_back(*std::move(by_axis[i]));
  }
  Config config(axes_, std::move(all));
  TUNEONCE_ASSIGN_OR_RETURN(std::string dropped, DroppedBy(config, target));
  if (dropped.empty()) return config;
  return InvalidArgumentError(absl::StrCat("{", config.ToString(), "} breaks ", dropped, " on ", target.name()));
}

std::int64_t SearchSpace::NumPoints() const {
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

Result<std::string> SearchSpace::FailingGuard(const Config& config, const Problem& problem) const {
  for (const Guard& guard : guards_) {
    TUNEONCE_ASSIGN_OR_RETURN(
        bool holds, CallUser(absl::StrCat("guard '", guard.name, "'"), [&] { return guard.holds(config, problem); }));
    if (!holds) return absl::StrCat("guard '", guard.name, "'");
  }
  return std::string();
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
        absl::StrCat("the search space has more than ", kMaxPoints, " points: drop axes or values"));
  }
  for (const TargetBaseline& baseline : baselines_) {
    if (!baseline.CountsOn(target)) continue;
    TUNEONCE_ASSIGN_OR_RETURN(std::string dropped, DroppedBy(baseline.config, target));
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
  if (stand_in_) return std::vector<Config>{*stand_in_};
  std::optional<Config> first = BaselineOn(target);
  if (problem != nullptr && first) TUNEONCE_RETURN_IF_ERROR(CheckGuards(*first, *problem));
  auto most =
      std::max_element(drops.begin(), drops.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return InvalidArgumentError(absl::StrCat(
      "the search space is empty on ", target.name(), ": ",
      most == drops.end() ? std::string("it has no points") : most->first,
      most == drops.end() ? std::string() : absl::StrCat(" dropped ", most->second, " of ", NumPoints(), " configs"),
      "; relax it, or set a baseline or a stand-in"));
}

Result<std::vector<Config>> SearchSpace::Enumerate(const Target& target, const Problem* problem) const {
  TUNEONCE_RETURN_IF_ERROR(CheckBuilt(target));
  std::vector<Config> configs;
  Drops drops;
  std::vector<std::size_t> odometer(axes_->axes.size(), 0);
  for (std::int64_t point = 0, points = NumPoints(); point < points; ++point) {
    std::vector<AxisValue> values;
    for (std::size_t i = 0; i < odometer.size(); ++i) values.push_back(axes_->axes[i].values[odometer[i]]);
    for (std::size_t i = odometer.size(); i-- > 0;) {
      if (++odometer[i] < axes_->axes[i].values.size()) break;
      odometer[i] = 0;
    }
    Config config(axes_, std::move(values));
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
                                             max_configs_, " are allowed: narrow it, or call AllowConfigs(",
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
  return InvalidArgumentError(absl::StrCat(
      "a config was asked for an axis of another search space (or a default-made Axis): this space has ", ToString()));
}

std::string SearchSpace::ToString() const {
  std::string text = absl::StrJoin(axes_->axes, " x ", [](std::string* out, const AxisDefinition& axis) {
    const char* kind = axis.kind == AxisKind::kHint ? " (hint)" : axis.kind == AxisKind::kOption ? " (option)" : "";
    absl::StrAppend(out, axis.name, kind, " in {", JoinValues(axis.values), "}");
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
