#ifndef TUNEONCE_TOOLS_REPORT_H_
#define TUNEONCE_TOOLS_REPORT_H_

#include <string>

#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

struct Counters;

/// How many candidates SummaryTable lists.
struct TableOptions {
  int top = 5;     ///< Number of fastest candidates. Default 5.
  int bottom = 3;  ///< Number of slowest candidates, if there are more than `top`. Default 3.
};

/// Returns a search's result as a text table for people. Each candidate has a row with its mean, error margin, ratio to
/// the best, and "=" if it cannot be distinguished from the fastest. The best and the baseline are marked. Up to five
/// failures and the cost follow. The first line counts failures, duplicates and configs that were not measured. Axes
/// that have one value in all configs are printed once.
TUNEONCE_API std::string SummaryTable(const TuningRecord& result, const TableOptions& options = {});

/// Returns a search's result as the text of a JSON object with the fields that docs/cli.md lists: kernel, best,
/// successes, failures, duplicates, baseline, speedup_over_baseline, cost. Unknown numbers are null. `device` and
/// `shape` are added if they are not empty. Not available in builds without JSON (TUNEONCE_WITH_JSON=OFF).
TUNEONCE_API std::string ResultJson(const TuningRecord& result, const std::string& device = "",
                                    const std::string& shape = "");

/// Returns a TunedKernel's counters as the text of a JSON object with the names of the C++ members. Not available in
/// builds without JSON (TUNEONCE_WITH_JSON=OFF).
TUNEONCE_API std::string CountersJson(const Counters& counters);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_H_
