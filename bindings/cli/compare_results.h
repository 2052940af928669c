#ifndef TUNEONCE_BINDINGS_CLI_COMPARE_RESULTS_H_
#define TUNEONCE_BINDINGS_CLI_COMPARE_RESULTS_H_

#include <string>

#include "compare_report.h"
#include "tuneonce/result.h"

namespace tuneonce::cli {

/// Compares the best configs of two files that `tune --json` wrote, by the files' numbers. Nothing runs, and outputs
/// are not compared. Errors: InvalidArgument for a file that is not a result of one shape, for one without an interval
/// (from a store), and for two files of different devices or shapes; those of reading a file.
Result<CompareReport> CompareResults(const std::string& a, const std::string& b);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_COMPARE_RESULTS_H_
