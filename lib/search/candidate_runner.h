#ifndef TUNEONCE_LIB_SEARCH_CANDIDATE_RUNNER_H_
#define TUNEONCE_LIB_SEARCH_CANDIDATE_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/candidate.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// A candidate that was loaded, run and checked; or why it cannot be.
struct PreparedTrial {
  std::optional<CandidateOutcome> failure;
  /// With a failure: it did not run, since it would have had to run on the caller's own inputs, and must not
  /// (SearchOptions::allow_trials_in_place). It counts as not measured.
  bool is_not_tried = false;
  /// How many candidates of different code, this one included, have computed this one's output so far, which differs
  /// from the reference's. 0: it does not, or is not known.
  int num_dissenting = 0;
  /// For Sample. Valid without a failure.
  std::size_t trial = 0;
  /// How long that run took. Valid without a failure.
  double warmup_us = 0;
  /// From the reference, in all runs that were compared. Empty if none was.
  std::optional<OutputDifference> largest_difference;
  /// The code as it was run, to be launched from now on; null if it ran in another process.
  std::shared_ptr<const LoadedKernel> kernel;
  /// Not OK: the context was lost, and no further trial is possible.
  Status fatal;
};

/// The result of verifying several candidates on one call.
struct VerifiedTogether {
  /// One entry per candidate, in the given order. Empty for a correct one.
  std::vector<std::optional<CandidateOutcome>> failures;
  /// Not OK: the context was lost, or the search was cancelled, and no further trial is possible.
  Status fatal;
};

/// What a runner has done so far.
struct RunnerReport {
  std::string timer;               ///< "cupti", "events"; empty before the first Prepare.
  std::vector<std::string> notes;  ///< Notes for the user about the measurement, one line each.
  std::int64_t num_launches = 0;
  std::size_t peak_bytes = 0;  ///< TuningCost::peak_bytes.
  int workers_replaced = 0;    ///< TuningCost::workers_replaced.
  bool is_isolated = false;    ///< TuningRecord::is_isolated.
};

/// Runs trials, in this process or in a worker. Thread rule: one call at a time.
class CandidateRunner {
 public:
  virtual ~CandidateRunner() = default;

  /// True as long as outputs are to be compared with the baseline's, and these are not there: it goes first.
  virtual bool wants_baseline_first() const = 0;
  /// Loads the candidate, runs it and verifies its outputs, as far as the runner can. REQUIRES: the candidate's address
  /// does not change until its trial is released.
  virtual PreparedTrial Prepare(const Candidate& candidate, bool is_baseline) = 0;
  /// Launches of a trial that is checked again.
  static constexpr int kLaunchesToCheckAgain = 6;
  /// Checks again what a trial computes, after it ran many times: `prepared` as it was, or with a failure.
  virtual PreparedTrial CheckAgain(PreparedTrial prepared) = 0;
  /// Runs compiled candidates on a call that is not the one which is measured, twice each, untimed, and checks what
  /// they wrote. All have the same call. `first_is_reference`: the others' outputs are compared with the first one's;
  /// if that fails, the others fail as not verified. Else each is checked by itself: that it writes all of its outputs
  /// and nothing else. Keeps nothing. REQUIRES: at least one candidate.
  virtual VerifiedTogether VerifyTogether(const std::vector<const Candidate*>& candidates, bool first_is_reference) = 0;
  /// Frees what belongs to the trial alone, mainly its code. It will not run again.
  virtual void Release(std::size_t trial) = 0;
  /// Runs each of these trials once, in this order, and returns their times in microseconds. Errors: that of a run,
  /// which may be any of them; sticky if the context was lost; Unavailable if the times were lost.
  virtual Result<std::vector<double>> Sample(const std::vector<std::size_t>& trials) = 0;
  /// Launches a trial many times back to back, with a warm cache, untimed and unchecked. Errors: that of a launch;
  /// sticky if the context was lost.
  virtual Status Burst(std::size_t trial, std::int64_t launches) = 0;
  /// Called when times were lost. Returns whether the runner now uses another timer, so that all samples must be
  /// repeated.
  virtual bool TimeInAnotherWay() = 0;
  /// Why Sample failed of this trial alone, where the trial ended its process; else it could not be run or timed.
  virtual OutcomeKind LossOf(std::size_t trial) const = 0;
  virtual RunnerReport Report() const = 0;
};

/// Where the trials of one search run: a runner that may be there only later, and the device. Thread rule: one call at
/// a time.
class TrialPlace {
 public:
  virtual ~TrialPlace() = default;

  /// Waits for what trials need, which may take a while: once, without the lock under which is measured. Errors: no
  /// trial is possible.
  virtual Status Open() = 0;
  /// REQUIRES: Open returned OK.
  virtual CandidateRunner& runner() = 0;
  /// CandidateRunner::wants_baseline_first, also before Open.
  virtual bool wants_baseline_first() const = 0;
  /// The code of a trial that is correct, to be launched in this context from now on. `prepared`: of `candidate`.
  /// Errors: as LoadCandidate, where it ran in another process.
  virtual Result<std::shared_ptr<const LoadedKernel>> CodeOf(const PreparedTrial& prepared,
                                                             const Candidate& candidate) = 0;
  /// The device as it is now. Empty where nothing is known of it.
  virtual std::optional<DeviceReading> ReadDevice() = 0;
  /// DeviceWatch::ReadEnergyMj.
  virtual std::optional<std::uint64_t> ReadEnergyMj() = 0;
  /// CandidateRunner::Report with notes about the place, also before Open.
  virtual RunnerReport Report() const = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CANDIDATE_RUNNER_H_
