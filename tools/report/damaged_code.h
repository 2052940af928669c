#ifndef TUNEONCE_TOOLS_REPORT_DAMAGED_CODE_H_
#define TUNEONCE_TOOLS_REPORT_DAMAGED_CODE_H_

namespace tuneonce {
inline namespace v0 {

/// The message, after the store's name, for a store with intact records and damaged artifacts
/// (StoreReport::are_records_whole).
inline constexpr char kDamagedCode[] =
    "some code in the store is damaged, but its records are used; 'tuneonce records export' and 'tuneonce records "
    "import' "
    "copy them to a new store, and code is compiled again when needed";

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_DAMAGED_CODE_H_
