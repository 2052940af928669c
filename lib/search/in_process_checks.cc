// InProcessRunner's checks: runs of a trial in poisoned memory, and what they wrote, before the race and after it.
#include <initializer_list>

#include "base/span.h"
#include "search/candidate.h"
#include "search/in_process_runner.h"
#include "search/in_process_trial.h"
#include "tuneonce/search_options.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Runs before the race: what is not written shows in one of two. A kernel whose order of summation is not fixed is
/// checked once more.
constexpr std::initializer_list<int> kFirstRuns = {1, 1};
constexpr std::initializer_list<int> kFirstRunsUnordered = {1, 1, 1};
constexpr std::initializer_list<int> kOneRun = {1};  // Nothing is compared.
/// The same for what the host launches: once more before it is timed, in a capture perhaps, since what it loads,
/// compiles or allocates at its first launch is its own business.
constexpr std::initializer_list<int> kFirstRunsOfCallable = {2, 1};
constexpr std::initializer_list<int> kFirstRunsOfUnorderedCallable = {2, 1, 1};
constexpr std::initializer_list<int> kOneTimedRunOfCallable = {2};
/// Launches after the race, back to back, between which nothing is put right: what a kernel keeps from one launch to
/// the next shows. What is compared is what the 1st, 2nd and 6th of them leave: one of each remainder by 2 and by 3, so
/// that what comes back every second or third time shows too, whatever ran before.
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
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<TrialTensors::Trespass> trespass,
                            trial.tensors().FindTrespass(has_workspaces ? &*workspaces_ : nullptr));
  if (!trespass) return std::optional<Finding>();
  return std::optional<Finding>({trespass->kind, std::move(trespass->message)});
}

Result<std::optional<InProcessRunner::Finding>> InProcessRunner::RunAndCheck(Trial& trial,
                                                                             std::initializer_list<int> bursts,
                                                                             bool timed, bool makes_reference) {
  Span span(trace_, "verify", "run and verify");
  bool compares = options_.verify == Verify::kAgainstBaseline;
  // Without any reference: a first run of its own shows what the second does not write either.
  bool is_alone = compares && options_.reference.empty() && !has_baseline_;
  OutputCheck alone(stream_, memory_, comparer_);
  OutputCheck& check = is_alone ? alone : check_;
  for (std::size_t i = 0; i < bursts.size(); ++i) {
    int poison = static_cast<int>(i % ArrayComparer::kPoisons.size());
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<Finding> finding, Run(trial, bursts.begin()[i], poison, timed));
    if (finding) return finding;
    if (!compares) continue;
    if (i == 0 && (makes_reference || is_alone)) {
      Status kept = WithRoom([&] { return check.Keep(trial.definition(), trial.tensors()); });
      if (is_alone && kept.code() == StatusCode::kResourceExhausted) {
        Note("elements that nobody writes were not looked for: there is no memory for a copy of the outputs");
      } else if (!kept.ok()) {
        return kept.WithPrefix("the reference");
      }
    } else if (is_alone) {
      if (i == 1) {
        TUNEONCE_ASSIGN_OR_RETURN(finding, alone.FindUnwritten(trial.definition(), trial.tensors()));
      }
    } else {
      TUNEONCE_ASSIGN_OR_RETURN(finding,
                                check_.Check(trial.definition(), trial.tensors(), poison,
                                             makes_reference ? "its own first run" : "the reference", &trial.largest));
    }
    if (finding) return finding;
    if (makes_reference && i == 1) {
      TUNEONCE_RETURN_IF_ERROR(WithRoom([&] { return check_.KeepPartial(trial.definition(), trial.tensors()); }));
    }
  }
  return std::optional<Finding>();
}

Status InProcessRunner::SeeToReference(const Trial& trial) {
  if (options_.verify == Verify::kOff) return Status();
  bool is_given = !options_.reference.empty();
  if (inputs_.num_damaged() > damage_seen_) {
    damage_seen_ = inputs_.num_damaged();
    if (is_given && has_reference_)
      no_reference_ = "the reference is not for the inputs as they are since one was damaged";
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
    return std::optional<Finding>({FailureKind::kNotVerified, NotVerified()});
  }
  bool is_callable = trial.candidate->is_callable();
  std::initializer_list<int> runs = is_callable ? kFirstRunsOfCallable : kFirstRuns;
  if (trial.definition().is_unordered()) runs = is_callable ? kFirstRunsOfUnorderedCallable : kFirstRunsUnordered;
  if (options_.verify == Verify::kOff) runs = is_callable ? kOneTimedRunOfCallable : kOneRun;
  return RunAndCheck(trial, runs, /*timed=*/true, makes_reference);
}

PreparedTrial InProcessRunner::Checked(const Trial& trial, const Result<std::optional<Finding>>& checked) const {
  FailureKind kind = trial.launch_refused ? FailureKind::kLaunch : FailureKind::kRun;
  if (!checked.ok()) return Fail(*trial.candidate, kind, checked.status());
  if (*checked) return Fail(*trial.candidate, (*checked)->kind, InternalError((*checked)->message));
  PreparedTrial result;
  result.warmup_us = trial.warmup_us;
  result.largest_difference = trial.largest;
  return result;
}

PreparedTrial InProcessRunner::CheckAgain(PreparedTrial prepared) {
  Trial& trial = *trials_[prepared.trial];
  auto check = [&]() -> Result<std::optional<Finding>> {
    // What some candidate or other wrote during the race is put right, and is not this one's fault.
    TUNEONCE_RETURN_IF_ERROR(trial.tensors().FindTrespass(nullptr).status());
    TUNEONCE_RETURN_IF_ERROR(SeeToReference(trial));
    if (!no_reference_.empty()) return std::optional<Finding>();  // It was compared before.
    return RunAndCheck(trial, kLastRuns, /*timed=*/false, /*makes_reference=*/false);
  };
  PreparedTrial checked = Checked(trial, check());
  if (checked.failure) {
    checked.failure->message = "after the race: " + checked.failure->message;
    return checked;
  }
  prepared.largest_difference = trial.largest;
  return prepared;
}

}  // namespace v0
}  // namespace tuneonce
