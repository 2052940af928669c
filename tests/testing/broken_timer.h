#ifndef TUNEONCE_TESTS_TESTING_BROKEN_TIMER_H_
#define TUNEONCE_TESTS_TESTING_BROKEN_TIMER_H_

#include <memory>
#include <string_view>

#include "measure/event_timer.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/result.h"

namespace tuneonce::testing {

/// A timer that cannot time, as long as it is broken.
class BrokenTimer final : public Timer {
 public:
  std::string_view name() const override { return "broken"; }
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState cache) override {
    if (!is_broken) return events_.Open(stream, cache);
    return Status(code, "the clock stands still");
  }
  bool is_broken = true;
  StatusCode code = StatusCode::kInternal;

 private:
  EventTimer events_;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_BROKEN_TIMER_H_
