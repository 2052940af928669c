#ifndef TUNEONCE_TOOLS_REPORT_H_
#define TUNEONCE_TOOLS_REPORT_H_

#include <string>
#include <vector>

#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

struct Counters;

/// What SummaryTable lists.
struct TableOptions {
  int top = 5;     ///< Number of fastest candidates. Default 5.
  int bottom = 3;  ///< Number of slowest candidates, if there are more than `top`. Default 3.
  /// Whether it lists the compiler's remarks (CandidateOutcome::remarks), each with the number of configs that it is
  /// about. Default false: only what failed, below configs that failed.
  bool with_remarks = false;
};

/// Returns a search's record as a text table for people. Each candidate has a row with its mean, error margin, ratio to
/// the best, and "=" if it cannot be distinguished from the fastest. The best and the baseline are marked. Up to five
/// failures and the cost follow. The first line counts failures, duplicates and configs that were not measured. Axes
/// that have one value in all configs are printed once.
TUNEONCE_API std::string SummaryTable(const TuningRecord& record, const TableOptions& options = {});

/// Returns records as the text of one JSON object {"format": "tuneonce-records", "version": 7, "records": [...]}, which
/// `tuneonce records import` reads; docs/internal/json_output.md describes the fields. Unknown numbers are null. 64-bit
/// words and fingerprints are hexadecimal strings, since JSON's numbers do not hold them. Not available in builds
/// without JSON (TUNEONCE_WITH_JSON=OFF).
TUNEONCE_API std::string RecordsToJson(const std::vector<TuningRecord>& records);

/// Returns a TunedKernel's counters as the text of a JSON object with the names of the C++ members. Not available in
/// builds without JSON (TUNEONCE_WITH_JSON=OFF).
TUNEONCE_API std::string CountersJson(const Counters& counters);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_H_
