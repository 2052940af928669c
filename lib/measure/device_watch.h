#ifndef TUNEONCE_LIB_MEASURE_DEVICE_WATCH_H_
#define TUNEONCE_LIB_MEASURE_DEVICE_WATCH_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/environment.h"
#include "cuda/nvml_api.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Reads a device's state by NVML, which does not depend on the process that measures. NVML is loaded by the first
/// read. A read costs some driver calls, so it is for the ends of a race and not for samples. Thread rule: one thread
/// at a time.
class DeviceWatch {
 public:
  DeviceWatch(const Environment& environment, const DeviceIdentity& identity);

  /// Empty where nothing is known: without NVML, and of the CPU device.
  std::optional<DeviceReading> Read();
  /// The energy in millijoules that the device has consumed since its driver was loaded. Empty where Read is, for a MIG
  /// instance, whose device serves others too, and for devices before Volta.
  std::optional<std::uint64_t> ReadEnergyMj();

 private:
  void Open();

  const std::string nvml_name_;
  const DeviceIdentity identity_;
  bool is_open_ = false;
  const NvmlApi* api_ = nullptr;  // Null: nothing is known.
  NvmlApi::Device device_ = nullptr;
  std::string mig_profile_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_DEVICE_WATCH_H_
