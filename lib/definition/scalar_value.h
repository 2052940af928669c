#ifndef TUNEONCE_LIB_DEFINITION_SCALAR_VALUE_H_
#define TUNEONCE_LIB_DEFINITION_SCALAR_VALUE_H_

#include <cstdint>
#include <limits>

#include "tuneonce/tensor_view.h"

namespace tuneonce {
inline namespace v0 {

/// In place of a whole number that there is not: Term::kNoValue.
inline constexpr std::int64_t kNoWholeNumber = std::numeric_limits<std::int64_t>::min();

/// Whether scalars of this dtype are whole numbers or truth values.
bool IsWhole(DType dtype);

/// Returns the scalar at `bytes` as an integer, where a boolean is 0 or 1. Returns kNoWholeNumber for one that does not
/// fit a signed 64-bit integer, and for other dtypes.
std::int64_t WholeScalar(DType dtype, const void* bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_SCALAR_VALUE_H_
