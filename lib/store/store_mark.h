#ifndef TUNEONCE_LIB_STORE_STORE_MARK_H_
#define TUNEONCE_LIB_STORE_STORE_MARK_H_

#include <string>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// SQLite's application_id of our files, "tune": bytes 68 to 71 of the file, from the first write of it on.
constexpr int kStoreApplicationId = 0x74756e65;

/// What lies at a store's path, as far as can be seen without changing anything.
enum class StoreFile {
  kMissing,  ///< Nothing, or an empty file: a store may be made.
  kOurs,
  kOursDamaged,  ///< Its header is damaged, but FILE.lock says that this very file is a store.
};

/// Reads what lies at `path`. **Only a file that bears our mark is ever changed or renamed**: the application_id in an
/// SQLite header; or, where that is no SQLite header any more, device, inode and time of birth as WriteMark left them.
/// Errors: FailedPrecondition for whatever else is there, in words; Unavailable if it cannot be read.
Result<StoreFile> ReadMark(const std::string& path);

/// Leaves in FILE.lock which file is the store, and which FILE-wal is its log. Does nothing to a FILE.lock that is not
/// ours. REQUIRES: LockPlace is held; FILE.lock is there.
void WriteMark(const std::string& path);

/// True if FILE-wal is the log of a file that was at `path` before this one: SQLite would play it into this one.
bool HasLogOfAnother(const std::string& path);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_STORE_MARK_H_
