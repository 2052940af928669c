#include "launch/device_table.h"

#include <utility>

namespace tuneonce {
inline namespace v0 {

DeviceTable::DeviceTable(std::vector<TensorView> tensors, std::optional<DeviceBuffer> entries, void* address)
    : tensors_(std::move(tensors)),
      entries_(std::move(entries)),
      table_(PointerTable::Of(address, tensors_.data(), tensors_.size())) {}

Result<std::unique_ptr<DeviceTable>> DeviceTable::Create(std::vector<TensorView> tensors, StreamView stream) {
  std::vector<std::uint64_t> addresses;
  for (const TensorView& tensor : tensors) addresses.push_back(reinterpret_cast<std::uintptr_t>(tensor.data));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer entries,
                            DeviceBuffer::Allocate(stream, addresses.size() * sizeof(std::uint64_t)));
  Status copied = entries.CopyFromHost(addresses.data(), entries.bytes());
  Status finished = stream.Synchronize();  // Also after a failure, because work in the stream may read `addresses`.
  TUNEONCE_RETURN_IF_ERROR(copied);
  TUNEONCE_RETURN_IF_ERROR(finished);
  void* const address = entries.data();
  return std::unique_ptr<DeviceTable>(new DeviceTable(std::move(tensors), std::move(entries), address));
}

std::unique_ptr<DeviceTable> DeviceTable::WithoutMemory(std::vector<TensorView> tensors, void* address) {
  return std::unique_ptr<DeviceTable>(new DeviceTable(std::move(tensors), std::nullopt, address));
}

}  // namespace v0
}  // namespace tuneonce
