// Builds without SQLite (TUNEONCE_WITH_SQLITE=OFF): records stay in memory.
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace tuneonce {
inline namespace v0 {

Result<std::shared_ptr<SqliteStore>> SqliteStore::Open(SqliteStoreOptions) {
  return UnimplementedError("this library was built without SQLite (TUNEONCE_WITH_SQLITE=OFF)");
}

Result<std::shared_ptr<SqliteStore>> SqliteStore::FromBytes(const void*, std::size_t) { return Open(); }

Result<std::shared_ptr<SqliteStore>> SqliteStore::InMemory() { return Open(); }

}  // namespace v0
}  // namespace tuneonce
