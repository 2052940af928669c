#ifndef TUNEONCE_LIB_STORE_STORE_MARK_H_
#define TUNEONCE_LIB_STORE_STORE_MARK_H_

#include <string>

#include "tuneonce/result.h"
#include "tuneonce/status.h"

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

/// True if FILE-wal is the log of a file that was at `path` before this one: SQLite would play it into this one.
bool HasLogOfAnother(const std::string& path);

/// Renames a database that is not used any more, and what SQLite keeps with it, to FILE.WHY-TIME-PID[-N]: `why` is
/// "corrupt" or "format-3". REQUIRES: LockPlace is held, and the file bears our mark.
Status SetAside(const std::string& path, const std::string& why);

/// Renames FILE-wal and FILE-shm, which a file left here that was moved or removed without them: SQLite would play them
/// into the next one, and processes that still have the old one open would share its index. REQUIRES: LockPlace is
/// held.
void SetLogAside(const std::string& path);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_STORE_MARK_H_
