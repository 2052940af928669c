#ifndef TUNEONCE_MEASURE_EVENT_TIMER_H_
#define TUNEONCE_MEASURE_EVENT_TIMER_H_

#include "tuneonce/measure/timer.h"

namespace tuneonce {

struct EventTimerOptions {
  /// Runs before the first sample. Nobody is judged by a first sample. Default 2.
  int num_warmups = 2;
  /// Samples taken in any case. Default 5.
  int min_samples = 5;
  /// Samples at most. Default 40. More for a noisy machine.
  int max_samples = 40;
  /// Sampling ends once the 95 % interval's half is below this share of the mean. Default 1 %.
  double target_error = 0.01;
  /// No sample is started, beyond min_samples, once the samples took this long. Default 200 ms.
  double budget_ms = 200;
};

/// Times each run by a pair of events around its launch. On a GPU such a pair stands 2 to 3 us above the kernel's own
/// time, nearly the same for all candidates, so that it ranks well and reports short kernels too long. Caches are as
/// the run before left them (warm).
class TUNEONCE_API EventTimer final : public Timer {
 public:
  explicit EventTimer(EventTimerOptions options = {}) : options_(options) {}

  Result<TimedResult> Time(StreamView stream, const TimedRun& run) override;

 private:
  EventTimerOptions options_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_MEASURE_EVENT_TIMER_H_
