#ifndef TUNEONCE_TOOLS_REPORT_PAGE_REPORT_TABLES_H_
#define TUNEONCE_TOOLS_REPORT_PAGE_REPORT_TABLES_H_

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

namespace report {

/// What a page has at most: a browser shows it within two seconds, and a mail takes it. Of 10^5 records what is too
/// much are candidates.
inline constexpr std::size_t kMostPageBytes = 20'000'000;

/// The report as one page of HTML that needs nothing beside it: data, style, code and the plotting library with its
/// licence (third_party/echarts). It loads nothing, which its Content-Security-Policy holds it to.
std::string ReportPage(const ReportData& data);

}  // namespace report

namespace report {

/// A line per candidate, after one with the columns' names; an entry without candidates has one of its own. As RFC 4180
/// has it, with line feeds; a cell that a spreadsheet would take for a formula begins with an apostrophe.
std::string ReportCsv(const ReportData& data);

/// A table of the entries for people, and under it what failed; in CommonMark with GitHub's tables.
std::string ReportMarkdown(const ReportData& data);

}  // namespace report

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_PAGE_REPORT_TABLES_H_
