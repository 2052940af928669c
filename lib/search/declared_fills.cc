#include "search/declared_fills.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "definition/fill_bytes.h"

namespace tuneonce {
inline namespace v0 {

Status DeclaredFills::Fill(std::size_t parameter, const Dims& dims, const TensorView& view,
                           const DeviceBuffer& buffer) {
  const Parameter& declared = definition_.parameters()[parameter];
  const bool is_same_at_all_dims = RepeatsAtAllDims(declared);
  const auto known = patterns_.find(parameter);
  const std::size_t num_bytes = std::min(view.bytes, kMostRepeatedBytes);
  if (is_same_at_all_dims && known != patterns_.end() && known->second.dtype == view.dtype &&
      known->second.block.buffer.bytes() >= num_bytes) {
    TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromDevice(known->second.block.buffer.get(), num_bytes));
    return buffer.Repeat(num_bytes);
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> bytes, WarmupBytes(definition_, declared, dims, view));
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(bytes.data(), bytes.size()));
  if (is_same_at_all_dims) {
    Result<TrialMemory::Block> block = memory_.Allocate(stream_, bytes.size());
    if (block.ok()) {  // Otherwise it is made again each time.
      TUNEONCE_RETURN_IF_ERROR(block->buffer.CopyFromDevice(buffer.get(), bytes.size()));
      patterns_.insert_or_assign(parameter, Pattern{view.dtype, *std::move(block)});
    }
  }
  TUNEONCE_RETURN_IF_ERROR(stream_.Synchronize());  // Before `bytes` is gone.
  return buffer.Repeat(bytes.size());
}

}  // namespace v0
}  // namespace tuneonce
