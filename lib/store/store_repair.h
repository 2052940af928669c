#ifndef TUNEONCE_LIB_STORE_STORE_REPAIR_H_
#define TUNEONCE_LIB_STORE_STORE_REPAIR_H_

#include <string>

#include "tuneonce/status.h"

namespace tuneonce {
inline namespace v0 {

/// Renames a corrupt database and what SQLite keeps beside it, to FILE.corrupt-TIME-PID[-N].
/// REQUIRES: LockPlace is held, and the file bears our mark.
Status SetAside(const std::string& path);

/// Renames FILE-wal and FILE-shm, which a file left here that was moved or removed without them: SQLite would play them
/// into the next one, and processes that still have the old one open would share its index. REQUIRES: LockPlace is
/// held.
void SetLogAside(const std::string& path);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_STORE_REPAIR_H_
