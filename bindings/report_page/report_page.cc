#include "report_page.h"

#include <string_view>

#include "page_data.h"
#include "report_page_html.h"

namespace tuneonce::report {
namespace {

/// Where the data goes in page/page.html.
constexpr std::string_view kPlace = "@DATA@";

}  // namespace

std::string ReportPage(const ReportData& data) {
  const std::string_view html(kReportPageHtml, sizeof(kReportPageHtml) - 1);
  const std::size_t place = html.find(kPlace);
  std::string page(html.substr(0, place));
  page += PageData(data, kMostPageBytes - html.size());
  page += html.substr(place + kPlace.size());
  return page;
}

}  // namespace tuneonce::report
