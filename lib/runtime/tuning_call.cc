#include "runtime/tuning_call.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tuneonce/device_buffer.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Of a tensor with gaps each stretch without one is a copy of its own: this many are values enough, and cost some
/// hundred microseconds.
constexpr std::size_t kMostStretches = 256;

/// Copies elements of `tensor` to the buffer's begin, and not what lies in its gaps, which is another's. Returns their
/// bytes: of all of a contiguous tensor, else of its first stretches, in row-major order.
Result<std::size_t> CopyElements(const DeviceBuffer& buffer, const TensorView& tensor) {
  const std::size_t element = DTypeBytes(tensor.dtype);
  std::size_t filled = 0, stretches = 0;
  Status copied;
  ForEachStretch(tensor, [&](std::int64_t offset, std::int64_t count) {
    std::size_t bytes = std::min(static_cast<std::size_t>(count) * element, buffer.bytes() - filled);
    CUdeviceptr from = reinterpret_cast<CUdeviceptr>(tensor.data) + static_cast<std::size_t>(offset) * element;
    copied = buffer.CopyFromDevice(from, bytes, filled);
    filled += bytes;
    return copied.ok() && filled < buffer.bytes() && ++stretches < kMostStretches;
  });
  TUNEONCE_RETURN_IF_ERROR(copied);
  return filled;
}

}  // namespace

Result<TuningCall> TuningCall::OnFills(const KernelDefinition& definition, const CallBinder& binder,
                                       const InputShape& shape, StreamView stream, WarmupInputs::Use use) {
  TUNEONCE_ASSIGN_OR_RETURN(WarmupInputs fills, WarmupInputs::Create(definition, shape, stream, use));
  BoundCall call;
  TUNEONCE_RETURN_IF_ERROR(binder.Bind(fills.arguments().data(), fills.arguments().size(), &call));
  TuningCall made(call);
  made.inputs_ = TunedInputs::kFill;
  made.shape_ = shape;
  made.fills_ = std::move(fills);
  return made;
}

Status TuningCall::PlaceKept(StreamView stream) {
  for (std::size_t i = 0; i < kept_->ranges().size(); ++i) {
    const KeptInputs::Range& range = kept_->ranges()[i];
    CUdeviceptr place = kept_->CopyOf(i);
    if (!range.is_read) {
      TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer output, DeviceBuffer::Allocate(stream, range.skipped() + range.bytes()));
      place = output.get() + range.skipped();
      outputs_.push_back(std::move(output));
    }
    for (std::size_t parameter : range.parameters) {
      TensorView& view = views_[parameter];
      view = kept_->view(parameter);
      view.data = reinterpret_cast<void*>(place + (reinterpret_cast<CUdeviceptr>(view.data) - range.begin));
    }
  }
  return Status();
}

Result<TuningCall> TuningCall::OnKept(const KernelDefinition& definition, const CallBinder& binder,
                                      const InputShape& shape, std::shared_ptr<const KeptInputs> kept,
                                      StreamView stream) {
  TUNEONCE_RETURN_IF_ERROR(kept->BeginUse(stream));
  TuningCall made{BoundCall()};
  made.inputs_ = TunedInputs::kCaller;
  made.kept_ = std::move(kept);
  for (const std::optional<std::uint64_t>& scalar : shape.scalars) made.scalars_.push_back(scalar.value_or(0));
  made.views_.resize(definition.parameters().size());
  TUNEONCE_RETURN_IF_ERROR(made.PlaceKept(stream));
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    if (parameter.kind == ParameterKind::kTensor) arguments.emplace_back(made.views_[i]);
    if (parameter.kind == ParameterKind::kScalar) {
      arguments.push_back(Argument::Scalar(parameter.dtype, &made.scalars_[i]));
    }
  }
  TUNEONCE_RETURN_IF_ERROR(binder.Bind(arguments.data(), arguments.size(), &made.call_));
  return made;
}

Dims TuningCall::BoundOf(const KernelDefinition& definition) const {
  Dims bound = call_.problem.dims;
  for (const KeyPart& part : definition.key()) {
    if (part.kind != KeyPart::Kind::kDim) continue;
    Dim dim = definition.DimOf(part.name);
    bound[dim] = part.Round(bound[dim]);
  }
  return bound;
}

Result<TuningCall> TuningCall::AtBound(const KernelDefinition& definition, const CallBinder& binder, StreamView stream,
                                       TrialMemory& memory) const {
  if (fills_) {
    InputShape at_bound = shape_;
    at_bound.dims = BoundOf(definition);
    TUNEONCE_ASSIGN_OR_RETURN(TuningCall made,
                              OnFills(definition, binder, at_bound, stream, WarmupInputs::Use::kSearch));
    TUNEONCE_ASSIGN_OR_RETURN(made.charge_, memory.Count(made.fills_->bytes()));
    made.SetTarget(call_.problem.target);
    return made;
  }
  TuningCall made(call_);
  made.inputs_ = TunedInputs::kRepeated;
  made.call_.problem.dims = BoundOf(definition);
  TUNEONCE_RETURN_IF_ERROR(made.Repeat(definition, call_, stream, memory));
  return made;
}

Status TuningCall::Repeat(const KernelDefinition& definition, const BoundCall& of, StreamView stream,
                          TrialMemory& memory) {
  views_.reserve(static_cast<std::size_t>(kMaxParameters));
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    if (parameter.dims.empty()) continue;
    const TensorView& given = of.tensor(i);
    std::array<std::int64_t, kMaxRank> shape{};
    for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
      shape[d] = call_.problem.dims[definition.DimOf(parameter.dims[d])];
    }
    TensorView view = TensorView::Contiguous(nullptr, given.dtype, shape.data(), given.rank);
    TUNEONCE_ASSIGN_OR_RETURN(TrialMemory::Block block, memory.Allocate(stream, view.bytes));
    if (parameter.access != Access::kOut) {
      TUNEONCE_ASSIGN_OR_RETURN(std::size_t filled, CopyElements(block.buffer, given));
      TUNEONCE_RETURN_IF_ERROR(block.buffer.Repeat(filled));
    }
    view.data = block.buffer.data();
    views_.push_back(view);
    call_.problem.values[i] = &views_.back();
    blocks_.push_back(std::move(block));
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
