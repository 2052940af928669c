#ifndef TUNEONCE_BINDINGS_PYTHON_CLOCK_TIMER_H_
#define TUNEONCE_BINDINGS_PYTHON_CLOCK_TIMER_H_

#include "tuneonce/plugin/timer.h"

namespace tuneonce::python {

/// Times functions that compute on the launching thread without a stream, such as numpy's, by that thread's clock. A
/// run begins when the stream is empty and ends when it is empty again.
class ClockTimer final : public Timer {
 public:
  std::string_view name() const override { return "clock"; }
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState cache) override;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_CLOCK_TIMER_H_
