#include "bundle/bundle_fill.h"

#include "bundle/bundle_term.h"

namespace tuneonce {
inline namespace v0 {
namespace {

Result<FillNumber> ReadNumber(const BundleSpace& space, const ManifestNode& node) {
  if (node.kind() == ManifestNode::Kind::kString) {
    TUNEONCE_RETURN_IF_ERROR(space.FindDim(node).status());
    TUNEONCE_ASSIGN_OR_RETURN(std::string dim, node.String());
    return FillNumber(std::move(dim));
  }
  if (node.kind() == ManifestNode::Kind::kObject) {
    TUNEONCE_ASSIGN_OR_RETURN(Term term, ReadTerm(space, node));
    return FillNumber(std::move(term));
  }
  TUNEONCE_ASSIGN_OR_RETURN(double value, node.Number());
  return FillNumber(value);
}

/// `node`: [first, second].
Result<std::pair<FillNumber, FillNumber>> ReadPair(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node.Array());
  if (list->size() != 2) return node.Error("expected a list of two entries, each a number or the name of a dim");
  TUNEONCE_ASSIGN_OR_RETURN(FillNumber first, ReadNumber(space, (*list)[0]));
  TUNEONCE_ASSIGN_OR_RETURN(FillNumber second, ReadNumber(space, (*list)[1]));
  return std::pair<FillNumber, FillNumber>(std::move(first), std::move(second));
}

}  // namespace

Result<WarmupFill> ReadWarmupFill(const BundleSpace& space, const ManifestNode& node) {
  if (node.kind() == ManifestNode::Kind::kTruth) {
    TUNEONCE_ASSIGN_OR_RETURN(bool truth, node.Bool());
    return WarmupFill(truth ? 1 : 0);
  }
  if (node.kind() != ManifestNode::Kind::kObject) {
    TUNEONCE_ASSIGN_OR_RETURN(FillNumber number, ReadNumber(space, node));
    return WarmupFill::Constant(std::move(number));
  }
  struct Sequence {
    const char* field;
    WarmupFill (*make)(FillNumber first, FillNumber second);
  };
  constexpr Sequence kSequences[] = {
      {"iota", WarmupFill::Iota}, {"uniform", WarmupFill::Uniform}, {"offsets", WarmupFill::Offsets}};
  const Sequence* found = nullptr;
  for (const Sequence& each : kSequences) {
    if (node.Find(each.field) != nullptr && found == nullptr) found = &each;
  }
  TUNEONCE_ASSIGN_OR_RETURN(auto members, node.Object());
  if (found == nullptr && !members->empty()) {  // A term.
    TUNEONCE_ASSIGN_OR_RETURN(FillNumber number, ReadNumber(space, node));
    return WarmupFill::Constant(std::move(number));
  }
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"iota", "uniform", "offsets"}));
  if (members->size() != 1) return node.Error("expected one of the fields iota, uniform and offsets");
  TUNEONCE_ASSIGN_OR_RETURN(auto numbers, ReadPair(space, *node.Find(found->field)));
  return found->make(std::move(numbers.first), std::move(numbers.second));
}

}  // namespace v0
}  // namespace tuneonce
