#ifndef TUNEONCE_TOOLS_REPORT_RECORDS_FORMAT_H_
#define TUNEONCE_TOOLS_REPORT_RECORDS_FORMAT_H_

#include "store/record_fields.h"

namespace tuneonce {
inline namespace v0 {

/// What a file of records says that it is.
inline constexpr char kRecordsFormat[] = "tuneonce-records";
/// Files of other versions are refused.
inline constexpr int kRecordsVersion = static_cast<int>(kRecordFormat);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_RECORDS_FORMAT_H_
