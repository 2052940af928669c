#include "bundle/bundle_key.h"

#include <utility>

namespace tuneonce {
inline namespace v0 {
namespace {

// Beyond what a kernel has: a part is at most each dim, dtype and value.
constexpr std::size_t kMostKeyParts = kMaxDims + kMaxParameters;

/// [1, 2, 4]
Result<std::vector<std::int64_t>> ReadValues(const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node.Array(KeyPart::kMostValues));
  std::vector<std::int64_t> values;
  for (const ManifestNode& each : *list) {
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, each.Int());
    values.push_back(value);
  }
  return values;
}

/// {"dim": "M"}, {"dim": "M", "bucket": "next_pow2"}, {"dim": "M", "buckets": [1, 2, 4]} or "nearest" with a list.
Result<KeyPart> ReadKeyOfDim(const BundleSpace& space, const ManifestNode& node, const ManifestNode& dim) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"dim", "bucket", "buckets", "nearest"}));
  TUNEONCE_RETURN_IF_ERROR(space.FindDim(dim).status());
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, dim.String());
  KeyPart part = KeyOf(std::move(name));
  if (const ManifestNode* bucket = node.Find("bucket")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string text, bucket->String());
    if (text != "next_pow2") return bucket->Error("expected next_pow2, got '" + text + "'");
    part = std::move(part).NextPow2();
  }
  if (const ManifestNode* buckets = node.Find("buckets")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::int64_t> values, ReadValues(*buckets));
    part = std::move(part).Buckets(std::move(values));
  }
  if (const ManifestNode* nearest = node.Find("nearest")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::int64_t> values, ReadValues(*nearest));
    part = std::move(part).Nearest(std::move(values));
  }
  if (Status sound = part.Check(); !sound.ok()) return node.Error(sound.message());
  return part;
}

Result<KeyPart> ReadKeyPart(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"dim", "bucket", "buckets", "nearest", "dtype_of", "value_of"}));
  if (const ManifestNode* dim = node.Find("dim")) return ReadKeyOfDim(space, node, *dim);
  if (const ManifestNode* dtype_of = node.Find("dtype_of")) {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"dtype_of"}));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, dtype_of->String());
    return DTypeOf(std::move(name));
  }
  if (const ManifestNode* value_of = node.Find("value_of")) {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"value_of"}));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, value_of->String());
    return ValueOf(std::move(name));
  }
  return node.Error("expected one of the fields dim, dtype_of and value_of");
}

}  // namespace

Status ReadKey(const BundleSpace& space, const ManifestNode& root, KernelDefinition* definition) {
  const ManifestNode* node = root.Find("key");
  if (node == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node->Array(kMostKeyParts));
  std::vector<KeyPart> parts;
  for (const ManifestNode& each : *list) {
    TUNEONCE_ASSIGN_OR_RETURN(KeyPart part, ReadKeyPart(space, each));
    parts.push_back(std::move(part));
  }
  definition->Key(std::move(parts));
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
