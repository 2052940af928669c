// MissPolicy's part of TunePending: pending keys, what they are tuned on, and what is dropped.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/deadline.h"
#include "runtime/context_status.h"
#include "runtime/miss_policy.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

std::shared_ptr<const KeptInputs> MissPolicy::KeepInputs(CUstream stream, const BoundCall& call, const LaunchKey& key) {
  if (!may_search() || pending_.Has(key)) return nullptr;
  Result<std::shared_ptr<const KeptInputs>> kept = keeper_.Keep(StreamView(to_.api, stream), call);
  if (kept.ok()) return *std::move(kept);
  ++to_.counters.inputs_not_kept;
  return nullptr;
}

PendingKeys::Entry MissPolicy::PendingOf(const BoundCall& call, const LaunchKey& key,
                                         std::shared_ptr<const KeptInputs> inputs) const {
  PendingKeys::Entry waiting{
      key, {call.problem.dims, {}, {}}, to_.announcer.KeyText(call, key.left_out()), std::move(inputs)};
  const std::vector<Parameter>& parameters = to_.definition->parameters();
  waiting.shape.scalars.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind == ParameterKind::kTensor) waiting.shape.dtypes.push_back(call.problem.dtypes[i]);
    if (parameters[i].kind != ParameterKind::kScalar) continue;
    std::memcpy(&waiting.shape.scalars[i].emplace(0), call.problem.values[i], DTypeBytes(parameters[i].dtype));
  }
  return waiting;
}

void MissPolicy::Wait(const BoundCall& call, const LaunchKey& key, std::shared_ptr<const KeptInputs> inputs) {
  // No search can run on this call, so the key waits for another one.
  if (!fallbacks_.CheckLaunchable(call).ok()) return;
  if (pending_.Add(PendingOf(call, key, std::move(inputs)))) MakeFallbackKnown(call, key);
}

void MissPolicy::MakeFallbackKnown(const BoundCall& bound, const LaunchKey& key) {
  BoundCall call = bound;
  LaunchKey fallback_key;
  Result<const HitTable::Entry*> fallback = to_.ready_keys.FindFallback(call, &fallback_key);
  if (fallback.ok() && *fallback != nullptr) to_.ready_keys.PublishProvisional(key, **fallback);
  if (!frozen_) return;
  // Freeze was called since this launch checked, and may have finished before the key was added.
  pending_.Remove(key);
  to_.ready_keys.DropProvisional(key);
}

Status MissPolicy::MakePending(const BoundCall& call) {
  LaunchKey key;
  TUNEONCE_RETURN_IF_ERROR(to_.ready_keys.SelectionKeyOf(call, &key));
  const AutotunePolicy::Mode mode = to_.policy.mode;
  bool may_wait = mode == AutotunePolicy::Mode::kTuneDeferred || mode == AutotunePolicy::Mode::kStoredOnly ||
                  (mode == AutotunePolicy::Mode::kTuneOnMiss && to_.is_in_ranks());
  if (may_wait && !frozen_ && !to_.ready_keys.HasSelection(key)) Wait(call, key, nullptr);
  return Status();
}

void MissPolicy::DropOldest() {
  // Dropped keys are no longer pending. Their next launch is a miss, which copies its own inputs.
  for (const LaunchKey& dropped : to_.ready_keys.Evict(to_.policy.max_ready_keys)) pending_.Remove(dropped);
  failed_.DropOldest(to_.policy.max_ready_keys);
}

Result<TuningCall> MissPolicy::CallOf(CUstream stream, const PendingKeys::Entry& waiting) {
  const StreamView where(to_.api, stream);
  if (waiting.inputs != nullptr) {
    Result<TuningCall> on_kept = TuningCall::OnKept(*to_.definition, to_.binder, waiting.shape, waiting.inputs, where);
    if (on_kept.ok() || on_kept.status().sticky()) return on_kept;
    pending_.ReleaseInputs(waiting.key);
  }
  WarmupInputs::Use use = may_search() ? WarmupInputs::Use::kSearch : WarmupInputs::Use::kShapes;
  return TuningCall::OnFills(*to_.definition, to_.binder, waiting.shape, where, use);
}

Status MissPolicy::OnInputs(CUstream stream, const PendingKeys::Entry& waiting,
                            const std::function<Status(TuningCall&)>& tune) {
  TUNEONCE_ASSIGN_OR_RETURN(TuningCall call, CallOf(stream, waiting));
  Status tuned = tune(call);
  if (call.inputs() != TunedInputs::kCaller) return tuned;
  TUNEONCE_RETURN_IF_ERROR(waiting.inputs->EndUse(StreamView(to_.api, stream)));
  // After a transient failure the inputs are used again, unless their memory may be what was missing.
  bool may_serve = IsTransient(tuned.code()) && tuned.code() != StatusCode::kResourceExhausted;
  if (!may_serve) pending_.ReleaseInputs(waiting.key);
  return tuned;
}

Status MissPolicy::TunePendingKey(CUstream stream, const PendingKeys::Entry& waiting, const TuneLimits* limits) {
  bool is_asked = false;
  TuneOutcome outcome;
  Status tuned = OnInputs(stream, waiting, [&](TuningCall& call) {
    is_asked = true;
    bool waited = false;
    outcome = MakeReady({stream, call, limits, /*is_idle=*/true}, waiting.key, kForPending, &waited);
    return outcome.status;
  });
  // No call could be made: the definition declares no value for a parameter, or memory is missing.
  if (!is_asked) NoteFailure(FlightOf(waiting.key), waiting.text, {tuned});
  return outcome.is_elsewhere || outcome.is_not_stored ? Status() : tuned;
}

void MissPolicy::NoteCutShort(const BoundCall& call, const LaunchKey& key, const TuneOutcome& served) {
  // A search of this process has used up its budget. Ranks agree on what they run, and so do kernels of a group.
  const bool is_of_records =
      served.origin == TuneOutcome::Origin::kStore || served.origin == TuneOutcome::Origin::kPrediction;
  if (!is_of_records || served.is_complete || !may_search() || to_.shares_configs()) return;
  PendingKeys::Entry entry = PendingOf(call, key, /*inputs=*/nullptr);
  entry.is_cut_short = true;
  pending_.Add(std::move(entry));
  if (frozen_) pending_.Remove(key);  // Freeze was called meanwhile.
}

Status MissPolicy::ContinueSearch(CUstream stream, const PendingKeys::Entry& waiting, const TuneLimits* limits) {
  bool waited = false;
  TuneOutcome outcome;
  Status made = OnInputs(stream, waiting, [&](TuningCall& call) {
    const TuneRequest request = {stream, call, limits};
    outcome = tune_once_.Run(FlightOf(waiting.key), &waited, to_.policy.search.stop, [&] {
      return chain_.Choose(request, waiting.key, ConfigChain::Asked::kContinue, /*may_wait=*/false);
    });
    return outcome.status;
  });
  if (outcome.is_elsewhere) return Status();
  const StopToken& stop = limits != nullptr ? limits->stop : to_.policy.search.stop;
  const bool is_late = limits != nullptr && made.code() == StatusCode::kDeadlineExceeded;
  if (!made.ok() && (is_late || stop.stop_requested())) return made;
  pending_.Remove(waiting.key);  // In this process, the budget is spent once.
  if (made.ok() || made.sticky()) return made;
  to_.announcer.Warn(waiting.text + ": TunePending did not search: " + made.message());
  return Status();
}

Result<std::vector<PendingKeys::Entry>> MissPolicy::Due(bool continues) const {
  if (pending_.size() == 0 || frozen_) return std::vector<PendingKeys::Entry>();
  const FailedTunes::Clock::time_point now = FailedTunes::Clock::now();
  TUNEONCE_ASSIGN_OR_RETURN(std::uint64_t device_word, to_.ready_keys.DeviceWord(LaunchKey::kTuned));
  return pending_.Due([&](const TuneOnce::Key& key, const PendingKeys::Entry& entry) {
    if (entry.is_cut_short && !continues) return false;
    return LaunchKey::DeviceAndRole(key.front()) == device_word && !failed_.Find(key, now);
  });
}

Status MissPolicy::TunePending(CUstream stream, bool continues,
                               std::optional<std::chrono::steady_clock::time_point> end) {
  const StopToken& stop = to_.policy.search.stop;
  const auto is_over = [&] { return end && std::chrono::steady_clock::now() >= *end; };
  Status first_failure;
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<PendingKeys::Entry> due, Due(continues));
  for (std::size_t i = 0; i < due.size() && !is_over(); ++i) {
    PendingKeys::Entry& waiting = due[i];
    std::optional<TuneLimits> limits;
    if (end) {
      const std::chrono::milliseconds share = ShareOf(*end - std::chrono::steady_clock::now(), due.size() - i);
      limits = TuneLimits{*end, share, StopToken([&] { return is_over() || stop.stop_requested(); })};
    }
    const TuneLimits* limited = limits ? &*limits : nullptr;
    Status chosen =
        waiting.is_cut_short ? ContinueSearch(stream, waiting, limited) : TunePendingKey(stream, waiting, limited);
    waiting.inputs.reset();  // The next key's search may need the memory.
    const bool is_cut_short = chosen.code() == StatusCode::kCancelled || chosen.code() == StatusCode::kDeadlineExceeded;
    const bool is_unreached = end && is_cut_short && !stop.stop_requested();
    if (first_failure.ok() && !is_unreached) first_failure = chosen;
    if (chosen.sticky() || frozen_ || stop.stop_requested()) break;
  }
  DropOldest();
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
