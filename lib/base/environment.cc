#include "base/environment.h"

#include <cstdlib>
#include <mutex>

#include "absl/strings/numbers.h"

namespace tuneonce {
namespace {

std::string Read(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string ReadEither(const char* first, const char* second) {
  std::string value = Read(first);
  return value.empty() ? Read(second) : value;
}

Environment ReadAll() {
  Environment environment;
  environment.disable_autotune = ReadEither("TUNEONCE_DISABLE_AUTOTUNE", "DISABLE_AUTOTUNE") == "1";
  environment.cuda_driver = Read("TUNEONCE_CUDA_DRIVER");
  environment.cpu_driver = Read("TUNEONCE_CPU_DRIVER");
  environment.nvrtc = Read("TUNEONCE_NVRTC");
  environment.cupti = Read("TUNEONCE_CUPTI");
  environment.profiler = ReadEither("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH");
  environment.tileiras = Read("TUNEONCE_TILEIRAS");
  environment.ptxas = Read("TUNEONCE_PTXAS");
  environment.enable_tile = ReadEither("TUNEONCE_ENABLE_TILE", "ENABLE_TILE") != "0";
  environment.virtual_env = Read("VIRTUAL_ENV");
  environment.home = Read("HOME");
  environment.store = Read("TUNEONCE_STORE");
  environment.cache_folder = Read("XDG_CACHE_HOME");
  environment.bundles = Read("TUNEONCE_BUNDLES");
  int workers = 0;
  if (absl::SimpleAtoi(Read("TUNEONCE_COMPILE_WORKERS"), &workers) && workers > 0)
    environment.compile_workers = workers;
  environment.cxx = ReadEither("TUNEONCE_CXX", "CXX");
  environment.cuda_home = ReadEither("CUDA_HOME", "CUDA_PATH");
  environment.path = Read("PATH");
  if (std::string folder = Read("TMPDIR"); !folder.empty()) environment.temporary_folder = folder;
  int devices = 0;
  if (absl::SimpleAtoi(Read("TUNEONCE_CPU_DEVICES"), &devices) && devices >= 1 && devices <= 8) {
    environment.cpu_devices = devices;
  }
  std::int64_t mib = 0;
  if (absl::SimpleAtoi(Read("TUNEONCE_CPU_MEMORY_MIB"), &mib) && mib > 0) environment.cpu_memory_mib = mib;
  return environment;
}

struct Holder {
  std::mutex mutex;
  Environment environment = ReadAll();
};

Holder& GetHolder() {
  static Holder* const holder = new Holder;  // Never destroyed: usable during exit.
  return *holder;
}

}  // namespace

Environment Environment::Get() {
  std::lock_guard<std::mutex> lock(GetHolder().mutex);
  return GetHolder().environment;
}

void Environment::Set(const Environment& environment) {
  std::lock_guard<std::mutex> lock(GetHolder().mutex);
  GetHolder().environment = environment;
}

void Environment::SetDisableAutotune(bool disable) {
  std::lock_guard<std::mutex> lock(GetHolder().mutex);
  GetHolder().environment.disable_autotune = disable;
}

}  // namespace tuneonce
