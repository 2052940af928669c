#ifndef TUNEONCE_BINDINGS_CLI_COMPARE_RESULTS_H_
#define TUNEONCE_BINDINGS_CLI_COMPARE_RESULTS_H_

#include <string>

#include "compare_report.h"
#include "tuneonce/result.h"

namespace tuneonce::cli {

/// The best of two results that `tune --json` wrote, by what these say: nothing runs, and outputs are not compared.
/// Errors: InvalidArgument for what is no result of one shape, one without an interval (what a store had), and two of
/// different devices or shapes; those of reading a file.
Result<CompareReport> CompareResults(const std::string& a, const std::string& b);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_COMPARE_RESULTS_H_
