#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "bundle/manifest_readers.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Most of a variant: each is checked when the bundle is read, and at each launch.
constexpr std::size_t kMostAssumptions = 1024;
/// Most dtypes that one names.
constexpr std::size_t kMostDTypes = 32;

/// {"scalar": "causal", "is": true}, {"scalar": "n", "divisible_by": 16}, {"scalar": "n", "at_least": 0}.
Status ReadScalarAssumption(const ManifestNode& node, std::vector<Assumption>* read) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"scalar", "is", "divisible_by", "at_least"}));
  TUNEONCE_ASSIGN_OR_RETURN(std::string scalar, node.Find("scalar")->String());
  std::size_t before = read->size();
  if (const ManifestNode* is = node.Find("is")) {
    if (is->kind() == ManifestNode::Kind::kTruth) {
      TUNEONCE_ASSIGN_OR_RETURN(bool value, is->Bool());
      read->push_back(ScalarIs(scalar, value));
    } else if (is->kind() == ManifestNode::Kind::kInt) {
      TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, is->Int());
      read->push_back(ScalarIs(scalar, value));
    } else {
      TUNEONCE_ASSIGN_OR_RETURN(double value, is->Number());
      read->push_back(ScalarIs(scalar, value));
    }
  }
  if (const ManifestNode* divisor = node.Find("divisible_by")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, divisor->Int());
    read->push_back(ScalarDivisibleBy(scalar, value));
  }
  if (const ManifestNode* least = node.Find("at_least")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, least->Int());
    read->push_back(ScalarAtLeast(scalar, value));
  }
  return read->size() == before ? node.Error("an assumption needs a field that states what is assumed") : Status();
}

/// "bfloat16", or a list of such.
Result<std::vector<DType>> ReadDTypes(const ManifestNode& node) {
  if (node.kind() == ManifestNode::Kind::kString) {
    TUNEONCE_ASSIGN_OR_RETURN(DType dtype, ReadDType(node));
    return std::vector<DType>{dtype};
  }
  return ReadList(node, kMostDTypes, ReadDType);
}

/// {"tensor": "x", "dimension": 0, "stride": 1} and so on.
Status ReadTensorAssumption(const ManifestNode& node, std::vector<Assumption>* read) {
  TUNEONCE_RETURN_IF_ERROR(
      node.CheckFields({"tensor", "aligned", "contiguous", "dimension", "stride", "stride_divisible_by", "extent",
                        "extent_divisible_by", "extent_at_least", "no_overlap", "dtype"}));
  TUNEONCE_ASSIGN_OR_RETURN(std::string tensor, node.GetString("tensor"));
  int dimension = 0;
  bool is_of_dimension = node.Find("stride") != nullptr || node.Find("stride_divisible_by") != nullptr ||
                         node.Find("extent") != nullptr || node.Find("extent_divisible_by") != nullptr ||
                         node.Find("extent_at_least") != nullptr;
  const ManifestNode* dimension_node = node.Find("dimension");
  if (dimension_node != nullptr && !is_of_dimension)
    return dimension_node->Error(
        "\"dimension\" is given, but no field assumes anything about that dimension: add a field such as "
        "\"extent_divisible_by\", or remove it");
  if (is_of_dimension) {
    TUNEONCE_ASSIGN_OR_RETURN(dimension_node, node.Get("dimension"));
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, dimension_node->Int());
    dimension = static_cast<int>(std::clamp<std::int64_t>(value, -1, kMaxRank));
  }
  std::size_t before = read->size();
  auto add = [&](const char* field, auto make) -> Status {
    const ManifestNode* value_node = node.Find(field);
    if (value_node == nullptr) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, value_node->Int());
    read->push_back(make(value));
    return Status();
  };
  TUNEONCE_RETURN_IF_ERROR(add("aligned", [&](std::int64_t v) { return Aligned(tensor, v); }));
  TUNEONCE_RETURN_IF_ERROR(add("stride", [&](std::int64_t v) { return StrideIs(tensor, dimension, v); }));
  TUNEONCE_RETURN_IF_ERROR(
      add("stride_divisible_by", [&](std::int64_t v) { return StrideDivisibleBy(tensor, dimension, v); }));
  TUNEONCE_RETURN_IF_ERROR(add("extent", [&](std::int64_t v) { return ExtentIs(tensor, dimension, v); }));
  TUNEONCE_RETURN_IF_ERROR(
      add("extent_divisible_by", [&](std::int64_t v) { return ExtentDivisibleBy(tensor, dimension, v); }));
  TUNEONCE_RETURN_IF_ERROR(add("extent_at_least", [&](std::int64_t v) { return ExtentAtLeast(tensor, dimension, v); }));
  bool is_contiguous = false;
  TUNEONCE_RETURN_IF_ERROR(node.ReadOptional("contiguous", &is_contiguous));
  if (is_contiguous) read->push_back(Contiguous(tensor));
  if (const ManifestNode* dtype_node = node.Find("dtype")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<DType> dtypes, ReadDTypes(*dtype_node));
    read->push_back(DTypeIn(tensor, std::move(dtypes)));
  }
  if (const ManifestNode* other_node = node.Find("no_overlap")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string other, other_node->String());
    read->push_back(NoOverlap(tensor, other));
  }
  return read->size() == before ? node.Error("an assumption needs a field that states what is assumed") : Status();
}

}  // namespace

Result<std::vector<Assumption>> ReadAssumptions(const ManifestNode& variant) {
  std::vector<Assumption> read;
  const ManifestNode* assumptions = variant.Find("assumptions");
  if (assumptions == nullptr) return read;
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, assumptions->Array(kMostAssumptions));
  for (const ManifestNode& each : list) {
    const bool is_of_scalar = each.Find("scalar") != nullptr;
    TUNEONCE_RETURN_IF_ERROR(is_of_scalar ? ReadScalarAssumption(each, &read) : ReadTensorAssumption(each, &read));
  }
  return read;
}

}  // namespace v0
}  // namespace tuneonce
