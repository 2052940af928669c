// Memory that several processes share: cuIpcGetMemHandle, cuIpcOpenMemHandle, cuIpcCloseMemHandle.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/file.h"
#include "context.h"
#include "driver_functions.h"

namespace tuneonce::cpu_device::driver {
namespace {

/// The content of a handle: a file of the exporting process, which has a name in /proc as long as that process has the
/// block, and the file's identity, because its number may have been reused.
struct HandleContent {
  char mark[8];
  pid_t process;
  int file;
  std::uint64_t inode;
  std::uint64_t bytes;
};
static_assert(sizeof(HandleContent) <= sizeof(CUipcMemHandle));

constexpr char kMark[8] = {'t', 'u', 'n', 'e', 'o', 'n', 'c', 'e'};

/// Returns the exporter's file, or a closed descriptor if it no longer exists.
FileDescriptor OpenFile(const HandleContent& content) {
  const std::string path = "/proc/" + std::to_string(content.process) + "/fd/" + std::to_string(content.file);
  // Opens nothing else, whatever a handle contains: no pipe and no device.
  char name[64] = {};
  if (readlink(path.c_str(), name, sizeof(name) - 1) < 0 || std::strstr(name, kSharedFileName) == nullptr) return {};
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat info {};
  if (!file.is_open() || fstat(file.get(), &info) != 0 || info.st_ino != content.inode) return {};
  // A file that could shrink would remove pages that a process reads.
  int freezes = fcntl(file.get(), F_GET_SEALS);
  if (freezes < 0 || (freezes & F_SEAL_SHRINK) == 0 || info.st_size != static_cast<off_t>(content.bytes)) return {};
  return file;
}

void WaitForAllOf(const CpuDevice& device) {
  for (const auto& context : Driver::Get().contexts.All()) {
    if (&context->device == &device) context->WaitIdle();
  }
}

}  // namespace

CUresult IpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  WaitForAllOf(context->device);  // The block moves into a file.
  int file = -1;
  std::size_t bytes = 0;
  TUNEONCE_CPU_RETURN_IF_ERROR(context->device.arena.Share(reinterpret_cast<void*>(pointer), &file, &bytes));
  struct stat info {};
  if (fstat(file, &info) != 0) return CUDA_ERROR_MAP_FAILED;
  HandleContent content{{}, getpid(), file, info.st_ino, bytes};
  std::memcpy(content.mark, kMark, sizeof(kMark));
  *handle = {};
  std::memcpy(handle->reserved, &content, sizeof(content));
  return CUDA_SUCCESS;
}

CUresult IpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  HandleContent content{};
  std::memcpy(&content, handle.reserved, sizeof(content));
  bool is_handle = std::memcmp(content.mark, kMark, sizeof(kMark)) == 0 && content.bytes > 0;
  if (pointer == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || !is_handle) return CUDA_ERROR_INVALID_VALUE;
  if (content.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  FileDescriptor file = OpenFile(content);
  if (!file.is_open()) return CUDA_ERROR_MAP_FAILED;
  CpuDevice& device = context->device;
  MutexLock lock(device.mutex);
  auto opened = device.imports.find(content.inode);
  if (opened == device.imports.end()) {
    void* memory = device.arena.Map(file.get(), content.bytes);
    if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    opened = device.imports.emplace(content.inode, Import{memory, context->id}).first;
  } else if (opened->second.context != context->id) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  ++opened->second.references;
  *pointer = reinterpret_cast<CUdeviceptr>(opened->second.memory);
  return CUDA_SUCCESS;
}

CUresult IpcCloseMemHandle(CUdeviceptr pointer) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  CpuDevice& device = context->device;
  WaitForAllOf(device);  // Work that reads the block ends first, as in cuMemFree.
  MutexLock lock(device.mutex);
  auto opened = std::find_if(device.imports.begin(), device.imports.end(), [&](const auto& entry) {
    return entry.second.memory == reinterpret_cast<void*>(pointer);
  });
  if (opened == device.imports.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--opened->second.references > 0) return CUDA_SUCCESS;
  device.arena.Unmap(opened->second.memory);
  device.imports.erase(opened);
  return CUDA_SUCCESS;
}

}  // namespace tuneonce::cpu_device::driver
