#ifndef TUNEONCE_LIB_MEASURE_GUARDED_TIMER_H_
#define TUNEONCE_LIB_MEASURE_GUARDED_TIMER_H_

#include "tuneonce/plugin/timer.h"

namespace tuneonce {
inline namespace v0 {

/// Wraps a host's timer. An exception from it or its sessions becomes an error that names it.
class GuardedTimer final : public Timer {
 public:
  /// REQUIRES: `timer` outlives the object and its sessions.
  explicit GuardedTimer(Timer& timer) : timer_(timer) {}

  std::string_view name() const override;
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState cache) override;

 private:
  Timer& timer_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_GUARDED_TIMER_H_
