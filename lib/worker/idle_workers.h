#ifndef TUNEONCE_LIB_WORKER_IDLE_WORKERS_H_
#define TUNEONCE_LIB_WORKER_IDLE_WORKERS_H_

#include <sys/types.h>
#include <unistd.h>

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
    /// False before the worker answered its first request, which opens its device.
    bool is_open = false;
  };

  explicit IdleWorkers(std::chrono::milliseconds linger = kLinger)
      : state_(std::make_unique<State>()), linger_(linger) {}
  /// Ends all of them. In a child of fork() it leaves them, and its own state, to the parent.
  ~IdleWorkers();
  IdleWorkers(const IdleWorkers&) = delete;
  IdleWorkers& operator=(const IdleWorkers&) = delete;

  /// Removes and returns the worker that was put last under this name, or nothing.
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

  struct State {
    mutable Mutex mutex;
    ConditionVariable changed;
    std::list<Idle> idle TUNEONCE_GUARDED_BY(mutex);  // In the order in which they end.
    bool is_over TUNEONCE_GUARDED_BY(mutex) = false;
    std::thread watcher TUNEONCE_GUARDED_BY(mutex);  // Started by the first Put.
  };

  /// Ends each worker that lingered long enough, until this object is destroyed. The thread outlives its workers: one
  /// that has returned and that no later call joins would count as leaked.
  static void Watch(State& state);

  std::unique_ptr<State> state_;  // Never null.
  const std::chrono::milliseconds linger_;
  const pid_t host_ = getpid();
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_WORKER_IDLE_WORKERS_H_
