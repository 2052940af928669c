// The error messages for assumptions that a call violates.
#include <string>

#include "absl/strings/str_cat.h"
#include "definition/scalar_value.h"
#include "launch/assumption_check.h"
#include "launch/parameter_block.h"
#include "launch/requirement_check.h"

namespace tuneonce {
inline namespace v0 {

namespace {

std::string NotContiguous(const KernelDefinition& definition, const AssumptionCheck& check, const BoundCall& call) {
  if (check.is_table) {
    return absl::StrCat(check.TableIn(call).num_gaps, " of the tensors that '",
                        definition.parameters()[check.parameter].name,
                        "' points to have gaps, but the kernel needs contiguous memory: pass contiguous copies");
  }
  const TensorView& tensor = call.tensor(check.parameter);
  AssumptionCheck::Gap gap = check.FindGap(tensor).value_or(AssumptionCheck::Gap{0, 0});
  return absl::StrCat("dimension ", gap.dimension, " of '", definition.parameters()[check.parameter].name,
                      "' has stride ", tensor.strides[static_cast<std::size_t>(gap.dimension)], ", not ", gap.needed,
                      ", but the kernel needs contiguous memory: pass a contiguous copy, or add a variant that takes "
                      "this stride (StrideValue)");
}

std::string OtherScalar(const KernelDefinition& definition, const AssumptionCheck& check, const BoundCall& call) {
  const Parameter& parameter = definition.parameters()[check.parameter];
  std::int64_t value = WholeScalar(check.dtype, call.problem.values[check.parameter]);
  std::string is = IsWhole(check.dtype) && value != kNoWholeNumber ? absl::StrCat(" is ", value) : " has another value";
  std::string not_what = check.kind == Assumption::Kind::kScalarDivisibleBy
                             ? absl::StrCat(", which ", check.value, " does not divide")
                         : check.kind == Assumption::Kind::kScalarAtLeast ? absl::StrCat(", less than ", check.value)
                         : IsWhole(check.dtype) ? absl::StrCat(", not ", WholeScalar(check.dtype, &check.value))
                                                : "";
  return absl::StrCat("the scalar '", parameter.name, "'", is, not_what);
}

}  // namespace

const std::string& NameOf(const KernelDefinition& definition, const AssumptionCheck& check) {
  const Parameter& parameter = definition.parameters()[check.parameter];
  return IsOfScalar(check.kind) ? parameter.name : parameter.dims[check.dimension];
}

Status BrokenAssumption(const KernelDefinition& definition, const Variant& variant, const AssumptionCheck& check,
                        const BoundCall& call) {
  auto refuse = [&](const std::string& what) {
    return InvalidArgumentError(absl::StrCat("kernel '", definition.name(), "', variant '", variant.name,
                                             "' was compiled for other arguments: ", what));
  };
  if (check.requirement != nullptr) return refuse("'" + check.requirement->text() + "' does not hold");
  if (IsOfScalar(check.kind)) return refuse(OtherScalar(definition, check, call));
  const TensorView& tensor = call.tensor(check.parameter);
  auto name = [&](std::size_t parameter) { return "'" + definition.parameters()[parameter].name + "'"; };
  std::string dimension = absl::StrCat("dimension ", static_cast<int>(check.dimension), " of ", name(check.parameter));
  std::string what;
  switch (check.kind) {
    case Assumption::Kind::kAligned:
      what = check.is_table ? absl::StrCat("not all tensors that ", name(check.parameter), " points to are aligned to ",
                                           check.value, " bytes")
                            : absl::StrCat(name(check.parameter), " is not aligned to ", check.value,
                                           " bytes: it is at 0x", absl::Hex(check.AddressBits(call)));
      break;
    case Assumption::Kind::kStrideIs:
      what = absl::StrCat(dimension, " has stride ", tensor.strides[check.dimension], ", not ", check.value,
                          check.value == 1 ? " (the tensor is not contiguous there)" : "");
      break;
    case Assumption::Kind::kStrideDivisibleBy:
      what = absl::StrCat(dimension, " has stride ", tensor.strides[check.dimension], ", which ", check.value,
                          " does not divide");
      break;
    case Assumption::Kind::kExtentIs:
      what = absl::StrCat(dimension, " (", NameOf(definition, check), ") has extent ", tensor.shape[check.dimension],
                          ", not ", check.value);
      break;
    case Assumption::Kind::kExtentDivisibleBy:
      what = absl::StrCat(dimension, " has extent ", tensor.shape[check.dimension], ", which ", check.value,
                          " does not divide");
      break;
    case Assumption::Kind::kExtentAtLeast:
      what = absl::StrCat(dimension, " has extent ", tensor.shape[check.dimension], ", less than ", check.value);
      break;
    case Assumption::Kind::kStrideFitsInt32:
    case Assumption::Kind::kStrideNotNegative:
      what = absl::StrCat(dimension, " has stride ", tensor.strides[check.dimension],
                          ParameterLayout::Narrowed::Fits(tensor.strides[check.dimension])
                              ? ", which is negative: pass a copy"
                              : ", which does not fit an int32");
      break;
    case Assumption::Kind::kContiguous:
      what = NotContiguous(definition, check, call);
      break;
    case Assumption::Kind::kExtentFitsInt32:
      what = absl::StrCat(dimension, " has extent ", tensor.shape[check.dimension], ", which does not fit an int32");
      break;
    case Assumption::Kind::kNoOverlap:
      what = absl::StrCat(name(check.parameter), " and ", name(check.other), " overlap in memory");
      break;
    case Assumption::Kind::kDTypeIn:
      what = absl::StrCat(name(check.parameter), " is ", std::string(DTypeName(tensor.dtype)));
      break;
    case Assumption::Kind::kScalarIs:
    case Assumption::Kind::kScalarDivisibleBy:
    case Assumption::Kind::kScalarAtLeast:
    case Assumption::Kind::kCondition:
      break;
  }
  return refuse(what);
}

}  // namespace v0
}  // namespace tuneonce
