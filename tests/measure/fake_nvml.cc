// A library as NVML is, with one device and a part of it, for DeviceWatch's tests.
#include <cstring>

namespace {

constexpr int kNotFound = 6, kNotSupported = 3;
int whole, part;

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (std::strcmp(uuid, "GPU-01000000-0000-0000-0000-000000000000") == 0) {
    *device = &whole;
  } else if (std::strcmp(uuid, "MIG-02000000-0000-0000-0000-000000000000") == 0) {
    *device = &part;
  } else {
    return kNotFound;
  }
  return 0;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* mig_device, void** device) {
  *device = &whole;
  return mig_device == &part ? 0 : kNotFound;
}
int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  std::strncpy(name, device == &part ? "NVIDIA H100 MIG 1g.10gb" : "NVIDIA H100", length);
  return 0;
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  static unsigned looks = 0;
  *mhz = type == 1 ? 1980 - 15 * looks++ : 2619;
  return device == &whole ? 0 : kNotSupported;
}
int nvmlDeviceGetTemperature(void* /*device*/, int /*sensor*/, unsigned* celsius) {
  *celsius = 41;
  return 0;
}
int nvmlDeviceGetPowerUsage(void* /*device*/, unsigned* /*milliwatts*/) { return kNotSupported; }
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  static unsigned long long consumed = 5000;
  *millijoules = consumed += 250;
  return device == &whole ? 0 : kNotSupported;
}
int nvmlDeviceGetEnforcedPowerLimit(void* /*device*/, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* /*device*/, unsigned long long* reasons) {
  *reasons = 4;
  return 0;
}
}
