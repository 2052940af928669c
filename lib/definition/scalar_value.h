#ifndef TUNEONCE_LIB_DEFINITION_SCALAR_VALUE_H_
#define TUNEONCE_LIB_DEFINITION_SCALAR_VALUE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "tuneonce/arguments.h"

namespace tuneonce {
inline namespace v0 {

/// In place of a whole number that there is not: Term::kNoValue.
inline constexpr std::int64_t kNoWholeNumber = std::numeric_limits<std::int64_t>::min();

/// Whether scalars of this dtype are whole numbers or truth values.
constexpr bool IsWhole(DType dtype) { return dtype >= DType::kBool && dtype <= DType::kUInt64; }

/// How the bits of a floating-point dtype are divided, below its sign.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  ///< If not, only an exponent and a mantissa of ones are NaN.
};
/// Returns nothing for dtypes that are not floating-point.
constexpr std::optional<FloatFormat> FloatFormatOf(DType dtype) {
  constexpr FloatFormat kFormats[] = {{4, 3, false}, {5, 2, true},  {5, 10, true},
                                      {8, 7, true},  {8, 23, true}, {11, 52, true}};  // In the order of DType.
  if (dtype < DType::kFloat8E4M3) return std::nullopt;
  return kFormats[static_cast<int>(dtype) - static_cast<int>(DType::kFloat8E4M3)];
}

/// Returns the scalar at `bytes` as an integer, where a boolean is 0 or 1. Returns kNoWholeNumber for one that does not
/// fit a signed 64-bit integer, and for other dtypes.
std::int64_t WholeScalar(DType dtype, const void* bytes);

/// Returns the scalar at `bytes` as the shortest decimal number that reads back as the same bits: "-7", "0.1". Returns
/// nothing for NaN, for infinities, and for integers of which WholeScalar returns none.
std::optional<std::string> NumberText(DType dtype, const void* bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_SCALAR_VALUE_H_
