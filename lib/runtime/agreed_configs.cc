#include "runtime/agreed_configs.h"

#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "runtime/key_in_store.h"
#include "search/candidate.h"
#include "search/search_cost.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

Result<AgreedConfigs::Contribution> AgreedConfigs::Contribute(TuningCall& call, const LaunchKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(KeyInStore in_store, KeyInStore::Of(to_, call, key));
  Contribution contribution;
  contribution.key = in_store.key;
  contribution.space = in_store.space;
  if (to_.ready_keys.HasSelection(key)) {
    std::optional<Selection> selection = to_.ready_keys.selections().Find(key);
    if (!selection || selection->record == nullptr)
      return InternalError("another thread replaced the key's config during the call: call again");
    contribution.selection = *std::move(selection);
    contribution.record = *contribution.selection.record;
    return contribution;
  }
  if (to_.policy.mode == AutotunePolicy::Mode::kFallbackOnly) return contribution;
  const TuneRequest request{/*stream=*/nullptr, call};
  const ConfigQuestion question = chain_.QuestionOf(request, in_store, to_.may_compile());
  StoreMiss miss;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<FoundConfig> found, chain_.stored().Find(question, &miss));
  // What is to be compared with the baseline first is compared by the rank that searches. Code that cannot be loaded
  // here fails the agreement, so that the other ranks know of it.
  bool is_to_check = false;
  if (found) (void)chain_.Load(question, &*found, &is_to_check);
  if (!found || is_to_check) {
    // Where nothing may be compiled, no compiler is asked for its version.
    if (to_.may_compile()) TUNEONCE_RETURN_IF_ERROR(EstimateSearch(call, in_store, &contribution));
    return contribution;
  }
  contribution.selection = std::move(found->selection);
  contribution.record = std::move(*found->record);
  contribution.loaded = std::move(found->loaded);
  return contribution;
}

Status AgreedConfigs::EstimateSearch(const TuningCall& call, const KeyInStore& in_store, Contribution* contribution) {
  const KernelDefinition& definition = *to_.definition;
  const Problem& problem = call.call().problem;
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<Config>* all, in_store.Configs());
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, definition.space().Fitting(*all, *problem.target, problem));
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
    Result<const Toolchain*> toolchain = runtime.toolchains().For(candidate.source.kind());
    const Result<std::string> version = toolchain.ok() ? (*toolchain)->Version() : toolchain.status();
    variants.Add(version.ok() ? *version : "missing");
  }
  contribution->variants = variants.Finish();
  return Status();
}

Status AgreedConfigs::Find(const TuneRequest& request, const LaunchKey& key, Contribution* contribution) {
  TUNEONCE_ASSIGN_OR_RETURN(KeyInStore in_store, KeyInStore::Of(to_, request.call, key));
  FoundConfig found;
  TUNEONCE_RETURN_IF_ERROR(chain_.Find(request, in_store, ConfigChain::Asked::kAll, /*may_wait=*/true, &found).status);
  chain_.Store(found);
  // A stored config is noted where it is published.
  if (found.selection.origin == LaunchPlan::Origin::kSearch) chain_.Note(found, in_store);
  contribution->selection = std::move(found.selection);
  contribution->record = std::move(*found.record);
  contribution->loaded = std::move(found.loaded);
  contribution->baseline = std::move(found.baseline);
  return Status();
}

Result<FoundConfig> AgreedConfigs::Load(const TuneRequest& request, const LaunchKey& key, const Contribution& agreed) {
  const TuningRecord& record = *agreed.record;
  TUNEONCE_ASSIGN_OR_RETURN(KeyInStore in_store, KeyInStore::Of(to_, request.call, key));
  std::optional<Config> config = in_store.ConfigOf(record.best.config);
  if (!config) {
    return FailedPreconditionError(
        "{" + record.best.config.ToString() +
        "} is not a config of the kernel on this rank: use the same kernel definition on all ranks");
  }
  if (!in_store.HasBaseline(record, request.call.call())) {
    return FailedPreconditionError("{" + config->ToString() +
                                   "} was verified by a search with another baseline or space than this rank has: use "
                                   "the same kernel definition on all ranks");
  }
  FoundConfig found;
  found.config = *std::move(config);
  found.record = std::make_unique<TuningRecord>(record);
  found.selection = agreed.selection;
  found.loaded = agreed.loaded;
  found.baseline = agreed.baseline;
  const RecordMatch match = MatchKeys(record.key, in_store.key);
  found.is_own = match <= RecordMatch::kOtherDriver;
  // So that the next start brings it along. A record of another key or driver is not this key's.
  found.is_new = found.selection.origin == LaunchPlan::Origin::kRanks && match == RecordMatch::kExact;
  bool is_to_check = false;
  const ConfigQuestion question = chain_.QuestionOf(request, in_store, to_.may_compile());
  const Status loaded = chain_.Load(question, &found, &is_to_check);
  if (is_to_check) {
    return FailedPreconditionError(
        "the code of {" + found.config.ToString() +
        "} on this rank differs from the verified code: use the same compilers on all ranks");
  }
  if (!loaded.ok()) return loaded;
  chain_.LoadBaseline(question, &found);
  chain_.PublishBaseline(found, in_store, request.call.call(), key);
  return found;
}

Status AgreedConfigs::Publish(TuningCall& call, const LaunchKey& key, FoundConfig agreed) {
  TUNEONCE_ASSIGN_OR_RETURN(KeyInStore in_store, KeyInStore::Of(to_, call, key));
  chain_.Publish(agreed, in_store, call.call(), key, ReadyKeys::Place::kIfFree);
  to_.announcer.Inform(in_store.key.key_text, [&] { return "all ranks run {" + agreed.config.ToString() + "}"; });
  chain_.Store(agreed);
  // What this rank searched for was noted then.
  if (agreed.selection.origin != LaunchPlan::Origin::kSearch) chain_.Note(agreed, in_store);
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
