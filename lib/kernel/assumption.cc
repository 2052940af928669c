#include "tuneonce/kernel/assumption.h"

#include "absl/strings/str_cat.h"

namespace tuneonce {
namespace {

Result<std::uint8_t> TensorIndex(const KernelDefinition& definition, const std::string& name) {
  std::optional<std::size_t> index = definition.FindParameter(name);
  // Raw memory has a pointer, but no dims.
  if (!index || definition.parameters()[*index].dims.empty()) {
    return InvalidArgumentError("it assumes something of '" + name + "', which is no tensor");
  }
  return static_cast<std::uint8_t>(*index);
}

}  // namespace

Result<AssumptionChecks> AssumptionChecks::Create(const KernelDefinition& definition, const Variant& variant) {
  AssumptionChecks checks;
  checks.definition_ = &definition;
  checks.variant_ = &variant;
  for (const Assumption& assumption : variant.assumptions) {
    Check check{};
    check.kind = assumption.kind;
    TUNEONCE_ASSIGN_OR_RETURN(check.parameter, TensorIndex(definition, assumption.tensor));
    int rank = static_cast<int>(definition.parameters()[check.parameter].dims.size());
    if (assumption.dimension < 0 || assumption.dimension >= rank) {
      return InvalidArgumentError(absl::StrCat("it assumes something of dimension ", assumption.dimension, " of '",
                                               assumption.tensor, "', which has rank ", rank));
    }
    check.dimension = static_cast<std::uint8_t>(assumption.dimension);
    if (assumption.kind == Assumption::Kind::kNoOverlap) {
      TUNEONCE_ASSIGN_OR_RETURN(check.other, TensorIndex(definition, assumption.other));
    } else if (assumption.value < 1) {
      return InvalidArgumentError(
          absl::StrCat("it assumes ", assumption.value, " of '", assumption.tensor, "'; at least 1 is possible"));
    }
    check.value = assumption.value;
    check.is_power_of_two = (assumption.value & (assumption.value - 1)) == 0;
    checks.checks_.push_back(check);
  }
  return checks;
}

Status AssumptionChecks::Verify(const BoundCall& call) const {
  for (const Check& check : checks_) {
    if (!Holds(check, call)) return Broken(check, call);
  }
  return Status();
}

Status AssumptionChecks::Broken(const Check& check, const BoundCall& call) const {
  const TensorView& tensor = *call.tensors[check.parameter];
  auto name = [&](std::size_t parameter) { return "'" + definition_->parameters()[parameter].name + "'"; };
  std::string dimension = absl::StrCat("dimension ", static_cast<int>(check.dimension), " of ", name(check.parameter));
  std::string what;
  switch (check.kind) {
    case Assumption::Kind::kAligned:
      what = absl::StrCat(name(check.parameter), " is not aligned to ", check.value, " bytes: it is at 0x",
                          absl::Hex(reinterpret_cast<std::uintptr_t>(tensor.data)));
      break;
    case Assumption::Kind::kStrideIs:
      what = absl::StrCat(dimension, " has stride ", tensor.strides[check.dimension], ", not ", check.value,
                          check.value == 1 ? " (the tensor is not contiguous there)" : "");
      break;
    case Assumption::Kind::kStrideDivisibleBy:
      what = absl::StrCat(dimension, " has stride ", tensor.strides[check.dimension], ", which ", check.value,
                          " does not divide");
      break;
    case Assumption::Kind::kExtentDivisibleBy:
      what = absl::StrCat(dimension, " has extent ", tensor.shape[check.dimension], ", which ", check.value,
                          " does not divide");
      break;
    case Assumption::Kind::kNoOverlap:
      what = absl::StrCat(name(check.parameter), " and ", name(check.other), " overlap in memory");
      break;
  }
  return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "', variant '", variant_->name,
                                           "' was compiled for other arguments: ", what));
}

}  // namespace tuneonce
