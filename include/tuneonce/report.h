#ifndef TUNEONCE_REPORT_H_
#define TUNEONCE_REPORT_H_

#include <string>

#include "tuneonce/tuning_result.h"

namespace tuneonce {
inline namespace v0 {

struct Counters;

struct TableOptions {
  int top = 5;     ///< Rows from the fast end. Default 5.
  int bottom = 3;  ///< Rows from the slow end, if there are more. Default 3.
};

/// A search's result as text for people: one row per candidate (mean, margin, ratio to the best, "=" where it cannot be
/// told from the fastest), the best and the baseline marked, then up to five failures, then the cost. The first line
/// counts failures, duplicates and configs that were not measured. Axes that have one value in all configs stand once.
TUNEONCE_API std::string SummaryTable(const TuningResult& result, const TableOptions& options = {});

/// A search's result as a JSON object: kernel, best, successes, failures, duplicates, baseline, speedup_over_baseline,
/// cost (docs/cli.md lists the fields). Unknown numbers are null. `device` and `shape` are added if not empty.
/// Not in builds without JSON (TUNEONCE_WITH_JSON=OFF).
TUNEONCE_API std::string ResultJson(const TuningResult& result, const std::string& device = "",
                                    const std::string& shape = "");

/// A TunedKernel's counters as a JSON object, by the names that they have in C++. Not in builds without JSON.
TUNEONCE_API std::string CountersJson(const Counters& counters);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_REPORT_H_
