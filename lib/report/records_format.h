#ifndef TUNEONCE_LIB_REPORT_RECORDS_FORMAT_H_
#define TUNEONCE_LIB_REPORT_RECORDS_FORMAT_H_

namespace tuneonce {
inline namespace v0 {

/// What a file of records says that it is.
inline constexpr char kRecordsFormat[] = "tuneonce-records";
/// Version 1, of before the first release, had its configs as text. Later versions are read for ever: version 2 had no
/// `nearest_dim` and `rows`.
inline constexpr int kRecordsVersion = 3;
inline constexpr int kOldestRecordsVersion = 2;

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_REPORT_RECORDS_FORMAT_H_
