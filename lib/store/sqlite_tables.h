#ifndef TUNEONCE_LIB_STORE_SQLITE_TABLES_H_
#define TUNEONCE_LIB_STORE_SQLITE_TABLES_H_

#include <optional>
#include <vector>

#include "store/sqlite_connection.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {

/// The artifacts of a store's file, bounded by SqliteStoreOptions::max_artifact_bytes, each together with its
/// key. Thread rule: as its connection.
class ArtifactTable {
 public:
  explicit ArtifactTable(SqliteConnection* connection) : connection_(*connection) {}

  Result<std::optional<Artifact>> Get(const Fingerprint& key);
  /// Returns the keys of all rows, in order.
  Result<std::vector<Fingerprint>> Keys() const;
  Status Put(const Fingerprint& key, const Artifact& artifact);
  /// Adds the number of rows and the problems in them to `report`.
  Status Verify(StoreReport* report) const;

 private:
  SqliteConnection& connection_;
};

/// The records of a store's file, each as its bytes. Rows that cannot be read back whole are passed over. Thread rule:
/// as its connection.
class RecordTable {
 public:
  explicit RecordTable(SqliteConnection* connection) : connection_(*connection) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const;
  Status Put(const TuningRecord& record);
  /// As Put, but a record of the key that is newer or more complete, or pinned, stays (PreferOf).
  Status PutLate(const TuningRecord& record);
  Result<std::vector<TuningRecord>> List() const;
  Status Remove(const TuningKey& key);
  /// Adds the number of rows and the problems in them to `report`.
  Status Verify(StoreReport* report) const;

 private:
  Status Write(const TuningRecord& record, bool is_late);

  SqliteConnection& connection_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_SQLITE_TABLES_H_
