#include "report_text.h"

#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python_status.h"
#include "python_text.h"
#include "report_page/report_data.h"
#include "report_page/report_tables.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

/// `paths`: of files; empty: the user's store. `results`: names, and JSON as RecordsToJson writes it. `kernel`: empty:
/// all.
Result<std::string> ReportText(const std::string& form, const std::vector<std::string>& paths,
                               const std::vector<std::pair<std::string, std::string>>& results,
                               const std::string& kernel) {
  report::ReportData data;
  for (const std::string& path : paths) {
    TUNEONCE_RETURN_IF_ERROR(path.empty() ? data.AddStore(path) : data.AddFile(path));
  }
  for (const auto& [name, json] : results) TUNEONCE_RETURN_IF_ERROR(data.AddJson(name, json));
  if (!kernel.empty()) TUNEONCE_RETURN_IF_ERROR(data.KeepKernel(kernel));
  if (form == "csv") return ReportCsv(data);
  return form == "markdown" ? ReportMarkdown(data) : ReportPage(data);
}

}  // namespace

void AddReportText(py::module_& module) {
  module.def(
      "_report_text",
      [](const std::string& form, const std::vector<std::string>& paths,
         const std::vector<std::pair<std::string, std::string>>& results, const std::string& kernel) {
        std::optional<Result<std::string>> text;
        {
          py::gil_scoped_release release;
          text.emplace(ReportText(form, paths, results, kernel));
        }
        return TextFrom(ValueOrThrow(*std::move(text)));
      },
      py::arg("form"), py::arg("paths"), py::arg("results"), py::arg("kernel"));
}

}  // namespace tuneonce::python
