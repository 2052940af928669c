#ifndef TUNEONCE_DEVICE_BUFFER_H_
#define TUNEONCE_DEVICE_BUFFER_H_

#include <cuda.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "tuneonce/result.h"
#include "tuneonce/stream.h"

namespace tuneonce {
inline namespace v0 {

/// Owns device memory, allocated and freed in the order of a stream, so that neither waits for other streams'
/// kernels (cuMemFree would). Move-only.
/// REQUIRES: the stream outlives the buffer, and other streams' uses of it are ordered before its end.
/// Thread rule: one owner.
class TUNEONCE_API DeviceBuffer {
 public:
  /// `bytes` may be 0: no memory then, and a null pointer. Errors: ResourceExhausted.
  static Result<DeviceBuffer> Allocate(StreamView stream, std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : stream_(other.stream_), pointer_(std::exchange(other.pointer_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  CUdeviceptr get() const { return pointer_; }
  void* data() const { return reinterpret_cast<void*>(pointer_); }
  std::size_t bytes() const { return bytes_; }
  StreamView stream() const { return stream_; }

  /// Copies between host and this buffer, from `offset` bytes on, in its stream. Host memory must stay as it is until
  /// the stream got there.
  Status CopyFromHost(const void* source, std::size_t bytes, std::size_t offset = 0) const;
  Status CopyToHost(void* target, std::size_t bytes) const;
  /// Copies `bytes` from device address `source`, to `offset` bytes into this buffer.
  Status CopyFromDevice(CUdeviceptr source, std::size_t bytes, std::size_t offset = 0) const;
  /// Fills the whole buffer by repeating its first `bytes` bytes. REQUIRES: `bytes` > 0, or the buffer is empty.
  Status Repeat(std::size_t bytes) const;
  /// Sets every byte.
  Status Fill(unsigned char value) const { return Fill(value, 0, bytes_); }
  /// Sets `bytes` bytes from `offset` on.
  Status Fill(unsigned char value, std::size_t offset, std::size_t bytes) const;

 private:
  DeviceBuffer(StreamView stream, CUdeviceptr pointer, std::size_t bytes)
      : stream_(stream), pointer_(pointer), bytes_(bytes) {}

  StreamView stream_;
  CUdeviceptr pointer_;
  std::size_t bytes_;
};

/// Copies `bytes` of device memory to the host, in the stream's order, and waits. If waiting fails, the memory that is
/// copied to is never freed, since the copy may still be under way.
TUNEONCE_API Result<std::vector<char>> ReadDeviceMemory(StreamView stream, CUdeviceptr address, std::size_t bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_DEVICE_BUFFER_H_
