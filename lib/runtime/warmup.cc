// TunedKernel::Warmup: what a launch would find, made ahead of it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "measure/cupti_timer.h"
#include "runtime/tuned_kernel_impl.h"
#include "runtime/warmup_inputs.h"

namespace tuneonce {
namespace {

Status InsideCallbackError() {
  return FailedPreconditionError("Warmup was called from inside a callback of this library");
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

TuneOutcome TunedKernel::Impl::WarmTuned(const TuneRequest& request) {
  ResidentKey key;
  if (Status tunable = CheckTunable(request.stream, request.call); !tunable.ok()) return {tunable};
  if (Status keyed = KeyOf(request.call, ResidentKey::kTuned, &key); !keyed.ok()) return {keyed};
  bool waited = false;
  TuneOutcome outcome = MakeResident(request, key, &waited);
  // A launch that does not wait for other processes was first: now this thread waits.
  return waited && outcome.is_elsewhere ? MakeResident(request, key, &waited) : outcome;
}

Status TunedKernel::Impl::Warm(CUstream stream, const Argument* arguments, std::size_t count,
                               const std::vector<DType>* fills_of) {
  BoundCall call;
  bool is_empty = false;
  if (Status bound = binder.Bind(arguments, count, &call, &is_empty); !bound.ok()) return is_empty ? Status() : bound;
  Status tuned = disabled ? Status() : WarmTuned({stream, call, /*is_warmup=*/true, fills_of}).status;
  if (tuned.sticky() || (!tuned.ok() && IsInterrupted(policy.search.interrupted))) return tuned;
  // Also where the key could not be tuned: launches, captures among them, run the stand-in then.
  Status loaded = MakeStandInResident(call);
  if (tuned.ok()) return loaded;
  return loaded.ok() ? tuned : BothFailed(tuned, loaded);
}

Status TunedKernel::Impl::MakeStandInResident(const BoundCall& call) {
  ResidentKey key;
  TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* entry, FindStandIn(call, &key));
  return entry != nullptr ? Status() : LoadStandIn(call, key).status();
}

Status TunedKernel::Impl::CheckCanWarm(CUstream stream) const {
  TUNEONCE_RETURN_IF_ERROR(CheckContext(api));
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(api, stream).IsCapturing());
  if (!capturing) return Status();
  return FailedPreconditionError(absl::StrCat("kernel '", definition->name(),
                                              "', warm-up: the stream is capturing: warm up before the capture"));
}

Status TunedKernel::Impl::WarmShape(CUstream stream, const Shape& shape) {
  TUNEONCE_RETURN_IF_ERROR(CheckCanWarm(stream));
  Result<Dims> dims = DimsOf(*definition, shape);
  Result<bool> is_empty = dims.ok() ? IsEmpty(*definition, *dims) : dims.status();
  if (!is_empty.ok()) return is_empty.status().WithPrefix("kernel '" + definition->name() + "', warm-up");
  if (*is_empty) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(WarmupInputs inputs,
                            WarmupInputs::Create(*definition, *dims, shape.dtypes, StreamView(api, stream),
                                                 disabled ? WarmupInputs::Use::kShapes : WarmupInputs::Use::kSearch));
  return Warm(stream, inputs.arguments().data(), inputs.arguments().size(), &shape.dtypes);
}

Status TunedKernel::WarmupArguments(CUstream stream, const Argument* arguments, std::size_t count) {
  if (InsideCallback()) return InsideCallbackError();
  return impl_->Guarded([&]() -> Status {
    TUNEONCE_RETURN_IF_ERROR(impl_->CheckCanWarm(stream));
    return impl_->Warm(stream, arguments, count, nullptr);
  });
}

Status TunedKernel::Warmup(CUstream stream, const std::vector<Shape>& shapes,
                           const std::function<void(std::size_t, const Status&)>& on_done) {
  if (InsideCallback()) return InsideCallbackError();
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
    if (outcome.sticky() || IsInterrupted(impl_->policy.search.interrupted)) break;
    bool will_search = impl_->counters.tunes > 0 && i + 1 < shapes.size();
    if (will_search && !burst && impl_->policy.search.timer == nullptr) burst.emplace(impl_->api);
  }
  return first_failure;
}

}  // namespace tuneonce
