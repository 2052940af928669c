#include "bundle/bundle_descriptor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "bundle/bundle_term.h"

namespace tuneonce {
inline namespace v0 {
namespace {

Result<std::vector<Term>> ReadTermList(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node.Array(TensorMap::kMaxRank));
  std::vector<Term> terms;
  for (const ManifestNode& each : *list) {
    TUNEONCE_ASSIGN_OR_RETURN(Term term, ReadTerm(space, each));
    terms.push_back(std::move(term));
  }
  return terms;
}

/// The member `field`, one of the names, into `value`, which stays as it is without one.
template <typename Value>
Status ReadNamed(const ManifestNode& node, const char* field,
                 std::initializer_list<std::pair<const char*, Value>> names, Value* value) {
  const ManifestNode* given = node.Find(field);
  if (given == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(std::string text, given->String());
  std::string all;
  for (const auto& [name, named] : names) {
    if (text == name) {
      *value = named;
      return Status();
    }
    absl::StrAppend(&all, all.empty() ? "" : ", ", name);
  }
  return given->Error(absl::StrCat("expected one of ", all, "; got '", text, "'"));
}

}  // namespace

Result<Parameter> ReadDescriptor(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields(
      {"name", "kind", "tensor", "box", "element_strides", "swizzle", "interleave", "l2_promotion", "oob_fill"}));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* name_node, node.Get("name"));
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, name_node->String());
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* tensor_node, node.Get("tensor"));
  TUNEONCE_ASSIGN_OR_RETURN(std::string tensor, tensor_node->String());
  TensorMap map;
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* box, node.Get("box"));
  TUNEONCE_ASSIGN_OR_RETURN(map.box, ReadTermList(space, *box));
  if (const ManifestNode* strides = node.Find("element_strides")) {
    TUNEONCE_ASSIGN_OR_RETURN(map.element_strides, ReadTermList(space, *strides));
    if (map.element_strides.empty())
      return strides->Error("expected one element stride for each dimension of the tensor");
  }
  using Map = TensorMap;
  TUNEONCE_RETURN_IF_ERROR(ReadNamed<Map::Swizzle>(node, "swizzle",
                                                   {{"none", Map::Swizzle::kNone},
                                                    {"32B", Map::Swizzle::k32Bytes},
                                                    {"64B", Map::Swizzle::k64Bytes},
                                                    {"128B", Map::Swizzle::k128Bytes}},
                                                   &map.swizzle));
  TUNEONCE_RETURN_IF_ERROR(ReadNamed<Map::Interleave>(
      node, "interleave",
      {{"none", Map::Interleave::kNone}, {"16B", Map::Interleave::k16Bytes}, {"32B", Map::Interleave::k32Bytes}},
      &map.interleave));
  TUNEONCE_RETURN_IF_ERROR(ReadNamed<Map::L2Promotion>(node, "l2_promotion",
                                                       {{"none", Map::L2Promotion::kNone},
                                                        {"64B", Map::L2Promotion::k64Bytes},
                                                        {"128B", Map::L2Promotion::k128Bytes},
                                                        {"256B", Map::L2Promotion::k256Bytes}},
                                                       &map.l2_promotion));
  TUNEONCE_RETURN_IF_ERROR(ReadNamed<Map::OutOfBounds>(
      node, "oob_fill", {{"zero", Map::OutOfBounds::kZero}, {"nan", Map::OutOfBounds::kNan}}, &map.out_of_bounds));
  return Descriptor(std::move(name), std::move(tensor), std::move(map));
}

}  // namespace v0
}  // namespace tuneonce
