#ifndef TUNEONCE_TOOLS_REPORT_RECORDS_JSON_H_
#define TUNEONCE_TOOLS_REPORT_RECORDS_JSON_H_

#include <string>
#include <vector>

#include "tuneonce/report.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// The records of what RecordsToJson (tuneonce/report.h) returned. Other fields of the object are ignored. Errors:
/// InvalidArgument, naming the record (from 0) and the field, for anything that is missing, of a wrong type or unknown,
/// and for another version.
TUNEONCE_API Result<std::vector<TuningRecord>> RecordsFromJson(const std::string& json);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_RECORDS_JSON_H_
