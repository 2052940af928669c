#ifndef TUNEONCE_BINDINGS_CLI_LEDGER_H_
#define TUNEONCE_BINDINGS_CLI_LEDGER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tuneonce/result.h"

namespace tuneonce::cli {

// A ledger is a file of changes that were tried on a kernel, one a line, tab-separated under a header, so that a change
// may be described with commas:
//   iteration  change  latency_ms  correctness  status  peak_bytes

/// What became of a change.
struct LedgerRow {
  std::string change;                       ///< In words; tabs and controls become blanks.
  std::optional<double> latency_ms;         ///< Written with six decimals, "nan" without.
  std::string correctness;                  ///< "pass", "fail", "not_compared".
  std::string status;                       ///< "accept", "minor", "no_change", "revert".
  std::optional<std::uint64_t> peak_bytes;  ///< "nan" without.
};

/// OK if a row can be appended: a ledger that can be written, or a folder where one can be made. Writes nothing.
/// Errors: FailedPrecondition for a file that is no ledger; Unavailable, with the path and the reason.
Status CheckLedger(const std::string& path);

/// Appends a row, with the header to a new or empty file, and returns its iteration: one more than that of the last
/// whole row, from 1 on. Others that append wait for each other, so that no two rows have one iteration, and no line is
/// torn; what one left torn that was killed stays as it is, on a line of its own. A row is there whole or not at all.
/// Errors: as CheckLedger; DeadlineExceeded if another process holds the file for long.
Result<std::int64_t> AppendToLedger(const std::string& path, const LedgerRow& row);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_LEDGER_H_
