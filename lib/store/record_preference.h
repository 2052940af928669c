#ifndef TUNEONCE_LIB_STORE_RECORD_PREFERENCE_H_
#define TUNEONCE_LIB_STORE_RECORD_PREFERENCE_H_

#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Among records that fit a key equally, the one with the lower rank is used, whichever store has it.
enum class ServingRank {
  kComplete,  ///< Measured to the end, or chosen by a person.
  kCutShort,  ///< From a search that was cut short.
  kImported,  ///< Imported.
};
ServingRank ServingRankOf(const TuningRecord& record);

/// Which of several measured records of one key goes into a merged store.
enum class PreferRecord {
  kBest,         ///< The one whose config is faster. Times of different shapes (TuningRecord::tuned_at), as a bucket
                 ///< can have, cannot be compared: of such records the one that was made later.
  kNewest,       ///< The one that was made later.
  kMostCertain,  ///< The one whose time is surer: the race was certain, then the smaller error margin, then more
                 ///< samples.
};

/// The result of a comparison.
struct RecordPreference {
  bool takes_second = false;
  const char* why = "they are the same";  ///< "pinned", "complete", "faster", ...: what the one taken is.
};

/// Selects which of two records of one key to keep. The first difference decides: the higher fencing token; a pinned
/// config (between two, the newer); a config measured here before an imported one, and an imported and measured one
/// before an imported one; one that was verified more strictly; a complete search before one that was cut short, and
/// between two that were cut short the one that measured more; then `by`. If they are equal in all of these the first
/// stays. A pure function.
RecordPreference PreferOf(const TuningRecord& first, const TuningRecord& second, PreferRecord by);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_RECORD_PREFERENCE_H_
