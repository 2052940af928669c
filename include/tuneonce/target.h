#ifndef TUNEONCE_TARGET_H_
#define TUNEONCE_TARGET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "tuneonce/api.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

struct DeviceIdentity;

/// The properties of a device that compiled code and configs depend on.
struct Target {
  /// Whether this is the CPU device, which has compute capability 0.0.
  bool is_cpu_device = false;
  int capability_major = 0;
  int capability_minor = 0;
  int num_sms = 1;                  ///< Number of multiprocessors. On the CPU device, number of cores.
  int max_shared_memory_bytes = 0;  ///< Maximum shared memory per block after opt-in, in bytes.
  std::uint64_t l2_bytes = 0;       ///< Size of the last-level cache, in bytes.

  /// Returns the target with the properties of a device.
  TUNEONCE_API static Target Of(const DeviceIdentity& device);
  /// Returns the target for a name that name() returns: "sm_90" or "cpu". It sets only the capability, or
  /// `is_cpu_device`. The other members keep their defaults. Errors: InvalidArgument for another name.
  TUNEONCE_API static Result<Target> Named(const std::string& name);
  /// Returns the compute capability as one number: 90 for 9.0.
  int capability() const { return 10 * capability_major + capability_minor; }
  /// Returns the target's name: "sm_90", or "cpu".
  std::string name() const { return is_cpu_device ? "cpu" : "sm_" + std::to_string(capability()); }
};

/// A function that returns whether a variant, baseline or filter applies to a target. An empty TargetFilter applies to
/// all targets.
using TargetFilter = std::function<bool(const Target&)>;

/// Returns a filter that applies to GPUs whose compute capability is `from` to `to` (inclusive), each as one number (90
/// for 9.0).
inline TargetFilter CapabilityRange(int from, int to) {
  return [=](const Target& t) { return !t.is_cpu_device && t.capability() >= from && t.capability() <= to; };
}
/// Returns a filter that applies to all GPUs and not to the CPU device.
inline TargetFilter OnGpu() {
  return [](const Target& t) { return !t.is_cpu_device; };
}
/// Returns a filter that applies to the CPU device only.
inline TargetFilter OnCpuDevice() {
  return [](const Target& t) { return t.is_cpu_device; };
}

/// Values by target name ("sm_90", or "default" for all targets), as in cuTile's `ByTarget`. A target's own value
/// overrides the one under "default".
template <typename T>
class ByTarget {
 public:
  ByTarget() = default;
  ByTarget(T value) { values_.emplace("default", std::move(value)); }  // NOLINT(google-explicit-constructor)
  explicit ByTarget(std::map<std::string, T> values) : values_(std::move(values)) {}

  /// Returns the value for `target`, or null if neither the target nor "default" has one.
  const T* Find(const Target& target) const {
    auto it = values_.find(target.name());
    if (it == values_.end()) it = values_.find("default");
    return it == values_.end() ? nullptr : &it->second;
  }
  /// Returns all values by target name.
  const std::map<std::string, T>& values() const { return values_; }

 private:
  std::map<std::string, T> values_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TARGET_H_
