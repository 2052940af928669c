#ifndef TUNEONCE_PLUGIN_WAIT_LIMITS_H_
#define TUNEONCE_PLUGIN_WAIT_LIMITS_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Tells a call that takes long to end early, with a Cancelled error. It is a flag that any thread or a signal handler
/// sets, or a function that the call asks. A default token never stops anything. Copies are equal to the original.
class TUNEONCE_API StopToken {
 public:
  StopToken() = default;
  /// The call ends soon after `*flag` becomes true. Null: never. REQUIRES: the flag outlives the token's copies.
  StopToken(const std::atomic<bool>* flag) : flag_(flag) {}  // NOLINT(google-explicit-constructor)
  /// The call ends soon after `function` returns true. The function is called up to 100 times a second, only on the
  /// thread of the call, so that it may look for an interrupt there, as Python does. Once true, it must stay true until
  /// the call has returned. It must not launch, and an exception from it counts as true. Null: never.
  explicit StopToken(std::function<bool()> function) : function_(std::move(function)) {}

  /// Returns whether the call is to end. Call it on the thread of the call alone.
  bool stop_requested() const;
  /// Returns whether stop_requested can become true: false for a default token.
  bool stop_possible() const { return flag_ != nullptr || function_ != nullptr; }

 private:
  const std::atomic<bool>* flag_ = nullptr;
  std::function<bool()> function_;
};

/// How long a caller waits for a compiler or for a lease.
struct WaitLimits {
  /// The compiler is killed, or the lease is given up, after this time. Default two minutes: the largest tiles take
  /// 8.5 s on an idle core. Without a tuneonce_worker program, NVRTC runs in this process, where it cannot be stopped
  /// before its front end is done.
  std::chrono::milliseconds timeout = std::chrono::minutes(2);
  /// Ends the wait early, with Cancelled. Default: never.
  StopToken stop;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PLUGIN_WAIT_LIMITS_H_
