#include "bundle/bundle_targets.h"

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Beyond any capability: 90 is 9.0.
constexpr std::int64_t kMostCapability = 10000;

}  // namespace

Result<TargetFilter> ReadTargets(const ManifestNode& node) {
  const ManifestNode* targets = node.Find("targets");
  if (targets == nullptr) return TargetFilter();
  if (targets->kind() == ManifestNode::Kind::kString) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, targets->String());
    if (name != "cpu")
      return targets->Error("expected \"cpu\", or an object with min_capability or max_capability, got '" + name + "'");
    return TargetFilter(OnCpuDevice());
  }
  TUNEONCE_RETURN_IF_ERROR(targets->CheckFields({"min_capability", "max_capability"}));
  std::int64_t from = 0, to = kMostCapability;
  if (const ManifestNode* least = targets->Find("min_capability")) {
    TUNEONCE_ASSIGN_OR_RETURN(from, least->Int());
  }
  if (const ManifestNode* most = targets->Find("max_capability")) {
    TUNEONCE_ASSIGN_OR_RETURN(to, most->Int());
  }
  if (from < 0 || to < from || to > kMostCapability) {
    return targets->Error(absl::StrCat("no compute capability is within ", from, " to ", to, "; write 9.0 as 90"));
  }
  return TargetFilter(CapabilityRange(static_cast<int>(from), static_cast<int>(to)));
}

}  // namespace v0
}  // namespace tuneonce
