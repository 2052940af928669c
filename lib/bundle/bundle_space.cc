#include "bundle/bundle_space.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/short_list.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// Most entries of a manifest's lists, far beyond what a kernel has: what is asked of each entry when it is read, and at
// each launch of a bucket, is bounded by them.
constexpr std::size_t kMostAxes = 32;
constexpr std::size_t kMostBaselines = 64;
constexpr std::size_t kMostConditions = 512;
/// Beyond any capability: 90 is 9.0.
constexpr std::int64_t kMostCapability = 10000;

}  // namespace

Result<std::optional<Condition>> ReadTargets(const ManifestNode& node) {
  const ManifestNode* targets = node.Find("targets");
  if (targets == nullptr) return std::optional<Condition>();
  if (targets->kind() == ManifestNode::Kind::kString) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, targets->String());
    if (name != "cpu")
      return targets->Error("expected \"cpu\", or an object with min_capability or max_capability, got '" + name + "'");
    return std::optional<Condition>(OnCpuDevice());
  }
  TUNEONCE_RETURN_IF_ERROR(targets->CheckFields({"min_capability", "max_capability"}));
  std::int64_t from = 0, to = kMostCapability;
  TUNEONCE_RETURN_IF_ERROR(targets->ReadOptional("min_capability", &from));
  TUNEONCE_RETURN_IF_ERROR(targets->ReadOptional("max_capability", &to));
  if (from < 0 || to < from || to > kMostCapability) {
    return targets->Error(absl::StrCat("no compute capability is within ", from, " to ", to, "; write 9.0 as 90"));
  }
  return std::optional<Condition>(CapabilityRange(static_cast<int>(from), static_cast<int>(to)));
}

Result<BundleSpace> BundleSpace::Read(const ManifestNode& root) {
  BundleSpace space;
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dims, root.Get("dims"));
  TUNEONCE_ASSIGN_OR_RETURN(space.names_.dims, dims->Strings(kMaxDims));
  TUNEONCE_RETURN_IF_ERROR(space.ReadFamily(root));
  if (const ManifestNode* most = root.Find("max_configs")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, most->Int());
    if (value < 1 || value > 1000000) return most->Error("expected 1 to 1000000");
    space.space_.MaxConfigs(static_cast<int>(value));
  }
  if (const ManifestNode* axes = root.Find("axes")) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, axes->Array(kMostAxes));
    for (const ManifestNode& axis : list) TUNEONCE_RETURN_IF_ERROR(space.ReadAxis(axis));
  }
  TUNEONCE_RETURN_IF_ERROR(space.ReadConfigs(root));
  TUNEONCE_RETURN_IF_ERROR(space.ReadBaseline(root));
  TUNEONCE_RETURN_IF_ERROR(space.ReadFallback(root));
  TUNEONCE_RETURN_IF_ERROR(space.ReadScalars(root));
  TUNEONCE_RETURN_IF_ERROR(space.ReadConditions(root));
  return space;
}

Status BundleSpace::ReadAxis(const ManifestNode& node) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "values"}));
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.GetString("name"));
  std::string kind = "structural";
  if (const ManifestNode* kind_node = node.Find("kind")) {
    TUNEONCE_ASSIGN_OR_RETURN(kind, kind_node->String());
    if (kind != "structural" && kind != "hint" && kind != "option") {
      return kind_node->Error("expected structural, hint or option, got '" + kind + "'");
    }
  }
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* values_node, node.Get("values"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren values, values_node->Array());
  if (values.empty()) return values_node->Error("an axis needs at least one value");
  auto each = [&](auto get) {
    return ReadList(*values_node, ManifestDocument::kMostValues,
                    [get](const ManifestNode& value) { return (value.*get)(); });
  };
  AxisHandle handle;
  switch (values.front().kind()) {
    case ManifestNode::Kind::kInt: {
      TUNEONCE_ASSIGN_OR_RETURN(auto ints, each(&ManifestNode::Int));
      handle = kind == "hint"     ? space_.AddHintAxis(name, std::move(ints))
               : kind == "option" ? space_.AddOptionAxis(name, std::move(ints))
                                  : space_.AddAxis(name, std::move(ints));
      break;
    }
    case ManifestNode::Kind::kDouble: {
      TUNEONCE_ASSIGN_OR_RETURN(auto doubles, each(&ManifestNode::Number));
      handle = space_.AddDoubleAxis(name, std::move(doubles));
      break;
    }
    case ManifestNode::Kind::kTruth: {
      TUNEONCE_ASSIGN_OR_RETURN(auto bools, each(&ManifestNode::Bool));
      if (bools != std::vector<bool>{false, true}) {
        return values_node->Error("an axis of booleans must have the values [false, true]");
      }
      handle = kind == "option" ? space_.AddBoolOptionAxis(name) : space_.AddBoolAxis(name);
      break;
    }
    case ManifestNode::Kind::kString: {
      TUNEONCE_ASSIGN_OR_RETURN(auto strings, each(&ManifestNode::String));
      handle = kind == "option" ? space_.AddStringOptionAxis(name, std::move(strings))
                                : space_.AddStringAxis(name, std::move(strings));
      break;
    }
    default:
      return values_node->Error("the values of an axis must be numbers, strings, or false and true");
  }
  if (kind == "option" && std::holds_alternative<Axis<double>>(handle)) {
    return values_node->Error("the values of a compiler option must be whole numbers, false and true, or words");
  }
  if (kind == "hint" && !std::holds_alternative<IntAxis>(handle)) {
    return values_node->Error("the values of a hint must be whole numbers");
  }
  TUNEONCE_RETURN_IF_ERROR(CheckSpace(node));
  axes_.push_back(NamedAxis{std::move(name), handle, values.size() == 1});
  return Status();
}

Status BundleSpace::CheckSpace(const ManifestNode& node) const {
  return space_.status().ok() ? Status() : node.Error(space_.status().message());
}

Status BundleSpace::ReadConfigs(const ManifestNode& root) {
  const ManifestNode* configs = root.Find("configs");
  if (configs == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, configs->Array());
  if (list.empty()) return configs->Error("expected at least one config");
  std::set<std::vector<AxisValue>, AxisValueOrder> seen;
  std::vector<std::vector<AxisAssignment>> listed;
  for (const ManifestNode& config : list) {
    TUNEONCE_ASSIGN_OR_RETURN(ConfigPattern pattern, ReadPattern(config, /*whole=*/true));
    if (!seen.insert(pattern.Values()).second) return config.Error("the config is listed twice");
    listed.push_back(Assignments(pattern));
  }
  space_.SetConfigs(listed);
  return CheckSpace(*configs);
}

Result<std::vector<AxisAssignment>> BundleSpace::ReadConfig(const ManifestNode& node) const {
  TUNEONCE_ASSIGN_OR_RETURN(ConfigPattern pattern, ReadPattern(node, /*whole=*/true));
  return Assignments(pattern);
}

std::vector<AxisAssignment> BundleSpace::Assignments(const ConfigPattern& pattern) const {
  std::vector<AxisAssignment> assignments;
  assignments.reserve(pattern.values.size());
  for (const auto& [index, value] : pattern.values) {
    std::visit(
        [&, &axis_value = value](const auto& axis) {
          using T = std::decay_t<decltype(std::declval<Config>()[axis])>;
          assignments.emplace_back(axis, std::get<T>(axis_value));
        },
        axes_[index].handle);
  }
  return assignments;
}

/// A condition as a text; or {"name": NAME, "condition": TEXT}.
static Result<NamedCondition> ReadCondition(const ManifestNode& node) {
  NamedCondition named;
  const ManifestNode* text_node = &node;
  if (node.kind() == ManifestNode::Kind::kObject) {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "condition"}));
    TUNEONCE_ASSIGN_OR_RETURN(named.name, node.GetString("name"));
    TUNEONCE_ASSIGN_OR_RETURN(text_node, node.Get("condition"));
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::string text, text_node->String());
  Result<Condition> condition = Condition::Parse(text);
  if (!condition.ok()) return text_node->Error(condition.status().message());
  named.condition = *std::move(condition);
  if (named.name.empty()) named.name = named.condition.ToString();
  return named;
}

/// {AXIS: value, ...}; or [{"config": {AXIS: value, ...}, "where": CONDITION}, ...], by preference.
Status BundleSpace::ReadBaseline(const ManifestNode& root) {
  const ManifestNode* baseline = root.Find("baseline");
  if (baseline == nullptr) return Status();
  if (baseline->kind() != ManifestNode::Kind::kArray) {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<AxisAssignment> config, ReadConfig(*baseline));
    space_.SetBaseline(std::move(config));
    return CheckSpace(*baseline);
  }
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, baseline->Array(kMostBaselines));
  if (list.empty()) return baseline->Error("expected at least one baseline");
  std::vector<SearchSpace::Baseline> baselines;
  for (const ManifestNode& each : list) {
    TUNEONCE_RETURN_IF_ERROR(each.CheckFields({"config", "where"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* config, each.Get("config"));
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<AxisAssignment> values, ReadConfig(*config));
    NamedCondition named;
    if (const ManifestNode* where = each.Find("where")) {
      TUNEONCE_ASSIGN_OR_RETURN(named, ReadCondition(*where));
    }
    baselines.push_back({std::move(values), std::move(named.condition)});
  }
  space_.SetBaselines(std::move(baselines));
  return CheckSpace(*baseline);
}

Status BundleSpace::ReadFallback(const ManifestNode& root) {
  const ManifestNode* fallback = root.Find("fallback");
  if (fallback == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<AxisAssignment> config, ReadConfig(*fallback));
  space_.SetFallback(std::move(config));
  return CheckSpace(*fallback);
}

Status BundleSpace::ReadConditions(const ManifestNode& root) {
  const ManifestNode* where = root.Find("where");
  if (where == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, where->Array(kMostConditions));
  for (const ManifestNode& each : list) {
    TUNEONCE_ASSIGN_OR_RETURN(NamedCondition named, ReadCondition(each));
    conditions_.emplace_back(&each, std::move(named));
  }
  return Status();
}

Status BundleSpace::AddConditions(bool of_target, SearchSpace* space) const {
  if (family_ != nullptr && of_target) family_->AddTargetConditions(std::nullopt, space);
  for (const auto& [node, named] : conditions_) {
    if (named.condition.reads().target != of_target) continue;
    space->Where(named.name, named.condition);
    Status status = space->status();
    if (status.ok()) status = space->Resolve(names_);
    if (!status.ok()) return node->Error(status.message());
  }
  return Status();
}

Status BundleSpace::ReadScalars(const ManifestNode& root) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* parameters, root.Get("parameters"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, parameters->Array(kMaxParameters));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const ManifestNode& node = list[i];
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* kind, node.Get("kind"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string text, kind->String());
    if (text != "scalar") continue;
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* name, node.Get("name"));
    TermNames::Scalar scalar;
    TUNEONCE_ASSIGN_OR_RETURN(scalar.name, name->String());
    scalar.parameter = static_cast<int>(i);
    const ManifestNode* dtype = node.Find("dtype");
    if (dtype != nullptr && dtype->kind() == ManifestNode::Kind::kString) {
      TUNEONCE_ASSIGN_OR_RETURN(std::string dtype_name, dtype->String());
      // An unknown name is reported where the parameter itself is read.
      scalar.dtype = DTypeNamed(dtype_name).value_or(DType::kAny);
    }
    names_.scalars.push_back(std::move(scalar));
  }
  return Status();
}

Result<bool> BundleSpace::MeansAxis(const ManifestNode& node) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.String());
  auto has_name = [&](const auto& named) { return named.name == name; };
  bool is_axis = std::any_of(axes_.begin(), axes_.end(), has_name);
  bool is_dim = std::find(dims().begin(), dims().end(), name) != dims().end();
  bool is_scalar = std::any_of(names_.scalars.begin(), names_.scalars.end(), has_name);
  if (!is_axis && !is_dim && !is_scalar) {
    return node.Error(absl::StrCat("unknown dim '", name, "'; dims of the bundle: ", ShortList(dims(), name),
                                   "; scalars: ", ShortListOf(names_.scalars, &TermNames::Scalar::name, name),
                                   "; axes: ", ShortListOf(axes_, &NamedAxis::name, name)));
  }
  if (!is_axis) return false;
  if (!is_dim && !is_scalar) return true;
  return node.Error(absl::StrCat("'", name, "' is an axis and a ", is_dim ? "dim" : "scalar",
                                 ": rename one, or write {\"axis\": \"", name, "\"} for the axis"));
}

Status BundleSpace::FindScalar(const ManifestNode& node) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.String());
  auto has_name = [&](const TermNames::Scalar& scalar) { return scalar.name == name; };
  if (std::find(dims().begin(), dims().end(), name) != dims().end()) {
    return node.Error("'" + name + "' is also the name of a dim: rename the dim or the scalar");
  }
  if (std::any_of(names_.scalars.begin(), names_.scalars.end(), has_name)) return Status();
  return node.Error("the bundle has no scalar '" + name + "'");
}

Result<Dim> BundleSpace::FindDim(const ManifestNode& node) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view name, node.Text());
  return FindDim(node, name);
}

Result<Dim> BundleSpace::FindDim(const ManifestNode& node, std::string_view name) const {
  auto it = std::find(dims().begin(), dims().end(), name);
  if (it != dims().end()) return Dim{static_cast<int>(it - dims().begin())};
  return node.Error(absl::StrCat("unknown dim '", std::string(name), "'; the bundle has: ", ShortList(dims(), name)));
}

Result<std::size_t> BundleSpace::FindAxis(const ManifestNode& node, std::string_view name, std::size_t likely) const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const std::size_t index = (likely + i) % axes_.size();
    if (axes_[index].name == name) return index;
  }
  return node.Error(absl::StrCat("unknown axis '", std::string(name),
                                 "'; the bundle has: ", ShortListOf(axes_, &NamedAxis::name, name)));
}

Result<std::size_t> BundleSpace::FindAxis(const ManifestNode& node) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view name, node.Text());
  return FindAxis(node, name);
}

Result<IntAxis> BundleSpace::FindIntAxis(const ManifestNode& node) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::size_t index, FindAxis(node));
  if (const auto* axis = std::get_if<IntAxis>(&axes_[index].handle)) return *axis;
  return node.Error("axis '" + axes_[index].name + "' has no whole numbers as values");
}

Result<Axis<std::string>> BundleSpace::FindStringAxis(const ManifestNode& node) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::size_t index, FindAxis(node));
  if (const auto* axis = std::get_if<Axis<std::string>>(&axes_[index].handle)) return *axis;
  return node.Error("axis '" + axes_[index].name + "' has no strings as values");
}

Result<ConfigPattern> BundleSpace::ReadPattern(const ManifestNode& node, bool whole) const {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, node.Object());
  ConfigPattern pattern;
  pattern.values.reserve(members.size());
  std::size_t next = 0;  // Patterns mostly name axes in their order.
  for (const ManifestNode& value : members) {
    TUNEONCE_ASSIGN_OR_RETURN(const std::size_t index, FindAxis(value, value.name(), next));
    next = index + 1;
    AxisValue of_axis;
    if (std::holds_alternative<IntAxis>(axes_[index].handle)) {
      TUNEONCE_ASSIGN_OR_RETURN(of_axis, value.Int());
    } else if (std::holds_alternative<Axis<double>>(axes_[index].handle)) {
      TUNEONCE_ASSIGN_OR_RETURN(of_axis, value.Number());
    } else if (std::holds_alternative<Axis<bool>>(axes_[index].handle)) {
      TUNEONCE_ASSIGN_OR_RETURN(of_axis, value.Bool());
    } else {
      TUNEONCE_ASSIGN_OR_RETURN(of_axis, value.String());
    }
    pattern.values.emplace_back(index, std::move(of_axis));
  }
  auto is_before = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(pattern.values.begin(), pattern.values.end(), is_before)) {
    std::sort(pattern.values.begin(), pattern.values.end(), is_before);
  }
  if (!whole) return pattern;
  const std::vector<std::size_t> set = pattern.Axes();
  const bool is_whole = std::all_of(axes_.begin(), axes_.end(), [&](const NamedAxis& axis) {
    return axis.is_constant ||
           std::binary_search(set.begin(), set.end(), static_cast<std::size_t>(&axis - axes_.data()));
  });
  if (!is_whole) {
    return node.Error(absl::StrCat("the config sets only ", pattern.values.size(), " of the bundle's ", axes_.size(),
                                   " axes: set all that have more than one value"));
  }
  return pattern;
}

}  // namespace v0
}  // namespace tuneonce
