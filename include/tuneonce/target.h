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

/// What a kernel is compiled for and planned on: the properties of a device that configs depend on.
struct Target {
  bool is_cpu_device = false;
  int capability_major = 0;
  int capability_minor = 0;
  int num_sms = 1;                  ///< Multiprocessors; cores of the CPU device.
  int max_shared_memory_bytes = 0;  ///< Per block, opt-in maximum.
  std::uint64_t l2_bytes = 0;

  TUNEONCE_API static Target Of(const DeviceIdentity& device);
  /// Of what name() gives: its capability, or the CPU device; nothing else is known of it. Errors: InvalidArgument.
  TUNEONCE_API static Result<Target> Named(const std::string& name);
  /// Compute capability as one number: 90 for 9.0.
  int capability() const { return 10 * capability_major + capability_minor; }
  /// "sm_90", or "cpu".
  std::string name() const { return is_cpu_device ? "cpu" : "sm_" + std::to_string(capability()); }
};

/// Says on which targets something applies. Empty: on all.
using TargetFilter = std::function<bool(const Target&)>;

/// GPUs with `from` <= capability <= `to` (90 for 9.0).
inline TargetFilter CapabilityRange(int from, int to) {
  return [=](const Target& t) { return !t.is_cpu_device && t.capability() >= from && t.capability() <= to; };
}
inline TargetFilter OnGpu() {
  return [](const Target& t) { return !t.is_cpu_device; };
}
inline TargetFilter OnCpuDevice() {
  return [](const Target& t) { return t.is_cpu_device; };
}

/// A value by target name, as cuTile's `ByTarget`: a target's own value beats the one under "default".
template <typename T>
class ByTarget {
 public:
  ByTarget() = default;
  ByTarget(T value) { values_.emplace("default", std::move(value)); }  // NOLINT(google-explicit-constructor)
  explicit ByTarget(std::map<std::string, T> values) : values_(std::move(values)) {}

  /// The value for `target`, or null if neither it nor "default" has one.
  const T* Find(const Target& target) const {
    auto it = values_.find(target.name());
    if (it == values_.end()) it = values_.find("default");
    return it == values_.end() ? nullptr : &it->second;
  }
  const std::map<std::string, T>& values() const { return values_; }

 private:
  std::map<std::string, T> values_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TARGET_H_
