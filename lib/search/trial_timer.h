#ifndef TUNEONCE_LIB_SEARCH_TRIAL_TIMER_H_
#define TUNEONCE_LIB_SEARCH_TRIAL_TIMER_H_

#include <memory>
#include <string>

#include "search/trial_memory.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/timer.h"

namespace tuneonce {
inline namespace v0 {

/// The timing session of a search: by the caller's timer, else by CUPTI, else by events. Thread rule: one thread.
class TrialTimer {
 public:
  /// REQUIRES: all of them outlive it.
  TrialTimer(StreamView stream, const SearchOptions& options, TrialMemory& memory)
      : stream_(stream), options_(options), memory_(memory), timer_(options.timer) {}

  /// Opens the session, unless it is. Errors: the timer's; ResourceExhausted.
  Status Open();
  /// CUPTI lost records: true if the session is now one of events. Runs that were prepared are lost.
  bool UseEvents();

  /// REQUIRES: Open succeeded.
  TimingSession& session() { return *session_; }
  /// Which session it is: another one cannot use its prepared runs.
  int session_number() const { return session_number_; }
  std::string name() const { return std::string(timer_ == nullptr ? "" : timer_->name()); }
  /// Why it is not the usual timer. Empty if it is.
  const std::string& note() const { return note_; }
  std::int64_t num_launches() const {
    return num_in_closed_sessions_ + (session_ == nullptr ? 0 : session_->num_launches());
  }

 private:
  Status OpenSession();

  StreamView stream_;
  const SearchOptions& options_;
  TrialMemory& memory_;
  std::unique_ptr<Timer> own_timer_;  // Unless the caller gave one.
  Timer* timer_;
  std::unique_ptr<TimingSession> session_;
  TrialMemory::Charge flush_;
  int session_number_ = 0;
  std::int64_t num_in_closed_sessions_ = 0;
  std::string note_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TRIAL_TIMER_H_
