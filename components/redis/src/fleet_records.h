#ifndef TUNEONCE_COMPONENTS_REDIS_FLEET_RECORDS_H_
#define TUNEONCE_COMPONENTS_REDIS_FLEET_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet_server.h"

namespace tuneonce {
inline namespace v0 {

/// A RedisStore's records: a hash for each kernel and its key words, with a field for each device and driver; a sorted
/// set of all by when they were put; a set of a shape's kernels, for those of other sources. Thread rule: any thread.
class FleetRecords {
 public:
  /// REQUIRES: `server`, and `store`, whose callback receives refusals, outlive it.
  FleetRecords(FleetServer& server, const RecordStore& store) : server_(server), store_(store) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const;
  /// Stores a record. `token` is that of the lease that it is put under. With 0 it replaces any record.
  Status Put(TuningRecord record, std::uint64_t token);
  Status Remove(const TuningKey& key);
  /// Returns all records in the order in which they were put. A record that cannot be read is skipped and adds a line
  /// to `*problems`, which may be null.
  Result<std::vector<TuningRecord>> List(std::vector<std::string>* problems) const;

 private:
  /// Reads the record in a field of a hash.
  Result<TuningRecord> Open(const std::string& hash, const std::string& field, const std::string& bytes) const;

  FleetServer& server_;
  const RecordStore& store_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_FLEET_RECORDS_H_
