#include "compile/nvrtc_library.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/mutex.h"
#include "cuda/dynamic_library.h"

namespace tuneonce {
inline namespace v0 {
namespace {

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

bool FindAll(void* handle, NvrtcLibrary* nvrtc) {
  return Find(handle, "nvrtcVersion", &nvrtc->Version) && Find(handle, "nvrtcGetErrorString", &nvrtc->GetErrorString) &&
         Find(handle, "nvrtcCreateProgram", &nvrtc->CreateProgram) &&
         Find(handle, "nvrtcDestroyProgram", &nvrtc->DestroyProgram) &&
         Find(handle, "nvrtcAddNameExpression", &nvrtc->AddNameExpression) &&
         Find(handle, "nvrtcGetLoweredName", &nvrtc->GetLoweredName) &&
         Find(handle, "nvrtcCompileProgram", &nvrtc->CompileProgram) &&
         Find(handle, "nvrtcGetProgramLogSize", &nvrtc->GetProgramLogSize) &&
         Find(handle, "nvrtcGetProgramLog", &nvrtc->GetProgramLog) &&
         Find(handle, "nvrtcGetCUBINSize", &nvrtc->GetCUBINSize) && Find(handle, "nvrtcGetCUBIN", &nvrtc->GetCUBIN);
}

std::string FolderOf(const NvrtcLibrary& nvrtc) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(nvrtc.Version), &info) == 0 || info.dli_fname == nullptr) return "";
  std::string file = RealPath(info.dli_fname);
  return file.substr(0, file.rfind('/') == std::string::npos ? 0 : file.rfind('/'));
}

}  // namespace

Result<const NvrtcLibrary*> NvrtcLibrary::Load(const Environment& environment) {
  static auto* const loaded = new std::map<void*, const NvrtcLibrary*>;  // By the loader's handle.
  static Mutex* const mutex = new Mutex;
  MutexLock lock(*mutex);
  TUNEONCE_ASSIGN_OR_RETURN(DynamicLibrary library, OpenFirst(Places(environment), "NVRTC"));
  if (auto it = loaded->find(library.handle); it != loaded->end()) return it->second;
  auto nvrtc = std::make_unique<NvrtcLibrary>();
  nvrtc->path = library.path;
  if (!FindAll(library.handle, nvrtc.get())) {
    return UnavailableError(absl::StrCat(library.path, " is not NVRTC: functions are missing"));
  }
  nvrtc->folder = FolderOf(*nvrtc);
  return (*loaded)[library.handle] = nvrtc.release();
}

}  // namespace v0
}  // namespace tuneonce
