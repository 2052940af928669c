// LoadCudaDriver and LoadCpuDriver: from a library's name to a filled function table.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/environment.h"
#include "cuda/driver_api.h"
#include "cuda/dynamic_library.h"
#include "tuneonce/context.h"

namespace tuneonce {
namespace {

/// The CPU device's library exports this symbol; the CUDA driver does not.
constexpr char kCpuDeviceMark[] = "tuneonceCpuDriverAbi";

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

/// Loads each path once for the whole process, for ever.
Result<const DriverApi*> LoadOnce(const std::vector<std::string>& paths, const std::string& what) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const loaded = new std::map<std::string, const DriverApi*>;
  std::lock_guard<std::mutex> lock(*mutex);
  for (const std::string& path : paths) {
    if (auto it = loaded->find(path); it != loaded->end()) return it->second;
  }
  TUNEONCE_ASSIGN_OR_RETURN(DynamicLibrary library, OpenFirst(paths, what));
  TUNEONCE_ASSIGN_OR_RETURN(DriverTable table, FillTable(library.handle, library.path));
  bool is_cpu_device = dlsym(library.handle, kCpuDeviceMark) != nullptr;
  const auto* api = new DriverApi(table, library.path, is_cpu_device);
  if (is_cpu_device) cpu_driver = api;
  (*loaded)[library.path] = api;
  return api;
}

}  // namespace

Result<const DriverApi*> LoadCudaDriver(const std::string& path) {
  std::string named = path.empty() ? Environment::Get().cuda_driver : path;
  if (!named.empty()) return LoadOnce({named}, "the CUDA driver");
  return LoadOnce({"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1",
                   "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"},
                  "the CUDA driver");
}

Result<const DriverApi*> LoadCpuDriver(const std::string& path) {
  constexpr char kName[] = "libtuneonce_cpu_driver.so";
  std::string named = path.empty() ? Environment::Get().cpu_driver : path;
  Result<const DriverApi*> api = UnavailableError("");
  if (!named.empty()) {
    api = LoadOnce({named}, "the CPU device");
  } else {
    std::vector<std::string> paths;
    for (const std::string& folder : {FolderOfThisCode(), FolderOfProgram()}) {
      for (const char* relative : {"", "/" TUNEONCE_LIBDIR_FROM_BINDIR, "/../lib", "/../lib64"}) {
        std::string place = absl::StrCat(folder, relative, "/", kName);
        if (std::find(paths.begin(), paths.end(), place) == paths.end()) paths.push_back(std::move(place));
      }
    }
    paths.push_back(kName);  // By the run path, LD_LIBRARY_PATH, and the system's folders.
    api = LoadOnce(paths, "the CPU device");
  }
  if (api.ok() && !(*api)->is_cpu_device()) {
    return UnavailableError(absl::StrCat((*api)->library_path(), " is a driver, but not the CPU device"));
  }
  return api;
}

Result<const DriverApi*> DriverOfCurrentContext() {
  const DriverApi* cpu = cpu_driver;
  if (cpu != nullptr && ContextView::Current(*cpu).ok()) return cpu;
  Result<const DriverApi*> cuda = LoadCudaDriver();
  // Who has the CPU device alone lacks a context, not a driver.
  return cpu != nullptr && !cuda.ok() ? cpu : cuda;
}

}  // namespace tuneonce
