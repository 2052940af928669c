#ifndef TUNEONCE_LIB_STORE_STORE_PLACE_H_
#define TUNEONCE_LIB_STORE_STORE_PLACE_H_

#include <chrono>
#include <memory>
#include <string>

#include "tuneonce/compile_options.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// `path` with the links above its last folder resolved, as homes often have them: after that SQLite may refuse every
/// link (SQLITE_OPEN_NOFOLLOW). The last folder and the file stay as they are named.
std::string ResolveParents(const std::string& path);

/// Makes the folder of `path` (mode 0700) and refuses what cannot be trusted: a last folder or file that is a symbolic
/// link, or that others own or can write, or that lies on a network file system. The path to open: ResolveParents.
Result<std::string> PrepareStorePlace(const std::string& path);

/// Whether statfs(2)'s f_type is a file system of another machine, between which SQLite's WAL and locks do not work.
bool IsNetworkFileSystem(unsigned long type);

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

#endif  // TUNEONCE_LIB_STORE_STORE_PLACE_H_
