#include "bundle/bundle_space.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// Most entries of a manifest's lists, far beyond what a kernel has: what is asked of each entry when it is read, and at
// each launch of a bucket, is bounded by them.
constexpr std::size_t kMostAxes = 32;
constexpr std::size_t kMostGuards = 256;
constexpr std::size_t kMostProducts = 64;
constexpr std::size_t kMostFactors = 16;

template <typename T>
Result<std::vector<T>> Each(const std::vector<ManifestNode>& nodes, Result<T> (ManifestNode::*get)() const) {
  std::vector<T> values;
  for (const ManifestNode& node : nodes) {
    TUNEONCE_ASSIGN_OR_RETURN(T value, (node.*get)());
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace

double SumOfProducts::Value(const Dims& dims) const {
  double sum = 0;
  for (const auto& [factor, factors] : products) {
    double product = factor;
    for (Dim dim : factors) product *= static_cast<double>(dims[dim]);
    sum += product;
  }
  return sum;
}

std::string SumOfProducts::ToString(const std::vector<std::string>& dims) const {
  std::vector<std::string> terms;
  for (const auto& [factor, factors] : products) {
    terms.push_back(absl::StrCat(factor));
    for (Dim dim : factors) absl::StrAppend(&terms.back(), " ", dims[static_cast<std::size_t>(dim.index)]);
  }
  return absl::StrJoin(terms, " + ");
}

Result<BundleSpace> BundleSpace::Read(const ManifestNode& root) {
  BundleSpace space;
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dims, root.Get("dims"));
  TUNEONCE_ASSIGN_OR_RETURN(space.dims_, dims->Strings(kMaxDims));
  if (const ManifestNode* most = root.Find("max_configs")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, most->Int());
    if (value < 1 || value > 100000) return most->Error("expected 1 to 100000");
    space.space_.AllowConfigs(static_cast<int>(value));
  }
  if (const ManifestNode* axes = root.Find("axes")) {
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, axes->Array(kMostAxes));
    for (const ManifestNode& axis : *list) TUNEONCE_RETURN_IF_ERROR(space.ReadAxis(axis));
  }
  TUNEONCE_RETURN_IF_ERROR(space.ReadConfigs(root));
  TUNEONCE_RETURN_IF_ERROR(space.ReadBaseline(root));
  TUNEONCE_RETURN_IF_ERROR(space.ReadGuards(root));
  return space;
}

Status BundleSpace::ReadAxis(const ManifestNode& node) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "values"}));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* name_node, node.Get("name"));
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, name_node->String());
  std::string kind = "structural";
  if (const ManifestNode* kind_node = node.Find("kind")) {
    TUNEONCE_ASSIGN_OR_RETURN(kind, kind_node->String());
    if (kind != "structural" && kind != "hint") return kind_node->Error("expected structural or hint");
  }
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* values_node, node.Get("values"));
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* values, values_node->Array());
  if (values->empty()) return values_node->Error("an axis needs at least one value");
  AxisHandle handle;
  switch (values->front().kind()) {
    case ManifestNode::Kind::kInt: {
      TUNEONCE_ASSIGN_OR_RETURN(auto ints, (Each<std::int64_t>(*values, &ManifestNode::Int)));
      handle = kind == "hint" ? space_.AddHintAxis(name, std::move(ints)) : space_.AddAxis(name, std::move(ints));
      break;
    }
    case ManifestNode::Kind::kDouble: {
      TUNEONCE_ASSIGN_OR_RETURN(auto doubles, (Each<double>(*values, &ManifestNode::Number)));
      handle = space_.AddDoubleAxis(name, std::move(doubles));
      break;
    }
    case ManifestNode::Kind::kTruth: {
      TUNEONCE_ASSIGN_OR_RETURN(auto bools, (Each<bool>(*values, &ManifestNode::Bool)));
      if (bools != std::vector<bool>{false, true}) {
        return values_node->Error("an axis of truth values has the values [false, true]");
      }
      handle = space_.AddBoolAxis(name);
      break;
    }
    case ManifestNode::Kind::kString: {
      TUNEONCE_ASSIGN_OR_RETURN(auto strings, (Each<std::string>(*values, &ManifestNode::String)));
      handle = space_.AddStringAxis(name, std::move(strings));
      break;
    }
    default:
      return values_node->Error("an axis has numbers, strings, or false and true");
  }
  if (kind == "hint" && !std::holds_alternative<IntAxis>(handle)) {
    return values_node->Error("a hint's values are whole numbers");
  }
  if (!space_.status().ok()) return node.Error(space_.status().message());
  axes_.push_back(NamedAxis{std::move(name), handle});
  return Status();
}

Status BundleSpace::ReadConfigs(const ManifestNode& root) {
  const ManifestNode* configs = root.Find("configs");
  if (configs == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, configs->Array());
  auto listed =
      std::make_shared<std::set<std::vector<AxisValue>, AxisValueOrder>>();  // Shared by the copies of the space.
  for (const ManifestNode& config : *list) {
    TUNEONCE_ASSIGN_OR_RETURN(ConfigPattern pattern, ReadPattern(config, /*whole=*/true));
    if (!listed->insert(pattern.Values()).second) return config.Error("it is listed twice");
  }
  space_.AddConstraint("listed in the bundle",
                       [listed](const Config& config) { return listed->count(config.values()) != 0; });
  return Status();
}

Status BundleSpace::ReadBaseline(const ManifestNode& root) {
  const ManifestNode* baseline = root.Find("baseline");
  if (baseline == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(ConfigPattern pattern, ReadPattern(*baseline, /*whole=*/true));
  std::vector<AxisAssignment> assignments;
  for (const auto& [index, value] : pattern.values) {
    std::visit(
        [&, &axis_value = value](const auto& axis) {
          using T = std::decay_t<decltype(std::declval<Config>()[axis])>;
          assignments.emplace_back(axis, std::get<T>(axis_value));
        },
        axes_[index].handle);
  }
  space_.SetBaseline(std::move(assignments));
  return Status();
}

/// {"dim": "N", "at_most": "TILE_N"}, {"dim": "N", "divisible_by": 8}, {"dim": "D", "is": [[2, "R"]]}.
Status BundleSpace::ReadGuards(const ManifestNode& root) {
  const ManifestNode* guards = root.Find("guards");
  if (guards == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, guards->Array(kMostGuards));
  for (const ManifestNode& guard : *list) {
    TUNEONCE_RETURN_IF_ERROR(guard.CheckFields({"dim", "at_most", "at_least", "divisible_by", "is"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dim_node, guard.Get("dim"));
    TUNEONCE_ASSIGN_OR_RETURN(Dim dim, FindDim(*dim_node));
    const std::string& dim_name = dims_[static_cast<std::size_t>(dim.index)];
    struct Rule {
      const char* field;
      bool (*holds)(std::int64_t extent, std::int64_t bound);
    };
    const Rule rules[] = {{"at_most", [](std::int64_t e, std::int64_t b) { return e <= b; }},
                          {"at_least", [](std::int64_t e, std::int64_t b) { return e >= b; }},
                          {"divisible_by", [](std::int64_t e, std::int64_t b) { return b > 0 && e % b == 0; }}};
    bool any = false;
    for (const Rule& rule : rules) {
      const ManifestNode* bound_node = guard.Find(rule.field);
      if (bound_node == nullptr) continue;
      any = true;
      std::optional<IntAxis> axis;
      std::int64_t constant = 0;
      std::string text;
      if (bound_node->kind() == ManifestNode::Kind::kString) {
        TUNEONCE_ASSIGN_OR_RETURN(axis, FindIntAxis(*bound_node));
        TUNEONCE_ASSIGN_OR_RETURN(text, bound_node->String());
      } else {
        TUNEONCE_ASSIGN_OR_RETURN(constant, bound_node->Int());
        text = std::to_string(constant);
      }
      space_.AddGuard(absl::StrCat(dim_name, " ", rule.field, " ", text),
                      [dim, axis, constant, holds = rule.holds](const Config& config, const Dims& dims) {
                        return holds(dims[dim], axis ? config[*axis] : constant);
                      });
    }
    if (const ManifestNode* product = guard.Find("is")) {
      any = true;
      TUNEONCE_ASSIGN_OR_RETURN(SumOfProducts formula, ReadSum(*product));
      space_.AddGuard(absl::StrCat(dim_name, " is ", formula.ToString(dims_)),
                      [dim, formula](const Config&, const Dims& dims) {
                        return static_cast<double>(dims[dim]) == formula.Value(dims);
                      });
    }
    if (!any) return guard.Error("expected one of the fields at_most, at_least, divisible_by and is");
  }
  return Status();
}

Result<Dim> BundleSpace::FindDim(const ManifestNode& node) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.String());
  return FindDim(node, name);
}

Result<Dim> BundleSpace::FindDim(const ManifestNode& node, const std::string& name) const {
  auto it = std::find(dims_.begin(), dims_.end(), name);
  if (it != dims_.end()) return Dim{static_cast<int>(it - dims_.begin())};
  return node.Error(absl::StrCat("unknown dim '", name, "'; the bundle has: ", absl::StrJoin(dims_, ", ")));
}

Result<std::size_t> BundleSpace::FindAxis(const ManifestNode& node, const std::string& name) const {
  auto it = std::find_if(axes_.begin(), axes_.end(), [&](const NamedAxis& axis) { return axis.name == name; });
  if (it != axes_.end()) return static_cast<std::size_t>(it - axes_.begin());
  return node.Error(absl::StrCat(
      "unknown axis '", name, "'; the bundle has: ",
      absl::StrJoin(axes_, ", ", [](std::string* out, const NamedAxis& axis) { out->append(axis.name); })));
}

Result<std::size_t> BundleSpace::FindAxis(const ManifestNode& node) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.String());
  return FindAxis(node, name);
}

Result<IntAxis> BundleSpace::FindIntAxis(const ManifestNode& node) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::size_t index, FindAxis(node));
  if (const auto* axis = std::get_if<IntAxis>(&axes_[index].handle)) return *axis;
  return node.Error("axis '" + axes_[index].name + "' is not one of whole numbers");
}

Result<ConfigPattern> BundleSpace::ReadPattern(const ManifestNode& node, bool whole) const {
  TUNEONCE_ASSIGN_OR_RETURN(auto members, node.Object());
  ConfigPattern pattern;
  for (const auto& [name, value] : *members) {
    TUNEONCE_ASSIGN_OR_RETURN(std::size_t index, FindAxis(value, name));
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
  std::sort(pattern.values.begin(), pattern.values.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  if (whole && pattern.values.size() != axes_.size()) {
    return node.Error(absl::StrCat("it names ", pattern.values.size(), " of ", axes_.size(), " axes"));
  }
  return pattern;
}

Result<SumOfProducts> BundleSpace::ReadSum(const ManifestNode& node) const {
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node.Array(kMostProducts));
  SumOfProducts formula;
  for (const ManifestNode& product : *list) {
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* factors, product.Array(kMostFactors));
    if (factors->empty()) return product.Error("expected [number, dim, ...]");
    std::pair<double, std::vector<Dim>> term;
    TUNEONCE_ASSIGN_OR_RETURN(term.first, factors->front().Number());
    for (std::size_t i = 1; i < factors->size(); ++i) {
      TUNEONCE_ASSIGN_OR_RETURN(Dim dim, FindDim((*factors)[i]));
      term.second.push_back(dim);
    }
    formula.products.push_back(std::move(term));
  }
  return formula;
}

}  // namespace v0
}  // namespace tuneonce
