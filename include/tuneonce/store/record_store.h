#ifndef TUNEONCE_STORE_RECORD_STORE_H_
#define TUNEONCE_STORE_RECORD_STORE_H_

#include <optional>
#include <vector>

#include "tuneonce/base/result.h"
#include "tuneonce/store/tuning_record.h"

namespace tuneonce {

/// How well a stored record fits a key. Policy says which of these may be used.
enum class RecordMatch { kExact, kOtherDriver, kOtherDevice, kNotFound };

struct RecordLookup {
  RecordMatch match = RecordMatch::kNotFound;
  std::optional<TuningRecord> record;  ///< The best fit; empty for kNotFound.
};

/// Remembers tuning records. Thread rule: any thread.
class TUNEONCE_API RecordStore {
 public:
  virtual ~RecordStore() = default;

  /// The best fitting record: of the same device and driver, else device, else any device.
  virtual Result<RecordLookup> Lookup(const TuningKey& key) const = 0;
  /// Adds a record, in place of one with exactly the same key.
  virtual Status Put(const TuningRecord& record) = 0;
  /// All records, in the order in which they were put.
  virtual Result<std::vector<TuningRecord>> List() const = 0;
};

}  // namespace tuneonce

#endif  // TUNEONCE_STORE_RECORD_STORE_H_
