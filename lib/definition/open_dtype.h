#ifndef TUNEONCE_LIB_DEFINITION_OPEN_DTYPE_H_
#define TUNEONCE_LIB_DEFINITION_OPEN_DTYPE_H_

#include <cstddef>
#include <vector>

#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

// The dtypes that a tensor may have if its parameter leaves the dtype open: those that variants assume (DTypeIn).

/// The dtypes that variants assume of parameter `index`, whatever these run on, in the order in which they do. None if
/// none does.
TUNEONCE_API std::vector<DType> DTypesAssumed(const KernelDefinition& definition, std::size_t index);
/// Returns the dtype of the tensor parameter `index` for a shape that sets none: the declared one, else the first that
/// a variant assumes. Returns kAny if no variant assumes one, and for a tensor with the dtype of another one.
TUNEONCE_API DType DTypeUnlessSaid(const KernelDefinition& definition, std::size_t index);
/// False if the variant's code is for other dtypes than the problem's. REQUIRES: those of all tensors are known.
TUNEONCE_API bool IsForDTypes(const KernelDefinition& definition, const Variant& variant, const Problem& problem);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_OPEN_DTYPE_H_
