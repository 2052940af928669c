#include "search/search_cost.h"

#include <algorithm>

#include "base/callback.h"
#include "measure/roofline.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Time for loading a candidate, its memory and its checks, in microseconds.
constexpr double kFixedUs = 4000;
/// Launches of a candidate: two for verification, its rounds of the race, and what finalists have more, on average.
constexpr double kLaunches = 40;
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
  if (bytes <= 0) bytes = TensorBytes(definition, call);
  DevicePeaks peaks;
  if (Result<DevicePeaks> known = DevicePeaks::Of(device); known.ok()) peaks = *known;
  if (peaks.gb_per_s <= 0) peaks.gb_per_s = kAssumedGbPerS;
  if (peaks.tflop_per_s <= 0) peaks.tflop_per_s = kAssumedTflopPerS;
  const double launch_us =
      std::max({kLeastLaunchUs, bytes / (peaks.gb_per_s * 1e3), operations / (peaks.tflop_per_s * 1e6)});
  const double us = static_cast<double>(num_configs) * (kFixedUs + kLaunches * launch_us);
  constexpr double kMostUs = 1e15;
  return static_cast<std::uint64_t>(std::clamp(us, 1.0, kMostUs));
}

}  // namespace v0
}  // namespace tuneonce
