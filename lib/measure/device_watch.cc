#include "measure/device_watch.h"

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tuneonce {
inline namespace v0 {
namespace {

/// Returns NVML's answer to `ask` for the device, if it has one.
template <typename Number, typename Ask>
auto Asked(const Ask& ask) {
  Number value = 0;
  using Known = std::conditional_t<std::is_same_v<Number, unsigned>, std::int64_t, std::uint64_t>;
  return ask(&value) == 0 ? std::optional<Known>(value) : std::nullopt;
}

/// "NVIDIA H100 MIG 1g.10gb" has a profile.
std::string ProfileOf(std::string_view name) {
  constexpr std::string_view kMark = " MIG ";
  std::size_t found = name.rfind(kMark);
  return found == std::string_view::npos ? std::string() : std::string(name.substr(found + kMark.size()));
}

}  // namespace

DeviceWatch::DeviceWatch(const Environment& environment, const DeviceIdentity& identity)
    : nvml_name_(environment.nvml), identity_(identity) {}

void DeviceWatch::Open() {
  is_open_ = true;
  if (identity_.is_cpu_device) return;
  Environment environment;
  environment.nvml = nvml_name_;
  Result<const NvmlApi*> api = LoadNvml(environment);
  if (!api.ok()) return;
  const std::string uuid = identity_.UuidString();
  if ((*api)->DeviceGetHandleByUuid(uuid.c_str(), &device_) == 0) {
    api_ = *api;
    return;
  }
  // A MIG instance has a UUID of its own. Its clocks are those of the whole device.
  const std::string mig = "MIG" + uuid.substr(uuid.find('-'));
  NvmlApi::Device part = nullptr;
  if ((*api)->DeviceGetHandleByUuid(mig.c_str(), &part) != 0) return;
  if ((*api)->DeviceGetDeviceHandleFromMigDeviceHandle(part, &device_) != 0) return;
  char name[NvmlApi::kNameLength] = {};
  if ((*api)->DeviceGetName(part, name, sizeof(name) - 1) == 0) mig_profile_ = ProfileOf(name);
  api_ = *api;
}

std::optional<DeviceReading> DeviceWatch::Read() {
  if (!is_open_) Open();
  if (api_ == nullptr) return std::nullopt;
  DeviceReading reading;
  DeviceConditions& conditions = reading.conditions;
  conditions.sm_clock_mhz =
      Asked<unsigned>([&](unsigned* mhz) { return api_->DeviceGetClockInfo(device_, NvmlApi::kSmClock, mhz); });
  conditions.memory_clock_mhz =
      Asked<unsigned>([&](unsigned* mhz) { return api_->DeviceGetClockInfo(device_, NvmlApi::kMemoryClock, mhz); });
  conditions.power_limit_mw =
      Asked<unsigned>([&](unsigned* mw) { return api_->DeviceGetEnforcedPowerLimit(device_, mw); });
  conditions.throttle_reasons = Asked<unsigned long long>(
      [&](unsigned long long* bits) { return api_->DeviceGetCurrentClocksThrottleReasons(device_, bits); });
  conditions.mig_profile = mig_profile_;
  reading.temperature_c = Asked<unsigned>(
      [&](unsigned* celsius) { return api_->DeviceGetTemperature(device_, NvmlApi::kGpuTemperature, celsius); });
  reading.power_mw = Asked<unsigned>([&](unsigned* mw) { return api_->DeviceGetPowerUsage(device_, mw); });
  return reading;
}

std::optional<std::uint64_t> DeviceWatch::ReadEnergyMj() {
  if (!is_open_) Open();
  if (api_ == nullptr || !mig_profile_.empty()) return std::nullopt;
  return Asked<unsigned long long>(
      [&](unsigned long long* mj) { return api_->DeviceGetTotalEnergyConsumption(device_, mj); });
}

}  // namespace v0
}  // namespace tuneonce
