#ifndef TUNEONCE_LIB_SEARCH_FINALIST_CHECKS_H_
#define TUNEONCE_LIB_SEARCH_FINALIST_CHECKS_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "measure/verify.h"
#include "search/candidate_runner.h"
#include "search/extent_classes.h"
#include "search/trial_memory.h"
#include "search/varied_call.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// What the selected config must be verified for besides the call that was measured.
struct VerificationScope {
  std::shared_ptr<const KernelDefinition> definition;
  /// The launch that the search is for. What it points to outlives the search. Its dims may differ from the measured
  /// ones.
  const BoundCall* launched = nullptr;
  VariantSet left_out;                   ///< What the launch's key excludes.
  Dims measured;                         ///< The dims that candidates are measured at.
  bool is_on_fills = false;              ///< The launch's inputs hold what the definition declares for warm-ups.
  std::vector<Dims> dims;                ///< At which else to verify, in order of importance.
  std::optional<ExtentClasses> classes;  ///< The classes of extents of dims that the key does not decide.
};

/// Verifies the finalists of a search for launches that differ from the measured call: at other dims of the key's
/// bucket, on data that can show an error, and with other strides, addresses and values of scalars that the key does
/// not contain. In each run all finalists compute the same and are compared with the baseline. To save runs, a run at
/// other dims also has one of the other changes. If a finalist fails, each change is tried alone to name the cause.
///
/// A run in which the baseline fails, or that cannot be made, shows nothing about the finalists and is listed as a gap,
/// except for the launch itself. Thread rule: one thread.
class FinalistChecks {
 public:
  /// `is_over` is called before each run but the first, and once it returns true the remaining runs become gaps.
  /// REQUIRES: all references outlive the object.
  FinalistChecks(VerificationScope scope, TrialPlace& place, StreamView stream, TrialMemory& memory,
                 const SearchOptions& options, Mutex& measuring_lock);

  using Failures = std::map<const Candidate*, CandidateOutcome>;
  /// Returns the candidate that runs for a config, or null if it was not tried or failed.
  using CandidateOf = std::function<const Candidate*(const Config&)>;
  /// Returns the failures of `finalists`, which are compiled and correct on the measured call; the first is the
  /// reference if `first_is_reference`. If one of them fails in a run, `others` are verified in that run too, so that
  /// candidates with the same fault do not race again. Errors: the context was lost; Cancelled.
  Result<Failures> Check(const std::vector<const Candidate*>& finalists, bool first_is_reference,
                         const std::vector<const Candidate*>& others, const CandidateOf& candidate_of,
                         const std::function<bool()>& is_over);

  /// The dims of all runs, at which candidates that count as one have to launch alike.
  const std::vector<Dims>& dims() const { return scope_.dims; }
  /// Returns the conditions under which the finalists of the last Check, which found no failure, were verified.
  Verification Verified(bool has_reference) const;

 private:
  struct Run {
    CallVariation variation;
    bool is_launch = false;  ///< The launch's own tensors.
  };
  struct RunResult {
    Failures failures;
    std::string gap;  ///< Why the run shows nothing. Empty if it does.
    /// The reference's code does not suit the call: launches of it have another key, which is verified by itself.
    bool is_of_another_key = false;
    bool has_left_out = false;  ///< A launch of a candidate would run other code, so that it did not run.
    Status fatal;
  };

  /// Finds out what the launch's data can show, and which runs follow.
  Status Plan();
  /// True if an error might not show in what the launch's inputs hold. Notes whether they can be replaced.
  Result<bool> IsDataWeak();
  /// True if the floating-point numbers that the runs read may all have one sign: fewer than 16 are generated, or no
  /// input of the launch has a second element. REQUIRES: runs_ has the other runs.
  bool NeedsBothSigns() const;
  Result<RunResult> MakeVaried(const CallVariation& variation, const std::vector<const Candidate*>& candidates,
                               bool first_is_reference);
  /// Makes the run. Strides are not padded where launches with such strides have another key.
  Result<RunResult> Make(const Run& run, const std::vector<const Candidate*>& candidates, bool first_is_reference);
  /// Changes each scalar alone, after all together, which put the call at another key, left candidates out, or may have
  /// hidden an error. Adds to `result` what that shows.
  Status ChangeOneByOne(CallVariation variation, const std::vector<const Candidate*>& candidates,
                        bool first_is_reference, RunResult* result);
  /// With what the others of `candidates` are compared in such a call: the definition's baseline there. The first where
  /// the definition has none, or the search's own baseline is not the definition's; null where a guard excludes that.
  /// Errors: nothing tried is it; a guard that throws.
  Result<const Candidate*> ReferenceAt(const BoundCall& call, const std::vector<const Candidate*>& candidates) const;
  /// `is_launch`: the call is the launch itself, where a failing reference is a failure and not a gap.
  RunResult RunOn(const BoundCall& call, bool is_launch, std::vector<const Candidate*> candidates,
                  bool first_is_reference);
  /// The run's changes one at a time: the label of the first with which the candidate fails, else of the whole run.
  Result<std::string> CauseOf(const Run& run, const Candidate* reference, const Candidate& candidate);
  std::string LabelOf(const Run& run) const;
  void NoteClasses(const Dims& dims);

  VerificationScope scope_;
  TrialPlace& place_;
  const StreamView stream_;
  TrialMemory& memory_;
  DeclaredFills fills_;
  const SearchOptions& options_;
  Mutex& measuring_lock_;
  bool is_planned_ = false;
  std::vector<Run> runs_;
  bool is_data_weak_ = false;
  bool can_generate_ = true;
  // State of the last Check.
  CandidateOf candidate_of_;
  bool has_generated_data_ = false;
  std::map<std::string, std::vector<std::uint64_t>> classes_;  // By dim.
  std::vector<std::string> gaps_;
};

/// Returns the verification that a record of the kernel needs, from `options` and the declarations of its outputs.
/// Outputs can only be compared with a baseline or a given reference. `problem` has the dtypes and the target of a
/// call.
Verification DemandedVerification(const KernelDefinition& definition, const Problem& problem,
                                  const SearchOptions& options);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_FINALIST_CHECKS_H_
