#include "base/span.h"

#if TUNEONCE_WITH_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace tuneonce {
inline namespace v0 {
namespace {

#if TUNEONCE_WITH_NVTX
nvtxDomainHandle_t Domain() {
  static const nvtxDomainHandle_t domain = nvtxDomainCreateA("tuneonce");
  return domain;
}

void BeginRange(const std::string& name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name.c_str();
  nvtxDomainRangePushEx(Domain(), &attributes);
}

void EndRange() { nvtxDomainRangePop(Domain()); }
#else
void BeginRange(const std::string&) {}
void EndRange() {}
#endif

}  // namespace

Span::Span(Trace* trace, const char* category, std::string name)
    : trace_(trace != nullptr && trace->is_on() ? trace : nullptr) {
  BeginRange(name);
  if (trace_ == nullptr) return;
  event_.name = std::move(name);
  event_.category = category;
  event_.track = Trace::ThreadTrack();
  event_.begin = Trace::Clock::now();
}

Span::~Span() {
  if (trace_ != nullptr) {
    event_.duration = Trace::Clock::now() - event_.begin;
    trace_->Add(std::move(event_));
  }
  EndRange();
}

}  // namespace v0
}  // namespace tuneonce
