#ifndef TUNEONCE_LIB_STORE_DEFAULT_STORE_H_
#define TUNEONCE_LIB_STORE_DEFAULT_STORE_H_

#include <memory>
#include <string>

#include "base/environment.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {

/// `Environment::store`, else $XDG_CACHE_HOME/tuneonce/store.db, where that is an absolute path, else
/// ~/.cache/tuneonce/store.db. Errors: FailedPrecondition without a home.
Result<std::string> DefaultStorePath(const Environment& environment);

/// Whether a store's name is a fleet's address, "redis://...", and no path.
bool IsFleetAddress(const std::string& name);

/// The store that serves where none was named.
struct DefaultStore {
  std::shared_ptr<RecordStore> store;
  std::string warning;  ///< Why it is not on disk, if that was not asked for.
};

/// Opens the user's file (DefaultStorePath). Returns `memory` if the file cannot be opened, if `Environment::store` is
/// "memory", and in a build without SQLite.
DefaultStore OpenDefaultStore(const Environment& environment, std::shared_ptr<RecordStore> memory);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_DEFAULT_STORE_H_
