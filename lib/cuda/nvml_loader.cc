#include <dlfcn.h>

#include <map>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/environment.h"
#include "base/mutex.h"
#include "cuda/dynamic_library.h"
#include "cuda/nvml_api.h"

namespace tuneonce {
inline namespace v0 {
namespace {

Result<NvmlApi> Open(const std::string& name) {
  TUNEONCE_ASSIGN_OR_RETURN(DynamicLibrary library, OpenFirst({name}, "NVML"));
  NvmlApi api;
  std::string missing;
  auto find = [&](const char* symbol, auto*& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library.handle, symbol));
    if (function == nullptr && missing.empty()) missing = symbol;
  };
  find("nvmlInit_v2", api.Init);
  find("nvmlDeviceGetHandleByUUID", api.DeviceGetHandleByUuid);
  find("nvmlDeviceGetClockInfo", api.DeviceGetClockInfo);
  find("nvmlDeviceGetTemperature", api.DeviceGetTemperature);
  find("nvmlDeviceGetPowerUsage", api.DeviceGetPowerUsage);
  find("nvmlDeviceGetEnforcedPowerLimit", api.DeviceGetEnforcedPowerLimit);
  find("nvmlDeviceGetCurrentClocksThrottleReasons", api.DeviceGetCurrentClocksThrottleReasons);
  find("nvmlDeviceGetTotalEnergyConsumption", api.DeviceGetTotalEnergyConsumption);
  find("nvmlDeviceGetName", api.DeviceGetName);
  find("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", api.DeviceGetDeviceHandleFromMigDeviceHandle);
  if (!missing.empty()) {
    return UnavailableError(absl::StrCat(library.path, " is not NVML, or too old: it has no ", missing));
  }
  if (int error = api.Init(); error != 0) {
    return UnavailableError(absl::StrCat(library.path, " cannot be used: nvmlInit failed with ", error));
  }
  return api;
}

}  // namespace

Result<const NvmlApi*> LoadNvml(const Environment& environment) {
  static Mutex* const mutex = new Mutex;
  static auto* const loaded = new std::map<std::string, const NvmlApi*>;
  const std::string name = environment.nvml.empty() ? "libnvidia-ml.so.1" : environment.nvml;
  MutexLock lock(*mutex);
  if (auto it = loaded->find(name); it != loaded->end()) return it->second;
  TUNEONCE_ASSIGN_OR_RETURN(NvmlApi api, Open(name));
  return (*loaded)[name] = new NvmlApi(api);
}

}  // namespace v0
}  // namespace tuneonce
