#ifndef TUNEONCE_TOLERANCE_H_
#define TUNEONCE_TOLERANCE_H_

#include "tuneonce/tensor_view.h"

namespace tuneonce {
inline namespace v0 {

/// By how much a candidate's output may differ from the reference: by absolute * scale + relative * |reference element|
/// + ulps * (the step between the dtype's neighbouring values there).
///
/// The scale of an element is the largest finite |reference| in its block: 256 elements that follow each other in
/// row-major order; the last block of an output takes the rest, and has 511 at most. Elements that a partial output
/// leaves unwritten do not count.
///
/// The absolute part is for sums whose terms cancel: the error of a sum goes with the sum of its terms' magnitudes
/// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1), not with the sum itself, and
/// neighbouring elements tell how large these are. A scale of the whole output would not: rows of another size, or one
/// outlier, would hide every error. Where it is not 0 it allows at least what number formats cannot express: the
/// smallest normal number for dtypes with 8 exponent bits or more (code may flush smaller ones to 0), else `absolute`
/// times it. The last part is for what is rounded to a coarse dtype.
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
