#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "definition/scalar_value.h"
#include "launch/assumption.h"

// Of variants for one extent, or one value of a scalar, each: which one suits, and what there is if none does.

namespace tuneonce {
inline namespace v0 {

const AssumptionChecks::Check* AssumptionChecks::WrongConstant(const BoundCall& call) const {
  for (const Checks* checks : {&extents_, &others_}) {
    for (const Check& check : checks->all) {
      bool is_constant = check.kind == Assumption::Kind::kExtentIs ||
                         (check.kind == Assumption::Kind::kScalarIs && IsWhole(check.dtype));
      if (is_constant && !check.Holds(call)) return &check;
    }
  }
  return nullptr;
}

const std::string& AssumptionChecks::NameOf(const Check& constant) const {
  const Parameter& parameter = definition_->parameters()[constant.parameter];
  return constant.kind == Assumption::Kind::kExtentIs ? parameter.dims[constant.dimension] : parameter.name;
}

Status AssumptionChecks::VerifyAny(const std::vector<const AssumptionChecks*>& any, const BoundCall& call) {
  Status nearest;
  const AssumptionChecks* first = nullptr;
  const Check* first_wrong = nullptr;
  std::set<std::int64_t> values;
  for (const AssumptionChecks* checks : any) {
    if (const Check* wrong = checks->WrongConstant(call)) {
      if (first == nullptr) {
        first = checks;
        first_wrong = wrong;
      }
      bool is_whole_scalar = wrong->kind == Assumption::Kind::kScalarIs;
      if (checks->NameOf(*wrong) == first->NameOf(*first_wrong)) {
        values.insert(is_whole_scalar ? WholeScalar(wrong->dtype, &wrong->value) : wrong->value);
      }
      continue;
    }
    Status suits = checks->Verify(call);
    if (suits.ok()) return suits;
    if (nearest.ok()) nearest = std::move(suits);
  }
  if (!nearest.ok() || first == nullptr) return nearest;
  std::string is_not = absl::StrCat("kernel '", first->definition_->name(), "' was compiled for ",
                                    first->NameOf(*first_wrong), " = ", absl::StrJoin(values, ", "), ", not ");
  if (first_wrong->kind == Assumption::Kind::kScalarIs) {
    absl::StrAppend(&is_not, WholeScalar(first_wrong->dtype, call.problem.values[first_wrong->parameter]));
  } else {
    const std::string& tensor = first->definition_->parameters()[first_wrong->parameter].name;
    absl::StrAppend(&is_not, call.tensor(first_wrong->parameter).shape[first_wrong->dimension], " (dimension ",
                    static_cast<int>(first_wrong->dimension), " of '", tensor, "')");
  }
  return InvalidArgumentError(is_not + ": it is a constant of the code");
}

}  // namespace v0
}  // namespace tuneonce
