#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "cuda/driver_api.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {
namespace {

Status CheckFits(std::size_t bytes, std::size_t capacity) {
  if (bytes <= capacity) return Status();
  return InvalidArgumentError(
      absl::StrCat("a copy of ", bytes, " bytes does not fit into a buffer of ", capacity, " bytes"));
}

}  // namespace

Result<DeviceBuffer> DeviceBuffer::Allocate(StreamView stream, std::size_t bytes) {
  CUdeviceptr pointer = 0;
  if (bytes > 0) {
    TUNEONCE_RETURN_IF_ERROR(TUNEONCE_CUDA_STATUS(stream.api(), MemAllocAsync(&pointer, bytes, stream.get()))
                                 .WithPrefix(absl::StrCat(bytes, " bytes")));
  }
  return DeviceBuffer(stream, pointer, bytes);
}

DeviceBuffer::~DeviceBuffer() {
  if (pointer_ == 0) return;
  RelaxedDriver driver(stream_.api());
  driver->MemFreeAsync(pointer_, stream_.get());  // Fails only if the context is gone, and the memory with it.
}

Status DeviceBuffer::CopyFromHost(const void* source, std::size_t bytes, std::size_t offset) const {
  TUNEONCE_RETURN_IF_ERROR(CheckFits(offset + bytes, bytes_));
  if (bytes == 0) return Status();
  return TUNEONCE_CUDA_STATUS(stream_.api(), MemcpyHtoDAsync(pointer_ + offset, source, bytes, stream_.get()));
}

Status DeviceBuffer::CopyToHost(void* target, std::size_t bytes) const {
  TUNEONCE_RETURN_IF_ERROR(CheckFits(bytes, bytes_));
  if (bytes == 0) return Status();
  return TUNEONCE_CUDA_STATUS(stream_.api(), MemcpyDtoHAsync(target, pointer_, bytes, stream_.get()));
}

Status DeviceBuffer::CopyFromDevice(CUdeviceptr source, std::size_t bytes, std::size_t offset) const {
  TUNEONCE_RETURN_IF_ERROR(CheckFits(offset + bytes, bytes_));
  if (bytes == 0) return Status();
  return TUNEONCE_CUDA_STATUS(stream_.api(), MemcpyDtoDAsync(pointer_ + offset, source, bytes, stream_.get()));
}

Status DeviceBuffer::Repeat(std::size_t bytes) const {
  // Doubling the filled part needs few copies for a buffer of any size.
  for (std::size_t filled = bytes; filled > 0 && filled < bytes_;) {
    std::size_t more = std::min(filled, bytes_ - filled);
    TUNEONCE_RETURN_IF_ERROR(CopyFromDevice(pointer_, more, filled));
    filled += more;
  }
  return Status();
}

Status DeviceBuffer::Fill(unsigned char value, std::size_t offset, std::size_t bytes) const {
  TUNEONCE_RETURN_IF_ERROR(CheckFits(offset + bytes, bytes_));
  if (bytes == 0) return Status();
  return TUNEONCE_CUDA_STATUS(stream_.api(), MemsetD8Async(pointer_ + offset, value, bytes, stream_.get()));
}

Result<std::vector<char>> ReadDeviceMemory(StreamView stream, CUdeviceptr address, std::size_t bytes) {
  std::vector<char> host(bytes);
  if (bytes == 0) return host;
  TUNEONCE_CUDA_RETURN_IF_ERROR(stream.api(), MemcpyDtoHAsync(host.data(), address, bytes, stream.get()));
  Status finished = stream.Synchronize();
  if (finished.ok()) return host;
  static auto* const mutex = new Mutex;
  static auto* const abandoned = new std::vector<std::vector<char>>;
  MutexLock lock(*mutex);
  abandoned->push_back(std::move(host));
  return finished;
}

}  // namespace v0
}  // namespace tuneonce
