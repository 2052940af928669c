#include "runtime/launch_explainer.h"

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

Status LaunchExplainer::PutStored(TuningCall& call, const LaunchKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<MissPolicy::Refusal> refusal, impl_.misses.RefusalOf(stream_, key));
  if (refusal) {
    plan_.reason = refusal->reason;
    plan_.detail = refusal->detail;
    return PutFallback(call.call());
  }
  TUNEONCE_RETURN_IF_ERROR(impl_.ready_keys.CheckAssumptions(call.call()));
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
    plan_.detail = "the search was cut short, and a call of TunePending continues it";
  }
  Status fits = impl_.definition->space().CheckGuards(stored->config, call.call().problem);
  if (fits.ok()) {
    plan_.action = Action::kSelected;
    return Status();
  }
  plan_.reason = Reason::kGuard;
  plan_.detail = fits.message();
  return PutFallback(call.call());
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
  if (!entry->IsFor(bound)) {
    plan_.reason = Reason::kGuard;
    plan_.detail = entry->kernel->assumptions.Verify(bound).message();
    return PutFallback(call.call());
  }
  if (!entry->kernel->IsVerifiedAt(bound.problem.dims)) {
    plan_.reason = Reason::kUnverified;
    plan_.detail = "{" + entry->kernel->config.ToString() + "} was not verified at extents like " +
                   impl_.definition->DimsString(bound.problem.dims);
    return PutFallback(call.call());
  }
  plan_.reason = Reason::kGuard;
  const Status guards = entry->kernel->space->CheckGuards(entry->kernel->config, call.call().problem);
  plan_.detail =
      guards.ok()
          ? CheckRequirementGuards(*entry->kernel->variant, entry->kernel->config, call.call().problem).message()
          : guards.message();
  return PutFallback(call.call());
}

Result<LaunchPlan> LaunchExplainer::Explain(TuningCall& call) {
  TUNEONCE_RETURN_IF_ERROR(MakePlan(call));
  return std::move(plan_);
}

}  // namespace v0
}  // namespace tuneonce
