#ifndef TUNEONCE_TOOLS_REPORT_PAGE_RECORD_ENTRY_H_
#define TUNEONCE_TOOLS_REPORT_PAGE_RECORD_ENTRY_H_

#include <string>

#include "report_data.h"

namespace tuneonce {
inline namespace v0 {
namespace report {

/// Makes the entry of a record for a report, and adds its configs to `data`.
ReportEntry RecordEntry(const TuningRecord& record, ReportData* data);

/// Why a record's config is the selection: "the fastest", "it was pinned".
std::string WhyText(const TuningRecord& record);
/// Makes the entry of a search.
std::string WhyText(SelectionReason reason);

}  // namespace report
}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_PAGE_RECORD_ENTRY_H_
