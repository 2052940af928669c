// A Chooser's part in an agreement of ranks: what this process has of a key, a selection for all, and what was agreed
// on.
#include <optional>
#include <string>
#include <utility>

#include "base/environment.h"
#include "runtime/chooser.h"
#include "search/candidate.h"
#include "search/search_cost.h"
#include "tuneonce/autotune_observer.h"
#include "tuneonce/device.h"
#include "tuneonce/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {

Result<Chooser::Contribution> Chooser::Contribute(TuningCall& call, const LaunchKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(KeyInStore in_store, IdentifyHere(call, key));
  Contribution contribution;
  contribution.key = in_store.key;
  if (to_.ready_keys.HasSelection(key)) {
    std::optional<Selection> selection = to_.ready_keys.selections().Find(key);
    if (!selection || selection->record == nullptr)
      return InternalError("another thread replaced the key's config during the call: call again");
    contribution.selection = *std::move(selection);
    contribution.record = *contribution.selection.record;
    return contribution;
  }
  if (to_.policy.mode == AutotunePolicy::Mode::kFallbackOnly) return contribution;
  const Serving serving = ServingOf(/*may_compile_now=*/true, nullptr);
  StoreMiss miss;
  std::optional<Found> found = FindRecord(in_store, serving, &miss);
  // What is to be compared with the baseline first is compared by the rank that searches.
  if (!found || !IsVerifiedHere(*found, in_store, call.call(), serving)) {
    // Where nothing may be compiled, no compiler is asked for its version.
    if (may_compile()) TUNEONCE_RETURN_IF_ERROR(EstimateSearch(call, in_store, &contribution));
    return contribution;
  }
  contribution.selection = SelectionOf(found->record, found->match, found->is_shipped);
  contribution.record = std::move(found->record);
  return contribution;
}

Status Chooser::EstimateSearch(const TuningCall& call, const KeyInStore& in_store, Contribution* contribution) {
  const KernelDefinition& definition = *to_.definition;
  const Problem& problem = call.call().problem;
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs,
                            definition.space().Fitting(in_store.configs, problem.target, problem));
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(to_.api));
  contribution->cost = EstimatedSearchUs(definition, call.call(), configs.size(), device);
  if (configs.empty()) return Status();
  const Runtime& runtime = *Runtime::OrDefault(to_.policy.search.runtime);
  TUNEONCE_ASSIGN_OR_RETURN(PlannedConfig planned, PlanConfig(to_.definition, configs.front(), call.call(),
                                                              runtime.environment().enable_tile, in_store.left_out));
  // The variants are equal where the same compilers are installed.
  Fingerprinter variants;
  for (const Candidate& candidate : planned.alternatives) {
    variants.Add(candidate.variant_name());
    if (candidate.is_callable()) continue;
    Result<const Toolchain*> toolchain = runtime.toolchains().For(candidate.source.kind);
    const Result<std::string> version = toolchain.ok() ? (*toolchain)->Version() : toolchain.status();
    variants.Add(version.ok() ? *version : "missing");
  }
  contribution->variants = variants.Finish();
  return Status();
}

Result<TuningRecord> Chooser::FindForRanks(const TuneRequest& request, const LaunchKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(KeyInStore in_store, IdentifyHere(request.call, key));
  StoreMiss miss;
  auto stored = [&](bool accept_incomplete) -> std::optional<TuningRecord> {
    Serving serving = ServingOf(/*may_compile_now=*/true, request.limits);
    serving.accept_incomplete |= accept_incomplete;
    std::optional<Found> found = FindRecord(in_store, serving, &miss);
    const bool serves = found && IsVerifiedHere(*found, in_store, request.call.call(), serving);
    if (found && !serves) miss = {RecordMiss::kRefused, kIsToCheck, /*is_to_check=*/true};
    return serves ? std::optional<TuningRecord>(std::move(found->record)) : std::nullopt;
  };
  // Another key of this list may have the same record.
  if (std::optional<TuningRecord> record = stored(false)) return *std::move(record);
  Result<TuningLease> lease = LeaseToTune(request, in_store.key, /*may_wait=*/true);
  if (StatusCode code = lease.status().code();
      code == StatusCode::kDeadlineExceeded || code == StatusCode::kCancelled) {
    return lease.status();
  }
  if (!lease.ok()) to_.announcer.WarnOfStore(lease.status(), "; this process tunes the key at the same time as others");
  if (std::optional<TuningRecord> record = stored(false)) return *std::move(record);
  if (std::optional<Agreed> checked = CheckImported(request, in_store, &miss)) return std::move(checked->record);
  NoteMiss(in_store.key, miss);
  Result<SearchOutcome> searched = SearchForKey(request, in_store);
  if (!searched.ok()) {
    if (searched.status().sticky() || searched.status().code() == StatusCode::kCancelled) return searched.status();
    std::optional<TuningRecord> incomplete = stored(true);
    return incomplete ? Result<TuningRecord>(*std::move(incomplete)) : searched.status();
  }
  RememberSearched(*searched->record);
  return std::move(*searched->record);
}

Result<Chooser::Agreed> Chooser::LoadAgreed(const TuneRequest& request, const LaunchKey& key, TuningRecord record,
                                            Selection selection) {
  TUNEONCE_ASSIGN_OR_RETURN(KeyInStore in_store, IdentifyHere(request.call, key));
  std::optional<Config> config = ConfigOf(in_store, record.best.config);
  if (!config) {
    return FailedPreconditionError(
        "{" + record.best.config.ToString() +
        "} is not a config of the kernel on this rank: use the same kernel definition on all ranks");
  }
  const BoundCall& call = request.call.call();
  const bool is_own = MatchKeys(record.key, in_store.key) <= RecordMatch::kOtherDriver;
  Fingerprint identity;
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<const LoadedKernel> loaded,
                            LoadCodeOf(record, is_own, *config, call, in_store.left_out, may_compile(),
                                       InterruptOf(request.limits), &identity));
  if (!IsVerifiedCode(record, identity)) {
    return FailedPreconditionError(
        "the code of {" + config->ToString() +
        "} on this rank differs from the verified code: use the same compilers on all ranks");
  }
  return Agreed{*std::move(config), std::move(loaded), std::move(record), std::move(selection)};
}

Status Chooser::ServeAgreed(TuningCall& call, const LaunchKey& key, Agreed agreed) {
  TUNEONCE_ASSIGN_OR_RETURN(KeyInStore in_store, IdentifyHere(call, key));
  const LaunchPlan::Origin origin = agreed.selection.origin;
  to_.ready_keys.PublishSelection(in_store.device, key, call.call(), agreed.config, std::move(agreed.loaded),
                                  ReadyKeys::Place::kIfFree, std::move(agreed.selection));
  to_.announcer.Inform(in_store.key.key_text, [&] { return "all ranks run {" + agreed.config.ToString() + "}"; });
  // So that the next start brings it along. What is of another key, or driver, is not this one's record.
  if (origin == LaunchPlan::Origin::kRanks && MatchKeys(agreed.record.key, in_store.key) == RecordMatch::kExact) {
    Remember(agreed.record);
  }
  if (origin == LaunchPlan::Origin::kSearch || origin == LaunchPlan::Origin::kRanks) return Status();
  ++to_.counters.stored_hits;
  to_.announcer.Tell([&](AutotuneObserver& observer) {
    observer.OnStoredHit(to_.definition->name(), in_store.key.key_text, agreed.config.ToString());
  });
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
