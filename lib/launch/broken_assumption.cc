#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "launch/assumption.h"

// Which assumption does not hold, in words.

namespace tuneonce {

const AssumptionChecks::Check* AssumptionChecks::WrongExtent(const BoundCall& call) const {
  auto is_wrong = [&](const Check& c) { return c.kind == Assumption::Kind::kExtentIs && !c.Holds(call); };
  auto wrong = std::find_if(extents_.all.begin(), extents_.all.end(), is_wrong);
  return wrong == extents_.all.end() ? nullptr : &*wrong;
}

const std::string& AssumptionChecks::DimOf(const Check& check) const {
  return definition_->parameters()[check.parameter].dims[check.dimension];
}

Status AssumptionChecks::VerifyAny(const std::vector<const AssumptionChecks*>& any, const BoundCall& call) {
  Status nearest;
  const AssumptionChecks* first = nullptr;
  const Check* first_wrong = nullptr;
  std::set<std::int64_t> extents;
  for (const AssumptionChecks* checks : any) {
    if (const Check* wrong = checks->WrongExtent(call)) {
      if (first == nullptr) {
        first = checks;
        first_wrong = wrong;
      }
      if (checks->DimOf(*wrong) == first->DimOf(*first_wrong)) extents.insert(wrong->value);
      continue;
    }
    Status suits = checks->Verify(call);
    if (suits.ok()) return suits;
    if (nearest.ok()) nearest = std::move(suits);
  }
  if (!nearest.ok() || first == nullptr) return nearest;
  const TensorView& tensor = call.tensor(first_wrong->parameter);
  return InvalidArgumentError(absl::StrCat(
      "kernel '", first->definition_->name(), "' was compiled for ", first->DimOf(*first_wrong), " = ",
      absl::StrJoin(extents, ", "), ", not ", tensor.shape[first_wrong->dimension], " (dimension ",
      static_cast<int>(first_wrong->dimension), " of '",
      first->definition_->parameters()[first_wrong->parameter].name, "'): it is a constant of the code"));
}

std::string AssumptionChecks::NotContiguous(const Check& check, const TensorView& tensor) const {
  Check::Gap gap = check.FindGap(tensor).value_or(Check::Gap{0, 0});
  return absl::StrCat(
      "dimension ", gap.dimension, " of '", definition_->parameters()[check.parameter].name, "' has stride ",
      tensor.strides[static_cast<std::size_t>(gap.dimension)], ", not ", gap.needed,
      ": its kernel computes on contiguous memory; pass a contiguous copy, or give the kernel a variant "
      "that takes this stride (StrideValue)");
}

Status AssumptionChecks::Broken(const Check& check, const BoundCall& call) const {
  const TensorView& tensor = call.tensor(check.parameter);
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
    case Assumption::Kind::kExtentIs:
      what = absl::StrCat(dimension, " (", DimOf(check), ") has extent ", tensor.shape[check.dimension], ", not ",
                          check.value);
      break;
    case Assumption::Kind::kExtentDivisibleBy:
      what = absl::StrCat(dimension, " has extent ", tensor.shape[check.dimension], ", which ", check.value,
                          " does not divide");
      break;
    case Assumption::Kind::kStrideFitsInt32:
    case Assumption::Kind::kStrideNotNegative:
      what = absl::StrCat(dimension, " has stride ", tensor.strides[check.dimension],
                          ParameterLayout::Narrowed::Fits(tensor.strides[check.dimension])
                              ? ", which is negative: pass a copy"
                              : ", which does not fit an int32");
      break;
    case Assumption::Kind::kContiguous:
      what = NotContiguous(check, tensor);
      break;
    case Assumption::Kind::kExtentFitsInt32:
      what = absl::StrCat(dimension, " has extent ", tensor.shape[check.dimension], ", which does not fit an int32");
      break;
    case Assumption::Kind::kNoOverlap:
      what = absl::StrCat(name(check.parameter), " and ", name(check.other), " overlap in memory");
      break;
  }
  return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "', variant '", variant_->name,
                                           "' was compiled for other arguments: ", what));
}

}  // namespace tuneonce
