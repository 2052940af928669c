// A manifest's space that is named and not listed: "space": "dense_matmul".
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/short_list.h"
#include "bundle/bundle_space.h"

namespace tuneonce {
inline namespace v0 {

/// "dense_matmul"; or {"family": "dense_matmul", "dims": {"M": "tokens"}}.
Status BundleSpace::ReadFamily(const ManifestNode& root) {
  const ManifestNode* node = root.Find("space");
  if (node == nullptr) return Status();
  for (const char* field : {"configs", "baseline", "fallback"}) {
    const ManifestNode* given = root.Find(field);
    if (given != nullptr)
      return given->Error(
          "a named space has its own configs, baseline and fallback: remove this field, or replace \"space\" by axes "
          "and conditions");
  }
  const ManifestNode* name_node = node;
  if (node->kind() == ManifestNode::Kind::kObject) {
    TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"family", "dims"}));
    TUNEONCE_ASSIGN_OR_RETURN(name_node, node->Get("family"));
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, name_node->String());
  Result<const Family*> family = FindFamily(name);
  if (!family.ok()) return name_node->Error(family.status().message());
  family_ = *family;
  TUNEONCE_ASSIGN_OR_RETURN(auto names, ReadFamilyDims(*node));
  space_ = family_->ConfigsOf(std::nullopt, names);
  TUNEONCE_RETURN_IF_ERROR(space_.Resolve(TermNames{dims(), {}}));
  for (const Family::Axis& axis : family_->axes)
    axes_.push_back(NamedAxis{axis.name, space_.FindAxis(axis.name), false});
  return Status();
}

Result<std::map<std::string, std::string>> BundleSpace::ReadFamilyDims(const ManifestNode& space) const {
  const std::vector<std::string> guarded = family_->Dims();
  std::map<std::string, std::string> names;
  const ManifestNode* given = space.kind() == ManifestNode::Kind::kObject ? space.Find("dims") : nullptr;
  if (given != nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, given->Object());
    for (const ManifestNode& value : members) {
      const std::string dim(value.name());
      if (std::find(guarded.begin(), guarded.end(), dim) == guarded.end()) {
        return value.Error(
            absl::StrCat("the space ", family_->name, " has no dim '", dim, "'; it has: ", ShortList(guarded, dim)));
      }
      TUNEONCE_ASSIGN_OR_RETURN(names[dim], value.String());
    }
  }
  for (const std::string& dim : guarded) {
    const std::string& name = names.emplace(dim, dim).first->second;
    if (name.empty() || std::find(dims().begin(), dims().end(), name) != dims().end()) continue;
    return space.Error(absl::StrCat("the space ", family_->name, " needs a dim '", name,
                                    "', but the bundle has: ", ShortList(dims(), name), "; write {\"family\": \"",
                                    family_->name, "\", \"dims\": {\"", dim, "\": NAME}}, with \"\" for no dim"));
  }
  return names;
}

Result<std::vector<Config>> BundleSpace::ConfigsWhere(const Condition& runs_on, const SearchSpace& space) const {
  if (family_ == nullptr) return space.Enumerate(Target());
  SearchSpace widened = space;
  family_->AddTargetConditions(std::nullopt, &widened);
  std::vector<Config> all;
  std::set<std::string> seen;
  for (const Target& target : family_->WidestTargets(runs_on)) {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, widened.Enumerate(target));
    for (Config& config : configs) {
      if (seen.insert(config.Canonical()).second) all.push_back(std::move(config));
    }
  }
  return all;
}

}  // namespace v0
}  // namespace tuneonce
