#ifndef TUNEONCE_TOOLS_COMPARE_PAIRED_RACE_H_
#define TUNEONCE_TOOLS_COMPARE_PAIRED_RACE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "search/candidate.h"
#include "search/candidate_runner.h"
#include "tuneonce/search_options.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Runs two candidates in pairs to measure how much faster B is than A, and whether it computes the same. The race of a
/// search ends when the winner is known; this one goes on until the ratio is known. Used once, on one thread.
class PairedRace {
 public:
  struct Outcome {
    /// Samples in microseconds, as many of each. Samples of one pair have the same index. Empty if B failed.
    std::vector<double> a_us;
    std::vector<double> b_us;
    /// Why B cannot take A's place: "wrong result: output 'y': ...".
    std::optional<std::string> failure;
    /// The largest difference of B's outputs from A's in all runs that were compared. Empty if none was.
    std::optional<OutputDifference> largest_difference;
  };

  /// `measuring_lock`: the device's, as SearchEngine has it. All references outlive it. Of `options`: max_rounds,
  /// race_budget_ms, gpu_budget_ms, seed, cancelled, interrupted.
  PairedRace(TrialPlace& place, Mutex& measuring_lock, const SearchOptions& options)
      : place_(place), measuring_lock_(measuring_lock), options_(options), random_(options.seed) {}

  /// Loads both, compares B's outputs with A's, samples them in pairs, in random order within a pair, and compares
  /// again. Errors: A failed; Cancelled; the context was lost. REQUIRES: both are compiled, and stay where they are.
  Result<Outcome> Run(const Candidate& a, const Candidate& b);

 private:
  using Clock = std::chrono::steady_clock;

  Status CheckCancelled() const;
  Result<PreparedTrial> Prepare(const Candidate& candidate, bool is_reference);
  /// Pairs until they tell enough.
  Status Sample(Outcome* outcome);
  /// Takes one sample of each, A's first. Errors: those of A or of both; an error of B alone is `outcome->failure`.
  Result<std::vector<double>> SamplePair(Outcome* outcome);
  Result<std::vector<double>> SampleTrials(const std::vector<std::size_t>& trials);
  bool IsEnough(const Outcome& outcome) const;
  Status CheckAgain(Outcome* outcome);

  TrialPlace& place_;
  Mutex& measuring_lock_;
  const SearchOptions& options_;
  std::mt19937_64 random_;
  PreparedTrial a_;
  PreparedTrial b_;
  Clock::time_point began_;
  double spent_ms_ = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_COMPARE_PAIRED_RACE_H_
