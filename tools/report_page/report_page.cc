#include "report_page.h"

#include <algorithm>
#include <string_view>

#include "page_data.h"
#include "report_page_html.h"

namespace tuneonce {
inline namespace v0 {
namespace report {
namespace {

// Where the data goes in page/page.html.
constexpr std::string_view kOverviewPlace = "@OVERVIEW@";
constexpr std::string_view kDetailsPlace = "@DETAILS@";

}  // namespace

std::string ReportPage(const ReportData& data) {
  const std::string_view html(kReportPageHtml, sizeof(kReportPageHtml) - 1);
  const std::size_t overview = html.find(kOverviewPlace), details = html.rfind(kDetailsPlace);
  std::string page(html.substr(0, overview));
  page += PageOverview(data);
  const std::size_t behind = overview + kOverviewPlace.size();
  page += html.substr(behind, details - behind);
  const std::string_view end = html.substr(details + kDetailsPlace.size());
  const std::size_t taken = page.size() + end.size();
  page += PageDetails(data, kMostPageBytes - std::min(kMostPageBytes, taken));
  page += end;
  return page;
}

}  // namespace report
}  // namespace v0
}  // namespace tuneonce
