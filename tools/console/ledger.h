#ifndef TUNEONCE_TOOLS_CONSOLE_LEDGER_H_
#define TUNEONCE_TOOLS_CONSOLE_LEDGER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

// A ledger is a file of changes that were tried on a kernel, one a line, tab-separated under a header, so that a change
// may be described with commas:
//   iteration  change  latency_ms  correctness  status  peak_bytes

/// The result of a change.
struct LedgerRow {
  std::string change;                       ///< In words; tabs and controls become blanks.
  std::optional<double> latency_ms;         ///< Written with six decimals, "nan" without.
  std::string correctness;                  ///< "pass", "fail", "not_compared".
  std::string status;                       ///< "accept", "minor", "no_change", "revert", "crash".
  std::optional<std::uint64_t> peak_bytes;  ///< "nan" without.
};

/// The end of a ledger after a row was appended.
struct LedgerEnd {
  std::string path;
  std::int64_t iteration = 0;  ///< The row's.
  /// Why an optimization loop should stop: "the last 2 changes gave no gain", "25 iterations are done". Empty: go on.
  std::string stop;
};

/// Returns OK if a row can be appended: the ledger can be written, or be created in its folder. Writes nothing. Errors:
/// FailedPrecondition for a file that is not a ledger; Unavailable, with the path and the reason.
Status CheckLedger(const std::string& path);

/// Appends a row, with the header to a new or empty file. Its iteration is one more than that of the last complete row,
/// starting at 1. A loop should stop after two changes in a row without "accept" or "minor", and after 25 iterations.
/// Further rows can be appended all the same. Processes that append wait for each other, so that iterations are unique
/// and lines are complete. An incomplete line of a killed process stays on a line of its own. Errors: those of
/// CheckLedger; DeadlineExceeded if another process locks the file for long.
Result<LedgerEnd> AppendToLedger(const std::string& path, const LedgerRow& row);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_CONSOLE_LEDGER_H_
