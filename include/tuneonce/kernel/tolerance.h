#ifndef TUNEONCE_KERNEL_TOLERANCE_H_
#define TUNEONCE_KERNEL_TOLERANCE_H_

#include "tuneonce/kernel/tensor_view.h"

namespace tuneonce {

/// By how much a candidate's output may differ from the reference: by absolute * (largest magnitude of the reference) +
/// relative * |reference element|. The first part is for sums whose terms cancel: their error goes with the terms.
struct Tolerance {
  double absolute = 0;
  double relative = 0;

  /// float64 1.1e-13 and 4.5e-13, float32 1.5e-5 and 6.1e-5, float16 2.0e-3 and 7.8e-3, bfloat16 1.6e-2 and 6.3e-2,
  /// float8 (E4M3) 0.06 and 0.25, (E5M2) 0.13 and 0.5: room for another order of summation; equality for all other
  /// types.
  TUNEONCE_API static Tolerance Of(DType dtype);
};

}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_TOLERANCE_H_
