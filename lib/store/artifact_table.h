#ifndef TUNEONCE_LIB_STORE_ARTIFACT_TABLE_H_
#define TUNEONCE_LIB_STORE_ARTIFACT_TABLE_H_

#include <optional>

#include "store/sqlite_connection.h"
#include "tuneonce/artifact.h"
#include "tuneonce/fingerprint.h"

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

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_ARTIFACT_TABLE_H_
