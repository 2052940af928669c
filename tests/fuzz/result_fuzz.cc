// What `tune --json` writes, as others may give it to `tuneonce report`.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "report_page/report_data.h"
#include "report_page/report_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tuneonce::report::ReportData data;
  if (!data.AddJson("fuzz", std::string(reinterpret_cast<const char*>(bytes), size)).ok()) return 0;
  // Of each form nothing is ended by what a name holds: two elements, and as many ends.
  const std::string page = PageOverview(data) + PageDetails(data, 1 << 20);
  std::size_t ends = 0;
  for (std::size_t at = page.find('<'); at != page.npos; at = page.find('<', at + 1)) ++ends;
  if (ends != 4) std::abort();
  ReportCsv(data);
  ReportMarkdown(data);
  return 0;
}
