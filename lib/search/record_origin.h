#ifndef TUNEONCE_LIB_SEARCH_RECORD_ORIGIN_H_
#define TUNEONCE_LIB_SEARCH_RECORD_ORIGIN_H_

#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Sets the record's host and time to this machine and now.
void StampOrigin(TuningRecord* record);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_RECORD_ORIGIN_H_
