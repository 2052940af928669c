#ifndef TUNEONCE_LIB_COMPILE_KEYED_LOCK_H_
#define TUNEONCE_LIB_COMPILE_KEYED_LOCK_H_

#include <memory>
#include <set>

#include "base/mutex.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A mutual exclusion per key among this process's threads. Different keys do not wait for each other.
class TUNEONCE_API KeyedLock {
 public:
  /// Waits for `key`, and holds it until the last copy of the result is destroyed. Errors: DeadlineExceeded, Cancelled.
  Result<std::shared_ptr<void>> Acquire(const Fingerprint& key, const WaitLimits& limits);

 private:
  struct State {
    Mutex mutex;
    ConditionVariable released;
    std::set<Fingerprint> held TUNEONCE_GUARDED_BY(mutex);
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();  // Leases outlive the lock.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_KEYED_LOCK_H_
