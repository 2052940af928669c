#ifndef TUNEONCE_LIB_STORE_RECORD_PREFERENCE_H_
#define TUNEONCE_LIB_STORE_RECORD_PREFERENCE_H_

#include "tuneonce/api.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Of two records that fit a key alike the one of the lower rank serves, whichever store has it.
enum class ServingRank {
  kComplete,  ///< Measured to the end, or chosen by a person.
  kCutShort,  ///< What a search that was cut short left.
  kImported,  ///< What others chose.
};
TUNEONCE_API ServingRank ServingRankOf(const TuningRecord& record);

/// Which of several measured records of one key goes into a merged store.
enum class PreferRecord {
  kBest,         ///< The one whose config is faster. Times of different shapes (TuningRecord::tuned_at), as a bucket
                 ///< can have, cannot be compared: of such records the one that was made later.
  kNewest,       ///< The one that was made later.
  kMostCertain,  ///< The one whose time is surer: the race was certain, then the smaller error margin, then more
                 ///< samples.
};

/// What came of a comparison.
struct RecordPreference {
  bool takes_second = false;
  const char* why = "they are the same";  ///< "pinned", "complete", "faster", ...: what the one taken is.
};

/// Of two records of one key, the one to keep. Before `by` decides: the higher fencing token; a person's choice (of
/// two, the newer); what was measured here rather than imported, and imported and measured rather than imported alone;
/// a complete search rather than one that was cut short, and of two such the one that measured more. Where nothing
/// tells them apart the first stays. A pure function.
TUNEONCE_API RecordPreference PreferOf(const TuningRecord& first, const TuningRecord& second, PreferRecord by);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_RECORD_PREFERENCE_H_
