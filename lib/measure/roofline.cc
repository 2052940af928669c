#include "measure/roofline.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/mutex.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr double kMemoryBoundBelow = 10;
constexpr double kComputeBoundAbove = 50;

/// Dense float16 tensor operations per SM and clock.
double TensorOperations(const DeviceIdentity& device) {
  switch (device.capability_major * 10 + device.capability_minor) {
    case 80:
      return 2048;
    case 86:
    case 89:
      return 1024;
    case 90:
      return 4096;
    case 100:
    case 103:
      return 8192;
    default:
      return 0;
  }
}

Result<DevicePeaks> ReadPeaks(const Device& device, const DeviceIdentity& identity) {
  DevicePeaks peaks;
  TUNEONCE_ASSIGN_OR_RETURN(int memory_khz, device.Attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
  TUNEONCE_ASSIGN_OR_RETURN(int bus_bits, device.Attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
  TUNEONCE_ASSIGN_OR_RETURN(int clock_khz, device.Attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
  peaks.gb_per_s = 2.0 * memory_khz * 1e3 * bus_bits / 8 / 1e9;
  peaks.tflop_per_s = TensorOperations(identity) * identity.num_sms * clock_khz * 1e3 / 1e12;
  return peaks;
}

}  // namespace

Result<DevicePeaks> DevicePeaks::Of(const Device& device) {
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  if (identity.is_cpu_device) return DevicePeaks();
  static auto* const mutex = new Mutex;
  static auto* const known = new std::map<std::array<unsigned char, 16>, DevicePeaks>;
  MutexLock lock(*mutex);
  const auto found = known->find(identity.uuid);
  if (found != known->end()) return found->second;
  TUNEONCE_ASSIGN_OR_RETURN(const DevicePeaks peaks, ReadPeaks(device, identity));
  known->emplace(identity.uuid, peaks);
  return peaks;
}

Bound BoundOf(double intensity) {
  if (intensity < kMemoryBoundBelow) return Bound::kMemory;
  return intensity > kComputeBoundAbove ? Bound::kCompute : Bound::kBalanced;
}

std::string_view BoundName(Bound bound) {
  static constexpr std::string_view kNames[] = {"memory bound", "balanced", "compute bound"};
  return kNames[static_cast<std::size_t>(bound)];
}

std::optional<Roofline> ComputeRoofline(double bytes, double operations, double mean_us, const DevicePeaks& peaks) {
  if ((bytes <= 0 && operations <= 0) || mean_us <= 0) return std::nullopt;
  double seconds = mean_us * 1e-6;
  Roofline roofline;
  roofline.gb_per_s = bytes / seconds / 1e9;
  roofline.tflop_per_s = operations / seconds / 1e12;
  if (bytes > 0 && operations > 0) {
    roofline.intensity = operations / bytes;
    roofline.bound = BoundOf(*roofline.intensity);
  }
  double least_seconds = 0;
  if (peaks.gb_per_s > 0) least_seconds = bytes / (peaks.gb_per_s * 1e9);
  if (peaks.tflop_per_s > 0) least_seconds = std::max(least_seconds, operations / (peaks.tflop_per_s * 1e12));
  if (least_seconds > 0) roofline.percent_of_peak = 100 * least_seconds / seconds;
  return roofline;
}

}  // namespace v0
}  // namespace tuneonce
