#ifndef TUNEONCE_TOLERANCE_H_
#define TUNEONCE_TOLERANCE_H_

#include "tuneonce/tensor_view.h"

namespace tuneonce {
inline namespace v0 {

/// How much a candidate's output may differ from the reference: by absolute * scale + relative * |reference| + ulps *
/// (distance between the dtype's neighbouring values at the reference element).
///
/// The scale of an element is the largest finite |reference| in its block. A block has 256 consecutive elements in
/// row-major order. The last block of an output also has the remaining ones, up to 511 in all. Elements that a partial
/// output leaves unwritten do not count.
///
/// `absolute` is for sums whose terms cancel: the error of a sum is proportional to the sum of its terms' magnitudes
/// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1), not to the sum itself, and
/// neighbouring elements show how large these magnitudes are. A scale for the whole output would be too large, because
/// rows of another magnitude, or one outlier, would hide every error. If `absolute` is not 0, the tolerance allows at
/// least what number formats cannot represent: the smallest normal number for dtypes with 8 exponent bits or more (code
/// may flush smaller ones to 0), else `absolute` times it. `ulps` is for results that are rounded to a dtype of low
/// precision.
struct Tolerance {
  /// Allowed difference as a fraction of the element's scale, which the comment of Tolerance defines.
  double absolute = 0;
  /// Allowed difference as a fraction of |reference element|.
  double relative = 0;
  /// Allowed difference in units of the distance between neighbouring values of the dtype at the reference element.
  double ulps = 0;

  /// Returns the default tolerance of a dtype. `absolute` and `relative` are 1.1e-13 and 4.5e-13 for float64, 1.5e-5
  /// and 6.1e-5 for float32, 2.0e-3 and 7.8e-3 for float16, 1.6e-2 and 6.3e-2 for bfloat16, which allows for another
  /// order of summation. float8 allows one ulp, by which the rounding of nearly equal sums can differ (E4M3 has 3
  /// mantissa bits, E5M2 has 2: OCP 8-bit floating point specification 1.0), and 4.9e-4 for sums in the 14 bits that
  /// Hopper's FP8 tensor cores accumulate in (DeepSeek-V3 technical report, arXiv:2412.19437, section 3.3.2). All other
  /// types must be equal.
  TUNEONCE_API static Tolerance Of(DType dtype);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOLERANCE_H_
