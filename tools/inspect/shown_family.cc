#include "inspect/shown_family.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/short_list.h"
#include "definition/family.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson JsonOfConfig(const Config& config) {
  OrderedJson json = OrderedJson::object();
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    json[config.AxisName(i)] = std::get<std::int64_t>(config.values()[i]);  // As all axes of families.
  }
  return json;
}

Status CheckExtents(const Family& family, const std::map<std::string, std::int64_t>& extents) {
  const std::vector<std::string> dims = family.Dims();
  for (const auto& [dim, extent] : extents) {
    if (std::find(dims.begin(), dims.end(), dim) == dims.end()) {
      return InvalidArgumentError(
          absl::StrCat("the family ", family.name, " has no dim '", dim, "'; its dims are: ", ShortList(dims, dim)));
    }
    if (extent < 1) {
      return InvalidArgumentError(absl::StrCat("the extent of ", dim, " is ", extent, ", but must be at least 1"));
    }
  }
  return Status();
}

/// `narrowed` has the further conditions, and no baselines, which need not meet them.
ShownFamily::OnTarget ShownOn(const SearchSpace& space, const SearchSpace& narrowed, const Target& target,
                              Problem problem) {
  ShownFamily::OnTarget shown;
  shown.target = target;
  problem.target = &target;
  Result<std::vector<Config>> configs = narrowed.Enumerate(target, &problem);
  shown.status = configs.status();
  if (!configs.ok()) return shown;
  shown.configs = *std::move(configs);
  Result<std::optional<Config>> baseline = space.BaselineFor(problem);
  shown.status = baseline.status();
  if (baseline.ok() && *baseline && narrowed.Contains(**baseline, target, &problem).ok()) {
    shown.baseline = *std::move(baseline);
  }
  return shown;
}

}  // namespace

Result<ShownFamily> ShownFamily::Of(const std::string& name, std::vector<Target> targets,
                                    const std::map<std::string, std::int64_t>& extents,
                                    const std::vector<std::string>& where) {
  ShownFamily shown;
  TUNEONCE_ASSIGN_OR_RETURN(shown.family, FindFamily(name));
  shown.name = shown.family->name;
  shown.summary = shown.family->summary;
  TUNEONCE_RETURN_IF_ERROR(CheckExtents(*shown.family, extents));
  shown.space = shown.family->Space();
  // Guards of dims without an extent are left out.
  std::map<std::string, std::string> names;
  for (const std::string& dim : shown.family->Dims()) names[dim] = extents.count(dim) > 0 ? dim : "";
  SearchSpace asked = shown.family->Space(std::nullopt, names);
  Problem problem;
  problem.dims = Dims(static_cast<int>(extents.size()));
  std::vector<std::string> dims;
  for (const auto& [dim, extent] : extents) {
    problem.dims[Dim{static_cast<int>(dims.size())}] = extent;
    dims.push_back(dim);
  }
  TUNEONCE_RETURN_IF_ERROR(asked.Resolve(TermNames{dims, {}}));
  SearchSpace narrowed = asked;
  if (!where.empty()) narrowed.SetBaselines({});
  for (const std::string& text : where) {
    TUNEONCE_ASSIGN_OR_RETURN(Condition condition, Condition::Parse(text));
    shown.space.Where(text, condition);
    narrowed.Where(text, std::move(condition));
  }
  TUNEONCE_RETURN_IF_ERROR(narrowed.status());
  TUNEONCE_RETURN_IF_ERROR(narrowed.Resolve(TermNames{dims, {}}));
  if (targets.empty()) targets = KnownTargets();
  for (const Target& target : targets) shown.targets.push_back(ShownOn(asked, narrowed, target, problem));
  return shown;
}

std::string ShownFamily::Json() const {
  OrderedJson json = {{"family", family->name},        {"summary", family->summary},
                      {"dims", family->Dims()},        {"hints", OrderedJson::array()},
                      {"where", OrderedJson::array()}, {"targets", OrderedJson::array()}};
  for (const NamedCondition& each : space.conditions()) {
    OrderedJson condition = {{"name", each.name}};
    if (!each.condition.reads().function) condition["condition"] = each.condition.ToString();
    json["where"].push_back(std::move(condition));
  }
  for (const Family::Axis& axis : family->axes) {
    if (axis.kind == AxisKind::kHint) json["hints"].push_back(axis.name);
  }
  for (const OnTarget& shown : targets) {
    OrderedJson on = {{"target", shown.target.name()}};
    if (!shown.status.ok()) {
      on["error"] = shown.status.message();
      json["targets"].push_back(std::move(on));
      continue;
    }
    on["baseline"] = shown.baseline ? JsonOfConfig(*shown.baseline) : OrderedJson();
    on["configs"] = OrderedJson::array();
    for (const Config& config : shown.configs) on["configs"].push_back(JsonOfConfig(config));
    json["targets"].push_back(std::move(on));
  }
  return json.dump(2);
}

}  // namespace v0
}  // namespace tuneonce
