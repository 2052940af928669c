// TunedKernel::Warmup: what a launch would find, made ahead of it. And the other safe point.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "measure/cupti_timer.h"
#include "runtime/tuned_kernel_impl.h"
#include "runtime/tuning_call.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
namespace {

Status InsideCallbackError(const char* function) {
  return FailedPreconditionError(absl::StrCat(function, " was called from inside a callback of this library"));
}

Result<Dims> DimsOf(const KernelDefinition& definition, const TunedKernel::Shape& shape) {
  if (shape.dims.size() != definition.dims().size()) {
    return InvalidArgumentError(
        absl::StrCat("a shape has ", shape.dims.size(), " dims; the kernel has ", definition.dims().size()));
  }
  Dims dims(static_cast<int>(shape.dims.size()));
  for (std::size_t d = 0; d < shape.dims.size(); ++d) {
    if (shape.dims[d] < 0) {
      return InvalidArgumentError(absl::StrCat("dim ", definition.dims()[d], " is ", shape.dims[d]));
    }
    dims[definition.DimOf(definition.dims()[d])] = shape.dims[d];
  }
  return dims;
}

/// True if a launch at these dims would do nothing, as CallBinder::Bind has it. Errors: InvalidArgument if an extent of
/// 0 leaves nothing to compute an output from.
Result<bool> IsEmpty(const KernelDefinition& definition, const Dims& dims) {
  auto zero = std::find_if(definition.dims().begin(), definition.dims().end(),
                           [&](const std::string& name) { return dims[definition.DimOf(name)] == 0; });
  if (zero == definition.dims().end()) return false;
  for (const Parameter& parameter : definition.parameters()) {
    if (parameter.kind != ParameterKind::kTensor || parameter.access == Access::kIn) continue;
    bool has_elements = std::all_of(parameter.dims.begin(), parameter.dims.end(),
                                    [&](const std::string& name) { return dims[definition.DimOf(name)] > 0; });
    if (!has_elements) continue;
    return InvalidArgumentError(absl::StrCat("dim ", *zero, " is 0, which leaves nothing to compute '", parameter.name,
                                             "' from, which has elements"));
  }
  return true;
}

}  // namespace

Status TunedKernel::Impl::WarmShape(CUstream stream, const Shape& shape) {
  TUNEONCE_RETURN_IF_ERROR(misses.CheckSafe(stream, "warm-up", "warm up"));
  Result<Dims> dims = DimsOf(*definition, shape);
  Result<bool> is_empty = dims.ok() ? IsEmpty(*definition, *dims) : dims.status();
  if (!is_empty.ok()) return is_empty.status().WithPrefix("kernel '" + definition->name() + "', warm-up");
  if (*is_empty) return Status();
  WarmupInputs::Use use = misses.may_search() ? WarmupInputs::Use::kSearch : WarmupInputs::Use::kShapes;
  TUNEONCE_ASSIGN_OR_RETURN(TuningCall call, TuningCall::OnFills(*definition, binder, {*dims, shape.dtypes, {}},
                                                                 StreamView(api, stream), use));
  return misses.Warm(stream, call);
}

Status TunedKernel::Impl::WarmArguments(CUstream stream, const Argument* arguments, std::size_t count) {
  TUNEONCE_RETURN_IF_ERROR(misses.CheckSafe(stream, "warm-up", "warm up"));
  BoundCall bound;
  bool is_empty = false;
  if (Status status = binder.Bind(arguments, count, &bound, &is_empty); !status.ok()) {
    return is_empty ? Status() : status;
  }
  TuningCall call(bound);
  Status warmed = misses.Warm(stream, call);
  if (warmed.sticky() || IsInterrupted(policy.search.interrupted)) return warmed;
  Status rest = misses.AtSafePoint(stream);
  return warmed.ok() ? rest : warmed;
}

Status TunedKernel::WarmupArguments(CUstream stream, const Argument* arguments, std::size_t count) {
  if (InsideCallback()) return InsideCallbackError("Warmup");
  return impl_->Guarded([&] { return impl_->WarmArguments(stream, arguments, count); });
}

Status TunedKernel::Warmup(CUstream stream, const std::vector<Shape>& shapes,
                           const std::function<void(std::size_t, const Status&)>& on_done) {
  if (InsideCallback()) return InsideCallbackError("Warmup");
  Status first_failure;
  // Where one shape needed a search others will: they share one claim of CUPTI.
  std::optional<TimingBurst> burst;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Status outcome = impl_->Guarded([&] { return impl_->WarmShape(stream, shapes[i]); });
    if (!outcome.ok() && first_failure.ok()) first_failure = outcome;
    if (on_done) {
      CallbackScope scope;
      try {
        on_done(i + 1, outcome);
      } catch (...) {  // A display must not end a warm-up.
      }
    }
    if (outcome.sticky() || IsInterrupted(impl_->policy.search.interrupted)) return first_failure;
    bool will_search = impl_->counters.tunes > 0 && i + 1 < shapes.size();
    if (will_search && !burst && impl_->policy.search.timer == nullptr)
      burst.emplace(impl_->policy.search.runtime->cupti(), impl_->api);
  }
  Status rest = AtSafePoint(stream);
  return first_failure.ok() ? rest : first_failure;
}

Status TunedKernel::AtSafePoint(CUstream stream) {
  if (InsideCallback()) return InsideCallbackError("AtSafePoint");
  return impl_->Guarded([&]() -> Status {
    TUNEONCE_RETURN_IF_ERROR(impl_->misses.CheckSafe(stream, "safe point", "call it"));
    return impl_->misses.AtSafePoint(stream);
  });
}

}  // namespace tuneonce
