#ifndef TUNEONCE_TOOLS_REPORT_CODE_JSON_H_
#define TUNEONCE_TOOLS_REPORT_CODE_JSON_H_

#include <string>
#include <vector>

#include "tuneonce/artifact.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

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

#endif  // TUNEONCE_TOOLS_REPORT_CODE_JSON_H_
