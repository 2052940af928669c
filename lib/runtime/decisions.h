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

/// Where a key's selected config comes from, and what is known about it.
struct Decision {
  Choice::From from = Choice::From::kNowhere;
  RecordMatch match = RecordMatch::kExact;     ///< How well the store's record fits.
  std::shared_ptr<const TuningRecord> record;  ///< Has no other candidates, because it is kept for each loaded key.
};

/// Returns the origin of a config that a store's record selected.
Decision DecisionOf(const TuningRecord& record, RecordMatch match, bool is_shipped);
/// Returns the origin of a config that this process selected or received, from the record as it would be stored.
Decision DecisionOf(const TuningRecord& record, Choice::From from);

/// The origins of the configs that keys run, for ChoiceOf; a hit does not read them. Thread-safe.
class Decisions {
 public:
  void Note(const ResidentKey& key, Decision decision);
  void Forget(const ResidentKey& key);
  /// Returns nothing if the key has no selected config, or was dropped just now.
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
