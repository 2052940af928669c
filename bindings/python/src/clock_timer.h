#ifndef TUNEONCE_BINDINGS_PYTHON_CLOCK_TIMER_H_
#define TUNEONCE_BINDINGS_PYTHON_CLOCK_TIMER_H_

#include "tuneonce/timer.h"

namespace tuneonce::python {

/// Times what computes on the thread that launches it, by that thread's clock: functions of numpy, say, which know no
/// stream. A run begins when the stream is empty, and ends when it is again.
class ClockTimer final : public Timer {
 public:
  std::string_view name() const override { return "clock"; }
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState cache) override;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_CLOCK_TIMER_H_
