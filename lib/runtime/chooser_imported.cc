// What a Chooser does with a config that did not run here yet, whose code is not what was verified, or that was not
// verified at extents like a launch's.
#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/chooser.h"
#include "search/search_call.h"
#include "tuneonce/record_store.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

namespace {

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

}  // namespace

bool Chooser::ServeChecked(const TuneRequest& request, const KeyInStore& in_store, const LaunchKey& key,
                           StoreMiss* miss) {
  std::optional<Agreed> checked = CheckImported(request, in_store, miss);
  if (!checked) return false;
  to_.ready_keys.PublishSelection(in_store.device, key, request.call.call(), checked->config,
                                  std::move(checked->loaded), ReadyKeys::Place::kIfFree, std::move(checked->selection));
  ++to_.counters.stored_hits;
  return true;
}

std::optional<Chooser::Agreed> Chooser::CheckImported(const TuneRequest& request, const KeyInStore& in_store,
                                                      StoreMiss* miss) {
  if (!miss->is_to_check) return std::nullopt;
  std::optional<Found> found = FindRecord(in_store, ServingOf(/*may_compile=*/true, request.limits), miss);
  if (!found) return std::nullopt;
  const bool is_imported = found->record.is_imported();
  const BoundCall& call = request.call.call();
  auto is_it = [&](const CandidateOutcome& candidate) { return candidate.config == found->config; };
  MeasuredOn on;
  Result<SearchOutcome> searched = Search(request, in_store, &found->config, &on);
  std::string why = searched.ok() ? "" : searched.status().message();
  if (searched.ok()) {
    const TuningRecord& result = *searched->record;
    to_.counters.workers_replaced += result.cost.workers_replaced;
    to_.counters.tuning_gpu_ns += static_cast<std::int64_t>(result.cost.gpu_seconds * 1e9);
    const std::vector<CandidateOutcome> successes = result.successes();
    auto it = std::find_if(successes.begin(), successes.end(), is_it);
    // Within the margin by which a selection must beat it, the baseline is no better.
    double most_us =
        result.baseline ? result.baseline->measurement.mean_us * (1 + to_.policy.search.baseline_margin) : 0;
    if (it == successes.end()) {
      const std::vector<CandidateOutcome> failures = result.failures();
      why = failures.empty() ? "the config does not run at these dims" : failures.front().message;
    } else if (result.baseline && it->measurement.mean_us > most_us) {
      why = "the config is slower than the baseline";
    } else {
      TuningRecord record = result;
      Complete(in_store, on, &record);
      record.best = *it;
      record.reason = is_imported ? SelectionReason::kImported : found->record.reason;
      // The old record knows as much about the other candidates.
      if (!is_imported) record.candidates = found->record.candidates;
      // Another kernel's record stays that kernel's.
      if (to_.policy.selection_group.empty()) Remember(record);
      Result<std::shared_ptr<const LoadedKernel>> loaded =
          is_it(result.best) ? searched->best
                             : loader_.Compile(it->config, call, in_store.left_out, it->variant, /*may_compile=*/true,
                                               InterruptOf(request.limits));
      if (loaded.ok()) {
        Selection selection =
            SelectionOf(record, is_imported ? LaunchPlan::Origin::kImported : LaunchPlan::Origin::kStore);
        return Agreed{it->config, *std::move(loaded), std::move(record), std::move(selection)};
      }
      why = loaded.status().message();
    }
  }
  to_.announcer.Warn(in_store.key.key_text + ": the " + (is_imported ? "imported" : "stored") + " {" +
                     found->config.ToString() + "} is not used: " + why);
  *miss = {RecordMiss::kRefused, why};
  return std::nullopt;
}

TuneOutcome Chooser::VerifyAt(const TuneRequest& request, const LaunchKey& key, bool may_wait) {
  Result<KeyInStore> in_store = IdentifyHere(request.call, key);
  if (!in_store.ok()) return {in_store.status()};
  std::optional<Selection> selection = to_.ready_keys.selections().Find(key);
  if (!selection || selection->record == nullptr)
    return {UnavailableError("another thread replaced the key's config during the call: call again")};
  const TuningRecord& known = *selection->record;
  std::optional<Config> config = ConfigOf(*in_store, known.best.config);
  if (!config) return {InternalError("the key's selected config is not a config of the kernel")};
  to_.announcer.Inform(in_store->key.key_text, [&] {
    return "{" + config->ToString() + "} is being verified at " +
           to_.definition->DimsString(request.call.call().problem.dims);
  });
  MeasuredOn on;
  Result<SearchOutcome> searched = Search(request, *in_store, &*config, &on);
  if (!searched.ok() && (searched.status().sticky() || IsTransient(searched.status().code()) ||
                         searched.status().code() == StatusCode::kCancelled)) {
    return {searched.status()};
  }
  bool is_verified = false;
  if (searched.ok()) {
    for (const CandidateOutcome& candidate : searched->record->candidates) {
      is_verified |= candidate.kind == OutcomeKind::kMeasured && candidate.config == *config;
    }
  }
  if (!is_verified) return Reselect(request, key, may_wait);
  const Verification& fresh = searched->record->verification;
  Result<std::shared_ptr<const LoadedKernel>> loaded =
      LoadCodeOf(known, /*is_own=*/true, *config, request.call.call(), in_store->left_out, /*may_compile_now=*/true,
                 InterruptOf(request.limits), nullptr);
  if (!loaded.ok()) return {loaded.status()};
  TuningRecord record = known;
  AddExtents(fresh, &record.verification);
  to_.ready_keys.PublishSelection(in_store->device, key, request.call.call(), *config, *std::move(loaded),
                                  ReadyKeys::Place::kInstead, SelectionOf(record, selection->origin));
  // The stored record knows the other candidates, too.
  Result<RecordLookup> there = to_.policy.store->Lookup(in_store->key);
  const bool is_stored = there.ok() && there->match == RecordMatch::kExact && !there->is_shipped &&
                         there->record->best.config.IsSame(known.best.config) && !there->record->is_pinned;
  if (is_stored) {
    AddExtents(fresh, &there->record->verification);
    if (Status put = to_.policy.store->Put(*there->record); !put.ok()) {
      to_.announcer.WarnOfStore(put, "; the next process has to verify this selection again");
    }
  }
  if (to_.ready_keys.HasVerifiedSelection(key, request.call.call())) return TuneOutcome();
  return {FailedPreconditionError(in_store->key.key_text + ": {" + config->ToString() + "} could not be verified at " +
                                  to_.definition->DimsString(request.call.call().problem.dims))};
}

}  // namespace v0
}  // namespace tuneonce
