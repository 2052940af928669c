#ifndef TUNEONCE_LIB_RUNTIME_DECISIONS_H_
#define TUNEONCE_LIB_RUNTIME_DECISIONS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "runtime/resident_key.h"
#include "runtime/tune_once.h"
#include "tuneonce/record_store.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Where a key's choice is from, and what is known of it.
struct Decision {
  Choice::From from = Choice::From::kNowhere;
  RecordMatch match = RecordMatch::kExact;     ///< Of a record that served.
  std::shared_ptr<const TuningRecord> record;  ///< Without the other candidates: it is kept for each resident key.
};

/// Where a record of the store that serves says that the choice is from.
Decision DecisionOf(const TuningRecord& record, RecordMatch match, bool is_shipped);
/// Of what this process found or was told: the record as it would be stored.
Decision DecisionOf(const TuningRecord& record, Choice::From from);

/// The decisions behind what keys run: for questions, never for a hit. Thread-safe.
class Decisions {
 public:
  void Note(const ResidentKey& key, Decision decision);
  void Forget(const ResidentKey& key);
  /// Empty if the key's choice is not known: it has none, or it was dropped just now.
  std::optional<Decision> Find(const ResidentKey& key) const;
  bool IsPinned(const ResidentKey& key) const;
  std::int64_t num_pinned() const;

 private:
  mutable Mutex mutex_;
  std::map<TuneOnce::Key, Decision> decisions_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_DECISIONS_H_
