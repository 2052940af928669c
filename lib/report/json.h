#ifndef TUNEONCE_LIB_REPORT_JSON_H_
#define TUNEONCE_LIB_REPORT_JSON_H_

#include <string>

#include "report/doctor.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {

/// A search's result as a JSON object: kernel, best, successes, failures, duplicates, baseline, speedup_over_baseline,
/// cost (docs/cli.md lists the fields). Unknown numbers are null. `device` and `shape` are added if not empty.
/// Not in builds without JSON (TUNEONCE_WITH_JSON=OFF).
TUNEONCE_API std::string ResultJson(const TuningResult& result, const std::string& device = "",
                                    const std::string& shape = "");

/// A doctor's findings as a JSON object {"ok", "findings": [...]}.
TUNEONCE_API std::string DoctorJson(const DoctorReport& report);

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_REPORT_JSON_H_
