// TunedKernel::Warmup: from dims and dtypes to a call that can be tuned.
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
};

Result<WarmupCall> MakeCall(const KernelDefinition& definition, const TunedKernel::Shape& shape, StreamView stream) {
  std::string kernel = "kernel '" + definition.name() + "', warm-up: ";
  if (shape.dims.size() != definition.dims().size()) {
    return InvalidArgumentError(
        absl::StrCat(kernel, "a shape has ", shape.dims.size(), " dims; the kernel has ", definition.dims().size()));
  }
  WarmupCall warmup;
  warmup.tensors.reserve(definition.parameters().size());  // The call points into both.
  warmup.scalars.resize(definition.parameters().size());
  for (std::size_t d = 0; d < shape.dims.size(); ++d) {
    if (shape.dims[d] < 1) {
      return InvalidArgumentError(absl::StrCat(kernel, "dim ", definition.dims()[d], " is ", shape.dims[d]));
    }
    warmup.call.problem.dims[definition.DimOf(definition.dims()[d])] = shape.dims[d];
  }
  std::size_t tensor = 0;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    warmup.call.ResetParameter(i);
    if (parameter.kind == ParameterKind::kScalar) {
      warmup.call.values[i] = &warmup.scalars[i];
      warmup.call.problem.dtypes[i] = parameter.dtype;
    }
    if (parameter.kind != ParameterKind::kTensor) continue;
    if (parameter.dims.empty()) {
      return InvalidArgumentError(kernel + "parameter '" + parameter.name +
                                  "' is raw memory of unknown size: launch it once instead");
    }
    DType dtype = tensor < shape.dtypes.size() ? shape.dtypes[tensor] : DType::kAny;
    ++tensor;
    if (dtype == DType::kAny) dtype = parameter.dtype;
    if (dtype == DType::kAny || (parameter.dtype != DType::kAny && parameter.dtype != dtype)) {
      return InvalidArgumentError(
          absl::StrCat(kernel, "parameter '", parameter.name, "' needs a dtype",
                       parameter.dtype == DType::kAny ? "" : ", which must be ",
                       parameter.dtype == DType::kAny ? "" : std::string(DTypeName(parameter.dtype))));
    }
    std::vector<std::int64_t> extents;
    for (const std::string& dim : parameter.dims) extents.push_back(warmup.call.problem.dims[definition.DimOf(dim)]);
    TensorView view = TensorView::Contiguous(nullptr, dtype, extents.data(), static_cast<int>(extents.size()));
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(stream, view.bytes));
    TUNEONCE_RETURN_IF_ERROR(buffer.Fill(0));
    view.data = buffer.data();
    warmup.buffers.push_back(std::move(buffer));
    warmup.tensors.push_back(view);
    warmup.call.values[i] = &warmup.tensors.back();
    warmup.call.problem.dtypes[i] = dtype;
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
    Status outcome = warmup.status();
    if (outcome.ok()) outcome = impl_->Guarded([&] { return impl_->Warm(stream, warmup->call); });
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
