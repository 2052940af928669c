#include "runtime/miss_policy.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "runtime/context_status.h"
#include "search/trial_tensors.h"
#include "tuneonce/context.h"
#include "tuneonce/stream.h"

namespace tuneonce {
namespace {

TuneOnce::Key FlightOf(const ResidentKey& key) {
  return TuneOnce::Key(key.words.begin(), key.words.begin() + static_cast<std::ptrdiff_t>(key.count));
}

/// Neither the tuned config can run, for the reason `why`, nor what stands in for it. What lost the context is what the
/// caller must see.
Status BothFailed(const Status& why, const Status& instead) {
  const Status& first = instead.sticky() && !why.sticky() ? instead : why;
  return Status::FromDriver(first.code(),
                            absl::StrCat(why.message(), "; nor can the baseline run instead: ", instead.message()),
                            first.driver_code(), first.sticky());
}

}  // namespace

MissPolicy::MissPolicy(const Chooser::Context& context, Chooser& chooser)
    : to_(context),
      chooser_(chooser),
      failed_(std::chrono::milliseconds(std::max(0, context.policy.retry_after_ms))) {}

Status MissPolicy::LaunchMiss(CUstream stream, BoundCall& call, const ResidentKey& key) {
  TUNEONCE_RETURN_IF_ERROR(CheckContext(to_.api));
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(to_.api, stream).IsCapturing());
  if (capturing) return LaunchCaptureMiss(stream, call);
  if (sealed_.load(std::memory_order_relaxed)) return LaunchSealedMiss(stream, call);
  TuneOnce::Key flight = FlightOf(key);
  if (std::optional<TuneOutcome> failed = failed_.Find(flight, FailedTunes::Clock::now())) {
    return LaunchInstead(stream, call, *failed);
  }
  bool never_waits = to_.policy.on_miss == AutotunePolicy::OnMiss::kUseBaseline;
  if (never_waits && tune_once_.IsBusy(flight)) return LaunchStandIn(stream, call);
  // Before the search, whose failure would be remembered: another launch of this key may suit.
  TUNEONCE_RETURN_IF_ERROR(CheckTunable(stream, call));
  bool waited = false;
  TuningCall tuning_call(call);
  TuneOutcome tuned = MakeResident({stream, tuning_call}, key, /*is_warmup=*/false, &waited);
  if (waited) ++to_.counters.waits;
  if (tuned.status.ok()) {
    const HitTable::Entry* entry = to_.residency.Find(key);
    return entry->Suits(call) ? entry->Launch(stream, call) : LaunchStandIn(stream, call);
  }
  // Whoever interrupts wants this call to end.
  if (tuned.status.sticky() || IsInterrupted(to_.policy.search.interrupted)) return tuned.status;
  bool wants_error = to_.policy.on_tune_error == AutotunePolicy::OnTuneError::kReturn;
  if (wants_error && !(tuned.is_elsewhere && never_waits)) return tuned.status;
  return LaunchInstead(stream, call, tuned);
}

Status MissPolicy::LaunchCaptureMiss(CUstream stream, BoundCall& call) {
  to_.announcer.Tell([&](AutotuneObserver& observer) {
    observer.OnRefusedMiss(to_.definition->name(), to_.announcer.KeyText(call));
  });
  ResidentKey key;
  // Without a loaded stand-in, LaunchStandIn counts the miss and says so.
  TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* stand_in, to_.residency.FindStandIn(call, &key));
  if (stand_in != nullptr) ++to_.counters.capture_misses;
  return LaunchStandIn(stream, call);
}

Status MissPolicy::LaunchSealedMiss(CUstream stream, BoundCall& call) {
  constexpr std::size_t kMostListed = 1000;
  ++to_.counters.sealed_misses;
  std::string text = to_.announcer.KeyText(call);
  to_.announcer.Tell([&](AutotuneObserver& observer) { observer.OnRefusedMiss(to_.definition->name(), text); });
  {
    std::lock_guard<std::mutex> lock(missed_mutex_);
    bool listed = std::find(missed_keys_.begin(), missed_keys_.end(), text) != missed_keys_.end();
    if (!listed && missed_keys_.size() < kMostListed) missed_keys_.push_back(std::move(text));
  }
  return LaunchStandIn(stream, call);
}

Status MissPolicy::LaunchStandIn(CUstream stream, BoundCall& call, bool* missed) {
  ResidentKey key;
  TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* entry, to_.residency.FindStandIn(call, &key));
  if (entry == nullptr && missed != nullptr) {
    *missed = true;
    return Status();
  }
  if (entry == nullptr) {
    TUNEONCE_RETURN_IF_ERROR(CheckContext(to_.api));
    TUNEONCE_RETURN_IF_ERROR(to_.residency.CheckAssumptions(call));
    TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(to_.api, stream).IsCapturing());
    if (capturing) {
      ++to_.counters.capture_misses;
      return FailedPreconditionError(absl::StrCat(
          "kernel '", to_.definition->name(), "', ", to_.definition->DimsString(call.problem.dims),
          ": the stream is capturing and nothing is loaded for this key: launch it once before the capture"));
    }
    TUNEONCE_ASSIGN_OR_RETURN(entry, chooser_.LoadStandIn(call, key));
  }
  if (!entry->is_prepared) {
    TUNEONCE_RETURN_IF_ERROR(entry->kernel->space->CheckGuards(entry->kernel->config, call.problem.dims));
  }
  stand_ins_.Add();
  return entry->Launch(stream, call);
}

Status MissPolicy::LaunchInstead(CUstream stream, BoundCall& call, const TuneOutcome& why) {
  if (why.is_elsewhere) ++to_.counters.busy_elsewhere;
  Status launched = LaunchStandIn(stream, call);
  return launched.ok() ? launched : BothFailed(why.status, launched);
}

Status MissPolicy::CheckTunable(CUstream stream, const BoundCall& call) {
  TUNEONCE_RETURN_IF_ERROR(to_.residency.CheckAssumptions(call));
  TUNEONCE_RETURN_IF_ERROR(TrialTensors::CheckSizes(*to_.definition, call));
  TUNEONCE_ASSIGN_OR_RETURN(ContextView current, ContextView::Current(to_.api));
  TUNEONCE_ASSIGN_OR_RETURN(CUcontext owner, StreamView(to_.api, stream).Context());
  if (owner == current.get()) return Status();
  return InvalidArgumentError("the stream belongs to another context than the thread's current one");
}

TuneOutcome MissPolicy::MakeResident(const TuneRequest& request, const ResidentKey& key, bool is_warmup, bool* waited) {
  TuneOnce::Key flight = FlightOf(key);
  return tune_once_.Run(flight, waited, to_.policy.search.interrupted, [&] {
    // The thread before this one may have landed between the caller's Find and here, or failed.
    if (to_.residency.Find(key) != nullptr) return TuneOutcome();
    if (!is_warmup) {
      if (std::optional<TuneOutcome> failed = failed_.Find(flight, FailedTunes::Clock::now())) return *failed;
    }
    TuneOutcome outcome;
    try {
      outcome =
          chooser_.Choose(request, key, is_warmup || to_.policy.on_miss == AutotunePolicy::OnMiss::kWait);
    } catch (...) {  // What others wrote was caught where it is called.
      outcome.status = StatusOfException("kernel '" + to_.definition->name() + "': tuning", StatusCode::kInternal);
    }
    if (outcome.status.ok()) {
      failed_.Remove(flight);
    } else {
      NoteFailure(flight, request.call.call(), outcome);
    }
    return outcome;
  });
}

void MissPolicy::NoteFailure(const TuneOnce::Key& flight, const BoundCall& call, const TuneOutcome& outcome) {
  // A lost context fails everything, and whoever interrupted knows: neither says anything about the key.
  bool is_interrupted =
      outcome.status.code() == StatusCode::kCancelled && IsInterrupted(to_.policy.search.interrupted);
  if (outcome.status.sticky() || is_interrupted) return;
  int attempts = failed_.Add(flight, outcome, FailedTunes::Clock::now());
  if (outcome.is_elsewhere) {
    if (attempts == 1) {
      to_.announcer.Warn(to_.announcer.KeyText(call) + ": " + outcome.status.message() +
                         "; the baseline runs meanwhile");
    }
    return;
  }
  ++to_.counters.failed_tunes;
  to_.announcer.Tell([&](AutotuneObserver& observer) {
    observer.OnTuneFailed(to_.definition->name(), to_.announcer.KeyText(call), outcome.status);
  });
}

TuneOutcome MissPolicy::WarmChoice(const TuneRequest& request) {
  const BoundCall& call = request.call.call();
  if (Status tunable = CheckTunable(request.stream, call); !tunable.ok()) return {tunable};
  ResidentKey key;
  if (Status keyed = to_.residency.KeyOf(call, ResidentKey::kTuned, &key); !keyed.ok()) return {keyed};
  bool waited = false;
  TuneOutcome outcome = MakeResident(request, key, /*is_warmup=*/true, &waited);
  // A launch that does not wait for other processes was first: now this thread waits.
  return waited && outcome.is_elsewhere ? MakeResident(request, key, /*is_warmup=*/true, &waited) : outcome;
}

Status MissPolicy::Warm(CUstream stream, TuningCall& call) {
  Status tuned = *to_.policy.disabled ? Status() : WarmChoice({stream, call}).status;
  if (tuned.sticky() || (!tuned.ok() && IsInterrupted(to_.policy.search.interrupted))) return tuned;
  // Also where the key could not be tuned: launches, captures among them, run the stand-in then.
  Status loaded = WarmStandIn(call.call());
  if (tuned.ok()) return loaded;
  return loaded.ok() ? tuned : BothFailed(tuned, loaded);
}

Status MissPolicy::WarmStandIn(const BoundCall& call) {
  ResidentKey key;
  TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* entry, to_.residency.FindStandIn(call, &key));
  return entry != nullptr ? Status() : chooser_.LoadStandIn(call, key).status();
}

Status MissPolicy::CheckCanWarm(CUstream stream) const {
  TUNEONCE_RETURN_IF_ERROR(CheckContext(to_.api));
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(to_.api, stream).IsCapturing());
  if (!capturing) return Status();
  return FailedPreconditionError(absl::StrCat("kernel '", to_.definition->name(),
                                              "', warm-up: the stream is capturing: warm up before the capture"));
}

std::vector<std::string> MissPolicy::sealed_misses() const {
  std::lock_guard<std::mutex> lock(missed_mutex_);
  return missed_keys_;
}

}  // namespace tuneonce
