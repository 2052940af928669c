#ifndef TUNEONCE_TOOLS_REPORT_PAGE_REPORT_PAGE_H_
#define TUNEONCE_TOOLS_REPORT_PAGE_REPORT_PAGE_H_

#include <cstddef>
#include <string>

#include "report_data.h"

namespace tuneonce {
inline namespace v0 {
namespace report {

/// What a page has at most: a browser shows it within two seconds, and a mail takes it. Of 10^5 records what is too
/// much are candidates.
inline constexpr std::size_t kMostPageBytes = 20'000'000;

/// The report as one page of HTML that needs nothing beside it: data, style, code and the plotting library with its
/// licence (third_party/echarts). It loads nothing, which its Content-Security-Policy holds it to.
std::string ReportPage(const ReportData& data);

}  // namespace report
}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_PAGE_REPORT_PAGE_H_
