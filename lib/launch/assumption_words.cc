// The error messages for assumptions that a call violates.
#include <string>

#include "absl/strings/str_cat.h"
#include "definition/scalar_value.h"
#include "launch/assumption.h"

namespace tuneonce {
inline namespace v0 {

Status AssumptionChecks::Verify(const BoundCall& call) const {
  for (const Checks* checks : {&dtypes_, &others_, &extents_}) {
    for (const Check& check : checks->all) {
      if (!check.Holds(call)) return Broken(check, call);
    }
  }
  return Status();
}

std::string AssumptionChecks::NotContiguous(const Check& check, const BoundCall& call) const {
  if (check.is_table) {
    return absl::StrCat(check.TableIn(call).num_gaps, " of the tensors that '",
                        definition_->parameters()[check.parameter].name,
                        "' points to have gaps, but the kernel needs contiguous memory: pass contiguous copies");
  }
  const TensorView& tensor = call.tensor(check.parameter);
  Check::Gap gap = check.FindGap(tensor).value_or(Check::Gap{0, 0});
  return absl::StrCat("dimension ", gap.dimension, " of '", definition_->parameters()[check.parameter].name,
                      "' has stride ", tensor.strides[static_cast<std::size_t>(gap.dimension)], ", not ", gap.needed,
                      ", but the kernel needs contiguous memory: pass a contiguous copy, or add a variant that takes "
                      "this stride (StrideValue)");
}

std::string AssumptionChecks::OtherScalar(const Check& check, const BoundCall& call) const {
  const Parameter& parameter = definition_->parameters()[check.parameter];
  std::int64_t value = WholeScalar(check.dtype, call.problem.values[check.parameter]);
  std::string is = IsWhole(check.dtype) && value != kNoWholeNumber ? absl::StrCat(" is ", value) : " has another value";
  std::string not_what = check.kind == Assumption::Kind::kScalarDivisibleBy
                             ? absl::StrCat(", which ", check.value, " does not divide")
                         : check.kind == Assumption::Kind::kScalarAtLeast ? absl::StrCat(", less than ", check.value)
                         : IsWhole(check.dtype) ? absl::StrCat(", not ", WholeScalar(check.dtype, &check.value))
                                                : "";
  return absl::StrCat("the scalar '", parameter.name, "'", is, not_what);
}

Status AssumptionChecks::Broken(const Check& check, const BoundCall& call) const {
  auto refuse = [&](const std::string& what) {
    return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "', variant '", variant_->name,
                                             "' was compiled for other arguments: ", what));
  };
  if (IsOfScalar(check.kind)) return refuse(OtherScalar(check, call));
  const TensorView& tensor = call.tensor(check.parameter);
  auto name = [&](std::size_t parameter) { return "'" + definition_->parameters()[parameter].name + "'"; };
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
      what = absl::StrCat(dimension, " (", NameOf(check), ") has extent ", tensor.shape[check.dimension], ", not ",
                          check.value);
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
      what = NotContiguous(check, call);
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
      break;
  }
  return refuse(what);
}

}  // namespace v0
}  // namespace tuneonce
