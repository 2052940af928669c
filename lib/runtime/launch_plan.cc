// TunedKernel::Explain, which checks the conditions of a launch in the launch's own order, and TunedKernel::Pin.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "runtime/context_status.h"
#include "runtime/tuned_kernel_impl.h"
#include "runtime/tuning_call.h"

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

Status TunedKernel::Impl::PutFallback(CUstream stream, const BoundCall& bound, LaunchPlan* plan) {
  BoundCall call = bound;
  plan->action = Action::kFallback;
  LaunchKey key;
  TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* entry, ready_keys.FindFallback(call, &key));
  if (entry != nullptr) {
    plan->config = entry->kernel->config;
    plan->variant = entry->kernel->variant->name;
    return Status();
  }
  TUNEONCE_RETURN_IF_ERROR(ready_keys.CheckAssumptions(call));
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(api, stream).IsCapturing());
  if (capturing) {
    return FailedPreconditionError(
        absl::StrCat("kernel '", definition->name(), "', ", plan->key,
                     ": the stream is capturing and no code is loaded for this key: launch once before the capture"));
  }
  TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, ready_keys.CurrentDevice());
  TUNEONCE_ASSIGN_OR_RETURN(plan->config, chooser.FallbackConfig(*device, call));
  return Status();
}

Status TunedKernel::Impl::PutStored(CUstream stream, TuningCall& call, const LaunchKey& key, LaunchPlan* plan) {
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<MissPolicy::Refusal> refusal, misses.RefusalOf(stream, key));
  if (refusal) {
    plan->reason = refusal->reason;
    plan->detail = refusal->detail;
    return PutFallback(stream, call.call(), plan);
  }
  TUNEONCE_RETURN_IF_ERROR(ready_keys.CheckAssumptions(call.call()));
  const bool searches = policy.mode == AutotunePolicy::Mode::kTuneOnMiss;
  StoreMiss miss;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<Chooser::StoredSelection> stored,
                            chooser.FindStoredSelection(call, key, searches, &miss));
  plan->reason = stored ? Reason::kStored : Reason::kNoRecord;
  if (!stored) {
    plan->miss = miss.reason;
    plan->detail = miss.detail;
  }
  if (!stored && !searches) return PutFallback(stream, call.call(), plan);
  plan->action = Action::kSearch;
  if (!stored) return Status();
  Take(stored->selection, plan);
  plan->config = stored->config;
  plan->variant = stored->variant;
  if (stored->is_to_check) {
    plan->detail =
        "the config was imported and has not run here yet: the launch compares it with the baseline before it uses it";
    return Status();
  }
  Status fits = definition->space().CheckGuards(stored->config, call.call().problem);
  if (fits.ok()) {
    plan->action = Action::kSelected;
    return Status();
  }
  plan->reason = Reason::kGuard;
  plan->detail = fits.message();
  return PutFallback(stream, call.call(), plan);
}

Result<LaunchPlan> TunedKernel::Impl::Explain(CUstream stream, TuningCall& call) {
  const ReadyKeys::Reader reader(ready_keys);
  TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, ready_keys.CurrentDevice());
  call.SetTarget(device->target);
  LaunchPlan plan;
  plan.key = announcer.KeyText(call.call());
  if (is_baseline_only) {
    plan.reason = Reason::kMode;
    TUNEONCE_RETURN_IF_ERROR(PutFallback(stream, call.call(), &plan));
    return plan;
  }
  LaunchKey key;
  TUNEONCE_RETURN_IF_ERROR(ready_keys.SelectionKeyOf(call.call(), &key));
  plan.key = announcer.KeyText(call.call(), key.left_out());
  const HitTable::Entry* entry = ready_keys.Find(key);
  if (entry == nullptr) {
    TUNEONCE_RETURN_IF_ERROR(PutStored(stream, call, key, &plan));
    return plan;
  }
  if (entry->is_provisional) {
    plan.reason = Reason::kPending;
    TUNEONCE_RETURN_IF_ERROR(PutFallback(stream, call.call(), &plan));
    return plan;
  }
  if (std::optional<Selection> selection = ready_keys.selections().Find(key)) Take(*selection, &plan);
  BoundCall bound = call.call();
  if (entry->Suits(bound)) {
    plan.action = Action::kSelected;
    plan.reason = Reason::kReady;
    plan.config = entry->kernel->config;
    plan.variant = entry->kernel->variant->name;
    return plan;
  }
  // A call that another variant suits has a key of its own. If no variant suits the call, PutFallback returns the
  // error. Assumptions of the code beyond its variant's declaration do not decide keys.
  if (!entry->IsFor(bound)) {
    plan.reason = Reason::kGuard;
    plan.detail = entry->kernel->assumptions.Verify(bound).message();
    TUNEONCE_RETURN_IF_ERROR(PutFallback(stream, call.call(), &plan));
    return plan;
  }
  if (!entry->kernel->IsVerifiedAt(bound.problem.dims)) {
    plan.reason = Reason::kUnverified;
    plan.detail = "{" + entry->kernel->config.ToString() + "} was not verified at extents like " +
                  definition->DimsString(bound.problem.dims);
    TUNEONCE_RETURN_IF_ERROR(PutFallback(stream, call.call(), &plan));
    return plan;
  }
  plan.reason = Reason::kGuard;
  plan.detail = entry->kernel->space->CheckGuards(entry->kernel->config, call.call().problem).message();
  TUNEONCE_RETURN_IF_ERROR(PutFallback(stream, call.call(), &plan));
  return plan;
}

Result<LaunchPlan> TunedKernel::ExplainArguments(CUstream stream, const Argument* arguments, std::size_t count) const {
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  LaunchPlan plan;
  TUNEONCE_RETURN_IF_ERROR(impl->Guarded([&]() -> Status {
    BoundCall bound;
    bool is_empty = false;
    if (Status status = impl->binder.Bind(arguments, count, &bound, &is_empty); !status.ok()) {
      return is_empty ? Status() : status;
    }
    TuningCall call(bound);
    TUNEONCE_ASSIGN_OR_RETURN(plan, impl->Explain(stream, call));
    return Status();
  }));
  return plan;
}

Result<LaunchPlan> TunedKernel::Explain(CUstream stream, const Shape& shape) const {
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  LaunchPlan plan;
  TUNEONCE_RETURN_IF_ERROR(impl->Guarded([&]() -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call,
                              impl->CallOf(stream, shape, WarmupInputs::Use::kKey, "a question"));
    if (!call) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(plan, impl->Explain(stream, *call));
    return Status();
  }));
  return plan;
}

Result<std::optional<TuningCall>> TunedKernel::Impl::CallToPin(const Shape& shape, const char* what, LaunchKey* key) {
  if (InsideCallback()) {
    return FailedPreconditionError(absl::StrCat(what, " was called from inside a callback of this library"));
  }
  TUNEONCE_RETURN_IF_ERROR(CheckContext(api));
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call,
                            CallOf(/*stream=*/nullptr, shape, WarmupInputs::Use::kKey, what));
  if (call) TUNEONCE_RETURN_IF_ERROR(ready_keys.SelectionKeyOf(call->call(), key));
  return call;
}

Status TunedKernel::Impl::Pin(const Shape& shape, const NamedConfig& config, PinFor how_long) {
  const ReadyKeys::Reader reader(ready_keys);
  LaunchKey key;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call, CallToPin(shape, "pin", &key));
  if (!call) {
    return InvalidArgumentError("kernel '" + definition->name() +
                                "', pin: a shape with 0 elements is never launched, and cannot be pinned");
  }
  Status pinned = chooser.Pin(*call, key, config, how_long);
  if (ready_keys.selections().IsPinned(key)) misses.Forget(key);
  return pinned.WithPrefix("kernel '" + definition->name() + "', pin");
}

Status TunedKernel::Impl::Unpin(const Shape& shape) {
  const ReadyKeys::Reader reader(ready_keys);
  LaunchKey key;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call, CallToPin(shape, "unpin", &key));
  if (!call)
    return NotFoundError("kernel '" + definition->name() + "', unpin: a shape with 0 elements is never pinned");
  return chooser.Unpin(*call, key).WithPrefix("kernel '" + definition->name() + "', unpin");
}

Status TunedKernel::Pin(const Shape& shape, const NamedConfig& config, PinFor how_long) {
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  return impl->Guarded([&] { return impl->Pin(shape, config, how_long); });
}

Status TunedKernel::Unpin(const Shape& shape) {
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  return impl->Guarded([&] { return impl->Unpin(shape); });
}

}  // namespace v0
}  // namespace tuneonce
