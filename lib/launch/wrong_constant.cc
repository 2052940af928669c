#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/short_list.h"
#include "definition/scalar_value.h"
#include "launch/assumption.h"

// Error messages for variants that were each compiled for one dtype, one extent or one value of a scalar: which one
// fits, and which ones exist if none does.

namespace tuneonce {
inline namespace v0 {

Status AssumptionChecks::Verify(const BoundCall& call) const {
  for (const CheckList* checks : {&dtypes_, &others_, &extents_}) {
    for (const AssumptionCheck& check : checks->all) {
      if (!check.Holds(call)) return BrokenAssumption(*definition_, *variant_, check, call);
    }
  }
  return Status();
}

const AssumptionCheck* AssumptionChecks::WrongConstant(const BoundCall& call) const {
  for (const CheckList* checks : {&extents_, &others_}) {
    for (const AssumptionCheck& check : checks->all) {
      bool is_constant = check.kind == Assumption::Kind::kExtentIs ||
                         (check.kind == Assumption::Kind::kScalarIs && IsWhole(check.dtype));
      if (is_constant && !check.Holds(call)) return &check;
    }
  }
  return nullptr;
}

const AssumptionCheck* AssumptionChecks::WrongDType(const BoundCall& call) const {
  auto wrong =
      std::find_if(dtypes_.all.begin(), dtypes_.all.end(), [&](const AssumptionCheck& c) { return !c.Holds(call); });
  return wrong == dtypes_.all.end() ? nullptr : &*wrong;
}

Status AssumptionChecks::NoneOfDType(const std::vector<const AssumptionChecks*>& any, const BoundCall& call) {
  const AssumptionCheck* first = any.front()->WrongDType(call);
  std::int64_t known = 0;
  for (const AssumptionChecks* checks : any) {
    for (const AssumptionCheck& check : checks->dtypes_.all) {
      if (check.parameter == first->parameter) known |= check.value;
    }
  }
  std::vector<std::string> names;
  for (int dtype = 0; dtype <= static_cast<int>(DType::kFloat64); ++dtype) {
    if ((known >> dtype & 1) != 0) names.emplace_back(DTypeName(static_cast<DType>(dtype)));
  }
  const KernelDefinition& definition = *any.front()->definition_;
  return InvalidArgumentError(absl::StrCat(
      "kernel '", definition.name(), "', parameter '", definition.parameters()[first->parameter].name,
      "': its code is for the dtypes ", ShortList(names), ", not for ", call.tensor(first->parameter).ToString()));
}

Status AssumptionChecks::VerifyAny(const std::vector<const AssumptionChecks*>& of_any_dtype, const BoundCall& call) {
  if (!of_any_dtype.empty()) {
    TUNEONCE_RETURN_IF_ERROR(CheckConstantExtents(*of_any_dtype.front()->definition_, call));
  }
  std::vector<const AssumptionChecks*> any;
  std::copy_if(of_any_dtype.begin(), of_any_dtype.end(), std::back_inserter(any),
               [&](const AssumptionChecks* checks) { return checks->WrongDType(call) == nullptr; });
  if (any.empty() && !of_any_dtype.empty()) return NoneOfDType(of_any_dtype, call);
  Status nearest;
  const AssumptionChecks* first = nullptr;
  const AssumptionCheck* first_wrong = nullptr;
  std::set<std::int64_t> values;
  for (const AssumptionChecks* checks : any) {
    if (const AssumptionCheck* wrong = checks->WrongConstant(call)) {
      if (first == nullptr) {
        first = checks;
        first_wrong = wrong;
      }
      bool is_whole_scalar = wrong->kind == Assumption::Kind::kScalarIs;
      if (NameOf(*checks->definition_, *wrong) == NameOf(*first->definition_, *first_wrong)) {
        values.insert(is_whole_scalar ? WholeScalar(wrong->dtype, &wrong->value) : wrong->value);
      }
      continue;
    }
    Status suits = checks->Verify(call);
    if (suits.ok()) return suits;
    if (nearest.ok()) nearest = std::move(suits);
  }
  if (!nearest.ok() || first == nullptr) return nearest;
  const std::string& name = NameOf(*first->definition_, *first_wrong);
  std::string is_not =
      absl::StrCat("kernel '", first->definition_->name(), "' was compiled for ", name, " = ",
                   ShortListOf(values, [](std::int64_t value) { return absl::StrCat(value); }), ", not for ");
  if (first_wrong->kind == Assumption::Kind::kScalarIs) {
    absl::StrAppend(&is_not, WholeScalar(first_wrong->dtype, call.problem.values[first_wrong->parameter]));
  } else {
    const std::string& tensor = first->definition_->parameters()[first_wrong->parameter].name;
    absl::StrAppend(&is_not, call.tensor(first_wrong->parameter).shape[first_wrong->dimension], " (dimension ",
                    static_cast<int>(first_wrong->dimension), " of '", tensor, "')");
  }
  return InvalidArgumentError(is_not + ": the value is a constant of the code");
}

}  // namespace v0
}  // namespace tuneonce
