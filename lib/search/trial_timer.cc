#include "search/trial_timer.h"

#include "cuda/driver_api.h"
#include "measure/cupti_timer.h"
#include "measure/event_timer.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

Status TrialTimer::OpenSession() {
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<TimingSession> session, timer_->Open(stream_, options_.cache));
  Result<TrialMemory::Charge> flush = memory_.Count(session->memory_bytes());
  if (!flush.ok()) return flush.status().WithPrefix("the buffer that flushes the cache");
  flush_ = *std::move(flush);
  session_ = std::move(session);
  return Status();
}

Status TrialTimer::Open() {
  if (session_ != nullptr) return Status();
  if (timer_ != nullptr) return OpenSession();
  own_timer_ = std::make_unique<CuptiTimer>(Runtime::OrDefault(options_.runtime)->cupti());
  timer_ = own_timer_.get();
  Status opened = OpenSession();
  if (opened.code() == StatusCode::kUnavailable) {
    if (!stream_.api().is_cpu_device()) note_ = "timed by events: " + opened.message();
    own_timer_ = std::make_unique<EventTimer>();
    timer_ = own_timer_.get();
    opened = OpenSession();
  }
  if (!opened.ok() && options_.timer == nullptr) timer_ = nullptr;
  return opened;
}

bool TrialTimer::UseEvents() {
  if (options_.timer != nullptr || timer_ == nullptr || timer_->name() != "cupti") return false;
  ++session_number_;
  num_in_closed_sessions_ += session_->num_launches();
  session_ = nullptr;
  flush_ = TrialMemory::Charge();
  // Another search may hold CUPTI still, and a graph that is launched under a CUPTI that was claimed before can end the
  // process within the driver (CUDA 13.0).
  own_timer_ = std::make_unique<EventTimer>(EventTimer::Replay::kCalls);
  timer_ = own_timer_.get();
  if (!OpenSession().ok()) return false;
  note_ = "timed by events: CUPTI lost records";
  return true;
}

}  // namespace v0
}  // namespace tuneonce
