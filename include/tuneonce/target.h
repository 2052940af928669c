#ifndef TUNEONCE_TARGET_H_
#define TUNEONCE_TARGET_H_

#include <cstdint>
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
  std::uint64_t l2_bytes = 0;       ///< Size of the last-level cache, in bytes. 0: unknown.
  int shared_memory_per_sm = 0;     ///< Shared memory of a multiprocessor, in bytes.
  int max_threads_per_block = 0;    ///< Maximum number of threads of a block.
  int max_threads_per_sm = 0;       ///< Maximum number of threads that a multiprocessor holds at a time.
  int registers_per_sm = 0;         ///< Number of 32-bit registers of a multiprocessor. 0 on the CPU device.
  int warp_size = 0;                ///< Number of threads of a warp. 1 on the CPU device.
  int max_cluster_size = 0;         ///< Maximum number of blocks of a cluster. 1 on devices without clusters.

  /// Returns the target with the properties of a device.
  TUNEONCE_API static Target Of(const DeviceIdentity& device);
  /// Returns the target for a name that name() returns: "sm_90" or "cpu". Its limits
  /// are those that NVIDIA publishes for the capability, and of an unknown capability those of the closest lower one.
  /// num_sms and l2_bytes differ between devices of a capability and keep their defaults. Errors: InvalidArgument for
  /// another name.
  TUNEONCE_API static Result<Target> Named(const std::string& name);
  /// Returns the compute capability as one number: 90 for 9.0.
  int capability() const { return 10 * capability_major + capability_minor; }
  /// Returns the target's name: "sm_90", or "cpu".
  std::string name() const { return is_cpu_device ? "cpu" : "sm_" + std::to_string(capability()); }
};

/// A target of which nothing is known, with one multiprocessor.
TUNEONCE_API extern const Target kUnknownTarget;

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
