// TunedKernel::Warmup: from dims and dtypes to a call that can be tuned.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "runtime/tuned_kernel_impl.h"
#include "tuneonce/cuda/device_buffer.h"
#include "tuneonce/measure/cupti_timer.h"

namespace tuneonce {
namespace {

/// A call on scratch tensors of zeros.
struct WarmupCall {
  std::vector<TensorView> tensors;
  std::vector<DeviceBuffer> buffers;
  std::vector<std::uint64_t> scalars;
  BoundCall call;
  bool is_empty = false;  // A launch would do nothing, and `call` is not made.
};

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

/// By parameter; kAny for those that are no tensor.
Result<std::vector<DType>> DTypesOf(const KernelDefinition& definition, const TunedKernel::Shape& shape) {
  const std::vector<Parameter>& parameters = definition.parameters();
  std::vector<DType> dtypes(parameters.size(), DType::kAny);
  std::size_t tensor = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind != ParameterKind::kTensor) continue;
    if (tensor < shape.dtypes.size()) dtypes[i] = shape.dtypes[tensor];
    ++tensor;
    if (dtypes[i] == DType::kAny) dtypes[i] = parameters[i].dtype;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (parameter.kind != ParameterKind::kTensor) continue;
    DType needed = parameter.dtype;
    if (needed == DType::kAny && !parameter.same_dtype_as.empty()) {
      needed = dtypes[*definition.FindParameter(parameter.same_dtype_as)];
      if (dtypes[i] == DType::kAny) dtypes[i] = needed;
    }
    if (dtypes[i] != DType::kAny && (needed == DType::kAny || needed == dtypes[i])) continue;
    return InvalidArgumentError(absl::StrCat("parameter '", parameter.name, "' needs a dtype",
                                             needed == DType::kAny ? "" : ", which must be ",
                                             needed == DType::kAny ? "" : std::string(DTypeName(needed))));
  }
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

Result<WarmupCall> MakeCall(const KernelDefinition& definition, const TunedKernel::Shape& shape, StreamView stream) {
  WarmupCall warmup;
  warmup.tensors.reserve(definition.parameters().size());  // The call points into both.
  warmup.scalars.resize(definition.parameters().size());
  TUNEONCE_ASSIGN_OR_RETURN(warmup.call.problem.dims, DimsOf(definition, shape));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<DType> dtypes, DTypesOf(definition, shape));
  TUNEONCE_ASSIGN_OR_RETURN(warmup.is_empty, IsEmpty(definition, warmup.call.problem.dims));
  if (warmup.is_empty) return warmup;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    warmup.call.ResetParameter(i);
    if (parameter.kind == ParameterKind::kScalar) {
      warmup.call.values[i] = &warmup.scalars[i];
      warmup.call.problem.dtypes[i] = parameter.dtype;
    }
    if (parameter.kind != ParameterKind::kTensor) continue;
    if (parameter.dims.empty()) {
      return InvalidArgumentError("parameter '" + parameter.name +
                                  "' is raw memory of unknown size: launch it once instead");
    }
    std::vector<std::int64_t> extents;
    for (const std::string& dim : parameter.dims) extents.push_back(warmup.call.problem.dims[definition.DimOf(dim)]);
    TensorView view = TensorView::Contiguous(nullptr, dtypes[i], extents.data(), static_cast<int>(extents.size()));
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(stream, view.bytes));
    TUNEONCE_RETURN_IF_ERROR(buffer.Fill(0));
    view.data = buffer.data();
    warmup.buffers.push_back(std::move(buffer));
    warmup.tensors.push_back(view);
    warmup.call.values[i] = &warmup.tensors.back();
    warmup.call.problem.dtypes[i] = dtypes[i];
  }
  return warmup;
}

}  // namespace

Status TunedKernel::Warmup(CUstream stream, const std::vector<Shape>& shapes,
                           const std::function<void(std::size_t, const Status&)>& on_done) {
  if (InsideCallback()) return FailedPreconditionError("Warmup was called from inside a callback of this library");
  Status first_failure;
  // Where one shape needed a search others will: they share one claim of CUPTI.
  std::optional<TimingBurst> burst;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Result<WarmupCall> warmup = MakeCall(*impl_->definition, shapes[i], StreamView(impl_->api, stream));
    Status outcome = warmup.status().WithPrefix("kernel '" + impl_->definition->name() + "', warm-up");
    if (outcome.ok() && !warmup->is_empty) outcome = impl_->Guarded([&] { return impl_->Warm(stream, warmup->call); });
    if (!outcome.ok() && first_failure.ok()) first_failure = outcome;
    if (on_done) {
      CallbackScope scope;
      try {
        on_done(i + 1, outcome);
      } catch (...) {  // A display must not end a warm-up.
      }
    }
    if (outcome.sticky()) break;
    bool will_search = impl_->counters.tunes > 0 && i + 1 < shapes.size();
    if (will_search && !burst && impl_->policy.search.timer == nullptr) burst.emplace(impl_->api);
  }
  return first_failure;
}

}  // namespace tuneonce
