#include "tuneonce/search_space.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/callback.h"
#include "base/short_list.h"
#include "definition/axis_table.h"
#include "definition/compiler_option.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::uint64_t NextSpaceId() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1);
}

bool IsAPowerOfTwo(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

}  // namespace

SearchSpace::SearchSpace() : axes_(std::make_shared<AxisTable>()) { axes_->space_id = NextSpaceId(); }

SearchSpace::SearchSpace(const SearchSpace& other)
    : axes_(std::make_shared<AxisTable>()),
      conditions_(other.conditions_),
      guards_(other.guards_),
      listed_(other.listed_),
      listed_by_value_(other.listed_by_value_),
      baselines_(other.baselines_),
      fallback_(other.fallback_),
      max_configs_(other.max_configs_),
      status_(other.status_) {
  axes_->space_id = other.axes_->space_id;
  axes_->axes = other.axes_->axes;
}

SearchSpace& SearchSpace::operator=(SearchSpace other) noexcept {
  axes_.swap(other.axes_);
  conditions_.swap(other.conditions_);
  guards_.swap(other.guards_);
  listed_.swap(other.listed_);
  listed_by_value_.swap(other.listed_by_value_);
  baselines_.swap(other.baselines_);
  fallback_.swap(other.fallback_);
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
  if (kind == AxisKind::kOption) CheckOption(name, values);
  if (name.empty()) NoteError(InvalidArgumentError("an axis needs a name"));
  if (values.empty()) NoteError(InvalidArgumentError(absl::StrCat("axis '", name, "' has no values")));
  for (const AxisDefinition& axis : axes_->axes) {
    if (axis.name == name) NoteError(InvalidArgumentError(absl::StrCat("two axes are named '", name, "'")));
  }
  std::set<AxisValue, AxisValueOrder> seen;  // Not a scan per value: a bundle may list many.
  for (const AxisValue& value : values) {
    const auto* real = std::get_if<double>(&value);
    if (real != nullptr && std::isnan(*real)) {
      NoteError(InvalidArgumentError(
          absl::StrCat("axis '", name, "' lists a NaN, which can never be found again: remove it")));
    }
    if (!seen.insert(value).second) {
      NoteError(InvalidArgumentError(absl::StrCat("axis '", name, "' lists the value ", AxisValueString(value),
                                                  " twice: that would make duplicate configs")));
    }
  }
  axes_->axes.push_back(AxisDefinition{name, kind, values, std::move(seen)});
  if (!values.empty()) TakeAxis(values);
  return static_cast<int>(axes_->axes.size()) - 1;
}

IntAxis SearchSpace::FindAxis(const std::string& name) {
  std::vector<AxisDefinition>& axes = axes_->axes;
  auto axis = std::find_if(axes.begin(), axes.end(), [&](const AxisDefinition& each) { return each.name == name; });
  if (axis == axes.end()) {
    NoteError(InvalidArgumentError(absl::StrCat("the search space has no axis '", name,
                                                "'; its axes are: ", ShortListOf(axes, &AxisDefinition::name, name))));
    return IntAxis();
  }
  if (axis->values.empty() || !std::holds_alternative<std::int64_t>(axis->values.front())) {
    NoteError(InvalidArgumentError(absl::StrCat("the axis '", name, "' has no whole numbers as values")));
    return IntAxis();
  }
  return IntAxis(static_cast<int>(axis - axes.begin()), id());
}

IntAxis SearchSpace::AddPowerOfTwoAxis(const std::string& name, std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values;
  if (!IsAPowerOfTwo(first) || !IsAPowerOfTwo(last) || first > last) {
    NoteError(InvalidArgumentError(
        absl::StrCat("axis '", name, "': ", first, " to ", last, " is not a range of powers of two")));
    values.push_back(first);
  } else {
    for (std::int64_t value = first;; value *= 2) {
      values.push_back(value);
      if (value == last) break;
    }
  }
  return AddAxis(name, std::move(values));
}

void SearchSpace::CheckOption(const std::string& name, const std::vector<AxisValue>& values) {
  Result<const CompilerOption*> option = FindCompilerOption(name);
  if (!option.ok()) NoteError(option.status());
  auto has = [&](const char* other) {
    return std::any_of(axes_->axes.begin(), axes_->axes.end(),
                       [&](const AxisDefinition& axis) { return axis.name == other; });
  };
  const bool is_part = name == "prec-div" || name == "prec-sqrt";
  if ((is_part && has("approx")) || (name == "approx" && (has("prec-div") || has("prec-sqrt")))) {
    NoteError(
        InvalidArgumentError("the option axis 'approx' sets the same NVRTC options as 'prec-div' and 'prec-sqrt': keep "
                             "either 'approx' or the other two"));
  }
  for (const AxisValue& value : values) {
    if (option.ok()) NoteError(CheckOptionValue(**option, value));
  }
}

std::vector<std::string> SearchSpace::OptionsThatChangeResults() const {
  std::vector<std::string> names;
  for (const AxisDefinition& axis : axes_->axes) {
    if (axis.kind != AxisKind::kOption || axis.values.size() < 2) continue;
    Result<const CompilerOption*> option = FindCompilerOption(axis.name);
    if (option.ok() && (*option)->results != CompilerOption::Results::kSame) names.push_back(axis.name);
  }
  return names;
}

void SearchSpace::CheckReads(const Condition& condition, const std::string& where) {
  if (!condition.reads().assumptions) return;
  NoteError(InvalidArgumentError(where + " is about a launch's tensors: " + condition.ToString() +
                                 " belongs to Variant::Requires"));
}

Status SearchSpace::Bind(Condition* condition) const { return condition->BindAxes(*axes_); }

Result<std::vector<Condition>> SearchSpace::Folded(const Condition& condition) const {
  constexpr std::size_t kMostPoints = 65536;
  const std::vector<int> axes = condition.reads().axes;
  std::size_t num_points = 1;
  for (int axis : axes) {
    num_points *= std::max<std::size_t>(1, axes_->axes[static_cast<std::size_t>(axis)].values.size());
    if (num_points > kMostPoints) {
      return InvalidArgumentError(absl::StrCat("'", condition.ToString(), "' reads axes with more than ", kMostPoints,
                                               " combinations of values: let it read fewer axes"));
    }
  }
  std::vector<AxisValue> values;
  for (const AxisDefinition& axis : axes_->axes) {
    values.push_back(axis.values.empty() ? AxisValue(std::int64_t{0}) : axis.values.front());
  }
  std::map<std::string, Condition> by_text;  // In an order that does not depend on the axes'.
  for (std::size_t point = 0; point < num_points; ++point) {
    std::size_t rest = point;
    for (int axis : axes) {
      const std::vector<AxisValue>& of_axis = axes_->axes[static_cast<std::size_t>(axis)].values;
      if (!of_axis.empty()) values[static_cast<std::size_t>(axis)] = of_axis[rest % of_axis.size()];
      rest /= std::max<std::size_t>(1, of_axis.size());
    }
    Condition folded = condition.For(Config(axes_, values));
    std::string text = folded.ToString();
    by_text.emplace(std::move(text), std::move(folded));
  }
  std::vector<Condition> all;
  for (auto& [text, folded] : by_text) all.push_back(std::move(folded));
  return all;
}

// The configs that are named one by one: the list, the baselines and the fallback.

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
  for (PlacedBaseline& baseline : baselines_) baseline.config = with_first(baseline.config);
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
  return SetBaselines({Baseline{std::move(values), Condition()}});
}

SearchSpace& SearchSpace::SetBaselines(std::vector<Baseline> list) {
  baselines_.clear();
  for (Baseline& baseline : list) {
    NoteError(baseline.where.BindAxes(*axes_).WithPrefix("the condition of a baseline"));
    CheckReads(baseline.where, "the condition of a baseline");
    std::optional<Config> config = MakeConfig("baseline", baseline.values);
    if (!config) continue;
    Condition on_target;
    for (Condition& part : baseline.where.Conjuncts()) {
      if (!part.reads().problem()) on_target = on_target.IsAlways() ? part : std::move(on_target) && part;
    }
    baselines_.push_back({*std::move(config), std::move(baseline.where), std::move(on_target)});
  }
  return *this;
}

std::optional<Config> SearchSpace::BaselineOn(const Target& target) const {
  std::vector<Config> configs = BaselinesOn(target);
  return configs.empty() ? std::nullopt : std::optional<Config>(std::move(configs.front()));
}

std::vector<Condition> SearchSpace::ConditionsOfBaselines() const {
  std::vector<Condition> conditions;
  for (const PlacedBaseline& baseline : baselines_) conditions.push_back(baseline.where);
  for (const NamedCondition& guard : guards_) conditions.push_back(guard.condition);
  return conditions;
}

bool SearchSpace::IsBaselineOfSome(const Config& config) const {
  return std::any_of(baselines_.begin(), baselines_.end(), [&](const PlacedBaseline& baseline) {
    return baseline.config == config && baseline.where.reads().problem();
  });
}

std::vector<Config> SearchSpace::BaselinesOn(const Target& target) const {
  Problem problem;
  problem.target = &target;
  std::vector<Config> configs;
  for (const PlacedBaseline& baseline : baselines_) {
    if (baseline.on_target.Holds(baseline.config, problem)) configs.push_back(baseline.config);
  }
  return configs;
}

Result<std::optional<Config>> SearchSpace::BaselineFor(const Problem& problem) const {
  return BaselineFor(problem, [](const Config&) { return true; });
}

Result<std::optional<Config>> SearchSpace::BaselineFor(const Problem& problem,
                                                       const std::function<bool(const Config&)>& accepts) const {
  for (const PlacedBaseline& baseline : baselines_) {
    TUNEONCE_ASSIGN_OR_RETURN(bool holds, CallUser("the condition of a baseline",
                                                   [&] { return baseline.where.Holds(baseline.config, problem); }));
    if (!holds) continue;
    TUNEONCE_ASSIGN_OR_RETURN(std::string failing, FailingGuard(baseline.config, problem));
    if (failing.empty() && accepts(baseline.config)) return std::optional<Config>(baseline.config);
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
    if (!by_axis[i] && axes_->axes[i].values.size() == 1) by_axis[i] = axes_->axes[i].values.front();
    if (!by_axis[i]) {
      NoteError(InvalidArgumentError(absl::StrCat("the ", what, " gives no value for axis ", axes_->axes[i].name)));
      return std::nullopt;
    }
    all.push_back(*by_axis[i]);
  }
  return Config(axes_, std::move(all));
}

// The conditions of configs.

SearchSpace& SearchSpace::Where(std::string name, Condition condition) {
  NoteError(condition.BindAxes(*axes_).WithPrefix("condition '" + name + "'"));
  CheckReads(condition, "condition '" + name + "'");
  const ConditionReads reads = condition.reads();
  (reads.problem() ? guards_ : conditions_).push_back(NamedCondition{std::move(name), std::move(condition)});
  return *this;
}

Status SearchSpace::Resolve(const TermNames& names) {
  for (std::vector<NamedCondition>* list : {&conditions_, &guards_}) {
    for (NamedCondition& each : *list) {
      TUNEONCE_RETURN_IF_ERROR(each.condition.Resolve(names).WithPrefix("condition '" + each.name + "'"));
    }
  }
  for (PlacedBaseline& baseline : baselines_) {
    TUNEONCE_RETURN_IF_ERROR(baseline.where.Resolve(names).WithPrefix("the condition of a baseline"));
  }
  return Status();
}

SearchSpace& SearchSpace::MaxConfigs(int max_configs) {
  max_configs_ = max_configs;
  return *this;
}

std::vector<NamedCondition> SearchSpace::conditions() const {
  std::vector<NamedCondition> all = conditions_;
  all.insert(all.end(), guards_.begin(), guards_.end());
  return all;
}

Fingerprint SearchSpace::Identity() const {
  Fingerprinter identity;
  for (const AxisDefinition& axis : axes_->axes) {
    identity.Add(axis.name).Add(static_cast<std::uint64_t>(axis.kind)).Add(std::uint64_t{axis.values.size()});
    for (const AxisValue& value : axis.values) identity.Add(std::uint64_t{value.index()}).Add(AxisValueString(value));
  }
  for (const NamedCondition& each : conditions()) {
    identity.Add(each.condition.reads().function ? each.name : "").Add(each.condition.ToString());
  }
  auto add = [&](const std::vector<AxisValue>& values) {
    for (const AxisValue& value : values) identity.Add(AxisValueString(value));
  };
  identity.Add(std::uint64_t{listed_.size()});
  for (const std::vector<AxisValue>& values : listed_) add(values);
  identity.Add(std::uint64_t{baselines_.size()});
  for (const PlacedBaseline& baseline : baselines_) {
    add(baseline.config.values());
    identity.Add(baseline.where.ToString());
  }
  if (fallback_) add(fallback_->values());
  return identity.Finish();
}

std::string SearchSpace::ToString() const {
  std::string text = absl::StrJoin(axes_->axes, " x ", [](std::string* out, const AxisDefinition& axis) {
    const char* kind = axis.kind == AxisKind::kHint ? " (hint)" : axis.kind == AxisKind::kOption ? " (option)" : "";
    auto add_value = [](std::string* list, const AxisValue& value) { absl::StrAppend(list, AxisValueString(value)); };
    absl::StrAppend(out, axis.name, kind, " in {", absl::StrJoin(axis.values, ", ", add_value), "}");
  });
  if (axes_->axes.empty()) text = "no axes";
  for (const NamedCondition& each : conditions()) {
    const std::string condition = each.condition.ToString();
    const bool is_plain = condition == each.name || each.condition.reads().function;
    absl::StrAppend(&text, "; where ", each.name, is_plain ? "" : absl::StrCat(" (", condition, ")"));
  }
  for (const PlacedBaseline& baseline : baselines_) {
    absl::StrAppend(&text, "; baseline {", baseline.config.ToString(), "}",
                    baseline.where.IsAlways() ? "" : absl::StrCat(" where ", baseline.where.ToString()));
  }
  if (fallback_) absl::StrAppend(&text, "; fallback {", fallback_->ToString(), "}");
  return text;
}

}  // namespace v0
}  // namespace tuneonce
