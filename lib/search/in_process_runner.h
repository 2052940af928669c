#ifndef TUNEONCE_LIB_SEARCH_IN_PROCESS_RUNNER_H_
#define TUNEONCE_LIB_SEARCH_IN_PROCESS_RUNNER_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/callback.h"
#include "cuda/driver_api.h"
#include "launch/launch.h"
#include "launch/launch_words.h"
#include "search/candidate.h"
#include "search/candidate_runner.h"
#include "search/output_check.h"
#include "search/trial_timer.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/timer.h"

namespace tuneonce {
inline namespace v0 {

/// Runs trials in this process and context: cheap, and at the mercy of the candidates. A fault in one of them loses the
/// context, which is reported as fatal.
///
/// Trials run one at a time, so they share memory: scratch and copies of inputs among candidates with the same
/// arguments, one block for workspaces among all. Where memory is short the copies of inputs go first.
class InProcessRunner final : public CandidateRunner {
 public:
  /// REQUIRES: `stream` is private to the search; it, `options` and `memory` outlive the runner. `has_baseline`: one of
  /// the candidates is it. Candidates outlive their trials.
  InProcessRunner(StreamView stream, const SearchOptions& options, TrialMemory& memory, bool has_baseline);
  ~InProcessRunner() override;

  bool wants_baseline_first() const override { return wants_baseline_; }
  PreparedTrial Prepare(const Candidate& candidate, bool is_baseline) override;
  PreparedTrial CheckAgain(PreparedTrial prepared) override;
  VerifiedTogether VerifyTogether(const std::vector<const Candidate*>& candidates, bool first_is_reference) override;
  void Release(std::size_t trial) override;
  Result<std::vector<double>> Sample(const std::vector<std::size_t>& trials) override;
  Status Burst(std::size_t trial, std::int64_t launches) override;
  bool TimeInAnotherWay() override { return timer_.UseEvents(); }
  /// A candidate that ends its process ends this one.
  OutcomeKind LossOf(std::size_t /*trial*/) const override { return OutcomeKind::kRun; }
  RunnerReport Report() const override;

  /// In words, which of the caller's tensors were damaged. Empty if none was.
  std::string damage() const;
  /// Looks once more at inputs of the caller's that trials ran on. After the last trial. Errors: DataLoss, naming those
  /// that were damaged; the driver's.
  Status CheckInputs();

 private:
  struct Trial;
  using Finding = OutputCheck::Finding;

  /// The tensors of a call's trials.
  struct Scratch {
    std::shared_ptr<const KernelDefinition> definition;
    BoundCall call;
    TrialTensors tensors;
  };

  Result<std::shared_ptr<Scratch>> ScratchFor(const Candidate& candidate);
  Result<std::unique_ptr<Trial>> MakeTrial(const Candidate& candidate, std::shared_ptr<Scratch> scratch);
  /// Returns the candidate's code: that of a trial with the same code, else newly loaded.
  Result<std::shared_ptr<const LoadedKernel>> LoadOnce(const Candidate& candidate);
  /// Sees to it that the trial's parameters point to where its memory is now.
  Status Bind(Trial& trial);
  Status EnsureWorkspaces(std::size_t bytes);
  /// Frees what no trial needs any more.
  void FreeUnused();
  /// Returns the result of `make`. If memory is short, it frees optional memory and then copies of inputs, and tries
  /// again.
  template <typename Make>
  auto WithRoom(const Make& make) -> decltype(make()) {
    auto made = make();
    if (StatusOf(made).code() == StatusCode::kResourceExhausted && !dissents_.is_empty()) {
      dissents_.Clear();
      made = make();
    }
    if (StatusOf(made).code() == StatusCode::kResourceExhausted && DropInputCopies()) made = make();
    return made;
  }
  static const Status& StatusOf(const Status& status) { return status; }
  template <typename T>
  static const Status& StatusOf(const Result<T>& result) {
    return result.status();
  }
  bool DropInputCopies();
  /// True if the trial may run on the caller's own inputs, for lack of memory for copies.
  bool MayRunInPlace(bool is_baseline) const;
  /// The candidate is not tried, since `inputs` cannot be copied.
  PreparedTrial NotTried(const Candidate& candidate, const std::string& inputs);
  /// Returns `prepared`, or ends the search if an input of the caller's was damaged. `when` describes when that was
  /// found.
  PreparedTrial WithDamage(PreparedTrial prepared, const std::string& when) const;
  /// Loads the candidate and runs it first.
  PreparedTrial Try(const Candidate& candidate, bool is_baseline);

  /// Runs the trial `launches` times back to back in memory poisoned with kPoisons[poison], and checks what it wrote
  /// outside of its outputs. `timed` states whether the last run is timed.
  Result<std::optional<Finding>> Run(Trial& trial, int launches, int poison, bool timed);
  /// What a trial's outputs are compared with.
  enum class Against {
    kNothing,   ///< Only writes outside of the outputs are checked.
    kItself,    ///< Its first run, which is kept and shows what its second one does not write either.
    kFirstRun,  ///< The first run of this trial, which then is the reference of later trials.
    kReference,
  };
  /// Runs bursts of launches and checks what was written after each. `check` has the reference, or gets it. The bursts
  /// run in memory poisoned with each of kPoisons in turn, from `first_poison` on.
  Result<std::optional<Finding>> RunAndCheck(Trial& trial, std::initializer_list<int> bursts, bool timed,
                                             Against against, OutputCheck& check, int first_poison = 0);
  /// Runs and checks bursts with the search's own reference, if it has one.
  Result<std::optional<Finding>> RunAndCheck(Trial& trial, std::initializer_list<int> bursts, bool timed,
                                             bool makes_reference);
  /// VerifyTogether's runs of all candidates. With `is_quick` each is launched once, and the first failure ends it.
  /// Returns false if it ended early: because of a failure, or where the context was lost.
  bool VerifyAll(const std::vector<const Candidate*>& candidates, bool first_is_reference,
                 const std::shared_ptr<Scratch>& scratch, bool is_quick, VerifiedTogether* verified);
  /// VerifyTogether's runs of one candidate. `check` has the reference, but for the first.
  Result<std::optional<Finding>> VerifyOne(const Candidate& candidate, const std::shared_ptr<Scratch>& scratch,
                                           Against against, bool is_quick, OutputCheck& check);
  /// Compares an incorrect output, which is in scratch still, with other ones.
  Status NoteDissent(Trial& trial);
  /// Runs and checks the trial before the race.
  Result<std::optional<Finding>> RunFirst(Trial& trial, bool makes_reference);
  /// Converts a finding into the result for the engine.
  PreparedTrial Checked(const Trial& trial, const Result<std::optional<Finding>>& checked) const;
  /// Reads a given reference. After an original was damaged: makes what the baseline now computes the reference.
  Status SeeToReference(const Trial& trial);
  std::string NotVerified() const { return "the candidate's outputs cannot be compared: " + no_reference_; }
  Status OpenTimer();
  Result<std::vector<double>> SampleInSession(const std::vector<Trial*>& trials);
  void Note(const std::string& line);
  static PreparedTrial Fail(const Candidate& candidate, OutcomeKind kind, const Status& status);

  StreamView stream_;
  const SearchOptions& options_;
  Trace* const trace_;
  TrialMemory& memory_;
  ArrayComparer comparer_;
  InputCopies inputs_;
  bool may_drop_copies_;           // Now: depends on whose trial needs the memory.
  bool was_drop_refused_ = false;  // Since the last Prepare.
  std::string why_not_tried_;      // Why candidates were not tried, once one was not.
  OutputCheck check_;
  DissentingOutputs dissents_;  // Empty once a candidate agrees with the reference.
  bool has_agreement_ = false;  // Whether one exists.
  TrialTimer timer_;
  bool has_baseline_;
  bool wants_baseline_;
  bool has_reference_ = false;  // The given one was read.
  std::string no_reference_;    // Why the search has no reference, once that is known.
  int damage_seen_ = 0;         // InputCopies::num_damaged when the reference was made.
  std::vector<std::shared_ptr<Scratch>> scratches_;
  std::optional<GuardedMemory> workspaces_;  // The block that all trials share.
  int placing_ = 1;                          // Grows when memory moves: trials must be bound again.
  std::vector<std::unique_ptr<Trial>> trials_;
  Trial* baseline_ = nullptr;
  std::int64_t num_untimed_ = 0;
  std::vector<std::string> notes_;
};

/// One candidate that is ready for repeated launches.
struct InProcessRunner::Trial {
  const Candidate* candidate = nullptr;
  std::shared_ptr<Scratch> scratch;
  BoundCall call;  // Its tensors are the scratch's.
  TrialMemory::Charge code;
  std::shared_ptr<const LoadedKernel> loaded;
  std::optional<ParameterLayout> layout;
  std::vector<GuardedMemory::Piece> workspaces;
  std::vector<std::uint64_t> addresses;  // Addresses of the workspaces.
  ParameterBlock block;                  // Points into `call`, `addresses` and the caller's arguments.
  int placing = 0;                       // For which `block` is right.
  std::unique_ptr<PreparedRun> prepared;
  int prepared_in = 0;  // Which session: another one cannot use it.
  double warmup_us = 0;
  std::optional<OutputDifference> largest;
  int num_dissenting = 0;       // PreparedTrial::num_dissenting.
  bool launch_refused = false;  // The driver refused the launch, in contrast to a fault while running.

  const KernelDefinition& definition() const { return *candidate->definition; }
  const TrialTensors& tensors() const { return scratch->tensors; }

  /// Calls a callable's launcher, and makes the caller's context current again, where others' trials run, if the
  /// launcher left another one. That is an error.
  Status CallTheLauncher(const DriverApi& api, CUstream stream) const;

  TimedRun Timed(const DriverApi& api) {
    TimedRun run;
    if (tensors().needs_restore()) run.prepare = [this](CUstream) { return tensors().Restore(); };
    if (candidate->is_callable()) {
      run.launch = [this, &api](CUstream stream) {
        Status launched = CallTheLauncher(api, stream);
        launch_refused = !launched.ok() && !launched.sticky();
        return launched;
      };
      return run;
    }
    run.overlaps_previous = candidate->geometry.programmatic_launch;
    run.launch = [this, &api](CUstream stream) {
      CUresult result =
          LaunchKernel(api.launch_path(), loaded->function, candidate->geometry, stream, block.pointers());
      launch_refused = result != CUDA_SUCCESS && !IsSticky(result);
      return CudaStatus(api, result, "cuLaunchKernelEx");
    };
    return run;
  }
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_IN_PROCESS_RUNNER_H_
