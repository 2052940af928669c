#include <charconv>
#include <system_error>

#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {
const Target kUnknownTarget;

namespace {

/// More than 8 blocks need the kernel attribute for clusters of a size that not every device of a capability launches.
constexpr int kMaxClusterSize = 16;

/// The limits of the devices of one compute capability and those above it. Source: CUDA C++ Programming Guide,
/// technical specifications per compute capability.
struct Limits {
  int capability;
  int kib_per_block;
  int kib_per_sm;
  int threads_per_sm;
  int max_cluster_size;
};
constexpr Limits kLimits[] = {{0, 48, 64, 1024, 1},
                              {70, 96, 96, 2048, 1},
                              {75, 64, 64, 1024, 1},
                              {80, 163, 164, 2048, 1},
                              {86, 99, 100, 1536, 1},
                              {87, 163, 164, 1536, 1},
                              {89, 99, 100, 1536, 1},
                              {90, 227, 228, 2048, kMaxClusterSize},
                              {110, 227, 228, 1536, kMaxClusterSize},
                              {120, 99, 100, 1536, 1}};

void SetLimits(Target* target) {
  const Limits* limits = kLimits;
  for (const Limits& each : kLimits) {
    if (each.capability <= target->capability()) limits = &each;
  }
  target->max_shared_memory_bytes = limits->kib_per_block * 1024;
  target->shared_memory_per_sm = limits->kib_per_sm * 1024;
  target->max_threads_per_block = 1024;
  target->max_threads_per_sm = limits->threads_per_sm;
  target->registers_per_sm = 65536;
  target->warp_size = 32;
  target->max_cluster_size = limits->max_cluster_size;
}

}  // namespace

Target Target::Of(const DeviceIdentity& device) {
  Target target;
  target.is_cpu_device = device.is_cpu_device;
  target.capability_major = device.capability_major;
  target.capability_minor = device.capability_minor;
  target.num_sms = device.num_sms;
  target.max_shared_memory_bytes = device.max_shared_memory_bytes;
  target.l2_bytes = device.l2_bytes;
  target.shared_memory_per_sm = device.shared_memory_per_sm;
  target.max_threads_per_block = device.max_threads_per_block;
  target.max_threads_per_sm = device.max_threads_per_sm;
  target.registers_per_sm = device.registers_per_sm;
  target.warp_size = device.warp_size;
  target.max_cluster_size = device.has_clusters ? kMaxClusterSize : 1;
  return target;
}

Result<Target> Target::Named(const std::string& name) {
  Target target;
  if (name == "cpu") {
    target.is_cpu_device = true;
    // The limits of cpu_device/driver_device.cc.
    target.max_shared_memory_bytes = target.shared_memory_per_sm = 227 * 1024;
    target.max_threads_per_block = target.max_threads_per_sm = 1024;
    target.warp_size = target.max_cluster_size = 1;
    return target;
  }
  int capability = 0;
  const char* end = name.data() + name.size();
  const bool may_be_one = name.size() > 4 && name.rfind("sm_", 0) == 0 && name[3] != '0';
  if (may_be_one) {
    auto [stop, error] = std::from_chars(name.data() + 3, end, capability);
    if (stop != end || error != std::errc()) capability = 0;
  }
  if (capability < 10 || capability > 999) {
    return InvalidArgumentError("target '" + name + "' is unknown: use a name such as sm_90, or cpu");
  }
  target.capability_major = capability / 10;
  target.capability_minor = capability % 10;
  SetLimits(&target);
  return target;
}

}  // namespace v0
}  // namespace tuneonce
