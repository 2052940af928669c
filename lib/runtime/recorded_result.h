#ifndef TUNEONCE_LIB_RUNTIME_RECORDED_RESULT_H_
#define TUNEONCE_LIB_RUNTIME_RECORDED_RESULT_H_

#include "tuneonce/tuning_record.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
inline namespace v0 {

/// Puts all that a search found out into a record: selection and reason, baseline, every candidate. Left to the caller:
/// the key, what was measured on (dims and inputs), where and when.
void RecordResult(const TuningResult& result, TuningRecord* record);
/// What decided for the search's selection; kUnknown if nothing was measured.
TUNEONCE_API SelectionReason ReasonOf(const TuningResult& result);
/// This machine, and now.
TUNEONCE_API void SayWhereAndWhen(TuningRecord* record);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_RECORDED_RESULT_H_
