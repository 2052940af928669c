#include "runtime/recorded_result.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "measure/race.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
inline namespace v0 {
namespace {

CandidateOutcome::Kind OutcomeOf(FailureKind kind) {
  switch (kind) {
    case FailureKind::kCompile:
      return CandidateOutcome::Kind::kCompile;
    case FailureKind::kLoad:
      return CandidateOutcome::Kind::kLoad;
    case FailureKind::kResources:
      return CandidateOutcome::Kind::kResources;
    case FailureKind::kLaunch:
      return CandidateOutcome::Kind::kLaunch;
    case FailureKind::kRun:
      return CandidateOutcome::Kind::kRun;
    case FailureKind::kWrongResult:
      return CandidateOutcome::Kind::kWrongResult;
    case FailureKind::kOutOfBounds:
      return CandidateOutcome::Kind::kOutOfBounds;
    case FailureKind::kNotWritten:
      return CandidateOutcome::Kind::kNotWritten;
    case FailureKind::kWroteInput:
      return CandidateOutcome::Kind::kWroteInput;
    case FailureKind::kNotVerified:
      return CandidateOutcome::Kind::kNotVerified;
    case FailureKind::kCrash:
      return CandidateOutcome::Kind::kCrash;
    case FailureKind::kTimeout:
      return CandidateOutcome::Kind::kTimeout;
    case FailureKind::kProtocol:
      return CandidateOutcome::Kind::kProtocol;
  }
  return CandidateOutcome::Kind::kRun;
}

CandidateOutcome OutcomeOf(const Config& config, CandidateOutcome::Kind kind) {
  CandidateOutcome outcome;
  outcome.config = config;
  outcome.kind = kind;
  return outcome;
}

CandidateOutcome OutcomeOf(const Success& success) {
  CandidateOutcome outcome = OutcomeOf(success.config, CandidateOutcome::Kind::kMeasured);
  outcome.variant = success.variant;
  outcome.identity = success.identity;
  outcome.mean_us = success.measurement.mean_us;
  outcome.error_margin_us = success.measurement.error_margin_us;
  outcome.num_samples = success.measurement.num_samples;
  return outcome;
}

std::vector<CandidateOutcome> OutcomesOf(const TuningResult& result) {
  std::vector<CandidateOutcome> outcomes;
  for (const Success& success : result.successes) outcomes.push_back(OutcomeOf(success));
  for (const Failure& failure : result.failures) {
    outcomes.push_back(OutcomeOf(failure.config, OutcomeOf(failure.kind)));
    outcomes.back().message = failure.message;
  }
  for (const Duplicate& duplicate : result.duplicates) {
    outcomes.push_back(OutcomeOf(duplicate.config, CandidateOutcome::Kind::kDuplicate));
    outcomes.back().same_as = duplicate.same_as;
  }
  for (const Config& config : result.not_measured) {
    outcomes.push_back(OutcomeOf(config, CandidateOutcome::Kind::kNotMeasured));
  }
  return outcomes;
}

}  // namespace

SelectionReason ReasonOf(const TuningResult& result) {
  if (result.successes.empty()) return SelectionReason::kUnknown;
  double limit_us = result.successes.front().measurement.mean_us * (1 + RaceOptions().tie);
  bool is_baseline = result.baseline && result.baseline->config == result.best.config;
  if (result.best.measurement.mean_us > limit_us) {
    return is_baseline ? SelectionReason::kBaselineByMargin : SelectionReason::kTieEarliest;
  }
  bool is_alone = std::all_of(result.successes.begin(), result.successes.end(), [&](const Success& success) {
    return success.config == result.best.config || success.measurement.mean_us > limit_us;
  });
  if (is_alone) return SelectionReason::kFastest;
  return is_baseline ? SelectionReason::kTieBaseline : SelectionReason::kTieEarliest;
}

void RecordResult(const TuningResult& result, TuningRecord* record) {
  record->config = result.best.config;
  record->variant = result.best.variant;
  record->measurement = result.best.measurement;
  record->speedup_over_baseline = result.speedup_over_baseline;
  record->artifact = result.best.artifact;
  record->identity = result.best.identity;
  record->verification = result.verification;
  if (result.baseline) {
    record->baseline = RecordedBaseline{result.baseline->config, result.baseline->variant, result.baseline->artifact};
  }
  record->reason = ReasonOf(result);
  record->candidates = OutcomesOf(result);
  for (const Failure& failure : result.failures) {
    if (EndsItsProcess(failure.kind)) record->fatal.push_back(FatalCandidate{failure.config, failure.message});
  }
  record->is_complete = result.not_measured.empty();
  record->num_not_measured = static_cast<int>(result.not_measured.size());
  record->is_conclusive = result.is_conclusive;
  record->timer = result.timer;
  record->toolchain = result.best.toolchain;
  if (result.device_after) record->conditions = result.device_after->conditions;
  if (result.device_before) {
    const std::optional<std::uint64_t>& before = result.device_before->conditions.throttle_reasons;
    std::optional<std::uint64_t>& reasons = record->conditions.throttle_reasons;
    if (before) reasons = reasons.value_or(0) | *before;
  }
}

void SayWhereAndWhen(TuningRecord* record) {
  char name[256] = {};
  record->host = gethostname(name, sizeof(name) - 1) == 0 ? name : "";
  record->unix_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace v0
}  // namespace tuneonce
