#ifndef TUNEONCE_LIB_RUNTIME_SELECTIONS_H_
#define TUNEONCE_LIB_RUNTIME_SELECTIONS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "runtime/launch_key.h"
#include "runtime/tune_once.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Where a key's selected config comes from, and what is known about it.
struct Selection {
  LaunchPlan::Origin origin = LaunchPlan::Origin::kNone;
  RecordMatch match = RecordMatch::kExact;     ///< How well the store's record fits.
  std::shared_ptr<const TuningRecord> record;  ///< Has no other candidates, because it is kept for each loaded key.
};

/// Returns the origin of a config that a store's record selected.
Selection SelectionOf(const TuningRecord& record, RecordMatch match, bool is_shipped);
/// Returns the origin of a config that this process selected or received, from the record as it would be stored.
Selection SelectionOf(const TuningRecord& record, LaunchPlan::Origin origin);

/// The origins of the configs that keys run, for Explain; a hit does not read them. Thread-safe.
class Selections {
 public:
  void Note(const LaunchKey& key, Selection selection);
  void Forget(const LaunchKey& key);
  /// Returns nothing if the key has no selected config, or was dropped just now.
  std::optional<Selection> Find(const LaunchKey& key) const;
  bool IsPinned(const LaunchKey& key) const;
  std::int64_t num_pinned() const;

 private:
  mutable Mutex mutex_;
  std::map<TuneOnce::Key, Selection> selections_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_SELECTIONS_H_
