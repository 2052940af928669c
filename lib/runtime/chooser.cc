#include "runtime/chooser.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/environment.h"
#include "base/span.h"
#include "search/candidate.h"
#include "search/search_call.h"
#include "search/search_plan.h"
#include "store/kernel_fingerprint.h"
#include "tuneonce/autotune_observer.h"
#include "tuneonce/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using DeviceState = ReadyKeys::DeviceState;

/// Whether a stored record is kept although a new search ended: a person chose it, or it measured as much of the same
/// configs, and was verified as well.
bool MustStay(const TuningRecord& stored, const TuningRecord& found) {
  bool measured_as_much = stored.is_complete || stored.num_not_measured <= found.num_not_measured;
  bool is_as_good = stored.configs == found.configs && stored.verification.Covers(found.verification);
  return stored.is_pinned || (!found.is_complete && measured_as_much && is_as_good);
}

/// Limits the search to its share of the time. The next key's share grows by what this one does not use.
void Limit(const TuneLimits& limits, SearchOptions* options) {
  options->interrupted = limits.is_over;
  if (!limits.share) return;
  double& budget_ms = options->wall_budget_ms;
  const auto share_ms = static_cast<double>(std::max<std::int64_t>(1, limits.share->count()));
  budget_ms = budget_ms > 0 ? std::min(budget_ms, share_ms) : share_ms;
}

/// What a search came to, for people.
std::string TunedText(const TuningRecord& result) {
  const TuningCost& cost = result.cost;
  return absl::StrCat(
      "{", result.best.config.ToString(), "} takes ", result.best.measurement.mean_us, " us",
      result.speedup_over_baseline ? absl::StrCat(", ", *result.speedup_over_baseline, "x the baseline") : "", "; ",
      result.successes().size(), " measured, ", result.failures().size(), " failed, ", result.num_not_measured,
      " not measured; ", cost.wall_seconds, " s, of which ", cost.compile_wall_seconds, " s compiling");
}

/// How long one wait for another process's lease takes, before this thread looks whether it is to go on.
constexpr int kLeaseSliceMs = 20;

}  // namespace

TuneOutcome Chooser::Choose(const TuneRequest& request, const LaunchKey& key, bool may_wait) {
  Result<KeyInStore> in_store = IdentifyHere(request.call, key);
  if (!in_store.ok()) return {in_store.status()};
  const BoundCall& call = request.call.call();
  const Serving serving = ServingOf(/*may_compile=*/true, request.limits);
  StoreMiss miss;
  if (ServeFromStore(*in_store, call, key, serving, &miss)) return TuneOutcome::Stored();
  // One process tunes; the others find its record when it is done, or take over if it died.
  Result<TuningLease> lease = LeaseToTune(request, in_store->key, may_wait);
  if (StatusCode code = lease.status().code();
      code == StatusCode::kDeadlineExceeded || code == StatusCode::kCancelled) {
    return {lease.status(), /*is_elsewhere=*/code == StatusCode::kDeadlineExceeded};
  }
  if (!lease.ok()) {
    to_.announcer.WarnOfStore(lease.status(), "; this process tunes the key at the same time as others");
  } else if (*lease != nullptr && ServeFromStore(*in_store, call, key, serving, &miss)) {
    return TuneOutcome::Stored();
  }
  if (ServeChecked(request, *in_store, key, &miss)) return TuneOutcome::Stored();
  NoteMiss(in_store->key, miss);
  return SearchAndRemember(request, *std::move(in_store), key, ReadyKeys::Place::kIfFree);
}

TuneOutcome Chooser::Reselect(const TuneRequest& request, const LaunchKey& key, bool may_wait) {
  Result<KeyInStore> in_store = IdentifyHere(request.call, key);
  if (!in_store.ok()) return {in_store.status()};
  Result<TuningLease> lease = LeaseToTune(request, in_store->key, may_wait);
  if (lease.status().code() == StatusCode::kDeadlineExceeded) return {lease.status(), /*is_elsewhere=*/true};
  if (lease.status().code() == StatusCode::kCancelled) return {lease.status()};
  if (!lease.ok()) to_.announcer.WarnOfStore(lease.status(), "; this process tunes the key at the same time as others");
  Result<RecordLookup> there = to_.policy.store->Lookup(in_store->key);
  if ((there.ok() && there->IsPinned()) || to_.ready_keys.selections().IsPinned(key)) {
    return {FailedPreconditionError(in_store->key.key_text +
                                    " is pinned, and a pinned key is not tuned: call Unpin first")};
  }
  return SearchAndRemember(request, *std::move(in_store), key, ReadyKeys::Place::kInstead);
}

TuneOutcome Chooser::Serve(TuningCall& call, const LaunchKey& key) {
  Result<KeyInStore> in_store = IdentifyHere(call, key);
  if (!in_store.ok()) return {in_store.status()};
  const Serving serving = ServingOf(/*may_compile=*/false, nullptr);
  StoreMiss miss;
  if (ServeFromStore(*in_store, call.call(), key, serving, &miss)) return TuneOutcome::Stored();
  NoteMiss(in_store->key, miss);
  TuneOutcome outcome;
  // Unavailable, as another process may store it.
  outcome.status = UnavailableError(absl::StrCat("the store has no selection with code for ", in_store->key.key_text,
                                                 ": ", std::string(RecordMissName(miss.reason))));
  outcome.is_not_stored = true;
  return outcome;
}

Result<Chooser::KeyInStore> Chooser::IdentifyHere(TuningCall& call, const LaunchKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(const DeviceState* device, to_.ready_keys.CurrentDevice());
  call.SetTarget(device->target);
  return Identify(*device, call.call(), key.left_out());
}

Result<Chooser::KeyInStore> Chooser::Identify(const DeviceState& device, const BoundCall& call, VariantSet left_out) {
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<Config>* configs, to_.ready_keys.ConfigsOn(device));
  KeyInStore in_store{device, *configs, left_out, {}, {}, {}};
  TuningKey& key = in_store.key;
  key.kernel = to_.definition->name();
  key.key_words.resize(to_.binder.num_key_words());
  to_.binder.KeyWords(call, key.key_words.data());
  if (!left_out.is_empty()) key.key_words.push_back(left_out.bits());
  key.key_text = to_.announcer.KeyText(call, left_out);
  key.device_name = device.identity.name;
  key.capability = device.target.capability();
  key.num_sms = device.identity.num_sms;
  key.driver_version = device.identity.driver_version;
  if (to_.policy.selection_group.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(key.kernel_fingerprint, KernelFingerprint(*to_.definition, *configs, call.problem));
  } else {
    key.kernel = to_.policy.selection_group;
    key.kernel_fingerprint = SelectionGroupFingerprint(to_.policy.selection_group, *configs);
  }
  in_store.configs_identity = ConfigsFingerprint(*configs);
  in_store.demanded = DemandedVerification(*to_.definition, call.problem, to_.policy.search);
  return in_store;
}

Result<TuningLease> Chooser::LeaseToTune(const TuneRequest& request, const TuningKey& key, bool may_wait) const {
  const int max_wait_ms = may_wait ? to_.policy.max_wait_ms : 0;
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(max_wait_ms);
  if (request.limits != nullptr) deadline = std::min(deadline, request.limits->end);
  Span span(trace(), "wait", "lease " + key.key_text);
  WaitLimits limits;
  limits.cancelled = to_.policy.search.cancelled;
  limits.timeout_ms = 0;
  for (;;) {
    Result<TuningLease> lease = to_.policy.store->Lease(key, limits);
    if (lease.ok() || lease.status().code() != StatusCode::kDeadlineExceeded) return lease;
    if (IsInterrupted(InterruptOf(request.limits))) {
      return CancelledError("interrupted while waiting for another process that tunes the same key");
    }
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return DeadlineExceededError(max_wait_ms > 0
                                       ? absl::StrCat("another process is tuning this key, and did not finish within ",
                                                      max_wait_ms, " ms (AutotunePolicy::max_wait_ms)")
                                       : "another process is tuning this key");
    }
    limits.timeout_ms = std::min(kLeaseSliceMs, static_cast<int>(left.count()));
  }
}

std::vector<KnownFatal> Chooser::FatalAt(const TuningKey& key) const {
  std::vector<KnownFatal> fatal;
  Result<RecordLookup> there = to_.policy.store->Lookup(key);
  if (!there.ok() || there->match != RecordMatch::kExact) return fatal;
  for (const FatalCandidate& candidate : there->record->fatal) {
    OutcomeKind kind = OutcomeKind::kCrash;
    for (const CandidateOutcome& outcome : there->record->candidates) {
      if (EndsItsProcess(outcome.kind) && outcome.config.IsSame(candidate.config)) kind = outcome.kind;
    }
    fatal.push_back(
        {CandidateOutcome::Failed(candidate.config, kind, candidate.reason), there->record->best.toolchain});
  }
  return fatal;
}

SearchOptions Chooser::OptionsOf(const TuneRequest& request, std::chrono::steady_clock::time_point begin) const {
  SearchOptions options = to_.policy.search;
  if (request.limits != nullptr) Limit(*request.limits, &options);
  // Also of a search that is made a second time, at the shape at hand.
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  if (options.wall_budget_ms > 0) options.wall_budget_ms = std::max(1.0, options.wall_budget_ms - spent.count());
  return options;
}

Result<SearchPlan> Chooser::PlanAt(const TuneRequest& request, const KeyInStore& in_store, const Config* only,
                                   const BoundCall& call, const SearchOptions& options) const {
  // Also where `call` is one at a bound, on tables of its own: what the caller's key is tuned for is what it passed.
  TUNEONCE_RETURN_IF_ERROR(request.call.CheckTables(*to_.definition, StreamView(to_.api, request.stream)));
  const SearchSpace& space = to_.definition->space();
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs,
                            space.Fitting(in_store.configs, call.problem.target, call.problem));
  if (only != nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<Config> baseline, space.BaselineFor(call.problem));
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<Config> at_launch, space.BaselineFor(request.call.call().problem));
    auto is_needed = [&](const Config& config) {
      return config == *only || (baseline && config == *baseline) || (at_launch && config == *at_launch);
    };
    configs.erase(std::remove_if(configs.begin(), configs.end(), std::not_fn(is_needed)), configs.end());
  }
  SearchScope scope{in_store.key.key_text, configs, in_store.left_out, FatalAt(in_store.key)};
  scope.launched = &request.call.call();
  scope.is_on_fills = request.call.inputs() == TunedInputs::kFill;
  scope.classes.emplace(in_store.configs);
  return PlanSearch(to_.definition, StreamView(to_.api, request.stream), call, scope, options);
}

Result<SearchOutcome> Chooser::SearchAt(const TuneRequest& request, const KeyInStore& in_store, const Config* only,
                                        const BoundCall& call, std::chrono::steady_clock::time_point begin,
                                        TrialMemory memory) {
  const StreamView stream(to_.api, request.stream);
  SearchOptions options = OptionsOf(request, begin);
  TUNEONCE_ASSIGN_OR_RETURN(SearchPlan plan, PlanAt(request, in_store, only, call, options));
  Result<SearchOutcome> found = RunSearch(std::move(plan), stream, options, std::move(memory));
  TUNEONCE_RETURN_IF_ERROR(found.status());
  TUNEONCE_RETURN_IF_ERROR(AddRooflines(*to_.definition, call.problem, to_.api, found->record.get()));
  return found;
}

Result<SearchOutcome> Chooser::Search(const TuneRequest& request, const KeyInStore& in_store, const Config* only,
                                      MeasuredOn* on) {
  const auto begin = std::chrono::steady_clock::now();
  auto make_memory = [&] { return TrialMemory::Create(to_.api, to_.policy.search.memory_budget_bytes); };
  auto search_at_bound = [&]() -> Result<SearchOutcome> {
    TUNEONCE_ASSIGN_OR_RETURN(TrialMemory memory, make_memory());
    TUNEONCE_ASSIGN_OR_RETURN(TuningCall at_bound, request.call.AtBound(*to_.definition, to_.binder,
                                                                        StreamView(to_.api, request.stream), memory));
    at_bound.AddOwnInputs(*to_.definition, memory);
    on->inputs = at_bound.inputs();
    // What may run for this call must be what is measured: a bound that 16 does not divide, of a shape that it does.
    if (!in_store.device.LeftOutBy(at_bound.call()).IsWithin(in_store.left_out)) {
      return FailedPreconditionError(
          "cannot measure at the upper bound of the shape's bucket: some variants accept only the shape, but not the "
          "bound");
    }
    return SearchAt(request, in_store, only, at_bound.call(), begin, memory);
  };
  on->dims = request.call.BoundOf(*to_.definition);
  if (to_.policy.tune_at_bucket_bound && !(on->dims == request.call.call().problem.dims)) {
    Result<SearchOutcome> result = search_at_bound();
    // Where the memory for it or its trials is missing, the shape at hand may still fit.
    bool is_over = result.ok() || result.status().sticky() || result.status().code() == StatusCode::kCancelled;
    if (is_over) return result;
  }
  on->dims = request.call.call().problem.dims;
  on->inputs = request.call.inputs();
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory memory, make_memory());
  request.call.AddOwnInputs(*to_.definition, memory);
  return SearchAt(request, in_store, only, request.call.call(), begin, std::move(memory));
}

Result<SearchOutcome> Chooser::SearchForKey(const TuneRequest& request, const KeyInStore& in_store) {
  const std::string& kernel = to_.definition->name();
  const std::string& key_text = in_store.key.key_text;
  ++to_.counters.tunes;
  Span span(trace(), "tune", "tune " + kernel + " " + key_text);
  to_.announcer.Inform(key_text,
                       [&] { return absl::StrCat("a search begins among ", in_store.configs.size(), " configs"); });
  to_.announcer.Tell([&](AutotuneObserver& observer) { observer.OnTuneBegin(kernel, key_text); });
  MeasuredOn measured_on;
  Result<SearchOutcome> found = Search(request, in_store, /*only=*/nullptr, &measured_on);
  TUNEONCE_RETURN_IF_ERROR(found.status());
  const TuningCost& cost = found->record->cost;
  to_.counters.tuning_ns += static_cast<std::int64_t>(cost.wall_seconds * 1e9);
  to_.counters.workers_replaced += cost.workers_replaced;
  to_.counters.tuning_gpu_ns += static_cast<std::int64_t>(cost.gpu_seconds * 1e9);
  Complete(in_store, measured_on, found->record.get());
  return found;
}

void Chooser::RememberSearched(const TuningRecord& record) const {
  const std::string& key_text = record.key.key_text;
  Remember(record);
  to_.announcer.Inform(key_text, [&] { return TunedText(record); });
  to_.announcer.Tell([&](AutotuneObserver& observer) { observer.OnTuned(to_.definition->name(), key_text, record); });
}

TuneOutcome Chooser::SearchAndRemember(const TuneRequest& request, KeyInStore in_store, const LaunchKey& key,
                                       ReadyKeys::Place place) {
  const BoundCall& call = request.call.call();
  Result<SearchOutcome> searched = SearchForKey(request, in_store);
  if (!searched.ok()) {
    // What a search that was cut short left is better than nothing; what the key has is better than that.
    bool context_lives = !searched.status().sticky() && searched.status().code() != StatusCode::kCancelled;
    const Serving any = {/*accept_incomplete=*/true, /*may_compile=*/true, /*accept_unchecked=*/false, request.limits};
    bool may_serve = context_lives && place == ReadyKeys::Place::kIfFree;
    StoreMiss miss;
    if (may_serve && ServeFromStore(in_store, call, key, any, &miss)) return TuneOutcome::Stored(/*is_complete=*/false);
    return {searched.status()};
  }
  const TuningRecord& record = *searched->record;
  const std::optional<Selection> in_use = to_.ready_keys.selections().Find(key);
  const bool stays =
      place == ReadyKeys::Place::kInstead && in_use && in_use->record != nullptr && MustStay(*in_use->record, record);
  if (stays) {
    to_.announcer.Warn(absl::StrCat(record.key.key_text, ": the search was cut short, so the earlier selection {",
                                    in_use->record->best.config.ToString(), "} is kept: raise the search's budget"));
  } else if (Status published = PublishFound(*searched, in_store.device, call, key, place, record); !published.ok()) {
    return {published};
  }
  RememberSearched(record);
  TuneOutcome outcome;
  outcome.origin = TuneOutcome::Origin::kSearch;
  outcome.is_complete = stays ? in_use->record->is_complete : record.is_complete;
  return outcome;
}

void Chooser::Complete(const KeyInStore& in_store, const MeasuredOn& on, TuningRecord* record) const {
  record->key = in_store.key;
  record->configs = in_store.configs_identity;
  record->tuned_at = to_.definition->DimsString(on.dims);
  record->inputs = on.inputs;
}

Status Chooser::PublishFound(const SearchOutcome& found, const DeviceState& device, const BoundCall& call,
                             const LaunchKey& key, ReadyKeys::Place place, const TuningRecord& record) {
  to_.ready_keys.PublishSelection(device, key, call, found.record->best.config, found.best, place,
                                  SelectionOf(record, LaunchPlan::Origin::kSearch));
  if (!found.record->baseline) return Status();
  const LaunchKey fallback = WithRole(key, LaunchKey::kFallback);
  to_.ready_keys.Publish(device, fallback, call, found.record->baseline->config, found.baseline);
  return Status();
}

void Chooser::Remember(const TuningRecord& record) const {
  if (std::string profiler = to_.policy.search.runtime->environment().profiler;
      !profiler.empty() && !to_.policy.store_under_profiler) {
    return to_.announcer.Warn("tuned under a profiler (" + profiler +
                              "): the selection is used, but not stored (AutotunePolicy::store_under_profiler)");
  }
  if (!record.verification.is_data_sufficient) {
    return to_.announcer.Warn(
        absl::StrCat(record.key.key_text,
                     ": the inputs cannot reveal an incorrect result (constant, zero, of one sign, or not finite), so "
                     "the selection is not stored: declare values with ForWarmup, or tune on other data"));
  }
  Result<RecordLookup> there = to_.policy.store->Lookup(record.key);
  if (there.ok() && there->match == RecordMatch::kExact && MustStay(*there->record, record)) return;
  if (Status stored = to_.policy.store->Put(record); !stored.ok()) {
    to_.announcer.WarnOfStore(stored, "; the selection is kept for this process only");
  }
}

}  // namespace v0
}  // namespace tuneonce
