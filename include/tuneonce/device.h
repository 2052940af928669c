#ifndef TUNEONCE_DEVICE_H_
#define TUNEONCE_DEVICE_H_

#include <cuda.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class DriverApi;  // A loaded driver; opaque to hosts.

/// What a device is: enough to tell results of one kind of device from those of another.
struct DeviceIdentity {
  std::string name;          ///< "NVIDIA H200"; the CPU device: "tuneonce CPU device (<CPU model>)".
  int capability_major = 0;  ///< Compute capability; 0.0 on the CPU device.
  int capability_minor = 0;
  int num_sms = 0;                  ///< Multiprocessors; on the CPU device: cores.
  std::uint64_t memory_bytes = 0;   ///< Total device memory.
  std::uint64_t l2_bytes = 0;       ///< Size of the last-level cache.
  int max_shared_memory_bytes = 0;  ///< Per block, opt-in maximum.
  int max_threads_per_block = 0;
  int driver_version = 0;                ///< As cuDriverGetVersion: 1000 * major + 10 * minor.
  std::array<unsigned char, 16> uuid{};  ///< This one device.
  bool is_cpu_device = false;

  /// "GPU-8-4-4-4-12" hexadecimal digits, as nvidia-smi prints it ("CPU-..." for the CPU device).
  TUNEONCE_API std::string UuidString() const;
};

/// A view of one device of one driver. Copyable; owns nothing. Thread rule: a value.
class TUNEONCE_API Device {
 public:
  /// Device `index` (0-based) of `api`. Errors: InvalidArgument, with the number of devices there are.
  static Result<Device> Get(const DriverApi& api, int index);
  /// The device of the calling thread's current context. Errors: FailedPrecondition if there is no context.
  static Result<Device> OfCurrentContext(const DriverApi& api);
  /// The same, of whichever driver has it: the CPU device's where the thread has one of its contexts current (which it
  /// has only by naming that device), else the CUDA driver's. Errors: as above, and Unavailable without a driver.
  static Result<Device> OfCurrentContext();
  static Result<int> Count(const DriverApi& api);

  const DriverApi& api() const { return *api_; }
  CUdevice handle() const { return device_; }
  int index() const { return device_; }  ///< The driver's ordinals are its handles.

  Result<DeviceIdentity> Identity() const;
  Result<int> Attribute(CUdevice_attribute attribute) const;

  /// The address of a function of the device's driver, for calls of the program's own: DriverFunction(
  /// "cuStreamBeginCapture", 10010) is a PFN_cuStreamBeginCapture_v10010 of cudaTypedefs.h. A program does not
  /// link the CPU device's driver; it finds that driver's functions by this call. `version` is the CUDA version of the
  /// function's signature, 1000 * major + 10 * minor, as cuGetProcAddress takes it. The address stays valid until the
  /// process ends. Errors: NotFound if the driver has no such function of that version.
  Result<void*> DriverFunction(const std::string& name, int version) const;

 private:
  Device(const DriverApi& api, CUdevice device) : api_(&api), device_(device) {}

  const DriverApi* api_;
  CUdevice device_;
};

/// Runtime::Default()->OpenDevice(name): "cuda", "cuda:1", "cpu", "cpu:0".
TUNEONCE_API Result<Device> OpenDevice(const std::string& name);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_DEVICE_H_
