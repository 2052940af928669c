#ifndef TUNEONCE_LIB_STORE_SQLITE_TABLES_H_
#define TUNEONCE_LIB_STORE_SQLITE_TABLES_H_

#include <vector>

#include "store/sqlite_connection.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {

/// The records of a store's file, each as its bytes. Rows that cannot be read back whole are passed over. Thread rule:
/// as its connection.
class RecordTable {
 public:
  explicit RecordTable(SqliteConnection* connection) : connection_(*connection) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const;
  Status Put(const TuningRecord& record);
  Result<std::vector<TuningRecord>> List() const;
  Status Remove(const TuningKey& key);
  /// Adds the number of rows and the problems in them to `report`.
  Status Verify(StoreReport* report) const;

 private:
  SqliteConnection& connection_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_SQLITE_TABLES_H_
