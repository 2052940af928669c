#ifndef TUNEONCE_TOOLS_REPORT_RECORDS_FORMAT_H_
#define TUNEONCE_TOOLS_REPORT_RECORDS_FORMAT_H_

namespace tuneonce {
inline namespace v0 {

/// What a file of records says that it is.
inline constexpr char kRecordsFormat[] = "tuneonce-records";
/// Files of other versions are refused: before the first release no version is read but the current one.
inline constexpr int kRecordsVersion = 6;

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_RECORDS_FORMAT_H_
