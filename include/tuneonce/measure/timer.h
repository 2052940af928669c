#ifndef TUNEONCE_MEASURE_TIMER_H_
#define TUNEONCE_MEASURE_TIMER_H_

#include <cstdint>
#include <functional>

#include "tuneonce/base/result.h"
#include "tuneonce/cuda/stream.h"
#include "tuneonce/measure/measurement.h"

namespace tuneonce {

/// What a timer times: `prepare` puts into the stream what a run needs before it, `launch` the run itself. Only the
/// second counts.
struct TimedRun {
  std::function<Status()> prepare;
  std::function<Status()> launch;
};

/// A measurement, and what it cost.
struct TimedResult {
  Measurement measurement;
  std::int64_t num_launches = 0;  ///< Warm-up included. Kernel profilers need it, to skip them.
  double gpu_seconds = 0;         ///< Time spent in the launches.
};

/// Measures how long the device takes for a run. Thread rule: one call at a time.
class TUNEONCE_API Timer {
 public:
  virtual ~Timer() = default;

  /// Warms up, then measures. REQUIRES: `stream` is the caller's alone and not capturing.
  /// Errors: those of the run and of the driver.
  virtual Result<TimedResult> Time(StreamView stream, const TimedRun& run) = 0;
};

}  // namespace tuneonce

#endif  // TUNEONCE_MEASURE_TIMER_H_
