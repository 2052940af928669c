#ifndef TUNEONCE_TOOLS_REPORT_PAGE_PAGE_DATA_H_
#define TUNEONCE_TOOLS_REPORT_PAGE_PAGE_DATA_H_

#include <cstddef>
#include <string>

#include "report_data.h"

namespace tuneonce {
inline namespace v0 {
namespace report {

// The JSON script elements that page/data.js reads. No name can end an element.

/// The inputs, texts, configs and a row for each entry.
std::string PageOverview(const ReportData& data);

/// Returns an element for each `kEntriesPerBlock` entries with their candidates, which the page reads on demand. Blocks
/// beyond `most_bytes` are omitted, and the page states that.
std::string PageDetails(const ReportData& data, std::size_t most_bytes);

inline constexpr std::size_t kEntriesPerBlock = 64;

}  // namespace report
}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_PAGE_PAGE_DATA_H_
