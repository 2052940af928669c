#ifndef TUNEONCE_PLUGIN_TIMER_H_
#define TUNEONCE_PLUGIN_TIMER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The parts of one timed run. `prepare` enqueues what a run needs before it, and `launch` enqueues the run itself,
/// which is one kernel. Only `launch` is timed. Both receive the stream to use, which may be capturing.
struct TimedRun {
  /// Enqueues the work that must come before each run, such as restoring inputs. Its time is not measured. Null if no
  /// such work is needed.
  std::function<Status(CUstream)> prepare;
  std::function<Status(CUstream)> launch;
  /// Whether a run may begin before the work that precedes it on the stream has ended (Geometry::programmatic_launch).
  /// Runs that follow each other without other work would overlap, and each would seem shorter than it is.
  bool overlaps_previous = false;
};

/// The content of the L2 cache when a run begins.
enum class CacheState {
  /// kCold on a GPU. kWarm on the CPU device, whose cache belongs to the whole machine and takes long to flush.
  kDefault,
  kCold,  ///< Other memory of the cache's size was written just before the run.
  kWarm,  ///< The cache has what the previous run left in it.
};

/// A TimedRun that TimingSession::Prepare made ready to be measured, such as a CUDA graph of it.
class TUNEONCE_API PreparedRun {
 public:
  virtual ~PreparedRun() = default;
};

/// A timer that is in use on one stream. Thread rule: one thread at a time may use a session.
class TUNEONCE_API TimingSession {
 public:
  virtual ~TimingSession() = default;

  /// Prepares a run for Sample. Errors: those of the run and of the driver. REQUIRES: `run` was executed once, so that
  /// its code is loaded; everything that it refers to outlives the result; the session outlives the result.
  virtual Result<std::unique_ptr<PreparedRun>> Prepare(TimedRun run) = 0;

  /// Executes each run once, in this order, waits for them, and returns the device time of each launch in microseconds.
  /// If the timer lost a time, it executes all runs again. Errors: those of the runs and of the driver; Unavailable if
  /// the timer can no longer measure.
  virtual Result<std::vector<double>> Sample(const std::vector<PreparedRun*>& runs) = 0;

  /// Returns the number of launches of `TimedRun::launch` that the session executed so far, timed or not, so that a
  /// user of a kernel profiler can skip them.
  virtual std::int64_t num_launches() const = 0;
  /// Returns the device memory in bytes that the session holds, which is the buffer that flushes the cache.
  virtual std::size_t memory_bytes() const { return 0; }
};

/// Measures the device time of runs. Thread rule: any thread may open sessions, which are independent of each other.
class TUNEONCE_API Timer {
 public:
  virtual ~Timer() = default;

  /// Returns the timer's name: "cupti", "events".
  virtual std::string_view name() const = 0;

  /// Opens a session on a stream. REQUIRES: only this session uses `stream`, which is not capturing, outlives the
  /// session, and whose context is current. Errors: Unavailable if this timer cannot be used here; ResourceExhausted;
  /// the driver's.
  virtual Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState cache) = 0;
};

class Runtime;

/// Makes a timer that uses CUPTI's activity records, which have the kernel's own time without the overhead of a pair of
/// events. Open returns Unavailable on the CPU device, if CUPTI is missing, and if a profiler uses CUPTI already.
/// `runtime` provides CUPTI; null means Runtime::Default().
TUNEONCE_API std::unique_ptr<Timer> MakeCuptiTimer(const std::shared_ptr<Runtime>& runtime = nullptr);

/// Makes a timer that times each run by a pair of events in a graph, and subtracts the overhead of such a pair.
TUNEONCE_API std::unique_ptr<Timer> MakeEventTimer();

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PLUGIN_TIMER_H_
