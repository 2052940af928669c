#include "compile/nvrtc_toolchain.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/environment.h"
#include "base/mutex.h"
#include "compile/cubin.h"
#include "cuda/dynamic_library.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// NVRTC's functions, as its documentation declares them (nvrtc.h is not part of what a minimal build needs).
using Program = struct _nvrtcProgram*;  // NOLINT: NVRTC's name.
struct Nvrtc {
  std::string path;
  int (*Version)(int* major, int* minor);
  const char* (*GetErrorString)(int result);
  int (*CreateProgram)(Program*, const char* source, const char* name, int, const char* const*, const char* const*);
  int (*DestroyProgram)(Program*);
  int (*CompileProgram)(Program, int num_options, const char* const* options);
  int (*GetProgramLogSize)(Program, std::size_t*);
  int (*GetProgramLog)(Program, char*);
  int (*GetCUBINSize)(Program, std::size_t*);
  int (*GetCUBIN)(Program, char*);
};

std::vector<std::string> Places(const Environment& environment) {
  if (!environment.nvrtc.empty()) return {environment.nvrtc};
  std::vector<std::string> folders;
  if (!environment.cuda_home.empty()) folders.push_back(environment.cuda_home + "/lib64/");
  folders.insert(folders.end(), {"", "/usr/local/cuda/lib64/"});
  std::vector<std::string> places;
  for (const std::string& folder : folders) {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) places.push_back(folder + name);
  }
  return places;
}

template <typename Function>
bool Find(void* handle, const char* symbol, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, symbol));
  return *function != nullptr;
}

/// Loads each library once for the whole process, for ever.
Result<const Nvrtc*> LoadNvrtc(const Environment& environment) {
  static auto* const loaded = new std::map<void*, const Nvrtc*>;  // By the loader's handle.
  static Mutex* const mutex = new Mutex;
  MutexLock lock(*mutex);
  TUNEONCE_ASSIGN_OR_RETURN(DynamicLibrary library, OpenFirst(Places(environment), "NVRTC"));
  if (auto it = loaded->find(library.handle); it != loaded->end()) return it->second;
  auto nvrtc = std::make_unique<Nvrtc>();
  nvrtc->path = library.path;
  bool complete = Find(library.handle, "nvrtcVersion", &nvrtc->Version) &&
                  Find(library.handle, "nvrtcGetErrorString", &nvrtc->GetErrorString) &&
                  Find(library.handle, "nvrtcCreateProgram", &nvrtc->CreateProgram) &&
                  Find(library.handle, "nvrtcDestroyProgram", &nvrtc->DestroyProgram) &&
                  Find(library.handle, "nvrtcCompileProgram", &nvrtc->CompileProgram) &&
                  Find(library.handle, "nvrtcGetProgramLogSize", &nvrtc->GetProgramLogSize) &&
                  Find(library.handle, "nvrtcGetProgramLog", &nvrtc->GetProgramLog) &&
                  Find(library.handle, "nvrtcGetCUBINSize", &nvrtc->GetCUBINSize) &&
                  Find(library.handle, "nvrtcGetCUBIN", &nvrtc->GetCUBIN);
  if (!complete) return UnavailableError(absl::StrCat(library.path, " is not NVRTC: functions are missing"));
  return (*loaded)[library.handle] = nvrtc.release();
}

/// Whether the source's content and the options that are part of its key say all that NVRTC reads. It cannot list the
/// headers that it opened (13.0 has no option for it) and has none built in: whatever could name one counts. "include"
/// in a directive may be cut by a line that goes on.
bool ReadsNoFile(const KernelSource& source) {
  std::string text = absl::StrReplaceAll(source.content, {{"\\\r\n", ""}, {"\\\n", ""}});
  if (text.find("include") != std::string::npos) return false;
  return std::none_of(source.options.begin(), source.options.end(), [](const std::string& option) {
    bool is_path = option.rfind("-I", 0) == 0 || option.rfind("--include-path", 0) == 0;
    return !is_path && (option.find("include") != std::string::npos || option.find("pch") != std::string::npos);
  });
}

std::string LogOf(const Nvrtc& nvrtc, Program program) {
  std::size_t size = 0;
  if (nvrtc.GetProgramLogSize(program, &size) != 0 || size <= 1) return "";
  std::string log(size, '\0');
  nvrtc.GetProgramLog(program, log.data());
  log.resize(size - 1);  // Its last byte is a NUL.
  return log;
}

}  // namespace

Result<std::string> NvrtcToolchain::Version() const {
  TUNEONCE_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, LoadNvrtc(tools_->environment()));
  int major = 0;
  int minor = 0;
  nvrtc->Version(&major, &minor);
  return absl::StrCat("nvrtc ", major, ".", minor);
}

std::string NvrtcToolchain::Description() const {
  Result<const Nvrtc*> nvrtc = LoadNvrtc(tools_->environment());
  return nvrtc.ok() ? absl::StrCat((*nvrtc)->path, " ", *Version()) : nvrtc.status().message();
}

Result<Artifact> NvrtcToolchain::DoCompile(const KernelSource& source, const Hints&, const Target& target,
                                           const WaitLimits& limits) const {
  if (target.is_cpu_device) return InvalidArgumentError("a cuda_cpp source cannot run on the CPU device");
  TUNEONCE_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, LoadNvrtc(tools_->environment()));
  if (limits.cancelled != nullptr && limits.cancelled->load())
    return CancelledError("NVRTC was not started: cancelled");
  auto start = std::chrono::steady_clock::now();
  Program program = nullptr;
  std::string file_name = source.symbol + ".cu";
  int result = nvrtc->CreateProgram(&program, source.content.c_str(), file_name.c_str(), 0, nullptr, nullptr);
  if (result != 0) return InternalError(absl::StrCat("nvrtcCreateProgram: ", nvrtc->GetErrorString(result)));
  absl::Cleanup destroy = [&] { nvrtc->DestroyProgram(&program); };

  std::vector<std::string> options = {absl::StrCat("--gpu-architecture=", target.name()), "--std=c++17"};
  for (const std::string& define : source.defines) options.push_back("-D" + define);
  for (const std::string& option : source.options) options.push_back(option);
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  result = nvrtc->CompileProgram(program, static_cast<int>(pointers.size()), pointers.data());
  Artifact artifact;
  artifact.log = LogOf(*nvrtc, program);
  if (result != 0) {
    return InvalidArgumentError(
        absl::StrCat("NVRTC for ", target.name(), ": ", nvrtc->GetErrorString(result), ": ", artifact.log));
  }
  std::size_t size = 0;
  if (nvrtc->GetCUBINSize(program, &size) != 0 || size == 0) {
    return InternalError(absl::StrCat("NVRTC made no cubin for ", target.name()));
  }
  artifact.image.resize(size);
  nvrtc->GetCUBIN(program, artifact.image.data());
  artifact.symbol = source.symbol;
  artifact.cacheable = ReadsNoFile(source);
  artifact.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  TUNEONCE_RETURN_IF_ERROR(DescribeCubin(&artifact).WithPrefix("NVRTC"));
  return artifact;
}

}  // namespace v0
}  // namespace tuneonce
