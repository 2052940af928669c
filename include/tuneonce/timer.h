#ifndef TUNEONCE_TIMER_H_
#define TUNEONCE_TIMER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "tuneonce/result.h"
#include "tuneonce/stream.h"

namespace tuneonce {
inline namespace v0 {

/// What a timer times: `prepare` puts into the stream what a run needs before it, `launch` the run itself: one kernel.
/// Only the second counts. Both are called with the stream to use, which may be capturing.
struct TimedRun {
  std::function<Status(CUstream)> prepare;  ///< Empty: nothing.
  std::function<Status(CUstream)> launch;
};

/// What is in the L2 cache when a run begins.
enum class CacheState {
  kDefault,  ///< Cold on a GPU. Warm on the CPU device, whose cache is the whole machine's and takes long to flush.
  kCold,     ///< As much other memory as the L2 cache holds was written just before.
  kWarm,     ///< As the run before left it.
};

/// A run that a session made ready: with events, say, a graph.
class TUNEONCE_API PreparedRun {
 public:
  virtual ~PreparedRun() = default;
};

/// A timer at work on one stream. Thread rule: one thread.
class TUNEONCE_API TimingSession {
 public:
  virtual ~TimingSession() = default;

  /// Makes a run ready. REQUIRES: `run` was run before once, so that its code is loaded, and what it refers to outlives
  /// the result; the result does not outlive the session.
  virtual Result<std::unique_ptr<PreparedRun>> Prepare(TimedRun run) = 0;

  /// Runs each once, in this order, waits for them, and says how long the device took for each launch, in microseconds.
  /// Errors: those of the runs and of the driver; Unavailable if the timer lost its source of times.
  virtual Result<std::vector<double>> Sample(const std::vector<PreparedRun*>& runs) = 0;

  /// Kernels launched so far, timed or not. Kernel profilers need it, to skip them.
  virtual std::int64_t num_launches() const = 0;
  /// Device memory that it holds: the buffer that flushes the cache.
  virtual std::size_t memory_bytes() const { return 0; }
};

/// Measures how long the device takes for a run. Thread rule: any thread; sessions are independent.
class TUNEONCE_API Timer {
 public:
  virtual ~Timer() = default;

  /// "cupti", "events".
  virtual std::string_view name() const = 0;

  /// REQUIRES: `stream` is the caller's alone, not capturing, and outlives the session; its context is current.
  /// Errors: Unavailable, saying why this timer cannot be used here; ResourceExhausted; the driver's.
  virtual Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState cache) = 0;
};

class Runtime;

/// Times kernels by CUPTI's activity records: the kernel's own time, without what a pair of events adds. Open is
/// Unavailable on the CPU device, where CUPTI is missing, or if a profiler has it. `runtime` says which CUPTI; null:
/// Runtime::Default().
TUNEONCE_API std::unique_ptr<Timer> MakeCuptiTimer(const std::shared_ptr<Runtime>& runtime = nullptr);

/// Times each run by a pair of events in a graph, and subtracts what such a pair adds.
TUNEONCE_API std::unique_ptr<Timer> MakeEventTimer();

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TIMER_H_
