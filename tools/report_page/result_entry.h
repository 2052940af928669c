#ifndef TUNEONCE_TOOLS_REPORT_PAGE_RESULT_ENTRY_H_
#define TUNEONCE_TOOLS_REPORT_PAGE_RESULT_ENTRY_H_

#include <string>

#include "report_data.h"

namespace tuneonce {
inline namespace v0 {
namespace report {

/// What `tune --json` or ResultJson wrote, as a report shows it; its configs become `data`'s. It is others' text: a
/// field that is missing or of another type is one that is not known. Errors: InvalidArgument for what is no such
/// result.
Result<ReportEntry> ResultEntry(const std::string& json, ReportData* data);

}  // namespace report
}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_PAGE_RESULT_ENTRY_H_
