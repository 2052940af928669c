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

/// Owns device memory that is allocated and freed in stream order, so that neither waits for the kernels of other
/// streams (cuMemFree would wait). Move-only. REQUIRES: the stream outlives the buffer, and uses of the buffer in other
/// streams are ordered before its destruction. Thread rule: use it on one thread at a time.
class TUNEONCE_API DeviceBuffer {
 public:
  /// Allocates `bytes` bytes. If `bytes` is 0, the buffer has no memory and a null pointer. Errors: ResourceExhausted
  /// if memory is short, or that of another driver error.
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

  /// Copies `bytes` bytes from host memory into this buffer, starting at `offset`, in stream order. The host memory
  /// must not change until the stream has executed the copy. Errors: InvalidArgument if the copy exceeds the buffer, or
  /// a driver error.
  Status CopyFromHost(const void* source, std::size_t bytes, std::size_t offset = 0) const;
  /// Copies the first `bytes` bytes of this buffer to host memory, in stream order. The host memory must not be read
  /// until the stream has executed the copy. Errors: InvalidArgument if `bytes` exceeds the buffer, or a driver error.
  Status CopyToHost(void* target, std::size_t bytes) const;
  /// Copies `bytes` bytes from the device address `source` into this buffer, starting at `offset`, in stream order.
  /// Errors: InvalidArgument if the copy exceeds the buffer, or a driver error.
  Status CopyFromDevice(CUdeviceptr source, std::size_t bytes, std::size_t offset = 0) const;
  /// Fills the whole buffer with copies of its first `bytes` bytes, in stream order. Errors: a driver error. REQUIRES:
  /// `bytes` > 0, or the buffer is empty.
  Status Repeat(std::size_t bytes) const;
  /// Sets every byte of the buffer to `value`, in stream order. Errors: a driver error.
  Status Fill(unsigned char value) const { return Fill(value, 0, bytes_); }
  /// Sets `bytes` bytes from `offset` on to `value`, in stream order. Errors: InvalidArgument if they exceed the
  /// buffer, or a driver error.
  Status Fill(unsigned char value, std::size_t offset, std::size_t bytes) const;

 private:
  DeviceBuffer(StreamView stream, CUdeviceptr pointer, std::size_t bytes)
      : stream_(stream), pointer_(pointer), bytes_(bytes) {}

  StreamView stream_;
  CUdeviceptr pointer_;
  std::size_t bytes_;
};

/// Copies `bytes` bytes of device memory to the host in stream order, waits, and returns them. Errors: a driver error.
/// If the wait fails, the host memory is never freed, because the copy may still be running.
TUNEONCE_API Result<std::vector<char>> ReadDeviceMemory(StreamView stream, CUdeviceptr address, std::size_t bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_DEVICE_BUFFER_H_
