#ifndef TUNEONCE_TOOLS_REPORT_RECORDS_JSON_H_
#define TUNEONCE_TOOLS_REPORT_RECORDS_JSON_H_

#include <string>
#include <vector>

#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Records as one JSON object {"format": "tuneonce-records", "version": 1, "records": [...]}; docs/cli.md describes
/// the fields. 64-bit words and fingerprints are hexadecimal strings, since JSON's numbers do not hold them. Not in
/// builds without JSON (TUNEONCE_WITH_JSON=OFF).
std::string RecordsToJson(const std::vector<TuningRecord>& records);

/// The records of such an object. Errors: InvalidArgument, naming the record (from 0) and the field, for anything that
/// is missing, of a wrong type or unknown, and for another version.
Result<std::vector<TuningRecord>> RecordsFromJson(const std::string& json);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_RECORDS_JSON_H_
