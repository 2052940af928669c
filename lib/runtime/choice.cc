// TunedKernel::ChoiceOf, which checks the conditions of a launch in the launch's own order, and TunedKernel::Pin.
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

using Because = Choice::Because;
using Runs = Choice::Runs;

void Take(const Decision& decision, Choice* choice) {
  choice->from = decision.from;
  choice->match = decision.match;
  choice->record = decision.record;
}

}  // namespace

Status TunedKernel::Impl::PutStandIn(CUstream stream, const BoundCall& bound, Choice* choice) {
  BoundCall call = bound;
  choice->runs = Runs::kStandIn;
  ResidentKey key;
  TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* entry, residency.FindStandIn(call, &key));
  if (entry != nullptr) {
    choice->config = entry->kernel->config;
    choice->variant = entry->kernel->variant->name;
    return Status();
  }
  TUNEONCE_RETURN_IF_ERROR(residency.CheckAssumptions(call));
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(api, stream).IsCapturing());
  if (capturing) {
    return FailedPreconditionError(absl::StrCat("kernel '", definition->name(), "', ", choice->key,
                                                ": the stream is capturing and nothing is loaded for this key"));
  }
  TUNEONCE_ASSIGN_OR_RETURN(const Residency::DeviceState* device, residency.CurrentDevice());
  TUNEONCE_ASSIGN_OR_RETURN(choice->config, chooser.StandInConfig(*device, call));
  return Status();
}

Status TunedKernel::Impl::PutStored(CUstream stream, TuningCall& call, const ResidentKey& key, Choice* choice) {
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<MissPolicy::Refusal> refusal, misses.RefusalOf(stream, key));
  if (refusal) {
    choice->because = refusal->because;
    choice->detail = refusal->detail;
    return PutStandIn(stream, call.call(), choice);
  }
  TUNEONCE_RETURN_IF_ERROR(residency.CheckAssumptions(call.call()));
  const bool searches = policy.mode == AutotunePolicy::Mode::kTune;
  StoreMiss miss;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<Chooser::StoredChoice> stored,
                            chooser.FindStoredChoice(call, key, searches, &miss));
  choice->because = stored ? Because::kStored : Because::kNoRecord;
  if (!stored) {
    choice->miss = miss.reason;
    choice->detail = miss.detail;
  }
  if (!stored && !searches) return PutStandIn(stream, call.call(), choice);
  choice->runs = Runs::kSearch;
  if (!stored) return Status();
  Take(stored->decision, choice);
  choice->config = stored->config;
  choice->variant = stored->variant;
  if (stored->is_to_check) {
    choice->detail = "it is compared with the baseline first";
    return Status();
  }
  Status fits = definition->space().CheckGuards(stored->config, call.call().problem);
  if (fits.ok()) {
    choice->runs = Runs::kChoice;
    return Status();
  }
  choice->because = Because::kGuard;
  choice->detail = fits.message();
  return PutStandIn(stream, call.call(), choice);
}

Result<Choice> TunedKernel::Impl::ChoiceOf(CUstream stream, TuningCall& call) {
  const Residency::Reader reader(residency);
  TUNEONCE_ASSIGN_OR_RETURN(const Residency::DeviceState* device, residency.CurrentDevice());
  call.SetTarget(device->target);
  Choice choice;
  choice.key = announcer.KeyText(call.call());
  if (is_baseline_only) {
    choice.because = Because::kMode;
    TUNEONCE_RETURN_IF_ERROR(PutStandIn(stream, call.call(), &choice));
    return choice;
  }
  ResidentKey key;
  TUNEONCE_RETURN_IF_ERROR(residency.ChoiceKeyOf(call.call(), &key));
  choice.key = announcer.KeyText(call.call(), key.left_out());
  const HitTable::Entry* entry = residency.Find(key);
  if (entry == nullptr) {
    TUNEONCE_RETURN_IF_ERROR(PutStored(stream, call, key, &choice));
    return choice;
  }
  if (entry->is_provisional) {
    choice.because = Because::kWaits;
    TUNEONCE_RETURN_IF_ERROR(PutStandIn(stream, call.call(), &choice));
    return choice;
  }
  if (std::optional<Decision> decision = residency.decisions().Find(key)) Take(*decision, &choice);
  BoundCall bound = call.call();
  if (entry->Suits(bound)) {
    choice.runs = Runs::kChoice;
    choice.because = Because::kResident;
    choice.config = entry->kernel->config;
    choice.variant = entry->kernel->variant->name;
    return choice;
  }
  // A call that another variant suits has a key of its own. If no variant suits the call, PutStandIn returns the error.
  // Assumptions of the code beyond its variant's declaration do not decide keys.
  if (!entry->IsFor(bound)) {
    choice.because = Because::kGuard;
    choice.detail = entry->kernel->assumptions.Verify(bound).message();
    TUNEONCE_RETURN_IF_ERROR(PutStandIn(stream, call.call(), &choice));
    return choice;
  }
  if (!entry->kernel->IsVerifiedAt(bound.problem.dims)) {
    choice.because = Because::kUnverified;
    choice.detail = "{" + entry->kernel->config.ToString() + "} was not verified at extents like " +
                    definition->DimsString(bound.problem.dims);
    TUNEONCE_RETURN_IF_ERROR(PutStandIn(stream, call.call(), &choice));
    return choice;
  }
  choice.because = Because::kGuard;
  choice.detail = entry->kernel->space->CheckGuards(entry->kernel->config, call.call().problem).message();
  TUNEONCE_RETURN_IF_ERROR(PutStandIn(stream, call.call(), &choice));
  return choice;
}

Result<Choice> TunedKernel::ChoiceOfArguments(CUstream stream, const Argument* arguments, std::size_t count) const {
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  Choice choice;
  TUNEONCE_RETURN_IF_ERROR(impl->Guarded([&]() -> Status {
    BoundCall bound;
    bool is_empty = false;
    if (Status status = impl->binder.Bind(arguments, count, &bound, &is_empty); !status.ok()) {
      return is_empty ? Status() : status;
    }
    TuningCall call(bound);
    TUNEONCE_ASSIGN_OR_RETURN(choice, impl->ChoiceOf(stream, call));
    return Status();
  }));
  return choice;
}

Result<Choice> TunedKernel::ChoiceOf(CUstream stream, const Shape& shape) const {
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  Choice choice;
  TUNEONCE_RETURN_IF_ERROR(impl->Guarded([&]() -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call,
                              impl->CallOf(stream, shape, WarmupInputs::Use::kKey, "a question"));
    if (!call) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(choice, impl->ChoiceOf(stream, *call));
    return Status();
  }));
  return choice;
}

Result<std::optional<TuningCall>> TunedKernel::Impl::CallToPin(const Shape& shape, const char* what, ResidentKey* key) {
  if (InsideCallback()) {
    return FailedPreconditionError(absl::StrCat(what, " was called from inside a callback of this library"));
  }
  TUNEONCE_RETURN_IF_ERROR(CheckContext(api));
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call,
                            CallOf(/*stream=*/nullptr, shape, WarmupInputs::Use::kKey, what));
  if (call) TUNEONCE_RETURN_IF_ERROR(residency.ChoiceKeyOf(call->call(), key));
  return call;
}

Status TunedKernel::Impl::Pin(const Shape& shape, const NamedConfig& config, PinFor how_long) {
  const Residency::Reader reader(residency);
  ResidentKey key;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call, CallToPin(shape, "pin", &key));
  if (!call) {
    return InvalidArgumentError("kernel '" + definition->name() +
                                "', pin: nothing is launched for a shape of 0 elements");
  }
  Status pinned = chooser.Pin(*call, key, config, how_long);
  if (residency.decisions().IsPinned(key)) misses.Forget(key);
  return pinned.WithPrefix("kernel '" + definition->name() + "', pin");
}

Status TunedKernel::Impl::Unpin(const Shape& shape) {
  const Residency::Reader reader(residency);
  ResidentKey key;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call, CallToPin(shape, "unpin", &key));
  if (!call) return NotFoundError("kernel '" + definition->name() + "', unpin: a shape of 0 elements is not pinned");
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
