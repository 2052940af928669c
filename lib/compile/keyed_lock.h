#ifndef TUNEONCE_LIB_COMPILE_KEYED_LOCK_H_
#define TUNEONCE_LIB_COMPILE_KEYED_LOCK_H_

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

#include "tuneonce/base/fingerprint.h"
#include "tuneonce/compile/artifact_cache.h"

namespace tuneonce {

/// How soon one who waits notices a cancellation.
inline constexpr std::chrono::milliseconds kLeasePoll(10);

/// A mutual exclusion per key among this process's threads. Different keys do not wait for each other.
class KeyedLock {
 public:
  /// Errors: DeadlineExceeded, Cancelled.
  Result<ArtifactLease> Acquire(const Fingerprint& key, const CompileLimits& limits);

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable released;
    std::set<Fingerprint> held;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();  // Leases outlive the lock.
};

/// Calls `attempt` until it is true. Errors: DeadlineExceeded after `limits.timeout_ms`, Cancelled.
template <typename Attempt, typename Wait>
Status WaitFor(const CompileLimits& limits, Attempt&& attempt, Wait&& wait) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits.timeout_ms);
  while (!attempt()) {
    if (limits.cancelled != nullptr && limits.cancelled->load()) return CancelledError("cancelled while waiting");
    if (std::chrono::steady_clock::now() >= deadline) {
      return DeadlineExceededError("another thread or process compiles the same artifact and did not end in time");
    }
    wait();
  }
  return Status();
}

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_KEYED_LOCK_H_
