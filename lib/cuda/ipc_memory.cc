#include "cuda/ipc_memory.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {

Result<ExportedBlock> ExportedBlock::Allocate(const DriverApi& api, std::size_t bytes) {
  constexpr std::size_t kUnitBytes = std::size_t{2} << 20;
  if (bytes == 0) return InvalidArgumentError("a block of 0 bytes cannot be exported");
  CUdeviceptr pointer = 0;
  const std::size_t whole = (bytes + kUnitBytes - 1) / kUnitBytes * kUnitBytes;
  TUNEONCE_RETURN_IF_ERROR(
      TUNEONCE_CUDA_STATUS(api, MemAlloc(&pointer, whole)).WithPrefix(absl::StrCat(bytes, " bytes")));
  ExportedBlock block(api, pointer, bytes);
  CUipcMemHandle handle{};
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, IpcGetMemHandle(&handle, pointer));
  block.handle_.assign(handle.reserved, sizeof(handle.reserved));
  return block;
}

Result<ImportedBlock> ImportedBlock::Open(const DriverApi& api, std::string_view handle) {
  CUipcMemHandle content{};
  if (handle.size() != sizeof(content.reserved)) {
    return InvalidArgumentError(
        absl::StrCat("the IPC handle has ", handle.size(), " bytes, not ", sizeof(content.reserved)));
  }
  std::memcpy(content.reserved, handle.data(), handle.size());
  CUdeviceptr pointer = 0;
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, IpcOpenMemHandle(&pointer, content, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  return ImportedBlock(api, pointer);
}

}  // namespace v0
}  // namespace tuneonce
