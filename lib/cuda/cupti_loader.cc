#include <dlfcn.h>

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/environment.h"
#include "base/mutex.h"
#include "cuda/cupti_api.h"
#include "cuda/dynamic_library.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::vector<std::string> Places(const Environment& environment) {
  if (!environment.cupti.empty()) return {environment.cupti};
  std::vector<std::string> places = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
  std::string home = environment.cuda_home.empty() ? "/usr/local/cuda" : environment.cuda_home;
  for (const char* relative : {"/lib64/libcupti.so", "/extras/CUPTI/lib64/libcupti.so"}) {
    places.push_back(home + relative);
  }
  return places;
}

template <typename Function>
bool Find(void* library, const char* symbol, Function*& function, std::string* missing) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  if (function == nullptr) *missing = symbol;
  return function != nullptr;
}

Result<CuptiApi> Open(const std::vector<std::string>& places) {
  TUNEONCE_ASSIGN_OR_RETURN(DynamicLibrary library, OpenFirst(places, "CUPTI"));
  CuptiApi api;
  std::string missing;
  void* handle = library.handle;
  bool complete = Find(handle, "cuptiGetVersion", api.GetVersion, &missing) &&
                  Find(handle, "cuptiGetResultString", api.GetResultString, &missing) &&
                  Find(handle, "cuptiSubscribe", api.Subscribe, &missing) &&
                  Find(handle, "cuptiUnsubscribe", api.Unsubscribe, &missing) &&
                  Find(handle, "cuptiEnableCallback", api.EnableCallback, &missing) &&
                  Find(handle, "cuptiActivityRegisterCallbacks", api.ActivityRegisterCallbacks, &missing) &&
                  Find(handle, "cuptiActivityEnable", api.ActivityEnable, &missing) &&
                  Find(handle, "cuptiActivityFlushAll", api.ActivityFlushAll, &missing) &&
                  Find(handle, "cuptiActivityGetNextRecord", api.ActivityGetNextRecord, &missing) &&
                  Find(handle, "cuptiGetContextId", api.GetContextId, &missing) &&
                  Find(handle, "cuptiGetStreamIdEx", api.GetStreamIdEx, &missing) &&
                  Find(handle, "cuptiFinalize", api.Finalize, &missing);
  if (!complete) return UnavailableError(absl::StrCat(library.path, " is not CUPTI, or too old: it has no ", missing));
  api.library_path = library.path;
  return api;
}

}  // namespace

Result<const CuptiApi*> LoadCupti(const Environment& environment) {
  static Mutex* const mutex = new Mutex;
  static auto* const loaded = new std::map<std::vector<std::string>, const CuptiApi*>;
  std::vector<std::string> places = Places(environment);
  MutexLock lock(*mutex);
  if (auto it = loaded->find(places); it != loaded->end()) return it->second;
  TUNEONCE_ASSIGN_OR_RETURN(CuptiApi api, Open(places));
  return (*loaded)[places] = new CuptiApi(std::move(api));
}

}  // namespace v0
}  // namespace tuneonce
