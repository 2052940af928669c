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

/// Describes a device: the properties that decide whether results that were tuned on one device apply to another, and
/// the device's UUID.
struct DeviceIdentity {
  std::string name;          ///< "NVIDIA H200"; the CPU device: "tuneonce CPU device (<CPU model>)".
  int capability_major = 0;  ///< Compute capability, major part. The CPU device has 0.0.
  int capability_minor = 0;
  int num_sms = 0;                  ///< Number of multiprocessors. On the CPU device, number of cores.
  std::uint64_t memory_bytes = 0;   ///< Total device memory, in bytes.
  std::uint64_t l2_bytes = 0;       ///< Size of the last-level cache, in bytes.
  int max_shared_memory_bytes = 0;  ///< Maximum shared memory per block after opt-in, in bytes.
  int shared_memory_per_sm = 0;     ///< Shared memory of a multiprocessor, in bytes.
  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;  ///< Maximum number of threads that a multiprocessor holds at a time.
  int registers_per_sm = 0;    ///< Number of 32-bit registers of a multiprocessor.
  int warp_size = 0;           ///< Number of threads of a warp.
  bool has_clusters = false;   ///< Whether kernels can be launched with clusters of blocks.
  int driver_version = 0;  ///< CUDA version of the driver as cuDriverGetVersion returns it: 1000 * major + 10 * minor.
  std::array<unsigned char, 16> uuid{};  ///< The UUID of this one device.
  bool is_cpu_device = false;

  /// Returns the UUID as nvidia-smi prints it: "GPU-" and groups of 8, 4, 4, 4 and 12 hexadecimal digits. The CPU
  /// device's begins with "CPU-".
  TUNEONCE_API std::string UuidString() const;
};

/// A reference to one device of one driver (the CUDA driver or the CPU device's). It owns nothing and has value
/// semantics.
class TUNEONCE_API Device {
 public:
  /// Returns device `index` (0-based) of the driver `api`. Errors: InvalidArgument, with the number of devices.
  static Result<Device> Get(const DriverApi& api, int index);
  /// Returns the device of the calling thread's current context. Errors: FailedPrecondition without a current context.
  static Result<Device> OfCurrentContext(const DriverApi& api);
  /// Returns the device of the calling thread's current context. That is the CPU device if the thread's current context
  /// belongs to it, which happens only after the program opened the CPU device by name. Otherwise it is a device of the
  /// CUDA driver. Errors: FailedPrecondition without a current context, Unavailable without a driver.
  static Result<Device> OfCurrentContext();
  /// Returns the number of devices of the driver `api`. Errors: the driver's.
  static Result<int> Count(const DriverApi& api);

  const DriverApi& api() const { return *api_; }
  CUdevice handle() const { return device_; }
  int index() const { return device_; }  ///< The driver's ordinal of the device, which is also its handle.

  /// Reads the device's properties. Errors: the driver's.
  Result<DeviceIdentity> Identity() const;
  /// Returns one device attribute. Errors: the driver's.
  Result<int> Attribute(CUdevice_attribute attribute) const;

  /// Returns the address of a driver function, for the program's own driver calls: DriverFunction(
  /// "cuStreamBeginCapture", 10010) is a PFN_cuStreamBeginCapture_v10010 of cudaTypedefs.h. A program does not link the
  /// CPU device's driver, so this is how it finds that driver's functions. `version` is the CUDA version of the
  /// function's signature, 1000 * major + 10 * minor, as in cuGetProcAddress. The address stays valid until the process
  /// ends. Errors: NotFound if the driver has no such function of that version.
  Result<void*> DriverFunction(const std::string& name, int version) const;

 private:
  Device(const DriverApi& api, CUdevice device) : api_(&api), device_(device) {}

  const DriverApi* api_;
  CUdevice device_;
};

/// Opens a device with Runtime::Default()->OpenDevice(name). `name` is "cuda", "cuda:1", "cpu" or "cpu:0", for example.
/// Errors: those of Runtime::OpenDevice.
TUNEONCE_API Result<Device> OpenDevice(const std::string& name);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_DEVICE_H_
