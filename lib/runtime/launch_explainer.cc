#include "runtime/launch_explainer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launch/requirement_check.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Reason = LaunchPlan::Reason;
using Action = LaunchPlan::Action;

void Take(const Selection& selection, LaunchPlan* plan) {
  plan->origin = selection.origin;
  plan->match = selection.match;
  plan->record = selection.record;
}

/// Returns OK if the guards of the space and the variant's requirement (null: not known) hold for the config, and it is
/// the first of `baselines` that applies, if there are any.
Status CheckGuards(const KernelDefinition& definition, const Variant* variant, const Config& config,
                   const std::vector<Config>& baselines, const Problem& problem) {
  TUNEONCE_RETURN_IF_ERROR(definition.space().CheckGuards(config, problem));
  if (variant != nullptr) TUNEONCE_RETURN_IF_ERROR(CheckRequirementGuards(*variant, config, problem));
  if (IsBaselineAmong(baselines, definition.space(), config, problem)) return Status();
  return FailedPreconditionError("{" + config.ToString() +
                                 "} was selected as the baseline, and is not the baseline of these arguments");
}

}  // namespace

std::string_view LaunchPlanName(LaunchPlan::Action action) {
  constexpr std::string_view kNames[] = {"nothing", "selected", "fallback", "search"};
  return kNames[static_cast<std::size_t>(action)];
}

std::string_view LaunchPlanName(LaunchPlan::Reason reason) {
  constexpr std::string_view kNames[] = {"empty",   "ready",      "stored",      "no_record", "guard",  "unverified",
                                         "pending", "not_agreed", "failed_tune", "capture",   "frozen", "mode"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::string_view LaunchPlanName(LaunchPlan::Origin origin) {
  constexpr std::string_view kNames[] = {"none",   "search",   "store", "shipped",
                                         "pinned", "imported", "ranks", "predicted"};
  return kNames[static_cast<std::size_t>(origin)];
}

Status LaunchExplainer::PutFallback(const BoundCall& bound) {
  BoundCall call = bound;
  plan_.action = Action::kFallback;
  LaunchKey key;
  TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* entry, impl_.ready_keys.FindFallback(call, &key));
  if (entry != nullptr) {
    plan_.config = entry->kernel->config;
    plan_.variant = entry->kernel->variant->name;
    return Status();
  }
  TUNEONCE_RETURN_IF_ERROR(impl_.ready_keys.CheckAssumptions(call));
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(impl_.api, stream_).IsCapturing());
  if (capturing) {
    return FailedPreconditionError(
        absl::StrCat("kernel '", impl_.definition->name(), "', ", plan_.key,
                     ": the stream is capturing and no code is loaded for this key: launch once before the capture"));
  }
  TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, impl_.ready_keys.CurrentDevice());
  TUNEONCE_ASSIGN_OR_RETURN(plan_.config, impl_.fallbacks.Find(*device, call));
  return Status();
}

Status LaunchExplainer::PutUnverified(const BoundCall& call, const LaunchKey& key, const Config& config,
                                      const std::string& variant) {
  plan_.reason = Reason::kUnverified;
  plan_.detail =
      "{" + config.ToString() + "} was not verified at extents like " + impl_.definition->DimsString(call.problem.dims);
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<MissPolicy::Refusal> refusal, impl_.misses.RefusalOf(stream_, key));
  if (refusal || impl_.policy.mode != AutotunePolicy::Mode::kTuneOnMiss) return PutFallback(call);
  plan_.action = Action::kSearch;
  plan_.config = config;
  plan_.variant = variant;
  return Status();
}

Status LaunchExplainer::PutGuard(const BoundCall& call, const Status& guard) {
  plan_.reason = Reason::kGuard;
  plan_.detail = guard.message();
  return PutFallback(call);
}

Status LaunchExplainer::PutStored(TuningCall& call, const LaunchKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<MissPolicy::Refusal> refusal, impl_.misses.RefusalOf(stream_, key));
  if (refusal) {
    plan_.reason = refusal->reason;
    plan_.detail = refusal->detail;
    return PutFallback(call.call());
  }
  TUNEONCE_RETURN_IF_ERROR(impl_.ready_keys.CheckAssumptions(call.call()));
  TUNEONCE_RETURN_IF_ERROR(impl_.fallbacks.CheckLaunchable(call.call()));
  const bool searches = impl_.policy.mode == AutotunePolicy::Mode::kTuneOnMiss;
  StoreMiss miss;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<ConfigChain::StoredConfig> stored,
                            impl_.chain.Preview(call, key, searches, &miss));
  const bool is_predicted = stored && stored->selection.origin == LaunchPlan::Origin::kPredicted;
  plan_.reason = stored && !is_predicted ? Reason::kStored : Reason::kNoRecord;
  if (plan_.reason == Reason::kNoRecord) {
    plan_.miss = miss.reason;
    plan_.detail = miss.detail;
  }
  if (!stored && !searches) return PutFallback(call.call());
  plan_.action = Action::kSearch;
  if (!stored) return Status();
  Take(stored->selection, &plan_);
  plan_.config = stored->config;
  plan_.variant = stored->variant;
  if (stored->is_to_check) {
    plan_.detail = (is_predicted ? "the config is " + stored->detail
                                 : std::string("the config was imported and has not run here yet")) +
                   ": the launch compares it with the baseline before it uses it";
    return Status();
  }
  if (is_predicted) plan_.detail = "the config is " + stored->detail;
  const bool is_searched =
      !is_predicted && !stored->selection.record->is_pinned && !stored->selection.record->is_imported();
  if (is_searched && !stored->selection.record->is_complete) {
    plan_.detail = std::string("the search was cut short") +
                   (impl_.parts.shares_configs() ? "" : ", and a call of TunePending continues it");
  }
  TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, impl_.ready_keys.CurrentDevice());
  const BoundCall& bound = call.call();
  const ReadyKeys::Served served =
      impl_.ready_keys.ServedBy(*device, key, bound, stored->config, stored->selection.record.get());
  if (served.verified != nullptr && !served.verified->Cover(bound.problem.dims)) {
    return PutUnverified(bound, key, stored->config, stored->variant);
  }
  const std::vector<Variant>& variants = impl_.definition->variants();
  const auto variant =
      std::find_if(variants.begin(), variants.end(), [&](const Variant& each) { return each.name == stored->variant; });
  const Status guards = CheckGuards(*impl_.definition, variant == variants.end() ? nullptr : &*variant, stored->config,
                                    served.baselines, bound.problem);
  if (!guards.ok()) return PutGuard(bound, guards);
  plan_.action = Action::kSelected;
  return Status();
}

Status LaunchExplainer::MakePlan(TuningCall& call) {
  const ReadyKeys::Reader reader(impl_.ready_keys);
  TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, impl_.ready_keys.CurrentDevice());
  call.SetTarget(device->target);
  plan_.key = impl_.announcer.KeyText(call.call());
  if (impl_.is_baseline_only) {
    plan_.reason = Reason::kMode;
    return PutFallback(call.call());
  }
  LaunchKey key;
  TUNEONCE_RETURN_IF_ERROR(impl_.ready_keys.SelectionKeyOf(call.call(), &key));
  plan_.key = impl_.announcer.KeyText(call.call(), key.left_out());
  const HitTable::Entry* entry = impl_.ready_keys.Find(key);
  if (entry == nullptr) {
    return PutStored(call, key);
  }
  if (entry->is_provisional) {
    plan_.reason = Reason::kPending;
    return PutFallback(call.call());
  }
  if (std::optional<Selection> selection = impl_.ready_keys.selections().Find(key)) Take(*selection, &plan_);
  BoundCall bound = call.call();
  if (entry->Suits(bound)) {
    plan_.action = Action::kSelected;
    plan_.reason = Reason::kReady;
    plan_.config = entry->kernel->config;
    plan_.variant = entry->kernel->variant->name;
    return Status();
  }
  // A call that another variant suits has a key of its own. If no variant suits the call, PutFallback returns the
  // error. Assumptions of the code beyond its variant's declaration do not decide keys.
  const ReadyKernel& kernel = *entry->kernel;
  if (!entry->IsFor(bound)) return PutGuard(bound, kernel.assumptions.Verify(bound));
  if (!kernel.IsVerifiedAt(bound.problem.dims)) return PutUnverified(bound, key, kernel.config, kernel.variant->name);
  return PutGuard(bound,
                  CheckGuards(*impl_.definition, kernel.variant, kernel.config, kernel.baselines, call.call().problem));
}

Result<LaunchPlan> LaunchExplainer::Explain(TuningCall& call) {
  TUNEONCE_RETURN_IF_ERROR(MakePlan(call));
  return std::move(plan_);
}

}  // namespace v0
}  // namespace tuneonce
