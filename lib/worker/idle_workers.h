#ifndef TUNEONCE_LIB_WORKER_IDLE_WORKERS_H_
#define TUNEONCE_LIB_WORKER_IDLE_WORKERS_H_

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "worker/worker_process.h"

namespace tuneonce {
inline namespace v0 {

/// Workers between two searches of a burst: each is kept for a while, since its context takes longer to make than many
/// a search, and ended then, since it takes device memory. Thread-safe.
class IdleWorkers {
 public:
  static constexpr std::chrono::milliseconds kLinger{5000};

  struct Worker {
    std::unique_ptr<WorkerProcess> process;
    /// False before the worker answered what it was asked first: to open its device.
    bool is_open = false;
  };

  explicit IdleWorkers(std::chrono::milliseconds linger = kLinger) : linger_(linger) {}
  /// Ends all of them.
  ~IdleWorkers();

  /// One that was put under this name, the last first; empty if there is none.
  std::optional<Worker> Take(const std::string& device);
  /// Keeps a worker, for as long as it lingers.
  void Put(const std::string& device, Worker worker);
  /// True if Take would give one.
  bool Has(const std::string& device) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Idle {
    std::string device;
    Worker worker;
    Clock::time_point ends;
  };

  /// Ends those that lingered long enough, until there are none.
  void Watch();

  const std::chrono::milliseconds linger_;
  mutable Mutex mutex_;
  Condition changed_;
  std::list<Idle> idle_ TUNEONCE_GUARDED_BY(mutex_);  // In the order in which they end.
  bool is_watched_ TUNEONCE_GUARDED_BY(mutex_) = false;
  bool is_over_ TUNEONCE_GUARDED_BY(mutex_) = false;
  std::thread watcher_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_WORKER_IDLE_WORKERS_H_
