#ifndef TUNEONCE_BINDINGS_PYTHON_REPORT_TEXT_H_
#define TUNEONCE_BINDINGS_PYTHON_REPORT_TEXT_H_

#include <pybind11/pybind11.h>

namespace tuneonce::python {

/// Adds _report_text(form, paths, results, kernel): what tuneonce.report shows, as "page", "csv" or "markdown".
void AddReportText(pybind11::module_& module);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_REPORT_TEXT_H_
