#ifndef TUNEONCE_LIB_CUDA_IPC_MEMORY_H_
#define TUNEONCE_LIB_CUDA_IPC_MEMORY_H_

#include <cuda.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "cuda/driver_api.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Owns device memory of the current context that another process may map by its handle. It uses cuMemAlloc, because
/// stream-ordered memory has no handle, so its destructor waits for all kernels of the context. It takes whole units of
/// 2 MiB, because the driver puts several smaller allocations into one unit and a handle shares all of it. Move-only.
/// REQUIRES: its context is current in the destructor. Thread rule: one owner.
class ExportedBlock {
 public:
  /// Allocates a block. Errors: InvalidArgument for 0 bytes; ResourceExhausted; Unimplemented if the system has no such
  /// handles.
  static Result<ExportedBlock> Allocate(const DriverApi& api, std::size_t bytes);
  ~ExportedBlock();
  ExportedBlock(ExportedBlock&& other) noexcept
      : api_(other.api_),
        pointer_(std::exchange(other.pointer_, 0)),
        bytes_(std::exchange(other.bytes_, 0)),
        handle_(std::move(other.handle_)) {}
  ExportedBlock& operator=(ExportedBlock&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  CUdeviceptr address() const { return pointer_; }
  std::size_t bytes() const { return bytes_; }
  /// Returns the handle for ImportedBlock::Open in another process.
  const std::string& handle() const { return handle_; }

 private:
  ExportedBlock(const DriverApi& api, CUdeviceptr pointer, std::size_t bytes)
      : api_(&api), pointer_(pointer), bytes_(bytes) {}

  const DriverApi* api_;
  CUdeviceptr pointer_;
  std::size_t bytes_;
  std::string handle_;
};

/// Maps another process's ExportedBlock into the current context. Move-only. It is closed before the exporter frees the
/// block, or after that process has ended (docs/internal/driver_rules.md).
/// REQUIRES: its context is current at its end, and what uses the memory has ended. Thread rule: one owner.
class ImportedBlock {
 public:
  /// Maps a block of another process. Errors: InvalidArgument for bytes that are not a handle; the driver's for a
  /// handle of this process, one that another context of this process opened, or one whose process ended.
  static Result<ImportedBlock> Open(const DriverApi& api, std::string_view handle);
  ~ImportedBlock();
  ImportedBlock(ImportedBlock&& other) noexcept : api_(other.api_), pointer_(std::exchange(other.pointer_, 0)) {}
  ImportedBlock& operator=(ImportedBlock&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(pointer_, other.pointer_);
    return *this;
  }

  CUdeviceptr address() const { return pointer_; }

 private:
  ImportedBlock(const DriverApi& api, CUdeviceptr pointer) : api_(&api), pointer_(pointer) {}

  const DriverApi* api_;
  CUdeviceptr pointer_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_IPC_MEMORY_H_
