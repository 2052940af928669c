#ifndef TUNEONCE_LIB_STORE_STORE_REPAIR_H_
#define TUNEONCE_LIB_STORE_STORE_REPAIR_H_

#include <string>

#include "tuneonce/status.h"

namespace tuneonce {
inline namespace v0 {

/// Renames a database that is not used any more, and what SQLite keeps with it, to FILE.WHY-TIME-PID[-N]: `why` is
/// "corrupt" or "format-3". REQUIRES: LockPlace is held, and the file bears our mark.
Status SetAside(const std::string& path, const std::string& why);

/// Renames FILE-wal and FILE-shm, which a file left here that was moved or removed without them: SQLite would play them
/// into the next one, and processes that still have the old one open would share its index. REQUIRES: LockPlace is
/// held.
void SetLogAside(const std::string& path);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_STORE_REPAIR_H_
