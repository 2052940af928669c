#ifndef TUNEONCE_TOOLS_COMPARE_PAIRED_RACE_H_
#define TUNEONCE_TOOLS_COMPARE_PAIRED_RACE_H_

#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "search/candidate.h"
#include "search/candidate_runner.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What RunPairedRace found.
struct PairedOutcome {
  /// Samples in microseconds, as many of each. Samples of one pair have the same index. Empty if B failed.
  std::vector<double> a_us;
  std::vector<double> b_us;
  /// Why B cannot take A's place: "wrong result: output 'y': ...".
  std::optional<std::string> failure;
  /// Whether B failed because it ran and wrote something incorrect. False if it did not run to its end.
  bool is_wrong = false;
  /// The largest difference of B's outputs from A's in all runs that were compared. Empty if none was.
  std::optional<OutputDifference> largest_difference;
};

/// Runs two candidates in pairs to measure how much faster B is than A, and whether it computes the same. The race of a
/// search ends when the winner is known; this one goes on until the ratio is known. Loads both, compares B's outputs
/// with A's, samples them in pairs, in random order within a pair, and compares again. `measuring_lock`: the device's,
/// as SearchEngine has it. Of `options`: max_rounds, budgets.race, budgets.gpu, seed, stop.
/// Errors: A failed; Cancelled; the context was lost. REQUIRES: both are compiled.
Result<PairedOutcome> RunPairedRace(TrialPlace& place, Mutex& measuring_lock, const SearchOptions& options,
                                    const Candidate& a, const Candidate& b);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_COMPARE_PAIRED_RACE_H_
