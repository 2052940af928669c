#ifndef TUNEONCE_LIB_CUDA_NVML_API_H_
#define TUNEONCE_LIB_CUDA_NVML_API_H_

#include <string>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

struct Environment;

/// The functions of NVML that the library uses, as plain pointers with types of this library, so that building and
/// running need no NVML. The constants are those of nvml.h in CUDA 12 and 13. Every function returns an nvmlReturn_t,
/// where 0 is success. Thread rule: immutable; any thread may call NVML's functions.
struct NvmlApi {
  using Device = void*;

  static constexpr int kSmClock = 1;           ///< NVML_CLOCK_SM
  static constexpr int kMemoryClock = 2;       ///< NVML_CLOCK_MEM
  static constexpr int kGpuTemperature = 0;    ///< NVML_TEMPERATURE_GPU
  static constexpr unsigned kNameLength = 96;  ///< NVML_DEVICE_NAME_V2_BUFFER_SIZE

  int (*Init)() = nullptr;
  int (*DeviceGetHandleByUuid)(const char* uuid, Device* device) = nullptr;
  int (*DeviceGetClockInfo)(Device device, int type, unsigned* mhz) = nullptr;
  int (*DeviceGetTemperature)(Device device, int sensor, unsigned* celsius) = nullptr;
  int (*DeviceGetPowerUsage)(Device device, unsigned* milliwatts) = nullptr;
  int (*DeviceGetEnforcedPowerLimit)(Device device, unsigned* milliwatts) = nullptr;
  int (*DeviceGetCurrentClocksThrottleReasons)(Device device, unsigned long long* reasons) = nullptr;
  /// Millijoules since the driver was loaded. Volta and newer.
  int (*DeviceGetTotalEnergyConsumption)(Device device, unsigned long long* millijoules) = nullptr;
  int (*DeviceGetName)(Device device, char* name, unsigned length) = nullptr;
  int (*DeviceGetDeviceHandleFromMigDeviceHandle)(Device mig_device, Device* device) = nullptr;
};

/// Loads NVML from `Environment::nvml` or by its usual name, and initializes it, once per name. It is never shut down.
/// Errors: Unavailable, naming the places that were searched, the missing function, or NVML's error.
Result<const NvmlApi*> LoadNvml(const Environment& environment);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_NVML_API_H_
