#include "runtime/warmup_inputs.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "definition/constant_extent.h"
#include "definition/fill_bytes.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Larger than any device's memory, and small enough that sizes in bytes do not overflow.
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

/// Alignment of tensors that share a block or have no memory. The driver's own allocations have at least this.
constexpr std::size_t kAlignment = 256;

Result<std::vector<std::int64_t>> ExtentsOf(const KernelDefinition& definition, const Parameter& parameter,
                                            const Dims& dims) {
  std::vector<std::int64_t> extents;
  std::int64_t count = 1;
  for (const std::string& dim : parameter.dims) {
    extents.push_back(ExtentAt(definition, dim, dims));
    if (__builtin_mul_overflow(count, extents.back(), &count) || count > kMostElements) {
      return InvalidArgumentError(absl::StrCat(
          "parameter '", parameter.name, "' is larger than any device's memory at ", definition.DimsString(dims)));
    }
  }
  return extents;
}

Status CheckDims(const KernelDefinition& definition, const Dims& dims) {
  if (dims.count() != static_cast<int>(definition.dims().size())) {
    return InvalidArgumentError(
        absl::StrCat("the shape has ", dims.count(), " dims, but the kernel has ", definition.dims().size()));
  }
  for (const std::string& name : definition.dims()) {
    std::int64_t extent = dims[definition.DimOf(name)];
    if (extent < 1) return InvalidArgumentError(absl::StrCat("dim ", name, " is ", extent));
  }
  return Status();
}

/// Returns the dtype of each parameter, which is kAny unless it is a tensor.
Result<std::vector<DType>> DTypesOf(const KernelDefinition& definition, const std::vector<DType>& given) {
  const std::vector<Parameter>& parameters = definition.parameters();
  std::vector<DType> dtypes(parameters.size(), DType::kAny);
  std::size_t tensor = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind != ParameterKind::kTensor) continue;
    if (tensor < given.size()) dtypes[i] = given[tensor];
    ++tensor;
    if (dtypes[i] == DType::kAny) dtypes[i] = DTypeUnlessSaid(definition, i);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (parameter.kind != ParameterKind::kTensor || parameter.dims.empty()) continue;
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

}  // namespace

Result<DeviceBuffer> WarmupInputs::Filled(const KernelDefinition& definition, const Parameter& parameter,
                                          const Dims& dims, const TensorView& view, StreamView stream, Use use) {
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(stream, view.bytes));
  if (parameter.access == Access::kOut || (use == Use::kShapes && !parameter.warmup)) {
    TUNEONCE_RETURN_IF_ERROR(buffer.Fill(0));
  } else {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> bytes, WarmupBytes(definition, parameter, dims, view));
    host_.push_back(std::move(bytes));
    TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(host_.back().data(), host_.back().size()));
    TUNEONCE_RETURN_IF_ERROR(buffer.Repeat(host_.back().size()));
  }
  return buffer;
}

Status WarmupInputs::AddTensor(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims,
                               DType dtype, StreamView stream, Use use) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::int64_t> extents, ExtentsOf(definition, parameter, dims));
  TensorView view = TensorView::Contiguous(nullptr, dtype, extents.data(), static_cast<int>(extents.size()));
  if (use == Use::kKey) {
    view.data = NextPlace(view.bytes);
  } else {
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, Filled(definition, parameter, dims, view, stream, use));
    view.data = buffer.data();
    buffers_.push_back(std::move(buffer));
  }
  views_.push_back(view);
  arguments_.emplace_back(views_.back());
  return Status();
}

Status WarmupInputs::AddTable(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims,
                              DType dtype, StreamView stream, Use use) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::int64_t> extents, ExtentsOf(definition, parameter, dims));
  TensorView view = TensorView::Contiguous(nullptr, dtype, extents.data() + 1, static_cast<int>(extents.size()) - 1);
  const std::size_t step = (view.bytes + kAlignment - 1) / kAlignment * kAlignment;
  const auto count = static_cast<std::size_t>(extents.front());
  char* place = nullptr;
  if (use == Use::kKey) {
    place = static_cast<char*>(NextPlace(count * step));
  } else {
    const auto elements = static_cast<std::int64_t>(count * step / DTypeBytes(dtype));
    const TensorView all = TensorView::Contiguous(nullptr, dtype, {elements});
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, Filled(definition, parameter, dims, all, stream, use));
    place = static_cast<char*>(buffer.data());
    buffers_.push_back(std::move(buffer));
  }
  std::vector<TensorView> tensors(count, view);
  for (std::size_t i = 0; i < count; ++i) tensors[i].data = place + i * step;
  if (use == Use::kKey) {
    tables_.push_back(DeviceTable::WithoutMemory(std::move(tensors), NextPlace(count * sizeof(void*))));
  } else {
    TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<DeviceTable> table, DeviceTable::Create(std::move(tensors), stream));
    tables_.push_back(std::move(table));
  }
  arguments_.emplace_back(tables_.back()->table());
  return Status();
}

void* WarmupInputs::NextPlace(std::size_t bytes) {
  const std::uintptr_t place = next_place_;
  next_place_ += (bytes + kAlignment) / kAlignment * kAlignment;
  return reinterpret_cast<void*>(place);
}

std::size_t WarmupInputs::bytes() const {
  return std::accumulate(buffers_.begin(), buffers_.end(), std::size_t{0},
                         [](std::size_t sum, const DeviceBuffer& buffer) { return sum + buffer.bytes(); });
}

Result<WarmupInputs> WarmupInputs::Create(const KernelDefinition& definition, const InputShape& shape,
                                          StreamView stream, Use use) {
  const Dims& dims = shape.dims;
  WarmupInputs inputs;
  auto fill = [&]() -> Status {
    TUNEONCE_RETURN_IF_ERROR(CheckDims(definition, dims));
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<DType> dtypes, DTypesOf(definition, shape.dtypes));
    inputs.views_.reserve(definition.parameters().size());
    inputs.scalars_.reserve(definition.parameters().size());
    for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
      const Parameter& parameter = definition.parameters()[i];
      if (parameter.kind == ParameterKind::kScalar) {
        inputs.scalars_.push_back(0);
        if (!shape.scalars.empty() && shape.scalars[i]) {
          inputs.scalars_.back() = *shape.scalars[i];
        } else if (use == Use::kSearch || parameter.warmup) {
          TUNEONCE_ASSIGN_OR_RETURN(inputs.scalars_.back(), WarmupScalar(definition, parameter, dims));
        }
        inputs.arguments_.push_back(Argument::Scalar(parameter.dtype, &inputs.scalars_.back()));
      }
      if (parameter.kind != ParameterKind::kTensor) continue;
      if (parameter.dims.empty()) {
        return InvalidArgumentError("parameter '" + parameter.name +
                                    "' is raw memory of unknown size: warm up with your own arguments");
      }
      const auto add = parameter.by_pointers ? &WarmupInputs::AddTable : &WarmupInputs::AddTensor;
      TUNEONCE_RETURN_IF_ERROR((inputs.*add)(definition, parameter, dims, dtypes[i], stream, use));
    }
    return Status();
  };
  Status filled = fill();
  // Also after a failure, because the stream may still copy from `host_`.
  Status finished = use == Use::kKey ? Status() : stream.Synchronize();
  if (filled.ok()) filled = std::move(finished);
  inputs.host_.clear();
  if (!filled.ok()) return filled.WithPrefix("kernel '" + definition.name() + "', warm-up");
  return inputs;
}

}  // namespace v0
}  // namespace tuneonce
