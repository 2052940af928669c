#include "search/search_cost.h"

#include <algorithm>

#include "base/callback.h"
#include "measure/roofline.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// Fitted to 96 searches of 12 kernels on an H200 with all code compiled (2026-11-27), of which they explain about two
// thirds of the variance. The rest is mostly races of up to 300 rounds between two configs that are about as fast.

/// Time of a search that does not depend on the number of configs, in microseconds: mostly the verification of the
/// finalists at other extents.
constexpr double kSearchUs = 50000;
/// Time for loading and checking a candidate, in microseconds.
constexpr double kConfigUs = 1800;
/// Launches of a candidate at the estimated time: more than it really has, because most configs are slower.
constexpr double kLaunches = 20;
/// What a launch takes at least, in microseconds.
constexpr double kLeastLaunchUs = 5;
/// Peak rates of a device that does not state them: any values do, because all ranks use the same.
constexpr double kAssumedGbPerS = 1000, kAssumedTflopPerS = 100;

double TensorBytes(const KernelDefinition& definition, const BoundCall& call) {
  double bytes = 0;
  for (const ReachedTensor& reached : ReachedTensorsOf(definition.parameters(), call)) {
    double tensor_bytes = static_cast<double>(DTypeBytes(reached.tensor->dtype));
    for (int i = 0; i < reached.tensor->rank; ++i) {
      tensor_bytes *= static_cast<double>(reached.tensor->shape[static_cast<std::size_t>(i)]);
    }
    bytes += tensor_bytes;
  }
  return bytes;
}

}  // namespace

std::uint64_t EstimatedSearchUs(const KernelDefinition& definition, const BoundCall& call, std::size_t num_configs,
                                const Device& device) {
  double bytes = 0;
  double operations = 0;
  // A function that throws makes the search fail, which reports it.
  (void)CallUser("a function given to Work", [&] {
    bytes = definition.WorkBytes(call.problem);
    operations = definition.WorkOperations(call.problem);
    return Status();
  });
  if (!(bytes > 0)) bytes = TensorBytes(definition, call);  // Also for NaN.
  if (!(operations > 0)) operations = 0;
  DevicePeaks peaks;
  if (Result<DevicePeaks> known = DevicePeaks::Of(device); known.ok()) peaks = *known;
  if (peaks.gb_per_s <= 0) peaks.gb_per_s = kAssumedGbPerS;
  if (peaks.tflop_per_s <= 0) peaks.tflop_per_s = kAssumedTflopPerS;
  const double launch_us =
      std::max({kLeastLaunchUs, bytes / (peaks.gb_per_s * 1e3), operations / (peaks.tflop_per_s * 1e6)});
  const double us = kSearchUs + static_cast<double>(num_configs) * (kConfigUs + kLaunches * launch_us);
  constexpr double kMostUs = 1e15;
  return static_cast<std::uint64_t>(std::clamp(us, 1.0, kMostUs));
}

}  // namespace v0
}  // namespace tuneonce
