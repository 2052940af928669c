#ifndef TUNEONCE_LIB_RUNTIME_PROFILER_RANGE_H_
#define TUNEONCE_LIB_RUNTIME_PROFILER_RANGE_H_

#include <string>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

namespace tuneonce {
inline namespace v0 {

/// A named range on the calling thread's line in a profiler's timeline (NVTX, domain "tuneonce"), for its lifetime.
/// Without a profiler, or where NVTX's header was not there at build time, it does nothing.
class ProfilerRange {
 public:
#if __has_include(<nvtx3/nvToolsExt.h>)
  explicit ProfilerRange(const std::string& text) {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = text.c_str();
    nvtxDomainRangePushEx(Domain(), &attributes);
  }
  ~ProfilerRange() { nvtxDomainRangePop(Domain()); }

 private:
  static nvtxDomainHandle_t Domain() {
    static const nvtxDomainHandle_t domain = nvtxDomainCreateA("tuneonce");
    return domain;
  }
#else
  explicit ProfilerRange(const std::string&) {}
#endif

 public:
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_PROFILER_RANGE_H_
