#include "runtime/config_chain.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/deadline.h"
#include "base/environment.h"
#include "base/span.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr char kHasOtherCode[] =
    "the config's code has changed since it was verified, and is compared with the baseline before its first launch";

constexpr char kHasOtherBaselineCode[] =
    "the baseline's code has changed since the config was verified, and is compared with the config before its first "
    "launch";

/// How long one wait for another process's lease takes, before this thread looks whether it is to go on.
constexpr std::chrono::milliseconds kLeaseSlice(20);

/// Returns whether a stored record is kept although a new search ended: a person selected its config, or it measured as
/// much of the same configs, and was verified as well.
bool MustStay(const TuningRecord& stored, const TuningRecord& found) {
  bool measured_as_much = stored.is_complete || stored.num_not_measured <= found.num_not_measured;
  bool is_as_good = stored.configs == found.configs && stored.verification.Covers(found.verification) &&
                    stored.reason != SelectionReason::kPredicted;
  return stored.is_pinned || (!found.is_complete && measured_as_much && is_as_good);
}

/// Prints the result of a search.
std::string TunedText(const TuningRecord& result) {
  const TuningCost& cost = result.cost;
  return absl::StrCat(
      "{", result.best.config.ToString(), "} takes ", result.best.measurement.mean_us, " us",
      result.speedup_over_baseline ? absl::StrCat(", ", *result.speedup_over_baseline, "x the baseline") : "", "; ",
      result.SearchedText(), ": ", result.successes().size(), " measured, ", result.failures().size(), " failed; ",
      cost.wall_seconds, " s, of which ", cost.compile_wall_seconds, " s compiling");
}

/// Returns the outcome of serving a stored config. A config that a host pinned or imported is of no search, and the
/// search of another device or driver cannot be continued here.
TuneOutcome StoredOutcome(const FoundConfig& found) {
  const TuningRecord& record = *found.record;
  const bool is_of_search = !record.is_pinned && !record.is_imported() && found.selection.match == RecordMatch::kExact;
  return TuneOutcome::Stored(record.is_complete || !is_of_search);
}

TuneOutcome PredictedOutcome() {
  TuneOutcome outcome;
  outcome.origin = TuneOutcome::Origin::kPrediction;
  outcome.is_complete = false;
  return outcome;
}

/// Adds the extents that `fresh` covers to those of `known`.
void AddExtents(const Verification& fresh, Verification* known) {
  for (const Verification::Extents& added : fresh.extents) {
    auto place = std::find_if(known->extents.begin(), known->extents.end(),
                              [&](const Verification::Extents& each) { return each.dim == added.dim; });
    if (place == known->extents.end()) place = known->extents.insert(place, Verification::Extents{added.dim, {}});
    std::vector<std::uint64_t> both;
    std::set_union(place->classes.begin(), place->classes.end(), added.classes.begin(), added.classes.end(),
                   std::back_inserter(both));
    place->classes = std::move(both);
  }
}

/// The record without the outcomes of candidates that were not measured, which have nothing but a config. A large space
/// has many of them, and each launch of a stored key in a new process would read them.
TuningRecord WithoutUntried(TuningRecord record) {
  std::vector<CandidateOutcome>& all = record.candidates;
  auto is_untried = [](const CandidateOutcome& each) { return each.kind == OutcomeKind::kNotMeasured; };
  all.erase(std::remove_if(all.begin(), all.end(), is_untried), all.end());
  return record;
}

}  // namespace

TuneOutcome ConfigChain::Choose(const TuneRequest& request, const LaunchKey& key, Asked asked, bool may_wait) {
  Result<KeyInStore> in_store = KeyInStore::Of(to_, request.call, key);
  if (!in_store.ok()) return {in_store.status()};
  const bool is_again = asked == Asked::kSearchOnly || asked == Asked::kContinue;
  if (Status free = is_again ? CheckNotPinned(*in_store, key) : Status(); !free.ok()) return {free};
  FoundConfig found;
  TuneOutcome outcome = Find(request, *in_store, asked, may_wait, &found);
  if (!outcome.status.ok()) return outcome;
  const std::optional<Selection> in_use = is_again ? to_.ready_keys.selections().Find(key) : std::nullopt;
  if (in_use && in_use->record != nullptr && MustStay(*in_use->record, *found.record)) {
    const std::string kept = "{" + in_use->record->best.config.ToString() + "} is kept";
    to_.announcer.Warn(in_store->key.key_text + (in_use->record->is_pinned
                                                     ? ": a config was pinned during the search, so " + kept
                                                     : ": the search was cut short, so the earlier selection " + kept +
                                                           ": raise the search's budget"));
    outcome.is_complete = in_use->record->is_complete;
  } else {
    Publish(found, *in_store, request.call.call(), key,
            is_again ? ReadyKeys::Place::kInstead : ReadyKeys::Place::kIfFree);
  }
  Store(found);
  if (found.is_new) predicted_.NoteNewRecord();
  Note(found, *in_store);
  return outcome;
}

TuneOutcome ConfigChain::Find(const TuneRequest& request, const KeyInStore& in_store, Asked asked, bool may_wait,
                              FoundConfig* found) {
  ConfigQuestion question = QuestionOf(request, in_store, /*may_compile=*/asked != Asked::kStored);
  StoreMiss miss;
  const bool has_none = asked == Asked::kStored || asked == Asked::kAll;
  if (has_none && *Ask(stored_, question, found, &miss)) return StoredOutcome(*found);
  if (asked == Asked::kStored && *Ask(predicted_, question, found, &miss)) return PredictedOutcome();
  if (asked == Asked::kStored) {
    NoteMiss(in_store.key, miss);
    // Unavailable, as another process may store it.
    TuneOutcome outcome{
        UnavailableError(absl::StrCat("the store has no selection with code for ", in_store.key.key_text, ": ",
                                      std::string(RecordMissName(miss.reason))))};
    outcome.is_not_stored = true;
    return outcome;
  }
  // A prediction that needs no comparison runs while another process tunes the key.
  const bool may_predict = asked == Asked::kAll && !request.is_idle;
  if (may_predict && !miss.is_to_check && miss.before_update == nullptr) {
    ConfigQuestion without_measuring = question;
    without_measuring.may_measure = false;
    const Result<bool> predicted = Ask(predicted_, without_measuring, found, &miss);
    if (!predicted.ok()) return {predicted.status()};
    if (*predicted) {
      NoteMiss(in_store.key, miss);
      return PredictedOutcome();
    }
  }
  // One process tunes; the others find its record when it is done, or take over if it died.
  Result<TuningLease> lease = LeaseToTune(request, in_store.key, may_wait);
  if (StatusCode code = lease.status().code();
      code == StatusCode::kDeadlineExceeded || code == StatusCode::kCancelled) {
    return {lease.status(), /*is_elsewhere=*/code == StatusCode::kDeadlineExceeded};
  }
  if (!lease.ok()) to_.announcer.WarnOfStore(lease.status(), "; this process tunes the key at the same time as others");
  const auto leased = [&](const TuneOutcome& outcome) {
    if (lease.ok()) found->lease = *lease;
    return outcome;
  };
  if (asked == Asked::kAll) {
    const bool is_leased = lease.ok() && *lease != nullptr;
    if (is_leased && *Ask(stored_, question, found, &miss)) return StoredOutcome(*found);
    if (*Ask(checked_, question, found, &miss)) return leased(StoredOutcome(*found));
    NoteMiss(in_store.key, miss);
    if (may_predict) {
      const Result<bool> predicted = Ask(predicted_, question, found, &miss);
      if (!predicted.ok()) return {predicted.status()};
      if (*predicted) return leased(PredictedOutcome());
    }
  }
  if (asked == Asked::kContinue && *Ask(stored_, question, found, &miss)) {
    if (const TuneOutcome outcome = StoredOutcome(*found); outcome.is_complete) return outcome;
    *found = FoundConfig();
  }
  const Status searched = Ask(searched_, question, found, &miss).status();
  return searched.ok() ? leased(TuneOutcome::Searched(found->record->is_complete)) : TuneOutcome{searched};
}

Result<bool> ConfigChain::Ask(ConfigProvider& provider, const ConfigQuestion& question, FoundConfig* found,
                              StoreMiss* miss) {
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<FoundConfig> answer, provider.Find(question, miss));
  if (!answer) return false;
  bool is_to_check = false;
  if (Status loaded = Load(question, &*answer, &is_to_check); !loaded.ok()) {
    // A search finds out what does work, and says why if nothing does.
    *miss = {RecordMiss::kRefused, loaded.message(), is_to_check};
    if (is_to_check) NoteToolchainUpdate(&*answer, miss);
    return false;
  }
  *found = *std::move(answer);
  return true;
}

void ConfigChain::NoteToolchainUpdate(FoundConfig* found, StoreMiss* miss) const {
  const std::string& before = found->record->best.toolchain;
  const std::string& now = found->toolchain;
  const bool is_of_key = to_.policy.selection_group.empty() && found->selection.match <= RecordMatch::kOtherDriver;
  if (!is_of_key || !found->record->is_complete || before.empty() || now.empty() || before == now) return;
  miss->detail = "the config was compiled by '" + before + "' and is now by '" + now +
                 "': what was fast is raced before all configs are searched";
  miss->is_to_check = false;
  miss->before_update = std::move(found->record);
}

ConfigQuestion ConfigChain::QuestionOf(const TuneRequest& request, const KeyInStore& in_store, bool may_compile) const {
  // Where no search may follow, nothing is compared with the baseline.
  return {request, in_store, /*accept_unchecked=*/!to_.may_compile(), may_compile};
}

Status ConfigChain::Load(const ConfigQuestion& question, FoundConfig* found, bool* is_to_check) const {
  if (found->loaded != nullptr) return Status();
  const CandidateOutcome& best = found->record->best;
  const BoundCall& call = question.request.call.call();
  Fingerprint identity;
  // Another device's code need not run here, and another kernel's code is not this one's.
  if (found->is_own && to_.policy.selection_group.empty()) {
    found->loaded = loader_.LoadStored(best.artifact, best.variant, found->config, call, &identity);
  }
  if (found->loaded == nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(
        found->loaded,
        loader_.Compile(found->config, call, question.key.left_out, best.variant, question.may_compile,
                        question.request.stop(to_.policy.search), /*artifact=*/nullptr, &identity, &found->toolchain));
  }
  // A person's word, and what another system decided, needs no verification.
  const bool is_decreed = found->record->is_pinned || found->record->is_imported();
  const bool has_other_code = best.identity != identity;
  *is_to_check = !is_decreed && (has_other_code || HasChangedBaseline(question, *found->record));
  return *is_to_check ? FailedPreconditionError(has_other_code ? kHasOtherCode : kHasOtherBaselineCode) : Status();
}

bool ConfigChain::HasChangedBaseline(const ConfigQuestion& question, const TuningRecord& record) const {
  return record.baseline && record.baseline->artifact != record.best.artifact &&
         loader_.HasChanged(*record.baseline, question.key, question.request.call.call());
}

void ConfigChain::Publish(FoundConfig& found, const KeyInStore& in_store, const BoundCall& call, const LaunchKey& key,
                          ReadyKeys::Place place) {
  to_.ready_keys.PublishSelection(in_store.device, key, call, found.config, std::move(found.loaded), place,
                                  found.selection);
  PublishBaseline(found, in_store, call, key);
}

void ConfigChain::LoadBaseline(const ConfigQuestion& question, FoundConfig* found) const {
  std::optional<CandidateOutcome>& baseline = found->record->baseline;
  if (found->baseline != nullptr || !baseline || !found->is_own || !to_.policy.selection_group.empty()) return;
  std::optional<Config> config = question.key.ConfigOf(baseline->config);
  if (!config) return;
  baseline->config = *std::move(config);  // That of a record that was read has no axes of the kernel's.
  const BoundCall& call = question.request.call.call();
  found->baseline = loader_.LoadStored(baseline->artifact, baseline->variant, baseline->config, call);
}

void ConfigChain::PublishBaseline(FoundConfig& found, const KeyInStore& in_store, const BoundCall& call,
                                  const LaunchKey& key) {
  if (found.baseline == nullptr) return;
  to_.ready_keys.Publish(in_store.device, WithRole(key, LaunchKey::kFallback), call, found.record->baseline->config,
                         std::move(found.baseline));
}

void ConfigChain::Note(const FoundConfig& found, const KeyInStore& in_store) const {
  const std::string& kernel = to_.definition->name();
  const std::string& key_text = in_store.key.key_text;
  if (found.selection.origin == LaunchPlan::Origin::kRanks) return;
  if (found.selection.origin == LaunchPlan::Origin::kSearch) {
    to_.announcer.Inform(key_text, [&] { return TunedText(*found.record); });
    to_.announcer.Tell([&](AutotuneObserver& observer) { observer.OnTuned(kernel, key_text, *found.record); });
    return;
  }
  if (found.selection.origin == LaunchPlan::Origin::kPredicted) {
    ++to_.counters.predictions;
    return;
  }
  ++to_.counters.stored_hits;
  to_.announcer.Inform(key_text, [&] { return "{" + found.config.ToString() + "} was loaded from the store"; });
  to_.announcer.Tell(
      [&](AutotuneObserver& observer) { observer.OnStoredHit(kernel, key_text, found.config.ToString()); });
}

void ConfigChain::NoteMiss(const TuningKey& key, const StoreMiss& miss) const {
  ++to_.counters.store_misses[static_cast<std::size_t>(miss.reason)];
  to_.announcer.Inform(key.key_text, [&] {
    std::string words =
        absl::StrCat("the store has no selection for this key: ", std::string(RecordMissName(miss.reason)));
    return miss.detail.empty() ? words : absl::StrCat(words, ", ", miss.detail);
  });
  to_.announcer.Tell([&](AutotuneObserver& observer) {
    observer.OnStoredMiss(to_.definition->name(), key.key_text, miss.reason, miss.detail);
  });
}

Result<TuningLease> ConfigChain::LeaseToTune(const TuneRequest& request, const TuningKey& key, bool may_wait) const {
  const std::chrono::milliseconds max_wait = may_wait ? to_.policy.max_wait : std::chrono::milliseconds(0);
  auto deadline = DeadlineIn(max_wait);
  if (request.limits != nullptr) deadline = std::min(deadline, request.limits->end);
  Span span(&to_.policy.search.runtime->trace(), "wait", "lease " + key.key_text);
  WaitLimits limits;
  limits.stop = request.stop(to_.policy.search);
  limits.timeout = std::chrono::milliseconds(0);
  for (;;) {
    const auto slice_end = std::chrono::steady_clock::now() + limits.timeout;
    Result<TuningLease> lease = to_.policy.store->Lease(key, limits);
    if (lease.ok() || lease.status().code() != StatusCode::kDeadlineExceeded) return lease;
    if (limits.stop.stop_requested()) {
      return CancelledError("interrupted while waiting for another process that tunes the same key");
    }
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return DeadlineExceededError(max_wait.count() > 0
                                       ? absl::StrCat("another process is tuning this key, and did not finish within ",
                                                      max_wait.count(), " ms (AutotunePolicy::max_wait)")
                                       : "another process is tuning this key");
    }
    std::this_thread::sleep_until(slice_end);  // A host's store may not wait.
    limits.timeout = std::min(kLeaseSlice, left);
  }
}

void ConfigChain::WarnOfWeakData(const TuningKey& key, const char* what) const {
  to_.announcer.Warn(absl::StrCat(key.key_text,
                                  ": the inputs cannot reveal an incorrect result (constant, zero, of one sign, or not "
                                  "finite), so ",
                                  what,
                                  " is not stored: declare values with ForWarmup, in a manifest with \"warmup\", or "
                                  "tune on other data"));
}

void ConfigChain::Store(const FoundConfig& found) const {
  if (!found.is_new) return;
  const TuningRecord& record = *found.record;
  if (std::string profiler = to_.policy.search.runtime->environment().profiler;
      !profiler.empty() && !to_.policy.store_under_profiler) {
    return to_.announcer.Warn("tuned under a profiler (" + profiler +
                              "): the selection is used, but not stored (AutotunePolicy::store_under_profiler)");
  }
  if (!record.verification.is_data_sufficient) return WarnOfWeakData(record.key, "the selection");
  Result<RecordLookup> there = to_.policy.store->Lookup(record.key);
  if (there.ok() && there->match == RecordMatch::kExact && MustStay(*there->record, record)) return;
  if (Status stored = to_.policy.store->Put(WithoutUntried(record)); !stored.ok()) {
    to_.announcer.WarnOfStore(stored, "; the selection is kept for this process only");
  }
}

Status ConfigChain::CheckNotPinned(const KeyInStore& in_store, const LaunchKey& key) const {
  Result<RecordLookup> there = to_.policy.store->Lookup(in_store.key);
  if (!(there.ok() && there->IsPinned()) && !to_.ready_keys.selections().IsPinned(key)) return Status();
  return FailedPreconditionError(in_store.key.key_text + " is pinned, and a pinned key is not tuned: call Unpin first");
}

TuneOutcome ConfigChain::VerifyAt(const TuneRequest& request, const LaunchKey& key, bool may_wait) {
  Result<KeyInStore> in_store = KeyInStore::Of(to_, request.call, key);
  if (!in_store.ok()) return {in_store.status()};
  std::optional<Selection> selection = to_.ready_keys.selections().Find(key);
  if (!selection || selection->record == nullptr)
    return {UnavailableError("another thread replaced the key's config during the call: call again")};
  std::optional<Config> config = in_store->ConfigOf(selection->record->best.config);
  if (!config) return {InternalError("the key's selected config is not a config of the kernel")};
  const Dims& dims = request.call.call().problem.dims;
  to_.announcer.Inform(in_store->key.key_text, [&] {
    return "{" + config->ToString() + "} is being verified at " + to_.definition->DimsString(dims);
  });
  Result<SearchOutcome> searched = searched_.Compare(request, *in_store, *config);
  if (!searched.ok() && (searched.status().sticky() || IsTransient(searched.status().code()) ||
                         searched.status().code() == StatusCode::kCancelled)) {
    return {searched.status()};
  }
  const auto is_measured = [&](const CandidateOutcome& candidate) {
    return candidate.kind == OutcomeKind::kMeasured && candidate.config == *config;
  };
  if (!searched.ok() ||
      std::none_of(searched->record->candidates.begin(), searched->record->candidates.end(), is_measured)) {
    return Choose(request, key, Asked::kSearchOnly, may_wait);
  }
  const Verification& fresh = searched->record->verification;
  FoundConfig found;
  found.config = *std::move(config);
  found.record = std::make_unique<TuningRecord>(*selection->record);
  bool is_to_check = false;  // It was checked just now.
  Status loaded = Load(QuestionOf(request, *in_store, /*may_compile=*/true), &found, &is_to_check);
  if (!loaded.ok() && !is_to_check) return {loaded};
  AddExtents(fresh, &found.record->verification);
  found.selection = SelectionOf(*found.record, selection->origin);
  Publish(found, *in_store, request.call.call(), key, ReadyKeys::Place::kInstead);
  AddToStored(fresh, found, *in_store);
  if (to_.ready_keys.HasVerifiedSelection(key, request.call.call())) return TuneOutcome();
  return {FailedPreconditionError(in_store->key.key_text + ": {" + found.config.ToString() +
                                  "} could not be verified at " + to_.definition->DimsString(dims))};
}

void ConfigChain::AddToStored(const Verification& fresh, const FoundConfig& found, const KeyInStore& in_store) const {
  if (!fresh.is_data_sufficient) return WarnOfWeakData(in_store.key, "the verification of these extents");
  // The stored record knows the other candidates, too.
  Result<RecordLookup> there = to_.policy.store->Lookup(in_store.key);
  const bool is_stored = there.ok() && there->match == RecordMatch::kExact && !there->is_shipped &&
                         there->record->best.config.IsSame(found.config) && !there->record->is_pinned;
  if (!is_stored) return;
  AddExtents(fresh, &there->record->verification);
  if (Status put = to_.policy.store->Put(*there->record); !put.ok()) {
    to_.announcer.WarnOfStore(put, "; the next process has to verify this selection again");
  }
}

Result<std::optional<ConfigChain::StoredConfig>> ConfigChain::Preview(TuningCall& call, const LaunchKey& key,
                                                                      bool may_compile, StoreMiss* miss) {
  TUNEONCE_ASSIGN_OR_RETURN(KeyInStore in_store, KeyInStore::Of(to_, call, key));
  const TuneRequest request{/*stream=*/nullptr, call};
  ConfigQuestion question = QuestionOf(request, in_store, may_compile);
  const bool compares = may_compile && !question.accept_unchecked;
  question.accept_unchecked |= compares;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<FoundConfig> found, stored_.Find(question, miss));
  if (!found) {
    bool is_verified = false;
    std::string detail;
    found = predicted_.Propose(question, &is_verified, &detail);
    if (!found || (!is_verified && !may_compile)) return std::optional<StoredConfig>();
    std::string variant = found->record->best.variant;
    return std::optional<StoredConfig>(StoredConfig{std::move(found->config), std::move(variant),
                                                    std::move(found->selection), !is_verified, std::move(detail)});
  }
  const CandidateOutcome& best = found->record->best;
  if (!may_compile && !loader_.HasCode(best.artifact, best.variant, found->config, call.call(), in_store.left_out)) {
    *miss = {RecordMiss::kRefused, "the code of {" + found->config.ToString() + "} is not in the store"};
    return std::optional<StoredConfig>();
  }
  const bool is_to_check = compares && found->is_unchecked();
  // A record of the key of all variants may name one that does not suit this call.
  std::string variant =
      is_to_check ? best.variant : loader_.VariantOf(best.variant, found->config, call.call(), in_store.left_out);
  return std::optional<StoredConfig>(
      StoredConfig{std::move(found->config), std::move(variant), std::move(found->selection), is_to_check, ""});
}

}  // namespace v0
}  // namespace tuneonce
