#ifndef TUNEONCE_LIB_STORE_STORE_PLACE_H_
#define TUNEONCE_LIB_STORE_STORE_PLACE_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/plugin/wait_limits.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// SQLite's application_id of our files, "tune": bytes 68 to 71 of the file, from the first write of it on.
constexpr int kStoreApplicationId = 0x74756e65;

/// What exists at a store's path, as far as it can be determined without changing anything.
enum class StoreFile {
  kMissing,  ///< Nothing, or an empty file: a store may be made.
  kOurs,
  kOursDamaged,  ///< Its header is damaged, but FILE.lock states that this very file is a store.
};

/// Reads what exists at `path`. **Only a file with this library's mark is ever changed or renamed.** The mark is the
/// application_id in an SQLite header, or without a valid header the device, inode and birth time that WriteMark wrote.
/// Errors: FailedPrecondition for any other file; Unavailable if it cannot be read.
Result<StoreFile> ReadMark(const std::string& path);

/// Writes to FILE.lock which file is the store, and which FILE-wal is its log. Does not change a FILE.lock of another
/// program. REQUIRES: LockPlace is held; FILE.lock exists.
void WriteMark(const std::string& path);

/// Returns whether FILE-wal is the log of a file that was at `path` before this one: SQLite would play it into this
/// one.
bool HasLogOfAnother(const std::string& path);

/// Renames a database that is not used any more, and what SQLite keeps with it, to FILE.WHY-TIME-PID[-N]: `why` is
/// "corrupt" or "format-3". REQUIRES: LockPlace is held, and the file bears our mark.
Status SetAside(const std::string& path, const std::string& why);

/// Renames FILE-wal and FILE-shm, which a file left here that was moved or removed without them: SQLite would play them
/// into the next one, and processes that still have the old one open would share its index. REQUIRES: LockPlace is
/// held.
void SetLogAside(const std::string& path);

/// Returns the path of FILE-wal or FILE-shm of the store at `path`, whichever exists.
std::optional<std::string> LogOf(const std::string& path);
/// Writes FILE-wal into the store at `path`, and removes FILE-wal and FILE-shm, so that another file can take the
/// store's place. Errors: FailedPrecondition if a process has the store open; Unavailable if it cannot be written.
Status FoldLog(const std::string& path);

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
/// `limits.timeout` has passed; Cancelled; Unavailable if FILE.lock cannot be used, or if another program locks all of
/// it for longer than a launch may wait.
Result<std::shared_ptr<void>> LockKey(const std::string& path, const Fingerprint& key, const WaitLimits& limits);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_STORE_PLACE_H_
