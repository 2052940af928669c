#ifndef TUNEONCE_LIB_STORE_STORE_FILE_H_
#define TUNEONCE_LIB_STORE_STORE_FILE_H_

#include <memory>
#include <string>

#include "tuneonce/base/result.h"
#include "tuneonce/compile/artifact_cache.h"

namespace tuneonce {

/// Environment::store, else the user's cache folder. Errors: FailedPrecondition without a home.
Result<std::string> DefaultStorePath();

/// Makes the folder of `path` (mode 0700) and refuses what cannot be trusted: a folder or file that is a symbolic link,
/// or that others own or can write, or that lies on a network file system.
Status CheckStorePlace(const std::string& path);

/// Whether statfs(2)'s f_type is a file system of another machine, between which SQLite's WAL and locks do not work.
bool IsNetworkFileSystem(unsigned long type);

/// Keeps other processes from making, opening or setting aside the database at `path` while it lives. Null if the lock
/// file cannot be written: nothing can be made then either.
std::shared_ptr<void> LockPlace(const std::string& path);

/// Renames a corrupt database and what SQLite keeps beside it; nothing if the file is not `inode` any more: another
/// process was first. REQUIRES: LockPlace is held.
Status SetAside(const std::string& path, unsigned long inode);

/// An OFD lock on one byte of `path`.lock, chosen by `key`: held until the lease goes, or the process dies.
/// Errors: DeadlineExceeded, Cancelled, Unavailable.
Result<std::shared_ptr<void>> LockKey(const std::string& path, const Fingerprint& key, const CompileLimits& limits);

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_STORE_FILE_H_
