#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "launch/assumption.h"

// Of variants for one extent each: which one suits, and what there is if none does.

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

}  // namespace tuneonce
