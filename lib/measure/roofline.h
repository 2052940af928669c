#ifndef TUNEONCE_LIB_MEASURE_ROOFLINE_H_
#define TUNEONCE_LIB_MEASURE_ROOFLINE_H_

#include <optional>
#include <string_view>

#include "tuneonce/result.h"
#include "tuneonce/device.h"

namespace tuneonce {

/// What a device can do at most.
struct DevicePeaks {
  /// Memory clock * bus width * 2 (double data rate), from the driver's attributes. 0: unknown.
  double gb_per_s = 0;
  /// Dense float16 tensor operations: per SM and clock as published by NVIDIA's architecture papers (sm_80 2048, sm_86
  /// and sm_89 1024, sm_90 4096, sm_100 8192) * SMs * boost clock. 0: unknown.
  double tflop_per_s = 0;

  /// Errors: the driver's.
  TUNEONCE_API static Result<DevicePeaks> Of(const Device& device);
};

/// What limits a kernel of a given arithmetic intensity (operations per byte): below 10 memory, above 50 computing.
enum class Bound { kMemory, kBalanced, kCompute };

/// "memory bound", "balanced", "compute bound".
TUNEONCE_API std::string_view BoundName(Bound bound);

/// How well a run used the device, by what it must move and compute at least.
struct Roofline {
  std::optional<double> intensity;  ///< Operations per byte, where both are known.
  std::optional<Bound> bound;
  double gb_per_s = 0;     ///< Achieved; 0 if the bytes are unknown.
  double tflop_per_s = 0;  ///< Achieved; 0 if the operations are unknown.
  /// The run's time at the peaks (the longer of moving and computing), as a share of its real time. Empty if that is
  /// unknown. For types with other peaks than float16 it is a lower bound of how good the kernel is.
  std::optional<double> percent_of_peak;
};

/// `bytes` and `operations` of one run; 0: unknown. Empty if both are, or the time is not positive.
TUNEONCE_API std::optional<Roofline> ComputeRoofline(double bytes, double operations, double mean_us,
                                                     const DevicePeaks& peaks);

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_ROOFLINE_H_
