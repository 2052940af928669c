#ifndef TUNEONCE_LIB_CUDA_IPC_MEMORY_H_
#define TUNEONCE_LIB_CUDA_IPC_MEMORY_H_

#include <cuda.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "cuda/driver_handle.h"
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

  CUdeviceptr address() const { return pointer_.get(); }
  std::size_t bytes() const { return bytes_; }
  /// Returns the handle for ImportedBlock::Open in another process.
  const std::string& handle() const { return handle_; }

 private:
  ExportedBlock(const DriverApi& api, CUdeviceptr pointer, std::size_t bytes) : pointer_(api, pointer), bytes_(bytes) {}

  DriverHandle<CUdeviceptr, &DriverTable::MemFree> pointer_;
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

  CUdeviceptr address() const { return pointer_.get(); }

 private:
  ImportedBlock(const DriverApi& api, CUdeviceptr pointer) : pointer_(api, pointer) {}

  DriverHandle<CUdeviceptr, &DriverTable::IpcCloseMemHandle> pointer_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_IPC_MEMORY_H_
