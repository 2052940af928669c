#ifndef TUNEONCE_BINDINGS_REPORT_PAGE_PAGE_DATA_H_
#define TUNEONCE_BINDINGS_REPORT_PAGE_PAGE_DATA_H_

#include <cstddef>
#include <string>

#include "report_data.h"

namespace tuneonce::report {

/// What page/data.js reads, as script elements of JSON: one with the inputs, texts, configs and a row for each entry,
/// and after it one for each `kEntriesPerBlock` entries with their candidates, which the page reads when they are
/// looked at. Whatever names hold, it ends no element. `most_bytes`: blocks of candidates that would go beyond are left
/// out, and the page says so; the rows are never.
std::string PageData(const ReportData& data, std::size_t most_bytes);

inline constexpr std::size_t kEntriesPerBlock = 64;

}  // namespace tuneonce::report

#endif  // TUNEONCE_BINDINGS_REPORT_PAGE_PAGE_DATA_H_
