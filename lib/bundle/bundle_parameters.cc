#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bundle/manifest_readers.h"
#include "definition/fill_bytes.h"

namespace tuneonce {
inline namespace v0 {
namespace {

Result<FillNumber> ReadFillNumber(const BundleSpace& space, const ManifestNode& node) {
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
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, node.Array());
  if (list.size() != 2) return node.Error("expected a list of two entries, each a number or the name of a dim");
  TUNEONCE_ASSIGN_OR_RETURN(FillNumber first, ReadFillNumber(space, list[0]));
  TUNEONCE_ASSIGN_OR_RETURN(FillNumber second, ReadFillNumber(space, list[1]));
  return std::pair<FillNumber, FillNumber>(std::move(first), std::move(second));
}

/// Reads "warmup": a number, {"iota": [start, step]} or {"uniform": [low, high]}. A dim's name can stand for
/// each number.
Result<WarmupFill> ReadWarmupFill(const BundleSpace& space, const ManifestNode& node) {
  if (node.kind() == ManifestNode::Kind::kTruth) {
    TUNEONCE_ASSIGN_OR_RETURN(bool truth, node.Bool());
    return WarmupFill(truth ? 1 : 0);
  }
  if (node.kind() != ManifestNode::Kind::kObject) {
    TUNEONCE_ASSIGN_OR_RETURN(FillNumber number, ReadFillNumber(space, node));
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
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, node.Object());
  if (found == nullptr && !members.empty()) {  // A term.
    TUNEONCE_ASSIGN_OR_RETURN(FillNumber number, ReadFillNumber(space, node));
    return WarmupFill::Constant(std::move(number));
  }
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"iota", "uniform", "offsets"}));
  if (members.size() != 1) return node.Error("expected one of the fields iota, uniform and offsets");
  TUNEONCE_ASSIGN_OR_RETURN(auto numbers, ReadPair(space, *node.Find(found->field)));
  return found->make(std::move(numbers.first), std::move(numbers.second));
}

Result<std::vector<Term>> ReadTermList(const BundleSpace& space, const ManifestNode& node) {
  return ReadList(node, TensorMap::kMaxRank, [&](const ManifestNode& each) { return ReadTerm(space, each); });
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

/// {"name": "a_map", "kind": "descriptor", "tensor": "a", "box": [TERM, ...]}, and perhaps element_strides, swizzle,
/// interleave, l2_promotion, oob_fill.
Result<Parameter> ReadDescriptor(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields(
      {"name", "kind", "tensor", "box", "element_strides", "swizzle", "interleave", "l2_promotion", "oob_fill"}));
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.GetString("name"));
  TUNEONCE_ASSIGN_OR_RETURN(std::string tensor, node.GetString("tensor"));
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

Status RefuseOutputFields(const ManifestNode& node) {
  for (const char* field : {"may_be_partial", "tolerance"}) {
    if (const ManifestNode* given = node.Find(field)) {
      return given->Error(std::string(field) + " is only for outputs, which are tensors with access out or inout");
    }
  }
  return Status();
}

/// "by_pointers": true, "varying": ["M"].
Status ReadPointers(const ManifestNode& node, Parameter* tensor) {
  TUNEONCE_RETURN_IF_ERROR(node.ReadOptional("by_pointers", &tensor->by_pointers));
  const ManifestNode* varying = node.Find("varying");
  if (varying == nullptr) return Status();
  if (!tensor->by_pointers) return varying->Error("\"varying\" is only for tensors with \"by_pointers\"");
  TUNEONCE_ASSIGN_OR_RETURN(tensor->varying, varying->Strings(kMaxRank));
  return Status();
}

/// ["N", 4]: a dim's name or a constant for each dimension.
Result<std::vector<std::string>> ReadShape(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, node.Array(kMaxRank));
  if (list.empty()) return node.Error("a tensor needs at least one dim");
  std::vector<std::string> shape;
  for (const ManifestNode& each : list) {
    if (each.kind() == ManifestNode::Kind::kInt) {
      TUNEONCE_ASSIGN_OR_RETURN(std::int64_t constant, each.Int());
      if (constant < 1) return each.Error("a constant extent must be a whole number of at least 1");
      shape.push_back(DeclaredExtent(constant).text);
      continue;
    }
    TUNEONCE_ASSIGN_OR_RETURN(std::string dim, each.String());
    TUNEONCE_RETURN_IF_ERROR(space.FindDim(node, dim).status());
    shape.push_back(std::move(dim));
  }
  return shape;
}

Result<Parameter> ReadTensor(const BundleSpace& space, const ManifestNode& node, DType dtype) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "access", "dtype", "same_dtype_as", "dims", "by_pointers",
                                             "varying", "may_be_partial", "tolerance", "warmup"}));
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.GetString("name"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dims_node, node.Get("dims"));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::string> dims, ReadShape(space, *dims_node));
  DeclaredDType declared = dtype;
  if (const ManifestNode* same = node.Find("same_dtype_as")) {
    if (dtype != DType::kAny) return same->Error("a tensor takes \"dtype\" or \"same_dtype_as\", but not both");
    TUNEONCE_ASSIGN_OR_RETURN(std::string other, same->String());
    declared = SameDTypeAs(other);
  }
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* access_node, node.Get("access"));
  TUNEONCE_ASSIGN_OR_RETURN(std::string access, access_node->String());
  if (access == "in") {
    TUNEONCE_RETURN_IF_ERROR(RefuseOutputFields(node));
    return In(name, declared, dims);
  }
  if (access != "out" && access != "inout") {
    return access_node->Error("expected in, out or inout, got '" + access + "'");
  }
  Parameter output = access == "out" ? Out(name, declared, dims) : InOut(name, declared, dims);
  TUNEONCE_RETURN_IF_ERROR(node.ReadOptional("may_be_partial", &output.may_be_partial));
  if (const ManifestNode* tolerance = node.Find("tolerance")) {
    TUNEONCE_ASSIGN_OR_RETURN(output.tolerance, ReadTolerance(*tolerance));
  }
  return output;
}

/// {"kind": "stride", "tensor": "x", "dimension": 0}, and perhaps a name and a dtype.
Result<Parameter> ReadStride(const ManifestNode& node, DType dtype) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "tensor", "dimension", "dtype"}));
  TUNEONCE_ASSIGN_OR_RETURN(std::string tensor, node.GetString("tensor"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dimension_node, node.Get("dimension"));
  TUNEONCE_ASSIGN_OR_RETURN(std::int64_t dimension, dimension_node->Int());
  if (dimension < 0 || dimension >= kMaxRank)
    return dimension_node->Error(absl::StrCat("dimension ", dimension, " is not within 0 to ", kMaxRank - 1));
  Parameter parameter = StrideValue(std::move(tensor), static_cast<int>(dimension), dtype);
  TUNEONCE_RETURN_IF_ERROR(node.ReadOptional("name", &parameter.name));
  return parameter;
}

/// {"name": "num_tiles", "kind": "derived", "value": TERM}, and perhaps a dtype.
Result<Parameter> ReadDerived(const BundleSpace& space, const ManifestNode& node, DType dtype) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "dtype", "value"}));
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.GetString("name"));
  TUNEONCE_ASSIGN_OR_RETURN(Term value, ReadTermField(space, node, "value"));
  return Derived(std::move(name), std::move(value), dtype);
}

/// {"name": "scratch", "kind": "workspace", "bytes": TERM}, or a dtype and "elements".
Result<Parameter> ReadWorkspace(const BundleSpace& space, const ManifestNode& node, DType dtype) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "bytes", "dtype", "elements"}));
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.GetString("name"));
  if (node.Find("bytes") != nullptr) {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "bytes"}));
    TUNEONCE_ASSIGN_OR_RETURN(Term bytes, ReadTermField(space, node, "bytes"));
    return Workspace(std::move(name), std::move(bytes));
  }
  TUNEONCE_ASSIGN_OR_RETURN(Term elements, ReadTermField(space, node, "elements"));
  if (dtype == DType::kAny)
    return node.Error("a workspace with \"elements\" needs a \"dtype\", or its size as \"bytes\"");
  return Workspace(std::move(name), Term(static_cast<std::int64_t>(DTypeBytes(dtype))) * std::move(elements));
}

Result<Parameter> ReadParameterItself(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* kind_node, node.Get("kind"));
  TUNEONCE_ASSIGN_OR_RETURN(std::string kind, kind_node->String());
  DType dtype = DType::kAny;
  if (const ManifestNode* dtype_node = node.Find("dtype")) {
    TUNEONCE_ASSIGN_OR_RETURN(dtype, ReadDType(*dtype_node));
  }
  if (kind == "tensor") return ReadTensor(space, node, dtype);
  TUNEONCE_RETURN_IF_ERROR(RefuseOutputFields(node));
  if (kind == "dim") {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"kind", "dim", "dtype"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dim_node, node.Get("dim"));
    TUNEONCE_ASSIGN_OR_RETURN(Dim dim, space.FindDim(*dim_node));
    return DimValue(space.dims()[static_cast<std::size_t>(dim.index)], dtype == DType::kAny ? DType::kInt32 : dtype);
  }
  if (kind == "stride") return ReadStride(node, dtype == DType::kAny ? DType::kInt32 : dtype);
  if (kind == "derived") return ReadDerived(space, node, dtype == DType::kAny ? DType::kInt32 : dtype);
  if (kind == "workspace") return ReadWorkspace(space, node, dtype);
  if (kind == "descriptor") return ReadDescriptor(space, node);
  if (kind != "scalar") {
    return kind_node->Error("expected tensor, scalar, dim, stride, derived, workspace or descriptor, got '" + kind +
                            "'");
  }
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "dtype", "warmup"}));
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.GetString("name"));
  if (dtype == DType::kAny) return node.Error("a scalar needs a dtype");
  return Scalar(name, dtype);
}

Result<Parameter> ReadParameter(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(Parameter parameter, ReadParameterItself(space, node));
  if (parameter.kind == ParameterKind::kTensor) TUNEONCE_RETURN_IF_ERROR(ReadPointers(node, &parameter));
  const ManifestNode* warmup = node.Find("warmup");
  if (warmup == nullptr) return parameter;
  TUNEONCE_ASSIGN_OR_RETURN(parameter.warmup, ReadWarmupFill(space, *warmup));
  if (Status fits = CheckWarmupFill(parameter, space.dims()); !fits.ok()) return warmup->Error(fits.message());
  return parameter;
}

}  // namespace

Result<DType> ReadDType(const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.String());
  std::optional<DType> dtype = DTypeNamed(name);
  if (!dtype) return node.Error("unknown dtype '" + name + "'; use float16, bfloat16, int32, ...");
  return *dtype;
}

Result<Tolerance> ReadTolerance(const ManifestNode& node) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"absolute", "relative", "ulps"}));
  Tolerance tolerance;
  for (auto [field, value] : {std::pair("absolute", &tolerance.absolute), std::pair("relative", &tolerance.relative),
                              std::pair("ulps", &tolerance.ulps)}) {
    const ManifestNode* given = node.Find(field);
    if (given == nullptr) continue;
    TUNEONCE_ASSIGN_OR_RETURN(*value, given->Number());
    if (!(*value >= 0)) return given->Error("a tolerance must not be negative");
  }
  return tolerance;
}

Status ReadParameters(const BundleSpace& space, const ManifestNode& root, KernelDefinition* definition) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* node, root.Get("parameters"));
  TUNEONCE_ASSIGN_OR_RETURN(
      std::vector<Parameter> parameters,
      ReadList(*node, kMaxParameters, [&](const ManifestNode& each) { return ReadParameter(space, each); }));
  definition->Parameters(std::move(parameters));
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
