#ifndef TUNEONCE_COMPILE_OPTIONS_H_
#define TUNEONCE_COMPILE_OPTIONS_H_

#include <atomic>
#include <cstdint>
#include <functional>

namespace tuneonce {
inline namespace v0 {

class ArtifactCache;

/// How long a caller waits: for a tool that compiles, or for a lease.
struct WaitLimits {
  /// The tool is killed, or the lease given up, after this long. Default two minutes: the largest tiles take 8.5 s on
  /// an idle core. NVRTC runs in this process and ends only after its front end.
  int timeout_ms = 120000;
  /// Stops waiting soon after it becomes true. Null: never.
  const std::atomic<bool>* cancelled = nullptr;
};

/// How a search compiles its candidates.
struct CompileOptions {
  /// Candidates compiled at a time by this search; all searches of a Runtime together keep to its limit
  /// (RuntimeOptions::compile_workers). Default 0: up to that limit, and no more than free memory holds at
  /// `memory_per_worker_bytes`, if the limit was not given.
  int num_workers = 0;
  /// What one compile may take. Default 400 MiB: tileiras was seen to take 115 to 250 MiB, g++ on a small kernel less.
  std::int64_t memory_per_worker_bytes = std::int64_t{400} << 20;
  /// For one candidate. Default two minutes (see WaitLimits).
  int timeout_ms = WaitLimits().timeout_ms;
  /// For all together, from the start: what is not compiled by then fails. Default 0: no limit.
  int total_timeout_ms = 0;
  /// Where artifacts are kept. Null (default): Runtime::artifacts().
  ArtifactCache* cache = nullptr;
  /// Stops all compiles soon after it becomes true. Null (default): never.
  const std::atomic<bool>* cancelled = nullptr;
  /// The same, asked on the thread that waits in Next, every 10 ms: true stops all. Null (default): never.
  std::function<bool()> interrupted;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPILE_OPTIONS_H_
