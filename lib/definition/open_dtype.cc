#include <algorithm>
#include <string>

#include "definition/fill_bytes.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Calls `use(its dtypes)` for each assumption of the variant about dtypes, or those about `tensor`.
template <typename Use>
void ForEachDTypeIn(const Variant& variant, const std::string* tensor, const Use& use) {
  for (const Assumption& assumption : variant.assumptions) {
    const bool is_of_it = tensor == nullptr || assumption.tensor == *tensor;
    if (assumption.kind == Assumption::Kind::kDTypeIn && is_of_it) use(assumption);
  }
}

bool Contains(const std::vector<DType>& list, DType dtype) {
  return std::find(list.begin(), list.end(), dtype) != list.end();
}

}  // namespace

std::vector<DType> DTypesAssumed(const KernelDefinition& definition, std::size_t index) {
  std::vector<DType> found;
  for (const Variant& variant : definition.variants()) {
    ForEachDTypeIn(variant, &definition.parameters()[index].name, [&](const Assumption& assumption) {
      for (DType dtype : assumption.dtypes) {
        if (!Contains(found, dtype)) found.push_back(dtype);
      }
    });
  }
  return found;
}

DType DTypeUnlessSaid(const KernelDefinition& definition, std::size_t index) {
  if (DType declared = definition.parameters()[index].dtype; declared != DType::kAny) return declared;
  const std::vector<DType> assumed = DTypesAssumed(definition, index);
  return assumed.empty() ? DType::kAny : assumed.front();
}

bool IsForDTypes(const KernelDefinition& definition, const Variant& variant, const Problem& problem) {
  bool is_for = true;
  ForEachDTypeIn(variant, nullptr, [&](const Assumption& assumption) {
    const std::optional<std::size_t> index = definition.FindParameter(assumption.tensor);
    is_for &= index && Contains(assumption.dtypes, problem.dtypes[*index]);
  });
  return is_for;
}

}  // namespace v0
}  // namespace tuneonce
