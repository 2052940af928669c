#ifndef TUNEONCE_TOLERANCE_H_
#define TUNEONCE_TOLERANCE_H_

#include "tuneonce/tensor_view.h"

namespace tuneonce {
inline namespace v0 {

/// By how much a candidate's output may differ from the reference: by absolute * (largest magnitude of the reference) +
/// relative * |reference element| + ulps * (the step between the dtype's neighbouring values there). The first part is
/// for sums whose terms cancel: their error goes with the terms. The last is for what is rounded to a coarse dtype.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  double ulps = 0;

  /// float64 1.1e-13 and 4.5e-13, float32 1.5e-5 and 6.1e-5, float16 2.0e-3 and 7.8e-3, bfloat16 1.6e-2 and 6.3e-2:
  /// room for another order of summation. float8: one ulp, by which the rounding of nearly the same sums can differ
  /// (E4M3 has 3 mantissa bits, E5M2 has 2: OCP 8-bit floating point specification 1.0), and 4.9e-4 for sums in the 14
  /// bits that Hopper's FP8 tensor cores add up in (DeepSeek-V3 technical report, arXiv:2412.19437, section 3.3.2).
  /// Equality for all other types.
  TUNEONCE_API static Tolerance Of(DType dtype);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOLERANCE_H_
