// The library's only exported symbols: cuGetProcAddress, through which all other functions are found, a symbol that
// identifies the library, and one that configures the devices.
#include <cstring>

#include "base/environment.h"
#include "context.h"
#include "driver_functions.h"

using namespace tuneonce::cpu_device;  // NOLINT(google-build-using-namespace)

namespace {

/// Wraps a driver function for its callers, because the C functions of a driver throw nothing. An exception from a
/// function of this driver means that the system has no memory or no thread.
template <auto kFunction>
struct Exported;

template <typename... Arguments, CUresult (*kFunction)(Arguments...)>
struct Exported<kFunction> {
  static CUresult Call(Arguments... arguments) noexcept {
    try {
      return kFunction(arguments...);
    } catch (...) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
};

struct Entry {
  const char* symbol;
  int version;
  void* address;
};

const Entry kEntries[] = {
#define TUNEONCE_CPU_ENTRY(name, version, need) \
  {"cu" #name, version,                         \
   reinterpret_cast<void*>(static_cast<PFN_cu##name##_v##version>(&Exported<&driver::name>::Call))},
    TUNEONCE_DRIVER_FUNCTIONS(TUNEONCE_CPU_ENTRY)
#undef TUNEONCE_CPU_ENTRY
};

}  // namespace

CUresult tuneonce::cpu_device::driver::GetProcAddress(const char* symbol, void** address, int version, cuuint64_t) {
  if (symbol == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *address = nullptr;
  for (const Entry& entry : kEntries) {
    if (std::strcmp(entry.symbol, symbol) == 0 && version >= entry.version) {
      *address = entry.address;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_NOT_FOUND;
}

#undef cuGetProcAddress

/// Implements the CUDA driver's cuGetProcAddress of version 11.3.
extern "C" __attribute__((visibility("default"))) CUresult cuGetProcAddress(const char* symbol, void** address,
                                                                            int version, cuuint64_t flags) {
  return driver::GetProcAddress(symbol, address, version, flags);
}

/// Says that this driver is the CPU device, and which kernel ABI it speaks.
extern "C" __attribute__((visibility("default"))) const int tuneonceCpuDriverAbi = 1;

/// Configures the devices: their number (1 to 8), the memory of each (in MiB; 0: half of the machine's), and a folder
/// for modules that cannot be opened from memory. Before cuInit it decides in place of the environment. Later it
/// returns CUDA_ERROR_INVALID_VALUE unless at least as many devices exist, with that memory if it is not 0.
extern "C" __attribute__((visibility("default"))) CUresult tuneonceCpuDriverConfigure(
    int num_devices, std::int64_t memory_mib, const char* temporary_folder) noexcept {
  try {
    tuneonce::Environment environment;
    environment.cpu_devices = num_devices;
    environment.cpu_memory_mib = memory_mib;
    if (temporary_folder != nullptr) environment.temporary_folder = temporary_folder;
    return Driver::Configure(environment);
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}
