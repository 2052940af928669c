#ifndef TUNEONCE_LIB_DEFINITION_OPEN_DTYPE_H_
#define TUNEONCE_LIB_DEFINITION_OPEN_DTYPE_H_

#include <cstddef>
#include <vector>

#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

// What a tensor's dtype may be where its parameter leaves it open: what variants assume of it (DTypeIn) says so.

/// The dtypes that variants assume of parameter `index`, whatever these run on, in the order in which they do. None if
/// none does.
TUNEONCE_API std::vector<DType> DTypesAssumed(const KernelDefinition& definition, std::size_t index);
/// The dtype of parameter `index`, a tensor, where a shape says none: the declared one, else the first that is assumed.
/// kAny where none is, and of a tensor that has another's.
TUNEONCE_API DType DTypeUnlessSaid(const KernelDefinition& definition, std::size_t index);
/// False if the variant's code is for other dtypes than the problem's. REQUIRES: those of all tensors are known.
TUNEONCE_API bool IsForDTypes(const KernelDefinition& definition, const Variant& variant, const Problem& problem);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_OPEN_DTYPE_H_
