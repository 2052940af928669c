#ifndef TUNEONCE_BINDINGS_REPORT_PAGE_PAGE_DATA_H_
#define TUNEONCE_BINDINGS_REPORT_PAGE_PAGE_DATA_H_

#include <cstddef>
#include <string>

#include "report_data.h"

namespace tuneonce::report {

// What page/data.js reads, as script elements of JSON. Whatever names hold, it ends no element.

/// The inputs, texts, configs and a row for each entry.
std::string PageOverview(const ReportData& data);

/// An element for each `kEntriesPerBlock` entries with their candidates, which the page reads when they are looked at.
/// `most_bytes`: blocks that would go beyond are left out, and the page says so.
std::string PageDetails(const ReportData& data, std::size_t most_bytes);

inline constexpr std::size_t kEntriesPerBlock = 64;

}  // namespace tuneonce::report

#endif  // TUNEONCE_BINDINGS_REPORT_PAGE_PAGE_DATA_H_
