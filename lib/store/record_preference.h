#ifndef TUNEONCE_LIB_STORE_RECORD_PREFERENCE_H_
#define TUNEONCE_LIB_STORE_RECORD_PREFERENCE_H_

#include "tuneonce/api.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Which of several measured records of one key goes into a merged store.
enum class PreferRecord {
  kBest,         ///< The one whose config is faster.
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
