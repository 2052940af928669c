// LoadCudaDriver and LoadCpuDriver: from a library's name to a filled function table.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/environment.h"
#include "cuda/driver_api.h"
#include "cuda/dynamic_library.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// Debian's name of the architecture, which is the name of a library folder.
#ifdef __aarch64__
#define TUNEONCE_MULTIARCH "aarch64-linux-gnu"
#else
#define TUNEONCE_MULTIARCH "x86_64-linux-gnu"
#endif

/// The CPU device's library exports this symbol; the CUDA driver does not.
constexpr char kCpuDeviceMark[] = "tuneonceCpuDriverAbi";
/// This symbol too. It configures the devices. Before cuInit it decides their number and memory. Later calls return
/// CUDA_ERROR_INVALID_VALUE if the existing devices do not suffice.
constexpr char kConfigureCpuDriver[] = "tuneonceCpuDriverConfigure";
using ConfigureCpuDriver = CUresult(int num_devices, std::int64_t memory_mib, const char* temporary_folder);

/// The CPU device's driver, once it is loaded.
std::atomic<const DriverApi*> cpu_driver{nullptr};

enum Need { kRequired, kOptional };

struct FunctionSlot {
  const char* symbol;
  int version;
  Need need;
  void** address;
};

std::vector<FunctionSlot> Slots(DriverTable& table) {
  return {
#define TUNEONCE_SLOT(name, version, need) \
  FunctionSlot{"cu" #name, version, need, reinterpret_cast<void**>(&table.name)},
      TUNEONCE_DRIVER_FUNCTIONS(TUNEONCE_SLOT)
#undef TUNEONCE_SLOT
  };
}

Result<DriverTable> FillTable(void* library, const std::string& path) {
  auto get_address = reinterpret_cast<PFN_cuGetProcAddress_v11030>(dlsym(library, "cuGetProcAddress"));
  if (get_address == nullptr) {
    return UnavailableError(
        absl::StrCat(path, " is not a CUDA driver (or older than 11.3): it has no cuGetProcAddress"));
  }
  DriverTable table;
  for (const FunctionSlot& slot : Slots(table)) {
    void* address = nullptr;
    CUresult result = get_address(slot.symbol, &address, slot.version, CU_GET_PROC_ADDRESS_DEFAULT);
    if (result == CUDA_SUCCESS && address != nullptr) {
      *slot.address = address;
    } else if (slot.need == kRequired) {
      return UnavailableError(absl::StrFormat("%s has no %s of version %d.%d: update the driver", path, slot.symbol,
                                              slot.version / 1000, slot.version % 1000 / 10));
    }
  }
  if (CUresult result = table.Init(0); result != CUDA_SUCCESS) {
    const char* text = nullptr;
    table.GetErrorString(result, &text);
    return UnavailableError(absl::StrCat(path, " was loaded, but cuInit failed with ", static_cast<int>(result), ": ",
                                         text == nullptr ? "unknown error" : text));
  }
  return table;
}

/// The CPU device runs already, and differs from what this environment wants.
Status RunsOtherwise(const DriverApi& api, const Environment& environment) {
  int count = 0;
  UnguardedTable(api).DeviceGetCount(&count);
  std::size_t bytes = 0;
  UnguardedTable(api).DeviceTotalMem(&bytes, 0);
  return FailedPreconditionError(
      absl::StrCat("the CPU device already runs in this process, with ", count, count == 1 ? " device" : " devices",
                   " of ", bytes >> 20, " MiB each, but this Runtime needs ", environment.cpu_devices,
                   environment.cpu_memory_mib > 0 ? absl::StrCat(" of ", environment.cpu_memory_mib, " MiB") : "",
                   ": create the Runtime with the largest needs first"));
}

/// A loaded driver. It is never freed.
struct LoadedDriver {
  LoadedDriver(void* library, const DriverTable& table, const std::string& path, bool is_cpu_device)
      : handle(library), api(table, path, is_cpu_device) {}

  void* const handle;  // The loader's.
  const DriverApi api;
  const LoadedDriver* next = nullptr;
};

/// All drivers that were loaded, as a list.
std::atomic<const LoadedDriver*> all_loaded{nullptr};

/// Returns the CUDA driver that was loaded before, or null.
const DriverApi* FindLoadedCuda() {
  for (const LoadedDriver* each = all_loaded; each != nullptr; each = each->next) {
    if (!each->api.is_cpu_device()) return &each->api;
  }
  return nullptr;
}

/// Returns the driver with this handle in the list that starts at `first`, or null.
const DriverApi* FindLoaded(const LoadedDriver* first, const void* handle) {
  for (; first != nullptr; first = first->next) {
    if (first->handle == handle) return &first->api;
  }
  return nullptr;
}

/// Loads each library once per process and never unloads it. It takes no lock, because a child of fork() could inherit
/// it locked. If several threads load a library at the same time, the first to finish is used. `environment` configures
/// the CPU device, and is null if the library must not be the CPU device.
Result<const DriverApi*> LoadOnce(const std::vector<std::string>& paths, const std::string& what,
                                  const Environment* environment) {
  TUNEONCE_ASSIGN_OR_RETURN(DynamicLibrary library, OpenFirst(paths, what));
  auto configure = reinterpret_cast<ConfigureCpuDriver*>(dlsym(library.handle, kConfigureCpuDriver));
  bool is_cpu_device = dlsym(library.handle, kCpuDeviceMark) != nullptr;
  CUresult configured = CUDA_SUCCESS;
  if (configure != nullptr && environment != nullptr) {
    configured =
        configure(environment->cpu_devices, environment->cpu_memory_mib, environment->temporary_folder.c_str());
  }
  const LoadedDriver* first = all_loaded.load();
  const DriverApi* api = FindLoaded(first, library.handle);
  if (api == nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(DriverTable table, FillTable(library.handle, library.path));
    auto made = std::make_unique<LoadedDriver>(library.handle, table, library.path, is_cpu_device);
    while (api == nullptr) {
      made->next = first;
      if (all_loaded.compare_exchange_weak(first, made.get())) {
        api = &made.release()->api;
      } else {
        api = FindLoaded(first, library.handle);
      }
    }
  }
  if (is_cpu_device) cpu_driver = api;
  if (configured != CUDA_SUCCESS) return RunsOtherwise(*api, *environment);
  return api;
}

}  // namespace

Result<const DriverApi*> LoadCudaDriver(const Environment& environment) {
  const std::string& named = environment.cuda_driver;
  if (!named.empty()) return LoadOnce({named}, "the CUDA driver", nullptr);
  return LoadOnce({"libcuda.so.1", "/usr/lib/" TUNEONCE_MULTIARCH "/libcuda.so.1", "/usr/lib64/libcuda.so.1",
                   "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"},
                  "the CUDA driver", nullptr);
}

Result<const DriverApi*> LoadCpuDriver(const Environment& environment) {
  constexpr char kName[] = "libtuneonce_cpu_driver.so";
  std::vector<std::string> paths;
  if (!environment.cpu_driver.empty()) {
    paths.push_back(environment.cpu_driver);
  } else {
    for (const std::string& folder : {FolderOfThisCode(), FolderOfProgram()}) {
      for (const char* relative : {"", "/" TUNEONCE_LIBDIR_FROM_BINDIR, "/../lib", "/../lib64"}) {
        std::string place = absl::StrCat(folder, relative, "/", kName);
        if (std::find(paths.begin(), paths.end(), place) == paths.end()) paths.push_back(std::move(place));
      }
    }
    // The loader would use the run path of the library that calls dlopen, which may be a sanitizer's. So each folder of
    // the run path is listed, before LD_LIBRARY_PATH and the system's folders.
    for (const std::string& folder : FoldersOfLibraries()) paths.push_back(absl::StrCat(folder, "/", kName));
    paths.push_back(kName);
  }
  TUNEONCE_ASSIGN_OR_RETURN(const DriverApi* api, LoadOnce(paths, "the CPU device", &environment));
  if (api->is_cpu_device()) return api;
  return UnavailableError(absl::StrCat(api->library_path(), " is a CUDA driver, but not tuneonce's CPU device"));
}

Result<const DriverApi*> DriverOfCurrentContext(const Environment& environment) {
  const DriverApi* cpu = cpu_driver;
  if (cpu == nullptr) return LoadCudaDriver(environment);
  const Result<ContextView> current = ContextView::Current(*cpu);
  if (current.ok()) return cpu;
  // dlopen in a child of fork() never returns if a thread of the parent was in it (glibc 2.36).
  if (current.status().driver_code() == CUDA_ERROR_NOT_INITIALIZED) {
    const DriverApi* loaded = FindLoadedCuda();
    return loaded != nullptr && ContextView::Current(*loaded).ok() ? loaded : cpu;
  }
  Result<const DriverApi*> cuda = LoadCudaDriver(environment);
  // Where neither has a current context, the CPU device states why.
  return cuda.ok() && ContextView::Current(**cuda).ok() ? cuda : cpu;
}

}  // namespace v0
}  // namespace tuneonce
