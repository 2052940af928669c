#ifndef TUNEONCE_TOOLS_REPORT_RECORDS_JSON_H_
#define TUNEONCE_TOOLS_REPORT_RECORDS_JSON_H_

#include <string>
#include <vector>

#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/report.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// What a file of records says that it is.
inline constexpr char kRecordsFormat[] = "tuneonce-records";
/// Files of other versions are refused.
inline constexpr int kRecordsVersion = 7;

/// The records of what RecordsToJson (tuneonce/report.h) returned. Other fields of the object are ignored. Errors:
/// InvalidArgument, naming the record (from 0) and the field, for anything that is missing, of a wrong type or unknown,
/// and for another version.
TUNEONCE_API Result<std::vector<TuningRecord>> RecordsFromJson(const std::string& json);

/// The message, after the store's name, for a store with intact records and damaged artifacts
/// (StoreReport::are_records_whole).
inline constexpr char kDamagedCode[] =
    "some code in the store is damaged, but its records are used; 'tuneonce records export' and 'tuneonce records "
    "import' "
    "copy them to a new store, and code is compiled again when needed";

/// Compiled code, and what records know it by.
struct RecordedCode {
  Fingerprint key;
  Artifact artifact;
};

/// A file of records (RecordsToJson) that carries code, too: its field "code" is a list of {"key", "bytes"}, the bytes
/// with their key and a checksum, in base64. Not in builds without JSON. REQUIRES: `records_json` is of
/// RecordsToJson.
std::string WithCode(const std::string& records_json, const std::vector<RecordedCode>& code);

/// The code of such a file; none of one without. Errors: InvalidArgument, naming the piece (from 0), for what is
/// damaged or lies under another key than its own.
Result<std::vector<RecordedCode>> CodeFromJson(const std::string& json);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_RECORDS_JSON_H_
