#include "runtime/bucket_call.h"

#include <algorithm>

namespace tuneonce {
namespace {

/// Fills the buffer with the source's bytes, over and over: doubling what is there.
Status FillByRepeating(const DeviceBuffer& buffer, CUdeviceptr source, std::size_t source_bytes) {
  std::size_t filled = std::min(source_bytes, buffer.bytes());
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromDevice(source, filled));
  while (filled > 0 && filled < buffer.bytes()) {
    std::size_t more = std::min(filled, buffer.bytes() - filled);
    TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromDevice(buffer.get(), more, filled));
    filled += more;
  }
  return Status();
}

}  // namespace

Dims BucketCall::BoundOf(const KernelDefinition& definition, const Dims& dims) {
  Dims bound = dims;
  for (const KeyPart& part : definition.key()) {
    if (part.kind != KeyPart::Kind::kDim) continue;
    Dim dim = definition.DimOf(part.name);
    bound[dim] = part.Round(dims[dim]);
  }
  return bound;
}

Result<BucketCall> BucketCall::Create(const KernelDefinition& definition, const BoundCall& call, StreamView stream,
                                      TrialMemory& memory) {
  BucketCall bucket;
  bucket.call_ = call;
  bucket.call_.problem.dims = BoundOf(definition, call.problem.dims);
  bucket.views_.reserve(static_cast<std::size_t>(kMaxParameters));
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    if (parameter.dims.empty()) continue;
    const TensorView& given = call.tensor(i);
    std::array<std::int64_t, kMaxRank> shape{};
    for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
      shape[d] = bucket.call_.problem.dims[definition.DimOf(parameter.dims[d])];
    }
    TensorView view = TensorView::Contiguous(nullptr, given.dtype, shape.data(), given.rank);
    TUNEONCE_ASSIGN_OR_RETURN(TrialMemory::Block block, memory.Allocate(stream, view.bytes));
    if (parameter.access != Access::kOut) {
      TUNEONCE_RETURN_IF_ERROR(FillByRepeating(block.buffer, reinterpret_cast<CUdeviceptr>(given.data), given.bytes));
    }
    view.data = block.buffer.data();
    bucket.views_.push_back(view);
    bucket.call_.values[i] = &bucket.views_.back();
    bucket.blocks_.push_back(std::move(block));
  }
  return bucket;
}

}  // namespace tuneonce
