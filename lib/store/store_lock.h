#ifndef TUNEONCE_LIB_STORE_STORE_LOCK_H_
#define TUNEONCE_LIB_STORE_STORE_LOCK_H_

#include <chrono>
#include <memory>
#include <string>

#include "tuneonce/compile_options.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

// Locks among processes: OFD locks on bytes of FILE.lock, which go with the process that holds them.

/// Prevents other processes from creating, opening or renaming the database at `path` while the lock lives. Errors:
/// DeadlineExceeded if another process holds it until `deadline`; Unavailable if FILE.lock cannot be used.
Result<std::shared_ptr<void>> LockPlace(const std::string& path, std::chrono::steady_clock::time_point deadline);

/// Locks one byte that `key` selects. Errors: DeadlineExceeded if another process works on the key until
/// `limits.timeout_ms`; Cancelled; Unavailable if FILE.lock cannot be used, or if another program locks all of it for
/// longer than a launch may wait.
Result<std::shared_ptr<void>> LockKey(const std::string& path, const Fingerprint& key, const WaitLimits& limits);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_STORE_LOCK_H_
