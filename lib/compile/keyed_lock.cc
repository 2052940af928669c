#include "compile/keyed_lock.h"

#include <chrono>

#include "base/deadline.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// How soon one who waits notices a cancellation.
constexpr std::chrono::milliseconds kCancelPoll(10);

}  // namespace

Result<std::shared_ptr<void>> KeyedLock::Acquire(const Fingerprint& key, const WaitLimits& limits) {
  MutexLock lock(state_->mutex);
  auto deadline = DeadlineIn(limits.timeout);
  while (!state_->held.insert(key).second) {
    if (limits.stop.stop_requested())
      return CancelledError("cancelled while another thread or process was compiling the same code");
    if (std::chrono::steady_clock::now() >= deadline) {
      return DeadlineExceededError("another thread or process is compiling the same code and did not finish in time");
    }
    state_->released.WaitFor(lock, kCancelPoll);
  }
  return std::shared_ptr<void>(nullptr, [state = state_, key](void*) {
    MutexLock guard(state->mutex);
    state->held.erase(key);
    state->released.NotifyAll();
  });
}

}  // namespace v0
}  // namespace tuneonce
