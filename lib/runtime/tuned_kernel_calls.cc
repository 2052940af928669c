// TunedKernel's functions other than launches: Warmup, TunePending, Retune, Explain and Pin.
#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/span.h"
#include "runtime/context_status.h"
#include "runtime/kernel_in_ranks.h"
#include "runtime/launch_explainer.h"
#include "runtime/tuned_kernel_impl.h"
#include "runtime/tuned_kernel_on.h"
#include "runtime/tuning_call.h"
#include "runtime/warmup_shape.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

Status InsideCallbackError(const char* function) {
  return FailedPreconditionError(
      absl::StrCat(function, " was called from inside a callback of this library: call it after the callback returns"));
}

}  // namespace

Result<std::optional<TuningCall>> TunedKernel::Impl::CallOfShape(CUstream stream, const Shape& shape,
                                                                 WarmupInputs::Use use, const char* what) const {
  const std::string prefix = "kernel '" + definition->name() + "', " + what;
  Result<InputShape> inputs = ReadShape(*definition, shape);
  Result<bool> is_empty = inputs.ok() ? IsEmptyAt(*definition, inputs->dims) : inputs.status();
  if (!is_empty.ok()) return is_empty.status().WithPrefix(prefix);
  if (*is_empty) return std::optional<TuningCall>();
  TUNEONCE_ASSIGN_OR_RETURN(TuningCall call,
                            TuningCall::OnFills(*definition, binder, *inputs, StreamView(api, stream), use));
  return std::optional<TuningCall>(std::move(call));
}

void TunedKernel::Impl::HoldCupti(std::optional<TimingBurst>* burst) const {
  const SearchOptions& search = policy.search;
  if (*burst || search.timer != nullptr || search.isolation != Isolation::kOff) return;
  Span span(&search.runtime->trace(), "measure", "claim CUPTI");
  burst->emplace(search.runtime->cupti(), api);
}

Status TunedKernel::Impl::WarmShape(CUstream stream, const Shape& shape) {
  const ReadyKeys::Reader reader(ready_keys);
  TUNEONCE_RETURN_IF_ERROR(misses.CheckSafe(stream, "warm-up", "warm up"));
  WarmupInputs::Use use = misses.may_search() ? WarmupInputs::Use::kSearch : WarmupInputs::Use::kShapes;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call, CallOfShape(stream, shape, use, "warm-up"));
  return call ? misses.Warm(stream, *call) : Status();
}

Status TunedKernel::Impl::WarmArguments(CUstream stream, const Argument* arguments, std::size_t count) {
  const ReadyKeys::Reader reader(ready_keys);
  TUNEONCE_RETURN_IF_ERROR(misses.CheckSafe(stream, "warm-up", "warm up"));
  BoundCall bound;
  bool is_empty = false;
  if (Status status = binder.Bind(arguments, count, &bound, &is_empty); !status.ok()) {
    return is_empty ? Status() : status;
  }
  TuningCall call(bound);
  Status warmed = misses.Warm(stream, call);
  if (warmed.sticky() || policy.search.stop.stop_requested()) return warmed;
  Status rest = misses.TunePending(stream, /*continues=*/false);
  return warmed.ok() ? rest : warmed;
}

Status TunedKernel::Warmup(CUstream stream, ArgumentSpan arguments) {
  if (InsideCallback()) return InsideCallbackError("Warmup");
  Result<Impl*> bound = Bound();
  if (!bound.ok() && ranks().group != nullptr)
    return KernelInRanks::TakeTurn(*this, stream, KernelInRanks::TakeTurn(*this, stream, bound.status()),
                                   RankedKeys::Patience::kNotForSilent);
  TUNEONCE_RETURN_IF_ERROR(bound.status());
  Impl* impl = *bound;
  if (ranks().group != nullptr) return KernelInRanks(impl, stream).WarmArguments(arguments.data(), arguments.size());
  return impl->Guarded([&] { return impl->WarmArguments(stream, arguments.data(), arguments.size()); });
}

Status TunedKernel::Warmup(CUstream stream, const std::vector<Shape>& shapes,
                           const std::function<void(std::size_t, const Status&)>& on_done) {
  if (InsideCallback()) return InsideCallbackError("Warmup");
  if (ranks().group != nullptr) return KernelInRanks::Warmup(this, stream, shapes, on_done);
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  Status first_failure;
  // If one shape needs a search, others will too.
  std::optional<TimingBurst> burst;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Status outcome = impl->Guarded([&] { return impl->WarmShape(stream, shapes[i]); });
    if (!outcome.ok() && first_failure.ok()) first_failure = outcome;
    TellProgress(on_done, i + 1, outcome);
    if (outcome.sticky() || impl->policy.search.stop.stop_requested()) return first_failure;
    bool will_search = impl->counters.tunes > 0 && i + 1 < shapes.size();
    if (will_search) impl->HoldCupti(&burst);
  }
  Status rest = impl->TunePending(stream, /*continues=*/false);
  return first_failure.ok() ? rest : first_failure;
}

Result<std::optional<TuningCall>> TunedKernel::Impl::CallOf(CUstream stream, const CallInputs& inputs,
                                                            WarmupInputs::Use use, const char* what) {
  if (inputs.shape() != nullptr) return CallOfShape(stream, *inputs.shape(), use, what);
  BoundCall bound;
  bool is_empty = false;
  Status status = binder.Bind(inputs.arguments()->data(), inputs.arguments()->size(), &bound, &is_empty);
  if (status.ok()) return std::optional<TuningCall>(bound);
  if (!is_empty) return status;
  return std::optional<TuningCall>();
}

Status TunedKernel::Retune(CUstream stream, const CallInputs& inputs) {
  if (InsideCallback()) return InsideCallbackError("Retune");
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  return impl->Guarded([&]() -> Status {
    const ReadyKeys::Reader reader(impl->ready_keys);
    TUNEONCE_RETURN_IF_ERROR(impl->misses.CheckSafe(stream, "retune", "retune"));
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call,
                              impl->CallOf(stream, inputs, WarmupInputs::Use::kSearch, "retune"));
    return call ? impl->misses.Retune(stream, *call) : Status();
  });
}

Status TunedKernel::Impl::TunePending(CUstream stream, bool continues,
                                      std::optional<std::chrono::steady_clock::time_point> end) {
  return Guarded([&]() -> Status {
    const ReadyKeys::Reader reader(ready_keys);
    TUNEONCE_RETURN_IF_ERROR(misses.CheckSafe(stream, "call of TunePending", "call it"));
    return misses.TunePending(stream, continues, end);
  });
}

Status TunedKernel::TunePending(CUstream stream) {
  if (InsideCallback()) return InsideCallbackError("TunePending");
  Result<Impl*> bound = Bound();
  if (!bound.ok() && ranks().group != nullptr) return KernelInRanks::TakeTurn(*this, stream, bound.status());
  TUNEONCE_RETURN_IF_ERROR(bound.status());
  Impl* impl = *bound;
  if (ranks().group != nullptr) return KernelInRanks(impl, stream).TunePending();
  return impl->TunePending(stream, /*continues=*/true);
}

Status TunedKernelOn::TunePending(TunedKernel* kernel, CUstream stream, std::chrono::steady_clock::time_point end) {
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel::Impl * impl, kernel->Bound());
  return impl->TunePending(stream, /*continues=*/true, end);
}

Result<LaunchPlan> TunedKernel::Explain(CUstream stream, const CallInputs& inputs) const {
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  LaunchPlan plan;
  TUNEONCE_RETURN_IF_ERROR(impl->Guarded([&]() -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call,
                              impl->CallOf(stream, inputs, WarmupInputs::Use::kKey, "explain"));
    if (!call) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(plan, LaunchExplainer(impl, stream).Explain(*call));
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
                            CallOfShape(/*stream=*/nullptr, shape, WarmupInputs::Use::kKey, what));
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
  Status pinned = pins.Pin(*call, key, config, how_long);
  if (ready_keys.selections().IsPinned(key)) misses.Forget(key);
  return pinned.WithPrefix("kernel '" + definition->name() + "', pin");
}

Status TunedKernel::Impl::Unpin(const Shape& shape) {
  const ReadyKeys::Reader reader(ready_keys);
  LaunchKey key;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call, CallToPin(shape, "unpin", &key));
  if (!call)
    return NotFoundError("kernel '" + definition->name() + "', unpin: a shape with 0 elements is never pinned");
  return pins.Unpin(*call, key).WithPrefix("kernel '" + definition->name() + "', unpin");
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
