// TunedKernel::Warmup: what a launch would find, made ahead of it. And the other safe point, and Retune.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/callback.h"
#include "measure/cupti_timer.h"
#include "runtime/tuned_kernel_impl.h"
#include "runtime/tuning_call.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

Status InsideCallbackError(const char* function) {
  return FailedPreconditionError(absl::StrCat(function, " was called from inside a callback of this library"));
}

/// The value of `name` in a shape's list; null if it is not there.
template <typename Pairs>
auto* FindNamed(const Pairs& pairs, const std::string& name) {
  auto it = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; });
  return it == pairs.end() ? nullptr : &it->second;
}

/// Errors: a name of the list that is none of the kernel's, or stands there twice.
template <typename Pairs>
Status CheckNames(const char* what, const Pairs& pairs, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::string& name = pairs[i].first;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return InvalidArgumentError(
          absl::StrCat("a shape names the ", what, " '", name, "'; the kernel has: ", absl::StrJoin(names, ", ")));
    }
    if (FindNamed(pairs, name) != &pairs[i].second) {
      return InvalidArgumentError(absl::StrCat("a shape names the ", what, " '", name, "' twice"));
    }
  }
  return Status();
}

Result<Dims> DimsOf(const KernelDefinition& definition, const TunedKernel::Shape& shape) {
  TUNEONCE_RETURN_IF_ERROR(CheckNames("dim", shape.dims, definition.dims()));
  Dims dims(static_cast<int>(definition.dims().size()));
  for (const std::string& name : definition.dims()) {
    const std::int64_t* value = FindNamed(shape.dims, name);
    if (value == nullptr) return InvalidArgumentError(absl::StrCat("a shape has no value for the dim '", name, "'"));
    if (*value < 0) return InvalidArgumentError(absl::StrCat("dim ", name, " is ", *value));
    dims[definition.DimOf(name)] = *value;
  }
  return dims;
}

/// By tensor parameter, in order; kAny where the shape says nothing.
Result<std::vector<DType>> DTypesOf(const KernelDefinition& definition, const TunedKernel::Shape& shape) {
  std::vector<std::string> tensors;
  std::vector<DType> dtypes;
  for (const Parameter& parameter : definition.parameters()) {
    if (parameter.kind != ParameterKind::kTensor) continue;
    tensors.push_back(parameter.name);
    const DType* given = FindNamed(shape.dtypes, parameter.name);
    dtypes.push_back(given == nullptr ? DType::kAny : *given);
  }
  TUNEONCE_RETURN_IF_ERROR(CheckNames("tensor", shape.dtypes, tensors));
  return dtypes;
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

Result<std::optional<TuningCall>> TunedKernel::Impl::CallOf(CUstream stream, const Shape& shape, WarmupInputs::Use use,
                                                            const char* what) const {
  const std::string prefix = "kernel '" + definition->name() + "', " + what;
  Result<Dims> dims = DimsOf(*definition, shape);
  Result<bool> is_empty = dims.ok() ? IsEmpty(*definition, *dims) : dims.status();
  if (!is_empty.ok()) return is_empty.status().WithPrefix(prefix);
  if (*is_empty) return std::optional<TuningCall>();
  Result<std::vector<DType>> dtypes = DTypesOf(*definition, shape);
  if (!dtypes.ok()) return dtypes.status().WithPrefix(prefix);
  TUNEONCE_ASSIGN_OR_RETURN(TuningCall call, TuningCall::OnFills(*definition, binder, {*dims, *std::move(dtypes), {}},
                                                                 StreamView(api, stream), use));
  return std::optional<TuningCall>(std::move(call));
}

Status TunedKernel::Impl::WarmShape(CUstream stream, const Shape& shape) {
  TUNEONCE_RETURN_IF_ERROR(misses.CheckSafe(stream, "warm-up", "warm up"));
  WarmupInputs::Use use = misses.may_search() ? WarmupInputs::Use::kSearch : WarmupInputs::Use::kShapes;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call, CallOf(stream, shape, use, "warm-up"));
  return call ? misses.Warm(stream, *call) : Status();
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
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  return impl->Guarded([&] { return impl->WarmArguments(stream, arguments, count); });
}

Status TunedKernel::Warmup(CUstream stream, const std::vector<Shape>& shapes,
                           const std::function<void(std::size_t, const Status&)>& on_done) {
  if (InsideCallback()) return InsideCallbackError("Warmup");
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  Status first_failure;
  // Where one shape needed a search others will: they share one claim of CUPTI.
  std::optional<TimingBurst> burst;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Status outcome = impl->Guarded([&] { return impl->WarmShape(stream, shapes[i]); });
    if (!outcome.ok() && first_failure.ok()) first_failure = outcome;
    if (on_done) {
      CallbackScope scope;
      try {
        on_done(i + 1, outcome);
      } catch (...) {  // A display must not end a warm-up.
      }
    }
    if (outcome.sticky() || IsInterrupted(impl->policy.search.interrupted)) return first_failure;
    bool will_search = impl->counters.tunes > 0 && i + 1 < shapes.size();
    if (will_search && !burst && impl->policy.search.timer == nullptr)
      burst.emplace(impl->policy.search.runtime->cupti(), impl->api);
  }
  Status rest = AtSafePoint(stream);
  return first_failure.ok() ? rest : first_failure;
}

Status TunedKernel::Impl::RetuneArguments(CUstream stream, const Argument* arguments, std::size_t count) {
  TUNEONCE_RETURN_IF_ERROR(misses.CheckSafe(stream, "retune", "retune"));
  BoundCall bound;
  bool is_empty = false;
  if (Status status = binder.Bind(arguments, count, &bound, &is_empty); !status.ok()) {
    return is_empty ? Status() : status;
  }
  TuningCall call(bound);
  return misses.Retune(stream, call);
}

Status TunedKernel::RetuneArguments(CUstream stream, const Argument* arguments, std::size_t count) {
  if (InsideCallback()) return InsideCallbackError("Retune");
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  return impl->Guarded([&] { return impl->RetuneArguments(stream, arguments, count); });
}

Status TunedKernel::Retune(CUstream stream, const Shape& shape) {
  if (InsideCallback()) return InsideCallbackError("Retune");
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  return impl->Guarded([&]() -> Status {
    TUNEONCE_RETURN_IF_ERROR(impl->misses.CheckSafe(stream, "retune", "retune"));
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<TuningCall> call,
                              impl->CallOf(stream, shape, WarmupInputs::Use::kSearch, "retune"));
    return call ? impl->misses.Retune(stream, *call) : Status();
  });
}

Status TunedKernel::AtSafePoint(CUstream stream) {
  if (InsideCallback()) return InsideCallbackError("AtSafePoint");
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  return impl->Guarded([&]() -> Status {
    TUNEONCE_RETURN_IF_ERROR(impl->misses.CheckSafe(stream, "safe point", "call it"));
    return impl->misses.AtSafePoint(stream);
  });
}

}  // namespace v0
}  // namespace tuneonce
