#ifndef TUNEONCE_COMPILE_OPTIONS_H_
#define TUNEONCE_COMPILE_OPTIONS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace tuneonce {
inline namespace v0 {

class RecordStore;

/// How long a caller waits for a compiler or for a lease.
struct WaitLimits {
  /// The compiler is killed, or the lease is given up, after this many milliseconds. Default two minutes: the largest
  /// tiles take 8.5 s on an idle core. Without a tuneonce_worker program, NVRTC runs in this process, where it cannot
  /// be stopped before its front end is done.
  int timeout_ms = 120000;
  /// The wait ends with Cancelled soon after the pointee becomes true. Null: the wait cannot be cancelled.
  const std::atomic<bool>* cancelled = nullptr;
};

/// How a search compiles its candidates.
struct CompileOptions {
  /// Maximum number of candidates that this search compiles at the same time. All searches of a Runtime together stay
  /// within RuntimeOptions::compile_workers. Default 0: as many as compile_workers allows. If compile_workers was not
  /// set, it is also no more than fit free memory at `memory_per_worker_bytes` each.
  int num_workers = 0;
  /// Memory that one compile is assumed to need, in bytes. It bounds the default of `num_workers`. Default 400 MiB:
  /// tileiras needed 115 to 250 MiB, g++ less on a small kernel.
  std::int64_t memory_per_worker_bytes = std::int64_t{400} << 20;
  /// Time limit for one candidate, in milliseconds. Default two minutes (see WaitLimits).
  int timeout_ms = WaitLimits().timeout_ms;
  /// Time limit for all candidates together, in milliseconds from the start. Candidates that are not compiled by then
  /// fail. Default 0: no limit.
  int total_timeout_ms = 0;
  /// The store whose artifacts are used and to which compiled artifacts are added. Null (default):
  /// AutotunePolicy::store for a TunedKernel, otherwise Runtime::memory_store().
  std::shared_ptr<RecordStore> cache;
  /// All compiles stop soon after the pointee becomes true. Null (default): they cannot be stopped this way.
  const std::atomic<bool>* cancelled = nullptr;
  /// All compiles stop when this function returns true. It is called every 10 ms on the thread that waits for compiles.
  /// Null (default): they cannot be stopped this way.
  std::function<bool()> interrupted;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPILE_OPTIONS_H_
