#include "runtime/fallback_configs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "base/callback.h"
#include "base/environment.h"
#include "launch/parameter_block.h"
#include "launch/requirement_check.h"
#include "runtime/key_in_store.h"
#include "search/candidate.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The errors of a launch of the config by this variant that follow from numbers: its geometry, its workspaces and its
/// derived parameters.
Status CheckNumbers(const Variant& variant, const ParameterLayout& layout, const Config& config,
                    const Problem& problem) {
  TUNEONCE_RETURN_IF_ERROR(
      CallUser("a workspace function", [&] { return layout.WorkspaceBytes(config, problem); }).status());
  if (variant.launcher) return Status();
  TUNEONCE_RETURN_IF_ERROR(CallUser("the geometry function", [&] { return variant.geometry.Check(config, problem); }));
  return CallUser("a derived parameter's function", [&] { return layout.CheckDerived(config, problem); });
}

/// Returns OK if the variant's requirement holds for the config and the call, as far as it depends on the config.
Status CheckRequirement(const Variant& variant, const AssumptionChecks& of_variant, const Config& config,
                        const BoundCall& call) {
  if (variant.requirement.IsAlways()) return Status();
  TUNEONCE_RETURN_IF_ERROR(of_variant.For(config).Verify(call));
  return CheckRequirementGuards(variant, config, call.problem);
}

/// Returns OK if some variant accepts the call with one of the configs. Errors: those of CheckRequirement, preferably
/// that of an assumption, which the caller can change.
Status CheckRequirements(const ReadyKeys::DeviceState& device, const std::vector<Config>& configs,
                         const BoundCall& call) {
  Status refused;
  for (const Config& config : configs) {
    for (const auto& [variant, state] : device.variants) {
      if (!variant->IsBackendOf(config) || !state.assumptions.Hold(call)) continue;
      Status accepted = CheckRequirement(*variant, state.assumptions, config, call);
      if (accepted.ok()) return accepted;
      const bool is_better =
          refused.code() != StatusCode::kInvalidArgument && accepted.code() == StatusCode::kInvalidArgument;
      if (refused.ok() || is_better) refused = std::move(accepted);
    }
  }
  return refused;
}

/// Returns the error of a launch with the kernel's name, which some errors have already.
Status OfKernel(const KernelDefinition& definition, const Status& status) {
  const std::string kernel = "kernel '" + definition.name() + "'";
  return absl::StartsWith(status.message(), kernel) ? status : status.WithPrefix(kernel);
}

}  // namespace

Result<Config> FallbackConfigs::Find(const ReadyKeys::DeviceState& device, const BoundCall& call) {
  const SearchSpace& space = to_.definition->space();
  // Also says what is wrong with the space, if anything is.
  TUNEONCE_RETURN_IF_ERROR(to_.ready_keys.ConfigsOn(device).status());
  Result<std::shared_ptr<const std::vector<Config>>> fitting = to_.ready_keys.FittingOn(device, call.problem);
  if (!fitting.ok()) return OfKernel(*to_.definition, fitting.status());
  const std::vector<Config>& configs = **fitting;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<Config> baseline,
                            BaselineOf(to_.definition, call, configs, /*left_out=*/VariantSet()));
  const Config* fallback = FittingFallback(space, device.target, call.problem);
  Config config = baseline ? *baseline : fallback != nullptr ? *fallback : configs.front();
  auto accepts = [&](const Config& each) { return IsAccepted(*to_.definition, each, call, VariantSet()); };
  if (to_.definition->has_config_requirements() && !accepts(config)) {
    auto accepted = std::find_if(configs.begin(), configs.end(), accepts);
    if (accepted == configs.end()) TUNEONCE_RETURN_IF_ERROR(CheckRequirements(device, configs, call));
    if (accepted != configs.end()) config = *accepted;
  }
  if (baseline) return config;
  TUNEONCE_RETURN_IF_ERROR(OfKernel(*to_.definition, space.CheckGuards(config, call.problem)));  // The fallback's.
  return config;
}

Status FallbackConfigs::CheckLaunchable(const BoundCall& bound) {
  TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, to_.ready_keys.CurrentDevice());
  BoundCall call = bound;
  call.problem.target = &device->target;
  const SearchSpace& space = to_.definition->space();
  // Usually one of these is launchable, and the space need not be enumerated.
  const Result<Config> first_of_all = to_.ready_keys.FirstOn(*device);
  const Result<std::optional<Config>> baseline = space.BaselineFor(call.problem);
  if (first_of_all.ok() && baseline.ok()) {
    std::vector<Config> usual = {*first_of_all};
    if (*baseline) usual.insert(usual.begin(), **baseline);
    if (LaunchableOf(usual, *device, call).any) return Status();
  }
  Result<const std::vector<Config>*> whole = to_.ready_keys.ConfigsOn(*device);
  if (!whole.ok()) return Status();  // A search states what is wrong with the space, and a key's failure that is.
  Launchable all = LaunchableOf(**whole, *device, call);
  if (all.any) return Status();
  Status error = std::move(all.first_error);
  if (!all.any_fits) {
    error = space.Fitting(**whole, device->target, call.problem).status();
  } else if (error.ok()) {
    error = CheckRequirements(*device, **whole, call);
  }
  return OfKernel(*to_.definition, error);
}

FallbackConfigs::Launchable FallbackConfigs::LaunchableOf(const std::vector<Config>& configs,
                                                          const ReadyKeys::DeviceState& device,
                                                          const BoundCall& call) const {
  Launchable found;
  for (const Config& config : configs) {
    if (!to_.definition->space().CheckGuards(config, call.problem).ok()) continue;
    found.any_fits = true;
    for (const auto& [variant, state] : device.variants) {
      if (!variant->IsBackendOf(config) || !state.assumptions.Hold(call)) continue;
      if (!CheckRequirement(*variant, state.assumptions, config, call).ok()) continue;
      Status launchable = CheckNumbers(*variant, *state.layout, config, call.problem);
      found.any = launchable.ok();
      if (found.any) return found;
      if (found.first_error.ok()) found.first_error = std::move(launchable);
    }
  }
  return found;
}

Result<KeyJobs> FallbackConfigs::JobsOf(TuningCall& at_hand, TuningCall& at_bound) {
  TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, to_.ready_keys.CurrentDevice());
  at_hand.SetTarget(device->target);
  at_bound.SetTarget(device->target);
  const bool enable_tile = to_.policy.search.runtime->environment().enable_tile;
  const VariantSet left_out = device->LeftOutBy(at_hand.call());
  auto job_of = [&](const Config& config, const BoundCall& call) -> Result<std::optional<CompileJob>> {
    TUNEONCE_ASSIGN_OR_RETURN(PlannedConfig planned, PlanConfig(to_.definition, config, call, enable_tile, left_out));
    if (!planned.needs_compiling()) return std::optional<CompileJob>();
    std::optional<CompileJob> job = CompileJobOf(planned);
    job->cache = to_.policy.search.compile.cache;
    return job;
  };
  KeyJobs jobs;
  TUNEONCE_ASSIGN_OR_RETURN(Config fallback, Find(*device, at_hand.call()));
  TUNEONCE_ASSIGN_OR_RETURN(jobs.fallback, job_of(fallback, at_hand.call()));
  TUNEONCE_ASSIGN_OR_RETURN(const std::shared_ptr<const std::vector<Config>> configs,
                            to_.ready_keys.FittingOn(*device, at_bound.call().problem));
  // A search that does not try all configs compiles those that it tries. Planning all of many would take too long.
  constexpr std::size_t kMostAhead = 1000;
  const SearchOptions& search = to_.policy.search;
  const auto max_configs = static_cast<std::size_t>(to_.definition->space().max_configs());
  const bool is_exhaustive = search.strategy == Strategy::kExhaustive;
  const bool tries_all = is_exhaustive || search.strategy == Strategy::kAutomatic;
  const std::size_t most = is_exhaustive ? std::max(kMostAhead, max_configs) : max_configs;
  if (!tries_all || configs->size() > most || search.budgets.trials > 0) return jobs;
  for (const Config& config : *configs) {
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<CompileJob> job, job_of(config, at_bound.call()));
    if (job) jobs.candidates.push_back(*std::move(job));
  }
  return jobs;
}

Result<const HitTable::Entry*> FallbackConfigs::Load(const BoundCall& bound, const LaunchKey& key,
                                                     const TuneLimits* limits) {
  TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, to_.ready_keys.CurrentDevice());
  BoundCall call = bound;
  call.problem.target = &device->target;
  TUNEONCE_ASSIGN_OR_RETURN(Config config, Find(*device, call));
  std::shared_ptr<const LoadedKernel> loaded = LoadStored(*device, config, call, key.left_out());
  // Code of the store may assume what this call does not fulfil.
  if (loaded != nullptr && loaded->assumptions && !loaded->assumptions->Verify(call).ok()) loaded = nullptr;
  if (loaded == nullptr) {
    bool is_over = limits != nullptr && limits->stop.stop_requested();
    Result<std::shared_ptr<const LoadedKernel>> compiled =
        loader_.Compile(config, call, key.left_out(), "", to_.may_compile() && !is_over,
                        limits != nullptr ? limits->stop : to_.policy.search.stop);
    if (!compiled.ok()) return OfKernel(*to_.definition, compiled.status());
    loaded = *std::move(compiled);
  }
  return to_.ready_keys.Publish(*device, key, call, config, std::move(loaded));
}

std::shared_ptr<const LoadedKernel> FallbackConfigs::LoadStored(const ReadyKeys::DeviceState& device,
                                                                const Config& config, const BoundCall& call,
                                                                VariantSet left_out) {
  // Another kernel's code is not this one's.
  if (!to_.policy.selection_group.empty()) return nullptr;
  Result<KeyInStore> in_store = KeyInStore::Of(to_, device, call, left_out);
  if (!in_store.ok()) return nullptr;
  Result<RecordLookup> lookup = to_.policy.store->Lookup(in_store->key);
  auto code_in = [&](const TuningRecord& record) -> std::shared_ptr<const LoadedKernel> {
    if (record.baseline && config.IsSame(record.baseline->config)) {
      return loader_.LoadStored(record.baseline->artifact, record.baseline->variant, config, call);
    }
    return config.IsSame(record.best.config)
               ? loader_.LoadStored(record.best.artifact, record.best.variant, config, call)
               : nullptr;
  };
  // What another driver's search compiled is this kernel's code all the same; what another device's did need not run.
  if (lookup.ok() && lookup->record && lookup->match <= RecordMatch::kOtherDriver) {
    if (std::shared_ptr<const LoadedKernel> loaded = code_in(*lookup->record)) return loaded;
  }
  if (to_.may_compile()) return nullptr;
  Result<std::vector<TuningRecord>> records = to_.policy.store->List();
  if (!records.ok()) return nullptr;
  for (TuningRecord& record : *records) {
    record.key.key_words = in_store->key.key_words;  // The fingerprint is of the sources.
    if (MatchKeys(record.key, in_store->key) > RecordMatch::kOtherDriver) continue;
    if (std::shared_ptr<const LoadedKernel> loaded = code_in(record)) return loaded;
  }
  return nullptr;
}

}  // namespace v0
}  // namespace tuneonce
