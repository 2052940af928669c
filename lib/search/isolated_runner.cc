#include "search/isolated_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/driver_api.h"
#include "search/candidate.h"
#include "search/trial_description.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Rounds of the race that may be lost before trials are sampled one by one, so that it is known whose fault it is.
constexpr int kMostRoundsLost = 2;

constexpr std::int64_t kMostDissenting = 1 << 30;  // A worker's number is not trusted.

CandidateOutcome FailureOf(const Candidate& candidate, OutcomeKind kind, const Status& status) {
  if (status.code() == StatusCode::kResourceExhausted) kind = OutcomeKind::kResources;
  return CandidateOutcome::Failed(candidate.config, kind, status.message(), IsTransient(status.code()));
}

PreparedTrial Failed(CandidateOutcome failure) {
  PreparedTrial prepared;
  prepared.failure = std::move(failure);
  return prepared;
}

/// Returns the failure for a missing reference, where `why` is the error of the baseline.
CandidateOutcome NotVerified(const Candidate& candidate, const Status& why) {
  return CandidateOutcome::Failed(candidate.config, OutcomeKind::kNotVerified,
                                  "the baseline failed when it ran again: " + why.message());
}

/// Takes over what a worker found of a trial, and leaves of `reply` the rest.
void TakeFinding(const Candidate& candidate, TrialReply& reply, PreparedTrial* prepared) {
  if (reply.failure) {
    prepared->failure = std::move(reply.failure);
    prepared->failure->config = candidate.config;
    prepared->num_dissenting = static_cast<int>(std::clamp<std::int64_t>(reply.num_dissenting, 0, kMostDissenting));
  } else if (!reply.status.ok()) {
    prepared->failure = FailureOf(candidate, OutcomeKind::kRun, reply.status);
  } else {
    prepared->largest_difference = std::move(reply.largest_difference);
  }
}

/// Checks as much of a candidate's parameters as possible without loading it, because the worker has no source.
Status CheckSourceOf(const Candidate& candidate) {
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout, LayoutOf(candidate));
  return CheckParameters(layout, candidate);
}

}  // namespace

IsolatedRunner::IsolatedRunner(std::unique_ptr<TrialWorker> worker, std::shared_ptr<Runtime> runtime,
                               const Device& device, StreamView stream, const SearchOptions& options,
                               const TrialMemory& memory, bool has_baseline, TrialTiming timing)
    : runtime_(std::move(runtime)),
      device_(device),
      stream_(stream),
      options_(options),
      memory_(memory),
      has_baseline_(has_baseline),
      timing_(timing),
      worker_(std::move(worker)),
      wants_baseline_(options.verify == Verify::kAgainstBaseline && options.reference.empty() && has_baseline) {}

IsolatedRunner::~IsolatedRunner() = default;

CandidateOutcome IsolatedRunner::LossBy(const Candidate& candidate) const {
  return CandidateOutcome::Failed(candidate.config, last_loss_.kind, last_loss_.how, /*is_transient=*/false);
}

PreparedTrial IsolatedRunner::PrepareThere(const Candidate& candidate, bool is_baseline, std::uint64_t* number) {
  PreparedTrial prepared = PrepareOnce(candidate, is_baseline, number);
  if (!prepared.failure || !LostByOthers()) return prepared;
  if (!EnsureWorker().ok()) return prepared;
  if (!is_baseline && baseline_ && !Revive(trials_[*baseline_]).ok()) return prepared;
  return PrepareOnce(candidate, is_baseline, number);
}

PreparedTrial IsolatedRunner::PrepareOnce(const Candidate& candidate, bool is_baseline, std::uint64_t* number) {
  Result<TrialDescription> described = TrialDescription::Of(candidate);
  if (!described.ok()) return Failed(FailureOf(candidate, OutcomeKind::kRun, described.status()));
  Status placed = tensors_.Place(
      candidate, [this](std::size_t bytes) { return Allocate(bytes); }, stream_, &*described);
  // Memory cannot be opened, either, of a worker that has ended since it gave it.
  const bool may_be_gone = !placed.ok() && !placed.sticky() && worker_ != nullptr;
  if (may_be_gone && !Ask(TrialMessage::kPing, "").ok() && over_.ok()) return Failed(LossBy(candidate));
  if (!placed.ok()) {
    PreparedTrial prepared = Failed(FailureOf(candidate, OutcomeKind::kRun, placed));
    if (placed.sticky()) prepared.fatal = placed;  // This process's own context was lost.
    if (!over_.ok()) prepared.fatal = over_;
    return prepared;
  }
  PrepareRequest request;
  request.trial = *std::move(described);
  request.is_baseline = is_baseline;
  Result<TrialReply> reply =
      Ask(TrialMessage::kPrepare, EncodeMessage(request), 0, "{" + candidate.config.ToString() + "}");
  PreparedTrial prepared;
  if (!reply.ok() && !over_.ok()) {
    prepared.fatal = over_;
  } else if (!reply.ok()) {
    prepared.failure = LossBy(candidate);
  } else {
    TakeFinding(candidate, *reply, &prepared);
    prepared.warmup_us = reply->warmup_us;
    *number = reply->trial;
  }
  if (prepared.fatal.code() == StatusCode::kCancelled) prepared.failure = LossBy(candidate);
  return prepared;
}

Status IsolatedRunner::FailTrial(Trial& trial, CandidateOutcome failure) {
  trial.failure = std::move(failure);
  return InternalError(trial.failure->message);
}

Status IsolatedRunner::Revive(Trial& trial) {
  if (trial.failure) return InternalError(trial.failure->message);
  TUNEONCE_RETURN_IF_ERROR(EnsureWorker());
  if (trial.generation == generation_) return Status();
  Trial* reference = baseline_ ? &trials_[*baseline_] : nullptr;
  if (reference != nullptr && reference != &trial) {
    if (Status revived = Revive(*reference); !revived.ok()) {
      if (!over_.ok()) return over_;
      return FailTrial(trial, NotVerified(*trial.candidate, revived));
    }
  }
  PreparedTrial again = PrepareThere(*trial.candidate, trial.is_baseline, &trial.in_worker);
  TUNEONCE_RETURN_IF_ERROR(again.fatal);
  if (again.failure) return FailTrial(trial, *std::move(again.failure));
  trial.generation = generation_;
  return Status();
}

PreparedTrial IsolatedRunner::Prepare(const Candidate& candidate, bool is_baseline) {
  if (std::string why_not = WhyNotIsolated(candidate); !why_not.empty()) {
    return Failed(FailureOf(candidate, OutcomeKind::kRun, FailedPreconditionError(std::move(why_not))));
  }
  if (Status geometry = CheckGeometry(candidate); !geometry.ok()) {
    return Failed(FailureOf(candidate, OutcomeKind::kLaunch, geometry));
  }
  if (Status source = CheckSourceOf(candidate); !source.ok()) {
    return Failed(FailureOf(candidate, OutcomeKind::kLoad, source));
  }
  PreparedTrial prepared;
  prepared.fatal = EnsureWorker();
  if (!prepared.fatal.ok()) {
    prepared.failure = FailureOf(candidate, OutcomeKind::kRun, prepared.fatal);
    return prepared;
  }
  if (baseline_ && !is_baseline) {
    if (Status reference = Revive(trials_[*baseline_]); !reference.ok()) {
      prepared = Failed(NotVerified(candidate, reference));
      prepared.fatal = over_;
      return prepared;
    }
  }
  Trial trial;
  trial.candidate = &candidate;
  trial.is_baseline = is_baseline;
  prepared = PrepareThere(candidate, is_baseline, &trial.in_worker);
  if (prepared.failure) return prepared;
  trial.generation = generation_;
  trial.warmup_us = prepared.warmup_us;
  if (is_baseline && wants_baseline_) {
    wants_baseline_ = false;
    baseline_ = trials_.size();
  }
  prepared.trial = trials_.size();
  trials_.push_back(std::move(trial));
  return prepared;
}

template <typename Encode>
Result<TrialReply> IsolatedRunner::AskAbout(const std::vector<std::size_t>& trials, TrialMessage kind,
                                            const Encode& encode, double expected_us) {
  for (bool is_again = false;; is_again = true) {
    for (std::size_t trial : trials) TUNEONCE_RETURN_IF_ERROR(Revive(trials_[trial]));
    Result<TrialReply> reply = Ask(kind, encode(), expected_us);
    const bool may_be_by_others = LostByOthers() || (trials.size() == 1 && LostAmongOthers());
    if (reply.ok() || is_again || !may_be_by_others) return reply;
  }
}

Result<std::vector<double>> IsolatedRunner::SampleTogether(const std::vector<std::size_t>& trials) {
  double expected_us = 0;
  for (std::size_t trial : trials) expected_us += trials_[trial].warmup_us;
  auto encode = [&] {
    SampleRequest request;
    for (std::size_t trial : trials) request.trials.push_back(trials_[trial].in_worker);
    return EncodeMessage(request);
  };
  Result<TrialReply> reply = AskAbout(trials, TrialMessage::kSample, encode, expected_us);
  if (!over_.ok()) return over_;
  if (!reply.ok()) {
    const bool was_lost = worker_ == nullptr;
    Trial& first = trials_[trials.front()];
    if (was_lost && trials.size() == 1 && !first.failure) return FailTrial(first, LossBy(*first.candidate));
    rounds_lost_ += was_lost ? 1 : 0;
    return InternalError(reply.status().message());
  }
  TUNEONCE_RETURN_IF_ERROR(reply->status);
  if (reply->times_us.size() != trials.size())
    return InternalError(
        absl::StrCat("the worker process returned ", reply->times_us.size(), " times for ", trials.size(), " trials"));
  return std::move(reply->times_us);
}

Result<std::vector<double>> IsolatedRunner::Sample(const std::vector<std::size_t>& trials) {
  if (rounds_lost_ < kMostRoundsLost || trials.size() == 1) return SampleTogether(trials);
  std::vector<double> times_us;
  for (std::size_t trial : trials) {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<double> alone, SampleTogether({trial}));
    times_us.push_back(alone.front());
  }
  return times_us;
}

Status IsolatedRunner::Burst(std::size_t trial, std::int64_t launches) {
  auto encode = [&] { return EncodeMessage(BurstRequest{trials_[trial].in_worker, launches}); };
  const double expected_us = trials_[trial].warmup_us * static_cast<double>(launches);
  Result<TrialReply> reply = AskAbout({trial}, TrialMessage::kBurst, encode, expected_us);
  if (!over_.ok()) return over_;
  return reply.ok() ? reply->status : InternalError(reply.status().message());
}

OutcomeKind IsolatedRunner::LossOf(std::size_t trial) const {
  const std::optional<CandidateOutcome>& failure = trials_[trial].failure;
  return failure ? failure->kind : OutcomeKind::kRun;
}

PreparedTrial IsolatedRunner::CheckAgain(PreparedTrial prepared) {
  Trial& trial = trials_[prepared.trial];
  auto encode = [&] {
    TrialRequest request;
    request.trial = trial.in_worker;
    return EncodeMessage(request);
  };
  Result<TrialReply> reply =
      AskAbout({prepared.trial}, TrialMessage::kCheckAgain, encode, kLaunchesToCheckAgain * trial.warmup_us);
  prepared.fatal = over_;
  if (!reply.ok()) {
    if (!trial.failure) trial.failure = LossBy(*trial.candidate);
    trial.failure->message = "after the race: " + trial.failure->message;
    prepared.failure = trial.failure;
  } else {
    TakeFinding(*trial.candidate, *reply, &prepared);
  }
  return prepared;
}

Result<VerifiedTogether> IsolatedRunner::VerifyOnce(const std::vector<const Candidate*>& candidates,
                                                    bool first_is_reference) {
  VerifiedTogether verified;
  verified.failures.resize(candidates.size());
  TUNEONCE_RETURN_IF_ERROR(EnsureWorker());
  VerifyRequest request;
  request.first_is_reference = first_is_reference;
  WorkerTensors tensors;  // The call's alone, whose memory is freed with it.
  for (const Candidate* candidate : candidates) {
    TUNEONCE_ASSIGN_OR_RETURN(TrialDescription described, TrialDescription::Of(*candidate));
    TUNEONCE_RETURN_IF_ERROR(tensors.Place(
        *candidate, [this](std::size_t bytes) { return Allocate(bytes, /*is_for_verify=*/true); }, stream_,
        &described));
    request.trials.push_back(std::move(described));
  }
  TUNEONCE_ASSIGN_OR_RETURN(TrialReply reply, Ask(TrialMessage::kVerify, EncodeMessage(request), 0,
                                                  "{" + candidates.back()->config.ToString() + "}"));
  TUNEONCE_RETURN_IF_ERROR(reply.status);
  for (std::size_t i = 0; i < std::min(reply.failed.size(), reply.failures.size()); ++i) {
    if (reply.failed[i] >= candidates.size())
      return InternalError("the worker process reported a failure of a candidate that it was not asked to verify");
    std::optional<CandidateOutcome>& failure = verified.failures[static_cast<std::size_t>(reply.failed[i])];
    failure = std::move(reply.failures[i]);
    failure->config = candidates[static_cast<std::size_t>(reply.failed[i])]->config;
  }
  return verified;
}

VerifiedTogether IsolatedRunner::VerifyOneByOne(const std::vector<const Candidate*>& candidates,
                                                bool first_is_reference) {
  VerifiedTogether verified;
  verified.failures.resize(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const bool has_reference = first_is_reference && i > 0;
    const Candidate& candidate = *candidates[i];
    if (has_reference && verified.failures.front()) {
      verified.failures[i] = NotVerified(candidate, InternalError(verified.failures.front()->message));
      continue;
    }
    std::vector<const Candidate*> alone = {&candidate};
    if (has_reference) alone.insert(alone.begin(), candidates.front());
    Result<VerifiedTogether> of_one = VerifyOnce(alone, first_is_reference);
    if (of_one.ok()) {
      verified.failures[i] = std::move(of_one->failures.back());
      continue;
    }
    verified.fatal = over_;
    verified.failures[i] =
        worker_ == nullptr ? LossBy(candidate) : FailureOf(candidate, OutcomeKind::kRun, of_one.status());
    if (!verified.fatal.ok()) return verified;
  }
  return verified;
}

VerifiedTogether IsolatedRunner::VerifyTogether(const std::vector<const Candidate*>& candidates,
                                                bool first_is_reference) {
  Result<VerifiedTogether> verified = VerifyOnce(candidates, first_is_reference);
  if (verified.ok()) return *std::move(verified);
  const bool was_lost = worker_ == nullptr && over_.ok();
  if (was_lost) return VerifyOneByOne(candidates, first_is_reference);
  VerifiedTogether failed;
  failed.fatal = over_;
  if (verified.status().sticky()) failed.fatal = verified.status();  // This process's own context was lost.
  for (const Candidate* candidate : candidates) {
    failed.failures.push_back(FailureOf(*candidate, OutcomeKind::kRun, verified.status()));
  }
  return failed;
}

void IsolatedRunner::Release(std::size_t index) {
  Trial& trial = trials_[index];
  if (worker_ != nullptr && has_begun_ && trial.generation == generation_) {
    TrialRequest request;
    request.trial = trial.in_worker;
    worker_->Tell(TrialMessage::kRelease, EncodeMessage(request));
  }
  trial.generation = -1;
  if (baseline_ == index) baseline_.reset();
  if (!trial.failure)
    trial.failure = CandidateOutcome::Failed(trial.candidate->config, OutcomeKind::kRun,
                                             "the candidate was already released and cannot run again");
}

bool IsolatedRunner::TimeInAnotherWay() {
  if (uses_events_ || worker_ == nullptr) return false;
  Result<TrialReply> reply = Ask(TrialMessage::kTimeInAnotherWay, "");
  uses_events_ = reply.ok() && reply->is_done;
  return uses_events_;
}

}  // namespace v0
}  // namespace tuneonce
