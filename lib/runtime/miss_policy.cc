#include "runtime/miss_policy.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "runtime/context_status.h"
#include "search/trial_tensors.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Mode = AutotunePolicy::Mode;

}  // namespace

Status BothFailed(const Status& why, const Status& instead) {
  const Status& first = instead.sticky() && !why.sticky() ? instead : why;
  return Status::FromDriver(first.code(),
                            absl::StrCat(why.message(), "; the baseline cannot run either: ", instead.message()),
                            first.driver_code(), first.sticky());
}

MissPolicy::MissPolicy(const KernelParts& kernel, ConfigChain& chain, FallbackConfigs& fallbacks)
    : to_(kernel),
      chain_(chain),
      fallbacks_(fallbacks),
      failed_(std::max(std::chrono::milliseconds(0), kernel.policy.retry_after)),
      keeper_(*kernel.definition, kernel.policy.kept_inputs_bytes),
      pending_(kernel.policy.max_ready_keys) {}

Status MissPolicy::CheckMayMiss() const {
  TUNEONCE_RETURN_IF_ERROR(CheckOutsideTrial());
  return CheckContext(to_.api);
}

std::optional<Status> MissPolicy::LaunchWhereNothingIsTuned(CUstream stream, BoundCall& call, const LaunchKey& key) {
  Result<bool> capturing = StreamView(to_.api, stream).IsCapturing();
  if (!capturing.ok()) return capturing.status();
  if (*capturing) return LaunchCaptureMiss(stream, call, key);
  if (frozen_.load(std::memory_order_relaxed)) return LaunchFrozenMiss(stream, call, key);
  return std::nullopt;
}

Status MissPolicy::LaunchMiss(CUstream stream, BoundCall& call, const LaunchKey& key) {
  TUNEONCE_RETURN_IF_ERROR(CheckMayMiss());
  const ReadyKeys::Reader reader(to_.ready_keys);
  if (std::optional<Status> launched = LaunchWhereNothingIsTuned(stream, call, key)) return *launched;
  if (std::optional<TuneOutcome> failed = failed_.Find(FlightOf(key), FailedTunes::Clock::now())) {
    Status launched = LaunchInstead(stream, call, key, *failed);
    if (pending_.Has(key)) MakeFallbackKnown(call, key);  // The fallback config may have been loaded just now.
    return launched;
  }
  if (to_.is_in_ranks()) return LaunchNotAgreed(stream, call, key);
  return to_.policy.mode == Mode::kTuneOnMiss ? LaunchTuned(stream, call, key) : LaunchStored(stream, call, key);
}

Status MissPolicy::LaunchUnverified(CUstream stream, BoundCall& call, const LaunchKey& key) {
  TUNEONCE_RETURN_IF_ERROR(CheckMayMiss());
  const ReadyKeys::Reader reader(to_.ready_keys);
  // Where what the code assumes does not hold, nothing can be verified.
  const HitTable::Entry* entry = to_.ready_keys.Find(key);
  if (entry != nullptr && !entry->IsFor(call)) return LaunchFallback(stream, call);
  if (std::optional<Status> launched = LaunchWhereNothingIsTuned(stream, call, key)) return *launched;
  if (std::optional<TuneOutcome> failed = failed_.Find(FlightOf(key), FailedTunes::Clock::now())) {
    return LaunchInstead(stream, call, key, *failed);
  }
  const bool may_verify = !to_.is_in_ranks();  // Ranks agree on configs that all of them verified.
  if (may_verify && to_.policy.mode == Mode::kTuneOnMiss) return LaunchTuned(stream, call, key);
  std::shared_ptr<const KeptInputs> inputs;
  const bool waits = may_verify && to_.policy.mode == Mode::kTuneDeferred;
  if (waits) inputs = KeepInputs(stream, call, key);  // Copied before the launch changes them.
  Status launched = LaunchFallback(stream, call);
  if (waits) Wait(call, key, std::move(inputs));
  return launched;
}

Status MissPolicy::LaunchTuned(CUstream stream, BoundCall& call, const LaunchKey& key) {
  // Checked before the search, whose failure would be remembered, because another launch of this key may be valid.
  TuningCall tuning_call(call);
  TUNEONCE_RETURN_IF_ERROR(CheckTunable(stream, tuning_call));
  bool waited = false;
  TuneOutcome tuned = MakeReady({stream, tuning_call}, key, kForLaunch, &waited);
  if (waited) ++to_.counters.waits;
  if (tuned.status.ok()) return LaunchSelected(stream, call, key);
  // The interrupt must end this call.
  if (tuned.status.sticky() || to_.policy.search.stop.stop_requested()) return tuned.status;
  if (to_.policy.on_tune_error == AutotunePolicy::OnTuneError::kReturn) return tuned.status;
  // A fallback config would compute on the data that this launch's search damaged. Other launches have data of their
  // own.
  if (tuned.status.code() == StatusCode::kDataLoss && tuned.is_news) return tuned.status;
  return LaunchInstead(stream, call, key, tuned);
}

Status MissPolicy::LaunchStored(CUstream stream, BoundCall& call, const LaunchKey& key) {
  TUNEONCE_RETURN_IF_ERROR(to_.ready_keys.CheckAssumptions(call));
  // Another thread is looking up or tuning the key, and this launch does not wait for it.
  if (tune_once_.IsBusy(FlightOf(key))) return LaunchFallback(stream, call);
  bool waited = false;
  TuningCall tuning_call(call);
  TuneOutcome served = MakeReady({stream, tuning_call}, key, kForLaunch, &waited);
  if (served.status.ok()) return LaunchSelected(stream, call, key);
  if (!served.is_not_stored) return served.status.sticky() ? served.status : LaunchInstead(stream, call, key, served);
  std::shared_ptr<const KeptInputs> inputs = KeepInputs(stream, call, key);  // Copied before the launch changes them.
  Status launched = LaunchFallback(stream, call);
  Wait(call, key, std::move(inputs));
  return launched;
}

Status MissPolicy::LaunchNotAgreed(CUstream stream, BoundCall& call, const LaunchKey& key) {
  TUNEONCE_RETURN_IF_ERROR(to_.ready_keys.CheckAssumptions(call));
  std::shared_ptr<const KeptInputs> inputs = KeepInputs(stream, call, key);  // Copied before the launch changes them.
  Status launched = LaunchFallback(stream, call);
  Wait(call, key, std::move(inputs));
  return launched;
}

Status MissPolicy::LaunchSelected(CUstream stream, BoundCall& call, const LaunchKey& key) {
  const HitTable::Entry* entry = to_.ready_keys.Find(key);
  bool may_run = entry != nullptr && entry->Suits(call);
  return may_run ? entry->Launch(stream, call) : LaunchFallback(stream, call);
}

Status MissPolicy::LaunchCaptureMiss(CUstream stream, BoundCall& call, const LaunchKey& missed) {
  const std::string text = to_.announcer.KeyText(call, missed.left_out());
  to_.announcer.Tell([&](AutotuneObserver& observer) { observer.OnRefusedMiss(to_.definition->name(), text); });
  LaunchKey key;
  // If the fallback config is not loaded, LaunchFallback counts the miss and returns the error.
  TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* fallback, to_.ready_keys.FindFallback(call, &key));
  if (fallback != nullptr) ++to_.counters.capture_misses;
  return LaunchFallback(stream, call);
}

Status MissPolicy::LaunchFrozenMiss(CUstream stream, BoundCall& call, const LaunchKey& missed) {
  constexpr std::size_t kMostListed = 1000;
  ++to_.counters.frozen_misses;
  std::string text = to_.announcer.KeyText(call, missed.left_out());
  to_.announcer.Tell([&](AutotuneObserver& observer) { observer.OnRefusedMiss(to_.definition->name(), text); });
  {
    MutexLock lock(missed_mutex_);
    bool listed = std::find(missed_keys_.begin(), missed_keys_.end(), text) != missed_keys_.end();
    if (!listed && missed_keys_.size() < kMostListed) missed_keys_.push_back(std::move(text));
  }
  return LaunchFallback(stream, call);
}

Status MissPolicy::LaunchFallback(CUstream stream, BoundCall& call, bool* missed) {
  LaunchKey key;
  TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* entry, to_.ready_keys.FindFallback(call, &key));
  if (entry == nullptr && missed != nullptr) {
    *missed = true;
    return Status();
  }
  if (entry == nullptr) {
    TUNEONCE_RETURN_IF_ERROR(CheckContext(to_.api));
    const ReadyKeys::Reader reader(to_.ready_keys);
    TUNEONCE_RETURN_IF_ERROR(to_.ready_keys.CheckAssumptions(call));
    TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(to_.api, stream).IsCapturing());
    if (capturing) {
      ++to_.counters.capture_misses;
      return FailedPreconditionError(
          absl::StrCat("kernel '", to_.definition->name(), "', ", to_.definition->DimsString(call.problem.dims),
                       ": the stream is capturing and no code is loaded for this key: launch once before the capture"));
    }
    TUNEONCE_ASSIGN_OR_RETURN(entry, fallbacks_.Load(call, key));
    // Another thread may have loaded one for another call of the key meanwhile.
    if (!to_.ready_keys.StandsInFor(call, *entry)) return LaunchFallback(stream, call, missed);
  }
  num_fallbacks_.Add();
  return entry->Launch(stream, call);
}

Status MissPolicy::LaunchInstead(CUstream stream, BoundCall& call, const LaunchKey& key, const TuneOutcome& why) {
  if (why.is_elsewhere) ++to_.counters.busy_elsewhere;
  Status launched = LaunchFallback(stream, call);
  if (!launched.ok()) return BothFailed(why.status, launched);
  // The launch succeeds, so without an observer this warning is the only report.
  if (why.is_news) {
    to_.announcer.Warn(to_.announcer.KeyText(call, key.left_out()) +
                       ": tuning failed, so the baseline runs: " + why.status.message());
  }
  return launched;
}

Status MissPolicy::CheckOutsideTrial() const {
  if (!InsideTrial()) return Status();
  return FailedPreconditionError("kernel '" + to_.definition->name() +
                                 "' was called by a launcher that another kernel's search is timing, and is not tuned "
                                 "for these arguments: warm it up before that search");
}

Status MissPolicy::CheckTunable(CUstream stream, TuningCall& call) {
  TUNEONCE_RETURN_IF_ERROR(to_.ready_keys.CheckAssumptions(call.call()));
  TUNEONCE_RETURN_IF_ERROR(TrialTensors::CheckOutputs(*to_.definition, call.call()));
  TUNEONCE_RETURN_IF_ERROR(fallbacks_.CheckLaunchable(call.call()));
  TUNEONCE_ASSIGN_OR_RETURN(ContextView current, ContextView::Current(to_.api));
  TUNEONCE_ASSIGN_OR_RETURN(CUcontext owner, StreamView(to_.api, stream).Context());
  if (owner == current.get()) return call.CheckTables(*to_.definition, StreamView(to_.api, stream));
  return InvalidArgumentError(
      "the stream belongs to another CUDA context than the thread's current one: make the stream's context current");
}

TuneOutcome MissPolicy::MakeReady(const TuneRequest& request, const LaunchKey& key, Effort effort, bool* waited) {
  TuneOnce::Key flight = FlightOf(key);
  bool only_serves = effort.asks_store || to_.policy.mode == Mode::kStoredOnly ||
                     (effort.is_launch && to_.policy.mode != Mode::kTuneOnMiss);
  TuneOutcome outcome_of_run = tune_once_.Run(flight, waited, request.stop(to_.policy.search), [&] {
    // The thread that worked before this one may have finished since the caller's Find.
    if (to_.ready_keys.HasVerifiedSelection(key, request.call.call())) return TuneOutcome();
    if (!effort.tries_again) {
      if (std::optional<TuneOutcome> failed = failed_.Find(flight, FailedTunes::Clock::now())) return *failed;
    }
    TuneOutcome outcome;
    try {
      if (!to_.ready_keys.HasSelection(key)) {
        const ConfigChain::Asked asked = only_serves ? ConfigChain::Asked::kStored : ConfigChain::Asked::kAll;
        outcome = chain_.Choose(request, key, asked, effort.may_wait);
      }
      if (outcome.status.ok()) outcome = VerifyReady(request, key, effort, only_serves, outcome);
    } catch (...) {  // User callbacks catch their own exceptions.
      outcome.status = StatusOfException("kernel '" + to_.definition->name() + "': tuning", StatusCode::kInternal);
    }
    // A caller whose time limit ended learned nothing about the key.
    StatusCode code = outcome.status.code();
    bool is_cut_short = request.limits != nullptr && !outcome.is_elsewhere &&
                        (code == StatusCode::kCancelled || code == StatusCode::kDeadlineExceeded);
    if (is_cut_short) return outcome;
    if (outcome.status.ok()) {
      failed_.Remove(flight);
      pending_.Remove(key);
      NoteCutShort(request.call.call(), key, outcome);
      // Otherwise it is tuned by TunePending.
    } else if (!outcome.is_not_stored || to_.policy.mode == Mode::kStoredOnly) {
      outcome.is_news = NoteFailure(flight, to_.announcer.KeyText(request.call.call(), key.left_out()), outcome);
    }
    return outcome;
  });
  if (*waited) outcome_of_run.is_news = false;  // The thread that did the work reports it.
  return outcome_of_run;
}

TuneOutcome MissPolicy::VerifyReady(const TuneRequest& request, const LaunchKey& key, Effort effort, bool only_serves,
                                    const TuneOutcome& so_far) {
  if (only_serves || to_.ready_keys.HasVerifiedSelection(key, request.call.call())) return so_far;
  TuneOutcome verified = chain_.VerifyAt(request, key, effort.may_wait);
  const bool is_confirmed = verified.status.ok() && verified.origin == TuneOutcome::Origin::kReady;
  return is_confirmed ? so_far : verified;
}

bool MissPolicy::NoteFailure(const TuneOnce::Key& flight, const std::string& key_text, const TuneOutcome& outcome) {
  // Neither a lost context nor an interrupt is a property of the key.
  bool is_interrupted = outcome.status.code() == StatusCode::kCancelled && to_.policy.search.stop.stop_requested();
  if (outcome.status.sticky() || is_interrupted) return false;
  int attempts = failed_.Add(flight, outcome, FailedTunes::Clock::now());
  if (outcome.is_not_stored) return false;
  if (outcome.is_elsewhere) {
    if (attempts == 1)
      to_.announcer.Warn(key_text + ": " + outcome.status.message() +
                         "; the baseline runs until this key has a selection");
    return false;
  }
  ++to_.counters.failed_tunes;
  to_.announcer.Inform(key_text, [&] { return "tuning failed: " + outcome.status.message(); });
  to_.announcer.Tell(
      [&](AutotuneObserver& observer) { observer.OnTuneFailed(to_.definition->name(), key_text, outcome.status); });
  return attempts == 1;
}

TuneOutcome MissPolicy::WarmSelected(const TuneRequest& request, Effort effort) {
  const BoundCall& call = request.call.call();
  if (Status tunable = CheckTunable(request.stream, request.call); !tunable.ok()) return {tunable};
  LaunchKey key;
  if (Status keyed = to_.ready_keys.SelectionKeyOf(call, &key); !keyed.ok()) return {keyed};
  bool waited = false;
  TuneOutcome outcome = MakeReady(request, key, effort, &waited);
  // TunePending, which does not wait for other processes, did the work, so this thread waits now.
  if (waited && outcome.is_elsewhere && effort.may_wait) outcome = MakeReady(request, key, effort, &waited);
  return outcome;
}

Status MissPolicy::Warm(CUstream stream, TuningCall& call) {
  bool has_selection = !frozen_ && to_.policy.mode != Mode::kFallbackOnly;
  TuneOutcome chosen = has_selection ? WarmSelected({stream, call}, kForWarmup) : TuneOutcome();
  // Nothing more may be done in this mode, so its fallback config runs.
  if (chosen.is_not_stored) chosen.status = Status();
  const Status& tuned = chosen.status;
  if (tuned.sticky() || (!tuned.ok() && to_.policy.search.stop.stop_requested())) return tuned;
  // Also for a key that could not be tuned, because its launches and captures run the fallback config.
  Status loaded = WarmFallback(call.call());
  if (chosen.is_not_stored) TUNEONCE_RETURN_IF_ERROR(MakePending(call.call()));
  if (tuned.ok()) return loaded;
  return loaded.ok() ? tuned : BothFailed(tuned, loaded);
}

Status MissPolicy::WarmFallback(const BoundCall& bound, const TuneLimits* limits) {
  BoundCall call = bound;
  LaunchKey key;
  TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* entry, to_.ready_keys.FindFallback(call, &key));
  return entry != nullptr ? Status() : fallbacks_.Load(call, key, limits).status();
}

Status MissPolicy::Retune(CUstream stream, TuningCall& call) {
  if (to_.is_in_ranks()) {
    return FailedPreconditionError("kernel '" + to_.definition->name() +
                                   "': Retune is not possible on one rank of a group, because all ranks must run the "
                                   "same config: restart with another store, or pin a config on all ranks");
  }
  if (!may_search()) {
    return FailedPreconditionError(
        "kernel '" + to_.definition->name() +
        "': " + (frozen_ ? "nothing is tuned after Freeze" : "its AutotunePolicy::mode does not search"));
  }
  TUNEONCE_RETURN_IF_ERROR(CheckTunable(stream, call));
  LaunchKey key;
  TUNEONCE_RETURN_IF_ERROR(to_.ready_keys.SelectionKeyOf(call.call(), &key));
  const TuneRequest request = {stream, call};
  for (bool waited = true;;) {  // Repeated while another thread worked on the key.
    TuneOutcome outcome = tune_once_.Run(FlightOf(key), &waited, to_.policy.search.stop, [&] {
      return chain_.Choose(request, key, ConfigChain::Asked::kSearchOnly, /*may_wait=*/true);
    });
    if (waited && !to_.policy.search.stop.stop_requested()) continue;
    if (outcome.status.ok()) Forget(key);
    return outcome.status;
  }
}

void MissPolicy::Forget(const LaunchKey& key) {
  failed_.Remove(FlightOf(key));
  pending_.Remove(key);
}

Result<std::optional<MissPolicy::Refusal>> MissPolicy::RefusalOf(CUstream stream, const LaunchKey& key) const {
  TUNEONCE_RETURN_IF_ERROR(CheckContext(to_.api));
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(to_.api, stream).IsCapturing());
  if (capturing) return std::optional<Refusal>({LaunchPlan::Reason::kCapture, ""});
  if (frozen_) return std::optional<Refusal>({LaunchPlan::Reason::kFrozen, ""});
  if (std::optional<TuneOutcome> failed = failed_.Find(FlightOf(key), FailedTunes::Clock::now())) {
    return std::optional<Refusal>({LaunchPlan::Reason::kFailedTune, failed->status.message()});
  }
  if (to_.is_in_ranks()) return std::optional<Refusal>({LaunchPlan::Reason::kNotAgreed, ""});
  return std::optional<Refusal>();
}

void MissPolicy::Freeze() {
  frozen_ = true;
  // Their launches are counted as misses from now on.
  for (const PendingKeys::Entry& waiting : pending_.TakeAll()) to_.ready_keys.DropProvisional(waiting.key);
  to_.ready_keys.Keep();
}

std::vector<std::string> MissPolicy::frozen_misses() const {
  MutexLock lock(missed_mutex_);
  return missed_keys_;
}

}  // namespace v0
}  // namespace tuneonce
