// What MissPolicy does ahead of launches: warm-ups, safe points, searches that were asked for.
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "runtime/context_status.h"
#include "runtime/miss_policy.h"
#include "tuneonce/stream.h"

namespace tuneonce {
inline namespace v0 {

TuneOutcome MissPolicy::WarmChoice(const TuneRequest& request) {
  const BoundCall& call = request.call.call();
  if (Status tunable = CheckTunable(request.stream, call); !tunable.ok()) return {tunable};
  ResidentKey key;
  if (Status keyed = to_.residency.KeyOf(call, ResidentKey::kTuned, &key); !keyed.ok()) return {keyed};
  bool waited = false;
  TuneOutcome outcome = MakeResident(request, key, kOfAWarmUp, &waited);
  // A safe point, which does not wait for other processes, was first: now this thread waits.
  if (waited && outcome.is_elsewhere) outcome = MakeResident(request, key, kOfAWarmUp, &waited);
  return outcome;
}

Status MissPolicy::Warm(CUstream stream, TuningCall& call) {
  bool has_choice = !sealed_ && to_.policy.mode != Mode::kBaselineOnly;
  TuneOutcome chosen = has_choice ? WarmChoice({stream, call}) : TuneOutcome();
  if (chosen.is_not_stored) chosen.status = Status();  // Nothing more was asked for: its stand-in runs.
  const Status& tuned = chosen.status;
  if (tuned.sticky() || (!tuned.ok() && IsInterrupted(to_.policy.search.interrupted))) return tuned;
  // Also where the key could not be tuned: launches, captures among them, run the stand-in then.
  Status loaded = WarmStandIn(call.call());
  if (chosen.is_not_stored) {
    ResidentKey key;
    TUNEONCE_RETURN_IF_ERROR(to_.residency.KeyOf(call.call(), ResidentKey::kTuned, &key));
    Wait(call.call(), key);
  }
  if (tuned.ok()) return loaded;
  return loaded.ok() ? tuned : BothFailed(tuned, loaded);
}

Status MissPolicy::Retune(CUstream stream, TuningCall& call) {
  if (!may_search()) {
    return FailedPreconditionError("kernel '" + to_.definition->name() +
                                   "': " + (sealed_ ? "nothing is tuned after Seal" : "its mode does not search"));
  }
  TUNEONCE_RETURN_IF_ERROR(CheckTunable(stream, call.call()));
  ResidentKey key;
  TUNEONCE_RETURN_IF_ERROR(to_.residency.KeyOf(call.call(), ResidentKey::kTuned, &key));
  const TuneRequest request = {stream, call};
  for (bool waited = true;;) {  // Another thread's work on the key is not this one's.
    TuneOutcome outcome = tune_once_.Run(FlightOf(key), &waited, to_.policy.search.interrupted,
                                         [&] { return chooser_.ChooseAnew(request, key, /*may_wait=*/true); });
    if (waited && !IsInterrupted(to_.policy.search.interrupted)) continue;
    if (outcome.status.ok()) Forget(key);
    return outcome.status;
  }
}

void MissPolicy::Forget(const ResidentKey& key) {
  failed_.Remove(FlightOf(key));
  waiting_.Remove(key);
}

Result<std::optional<MissPolicy::Refusal>> MissPolicy::RefusalOf(CUstream stream, const ResidentKey& key) const {
  using Because = Choice::Because;
  TUNEONCE_RETURN_IF_ERROR(CheckContext(to_.api));
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(to_.api, stream).IsCapturing());
  if (capturing) return std::optional<Refusal>({Because::kCapture, ""});
  if (sealed_) return std::optional<Refusal>({Because::kSealed, ""});
  if (std::optional<TuneOutcome> failed = failed_.Find(FlightOf(key), FailedTunes::Clock::now())) {
    return std::optional<Refusal>({Because::kFailedTune, failed->status.message()});
  }
  return std::optional<Refusal>();
}

Status MissPolicy::WarmStandIn(const BoundCall& bound) {
  BoundCall call = bound;
  ResidentKey key;
  TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* entry, to_.residency.FindStandIn(call, &key));
  return entry != nullptr ? Status() : chooser_.LoadStandIn(call, key).status();
}

Status MissPolicy::ChooseWaiting(CUstream stream, const WaitingKeys::Waiting& waiting) {
  WarmupInputs::Use use = may_search() ? WarmupInputs::Use::kSearch : WarmupInputs::Use::kShapes;
  Result<TuningCall> call =
      TuningCall::OnFills(*to_.definition, to_.binder, waiting.shape, StreamView(to_.api, stream), use);
  if (!call.ok()) {  // What the definition does not declare, or memory.
    NoteFailure(FlightOf(waiting.key), waiting.text, {call.status()});
    return call.status();
  }
  bool waited = false;
  TuneOutcome outcome = MakeResident({stream, *call}, waiting.key, kOfASafePoint, &waited);
  return outcome.is_elsewhere || outcome.is_not_stored ? Status() : outcome.status;
}

Status MissPolicy::AtSafePoint(CUstream stream) {
  Status first_failure;
  if (waiting_.size() != 0 && !sealed_) {
    const FailedTunes::Clock::time_point now = FailedTunes::Clock::now();
    TUNEONCE_ASSIGN_OR_RETURN(std::uint64_t device_word, to_.residency.DeviceWord(ResidentKey::kTuned));
    std::vector<WaitingKeys::Waiting> due =
        waiting_.Due([&](const TuneOnce::Key& key) { return key.front() == device_word && !failed_.Find(key, now); });
    for (const WaitingKeys::Waiting& waiting : due) {
      Status chosen = ChooseWaiting(stream, waiting);
      if (first_failure.ok()) first_failure = chosen;
      if (chosen.sticky() || IsInterrupted(to_.policy.search.interrupted)) break;
    }
  }
  to_.residency.Evict(to_.policy.max_resident_keys);
  return first_failure;
}

Status MissPolicy::CheckSafe(CUstream stream, const char* what, const char* advice) const {
  TUNEONCE_RETURN_IF_ERROR(CheckOutsideTrial());
  TUNEONCE_RETURN_IF_ERROR(CheckContext(to_.api));
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(to_.api, stream).IsCapturing());
  if (!capturing) return Status();
  return FailedPreconditionError(absl::StrCat("kernel '", to_.definition->name(), "', ", what,
                                              ": the stream is capturing: ", advice, " before the capture"));
}

}  // namespace v0
}  // namespace tuneonce
