#include <cmath>

#include "tuneonce/parameters.h"

namespace tuneonce {
inline namespace v0 {

Tolerance Tolerance::Of(DType dtype) {
  auto of_mantissa = [](int bits) { return Tolerance{8 * std::ldexp(1, -bits), 32 * std::ldexp(1, -bits), 0}; };
  constexpr int kFloat8SumBits = 14;
  switch (dtype) {
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2:
      return {of_mantissa(kFloat8SumBits).absolute, 0, 1};
    case DType::kFloat16:
      return of_mantissa(12);
    case DType::kBFloat16:
      return of_mantissa(9);
    case DType::kFloat32:
      return of_mantissa(19);
    case DType::kFloat64:
      return of_mantissa(46);
    default:
      return {};
  }
}

}  // namespace v0
}  // namespace tuneonce
