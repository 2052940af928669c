#ifndef TUNEONCE_LIB_MEASURE_ROOFLINE_H_
#define TUNEONCE_LIB_MEASURE_ROOFLINE_H_

#include <optional>

#include "tuneonce/device.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// The peak performance of a device.
struct DevicePeaks {
  /// Memory clock * bus width * 2 (double data rate), from the driver's attributes. 0: unknown.
  double gb_per_s = 0;
  /// Dense float16 tensor operations: per SM and clock as published by NVIDIA's architecture papers (sm_80 2048, sm_86
  /// and sm_89 1024, sm_90 4096, sm_100 8192) * SMs * boost clock. 0: unknown.
  double tflop_per_s = 0;

  /// Asks the driver once in a process for each device, because a driver may read clocks from the device, which takes
  /// it longer than other attributes. Errors: the driver's. Thread-safe.
  static Result<DevicePeaks> Of(const Device& device);
};

/// Returns what limits kernels with this many operations per byte.
Bound BoundOf(double intensity);

/// Computes the roofline from the `bytes` and `operations` of one run, where 0 is unknown. Empty if both are unknown,
/// or the time is not positive.
std::optional<Roofline> ComputeRoofline(double bytes, double operations, double mean_us, const DevicePeaks& peaks);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_ROOFLINE_H_
