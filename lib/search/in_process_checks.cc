// InProcessRunner's checks: it runs a trial in poisoned memory and inspects what it wrote, before and after the race.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "base/span.h"
#include "search/candidate.h"
#include "search/in_process_runner.h"
#include "tuneonce/autotune_policy.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Runs before the race. An unwritten element shows in one of two. A kernel without a fixed order of summation is
/// verified once more.
constexpr std::initializer_list<int> kFirstRuns = {1, 1};
constexpr std::initializer_list<int> kFirstRunsUnordered = {1, 1, 1};
constexpr std::initializer_list<int> kOneRun = {1};  // Nothing is compared.
/// The poison for candidates in runs at other dims and data, which launch each config once. Elements that a candidate
/// leaves unwritten then hold a number that few results are, also where the result is NaN, and the reference's hold
/// NaN. After a failure kFirstRuns tell whose fault it is.
constexpr int kQuickPoison = 1;
/// Runs before the race of a launcher of the host's. It runs once more before it is timed, possibly in a capture,
/// because its first launch may load, compile or allocate.
constexpr std::initializer_list<int> kFirstRunsOfCallable = {2, 1};
constexpr std::initializer_list<int> kFirstRunsOfUnorderedCallable = {2, 1, 1};
constexpr std::initializer_list<int> kOneTimedRunOfCallable = {2};
/// Launches after the race, back to back without restoring memory in between, which shows state that a kernel keeps
/// between launches. The results of the 1st, 2nd and 6th launch are compared. They have all remainders by 2 and by 3,
/// so a fault in every second or third launch shows too.
constexpr std::initializer_list<int> kLastRuns = {1, 1, 4};
constexpr int Sum(std::initializer_list<int> bursts) {
  int sum = 0;
  for (int launches : bursts) sum += launches;
  return sum;
}
static_assert(Sum(kLastRuns) == CandidateRunner::kLaunchesToCheckAgain);

}  // namespace

Result<std::optional<InProcessRunner::Finding>> InProcessRunner::Run(Trial& trial, int launches, int poison,
                                                                     bool timed) {
  Span span(trace_, "warm-up", timed ? "run, timed" : "run");
  unsigned char byte = ArrayComparer::kPoisons[static_cast<std::size_t>(poison)];
  if (timed) TUNEONCE_RETURN_IF_ERROR(OpenTimer());  // First what may move memory.
  TUNEONCE_RETURN_IF_ERROR(Bind(trial));
  bool has_workspaces = GuardedMemory::BytesFor(trial.workspaces) > 0;
  if (has_workspaces) {
    workspaces_->LayOut(trial.workspaces);
    TUNEONCE_RETURN_IF_ERROR(workspaces_->Arm(comparer_));
    for (std::size_t i = 0; i < trial.workspaces.size(); ++i) TUNEONCE_RETURN_IF_ERROR(workspaces_->Fill(i, byte));
  }
  TUNEONCE_RETURN_IF_ERROR(trial.tensors().Poison(byte));
  TimedRun run = trial.Timed(stream_.api());
  for (int launch = timed ? 1 : 0; launch < launches; ++launch) {
    if (run.prepare) TUNEONCE_RETURN_IF_ERROR(run.prepare(stream_.get()));
    ++num_untimed_;
    TUNEONCE_RETURN_IF_ERROR(run.launch(stream_.get()));
  }
  if (timed) {
    Result<std::vector<double>> times = SampleInSession({&trial});
    if (times.status().code() == StatusCode::kUnavailable && TimeInAnotherWay()) times = SampleInSession({&trial});
    TUNEONCE_RETURN_IF_ERROR(times.status());
    trial.warmup_us = times->front();
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<StrayWrite> stray_write,
                            trial.tensors().FindStrayWrite(has_workspaces ? &*workspaces_ : nullptr, byte));
  if (!stray_write) return std::optional<Finding>();
  return std::optional<Finding>({stray_write->kind, std::move(stray_write->message)});
}

Result<std::optional<InProcessRunner::Finding>> InProcessRunner::RunAndCheck(Trial& trial,
                                                                             std::initializer_list<int> bursts,
                                                                             bool timed, Against against,
                                                                             OutputCheck& check, int first_poison) {
  Span span(trace_, "verify", "run and verify");
  const bool makes_reference = against == Against::kFirstRun;
  for (std::size_t i = 0; i < bursts.size(); ++i) {
    int poison = static_cast<int>((static_cast<std::size_t>(first_poison) + i) % ArrayComparer::kPoisons.size());
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<Finding> finding, Run(trial, bursts.begin()[i], poison, timed));
    if (finding) return finding;
    if (against == Against::kNothing) continue;
    if (i == 0 && against != Against::kReference) {
      Status kept = WithRoom([&] { return check.Keep(trial.definition(), trial.tensors()); });
      if (against == Against::kItself && kept.code() == StatusCode::kResourceExhausted) {
        Note("unwritten elements were not detected: there is too little memory for a copy of the outputs");
      } else if (!kept.ok()) {
        return kept.WithPrefix("the reference");
      }
    } else if (against == Against::kItself) {
      if (i == 1) {
        TUNEONCE_ASSIGN_OR_RETURN(finding, check.FindUnwritten(trial.definition(), trial.tensors()));
      }
    } else {
      TUNEONCE_ASSIGN_OR_RETURN(finding,
                                check.Check(trial.definition(), trial.tensors(), poison,
                                            makes_reference ? "its own first run" : "the reference", &trial.largest));
    }
    if (finding) {
      const bool is_compared = against == Against::kReference && finding->kind == OutcomeKind::kWrongResult;
      // The copies are of first runs, whose scratch is poisoned alike.
      if (timed && i == 0 && is_compared) TUNEONCE_RETURN_IF_ERROR(NoteDissent(trial));
      return finding;
    }
    if (makes_reference && i == 1) {
      TUNEONCE_RETURN_IF_ERROR(WithRoom([&] { return check.KeepPartial(trial.definition(), trial.tensors()); }));
    }
  }
  return std::optional<Finding>();
}

Result<std::optional<InProcessRunner::Finding>> InProcessRunner::RunAndCheck(Trial& trial,
                                                                             std::initializer_list<int> bursts,
                                                                             bool timed, bool makes_reference) {
  if (options_.verify == Verify::kOff) return RunAndCheck(trial, bursts, timed, Against::kNothing, check_);
  if (makes_reference) return RunAndCheck(trial, bursts, timed, Against::kFirstRun, check_);
  if (has_baseline_ || !options_.reference.empty()) {
    return RunAndCheck(trial, bursts, timed, Against::kReference, check_);
  }
  // Without any reference: a first run of its own shows what the second does not write either.
  OutputCheck alone(stream_, memory_, comparer_);
  return RunAndCheck(trial, bursts, timed, Against::kItself, alone);
}

Result<std::optional<InProcessRunner::Finding>> InProcessRunner::VerifyOne(const Candidate& candidate,
                                                                           const std::shared_ptr<Scratch>& scratch,
                                                                           Against against, bool is_quick,
                                                                           OutputCheck& check) {
  TUNEONCE_RETURN_IF_ERROR(CheckGeometry(candidate));
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<const LoadedKernel> loaded, LoadOnce(candidate));
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<Trial> trial, MakeTrial(candidate, scratch));
  trial->loaded = std::move(loaded);
  const int first_poison = is_quick && against == Against::kReference ? kQuickPoison : 0;
  Result<std::optional<Finding>> found =
      RunAndCheck(*trial, is_quick ? kOneRun : kFirstRuns, /*timed=*/false, against, check, first_poison);
  // The trial's code may be unloaded with it: nothing may run any more.
  Status finished = stream_.Synchronize();
  return found.ok() && !finished.ok() ? Result<std::optional<Finding>>(finished) : found;
}

VerifiedTogether InProcessRunner::VerifyTogether(const std::vector<const Candidate*>& candidates,
                                                 bool first_is_reference) {
  VerifiedTogether verified;
  verified.failures.resize(candidates.size());
  const Candidate& first = *candidates.front();
  InputCopies inputs(memory_, comparer_, stream_);
  auto make_scratch = [&] {
    return TrialTensors::Create(*first.definition, first.call, memory_, inputs, comparer_, stream_);
  };
  // If there is too little memory here, the verification has a gap. The trials keep their copies.
  const bool may_drop_copies = std::exchange(may_drop_copies_, false);
  absl::Cleanup restore = [&] { may_drop_copies_ = may_drop_copies; };
  Result<TrialTensors> tensors = make_scratch();
  if (tensors.ok() && inputs.lacks_copies()) {
    tensors = ResourceExhaustedError("there is too little memory for copies of the inputs");
  }
  if (!tensors.ok()) {
    PreparedTrial failed = Fail(first, OutcomeKind::kResources, tensors.status());
    verified.fatal = failed.fatal;
    std::fill(verified.failures.begin(), verified.failures.end(), failed.failure);
    return verified;
  }
  auto scratch = std::make_shared<Scratch>(Scratch{first.definition, first.call, *std::move(tensors)});
  const std::vector<Parameter>& parameters = first.definition->parameters();
  const bool has_partial_outputs =
      std::any_of(parameters.begin(), parameters.end(), [](const Parameter& each) { return each.may_be_partial; });
  const bool is_compared = first_is_reference && options_.verify == Verify::kAgainstBaseline;
  const bool may_be_quick = is_compared && !has_partial_outputs && !first.definition->is_unordered();
  const bool is_passed =
      may_be_quick && VerifyAll(candidates, first_is_reference, scratch, /*is_quick=*/true, &verified);
  if (!is_passed && verified.fatal.ok()) {
    std::vector<std::optional<CandidateOutcome>> found = std::exchange(verified.failures, {});
    VerifyAll(candidates, first_is_reference, scratch, /*is_quick=*/false, &verified);
    // A result that was incorrect once remains so, unless the fault is the reference's.
    const bool has_reference = first_is_reference && !verified.failures.front();
    for (std::size_t i = 1; has_reference && i < found.size(); ++i) {
      if (!verified.failures[i]) verified.failures[i] = std::move(found[i]);
    }
  }
  scratch = nullptr;
  FreeUnused();
  return verified;
}

bool InProcessRunner::VerifyAll(const std::vector<const Candidate*>& candidates, bool first_is_reference,
                                const std::shared_ptr<Scratch>& scratch, bool is_quick, VerifiedTogether* verified) {
  OutputCheck check(stream_, memory_, comparer_);
  const bool compares = options_.verify == Verify::kAgainstBaseline;
  verified->failures.assign(candidates.size(), std::nullopt);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = *candidates[i];
    if (i > 0 && first_is_reference && compares && verified->failures.front()) {
      verified->failures[i] = CandidateOutcome::Failed(candidate.config, OutcomeKind::kNotVerified,
                                                       "the reference failed: " + verified->failures.front()->message);
      continue;
    }
    Against against = first_is_reference ? Against::kReference : Against::kItself;
    if (i == 0 && first_is_reference) against = Against::kFirstRun;
    if (!compares) against = Against::kNothing;
    OutputCheck alone(stream_, memory_, comparer_);
    Result<std::optional<Finding>> found =
        VerifyOne(candidate, scratch, against, is_quick, against == Against::kItself ? alone : check);
    if (!found.ok()) {
      PreparedTrial failed = Fail(candidate, OutcomeKind::kRun, found.status());
      verified->failures[i] = std::move(failed.failure);
      verified->fatal = failed.fatal;
      if (!verified->fatal.ok()) return false;
    } else if (*found) {
      verified->failures[i] = CandidateOutcome::Failed(candidate.config, (*found)->kind, (*found)->message);
    }
    if (is_quick && verified->failures[i]) return false;
  }
  return true;
}

Result<std::shared_ptr<const LoadedKernel>> InProcessRunner::LoadOnce(const Candidate& candidate) {
  for (const std::unique_ptr<Trial>& trial : trials_) {
    if (trial == nullptr || trial->loaded == nullptr || candidate.is_callable()) continue;
    const Candidate& other = *trial->candidate;
    const bool is_same = other.variant_name() == candidate.variant_name() &&
                         other.artifact.symbol == candidate.artifact.symbol &&
                         other.geometry.shared_memory_bytes == candidate.geometry.shared_memory_bytes &&
                         other.artifact.image == candidate.artifact.image;
    if (is_same) return trial->loaded;
  }
  return LoadCandidate(stream_.api(), candidate);
}

Status InProcessRunner::NoteDissent(Trial& trial) {
  if (has_agreement_) return Status();
  const Candidate& candidate = *trial.candidate;
  Fingerprinter code;
  code.Add(candidate.artifact.image);
  if (candidate.is_callable()) code.Add(candidate.config.Canonical());  // The host's code cannot be compared.
  TUNEONCE_ASSIGN_OR_RETURN(trial.num_dissenting, dissents_.Add(trial.definition(), trial.tensors(), code.Finish()));
  return Status();
}

Status InProcessRunner::SeeToReference(const Trial& trial) {
  if (options_.verify == Verify::kOff) return Status();
  bool is_given = !options_.reference.empty();
  if (inputs_.num_damaged() > damage_seen_) {
    damage_seen_ = inputs_.num_damaged();
    if (is_given && has_reference_)
      no_reference_ = "the given reference no longer matches the inputs, because a candidate damaged one of them";
    if (baseline_ != nullptr) {
      Result<std::optional<Finding>> renewed =
          RunAndCheck(*baseline_, kFirstRuns, /*timed=*/false, /*makes_reference=*/true);
      TUNEONCE_RETURN_IF_ERROR(renewed.status());
      if (*renewed) no_reference_ = "the baseline failed when it ran again: " + (*renewed)->message;
    }
  }
  if (!is_given || has_reference_) return Status();
  TUNEONCE_RETURN_IF_ERROR(
      WithRoom([&] { return check_.KeepGiven(trial.definition(), trial.tensors(), options_.reference); }));
  has_reference_ = true;
  return Status();
}

Result<std::optional<InProcessRunner::Finding>> InProcessRunner::RunFirst(Trial& trial, bool makes_reference) {
  TUNEONCE_RETURN_IF_ERROR(SeeToReference(trial));
  if (!no_reference_.empty() && !makes_reference) {
    return std::optional<Finding>({OutcomeKind::kNotVerified, NotVerified()});
  }
  bool is_callable = trial.candidate->is_callable();
  std::initializer_list<int> runs = is_callable ? kFirstRunsOfCallable : kFirstRuns;
  if (trial.definition().is_unordered()) runs = is_callable ? kFirstRunsOfUnorderedCallable : kFirstRunsUnordered;
  if (options_.verify == Verify::kOff) runs = is_callable ? kOneTimedRunOfCallable : kOneRun;
  return RunAndCheck(trial, runs, /*timed=*/true, makes_reference);
}

PreparedTrial InProcessRunner::Checked(const Trial& trial, const Result<std::optional<Finding>>& checked) const {
  OutcomeKind kind = trial.launch_refused ? OutcomeKind::kLaunch : OutcomeKind::kRun;
  if (!checked.ok()) return Fail(*trial.candidate, kind, checked.status());
  if (*checked) {
    PreparedTrial failed = Fail(*trial.candidate, (*checked)->kind, InternalError((*checked)->message));
    failed.num_dissenting = trial.num_dissenting;
    return failed;
  }
  PreparedTrial result;
  result.warmup_us = trial.warmup_us;
  result.largest_difference = trial.largest;
  return result;
}

PreparedTrial InProcessRunner::CheckAgain(PreparedTrial prepared) {
  Trial& trial = *trials_[prepared.trial];
  auto check = [&]() -> Result<std::optional<Finding>> {
    // Restores what any candidate wrote during the race, which is not this one's fault.
    TUNEONCE_RETURN_IF_ERROR(trial.tensors().FindStrayWrite(nullptr).status());
    TUNEONCE_RETURN_IF_ERROR(SeeToReference(trial));
    if (!no_reference_.empty()) return std::optional<Finding>();  // Its outputs were compared before.
    return RunAndCheck(trial, kLastRuns, /*timed=*/false, /*makes_reference=*/false);
  };
  PreparedTrial checked = WithDamage(Checked(trial, check()), "in the race or after it");
  if (checked.failure) {
    checked.failure->message = "after the race: " + checked.failure->message;
    return checked;
  }
  prepared.fatal = checked.fatal;
  prepared.largest_difference = trial.largest;
  return prepared;
}

}  // namespace v0
}  // namespace tuneonce
