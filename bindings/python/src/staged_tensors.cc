#include "staged_tensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "tuneonce/device.h"

namespace tuneonce::python {

Result<StagedTensors> StagedTensors::Create(const std::vector<TensorView>& host, StreamView stream) {
  StagedTensors staged;
  staged.host_ = staged.views_ = host;
  auto begin = [&](std::size_t i) { return static_cast<char*>(host[i].data); };
  std::vector<std::size_t> order(host.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return begin(a) < begin(b); });
  for (std::size_t first = 0, next = 0; first < order.size(); first = next) {
    char* from = begin(order[first]);
    char* to = from;
    for (; next < order.size() && (next == first || begin(order[next]) < to); ++next) {
      to = std::max(to, begin(order[next]) + host[order[next]].bytes);
    }
    auto bytes = static_cast<std::size_t>(to - from);
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(stream, bytes));
    TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(from, bytes));
    for (std::size_t i = first; i < next; ++i) {
      const std::ptrdiff_t offset = begin(order[i]) - from;
      if (offset % static_cast<std::ptrdiff_t>(DTypeBytes(host[order[i]].dtype)) != 0) {
        return InvalidArgumentError("arrays that share memory begin " + std::to_string(offset) +
                                    " bytes apart, which is not a whole number of elements: pass a copy of one");
      }
      staged.views_[order[i]].data = static_cast<char*>(buffer.data()) + offset;
    }
    staged.buffers_.push_back(std::move(buffer));
  }
  return staged;
}

Status StagedTensors::CopyBack(std::size_t i) const {
  const TensorView& view = views_[i];
  TUNEONCE_ASSIGN_OR_RETURN(
      std::vector<char> bytes,
      ReadDeviceMemory(buffers_.front().stream(), reinterpret_cast<CUdeviceptr>(view.data), view.bytes));
  const auto element = static_cast<std::int64_t>(DTypeBytes(view.dtype));
  ForEachStretch(view, [&](std::int64_t offset, std::int64_t count) {
    std::memcpy(static_cast<char*>(host_[i].data) + offset * element, bytes.data() + offset * element,
                static_cast<std::size_t>(count * element));
    return true;
  });
  return Status();
}

}  // namespace tuneonce::python
