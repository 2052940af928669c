// Memory: allocation, copies, fills.
#include <cstdlib>
#include <cstring>

#include "context.h"
#include "driver_functions.h"

namespace tuneonce::cpu_device::driver {
namespace {

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CpuDevice* OwnerOf(const void* pointer) {
  for (const auto& device : Driver::Get().devices) {
    if (device->arena.Owns(pointer)) return device.get();
  }
  return nullptr;
}

/// True if an access to device memory is inside one allocation.
bool IsDeviceRange(CUdeviceptr address, std::size_t bytes) {
  CpuDevice* device = OwnerOf(Pointer(address));
  return device != nullptr && device->arena.Contains(Pointer(address), bytes);
}

std::shared_ptr<const Command> MakeCopy(void* target, const void* source, std::size_t bytes) {
  auto command = std::make_shared<Command>();
  command->kind = CU_GRAPH_NODE_TYPE_MEMCPY;
  command->run = [=] {
    std::memmove(target, source, bytes);
    return CUDA_SUCCESS;
  };
  return command;
}

template <typename Word>
std::shared_ptr<const Command> MakeFill(CUdeviceptr target, Word value, std::size_t count) {
  auto command = std::make_shared<Command>();
  command->kind = CU_GRAPH_NODE_TYPE_MEMSET;
  command->run = [=] {
    auto* words = static_cast<Word*>(Pointer(target));
    for (std::size_t i = 0; i < count; ++i) words[i] = value;
    return CUDA_SUCCESS;
  };
  return command;
}

/// Copies and fills check their device ranges when they are called, as the driver does.
CUresult SubmitIfValid(bool valid, CUstream handle, std::size_t bytes,
                       const std::function<std::shared_ptr<const Command>()>& make) {
  std::shared_ptr<Stream> stream;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(handle, &stream));
  if (bytes == 0) return CUDA_SUCCESS;
  if (!valid) return CUDA_ERROR_INVALID_VALUE;
  return Submit(stream, {make()});
}

/// The synchronous forms: in the legacy stream, then wait for it.
CUresult SubmitAndWait(bool valid, std::size_t bytes, const std::function<std::shared_ptr<const Command>()>& make) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckLegacyStream(context.get()));
  TUNEONCE_CPU_RETURN_IF_ERROR(SubmitIfValid(valid, nullptr, bytes, make));
  context->LegacyStream()->WaitIdle();
  return static_cast<CUresult>(context->sticky.load());
}

}  // namespace

CUresult MemGetInfo(size_t* free, size_t* total) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  *free = context->device.arena.free_bytes();
  *total = context->device.arena.capacity_bytes();
  return CUDA_SUCCESS;
}

CUresult MemAlloc(CUdeviceptr* pointer, size_t bytes) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* memory = context->device.arena.Allocate(bytes);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

CUresult MemFree(CUdeviceptr pointer) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  if (pointer == 0) return CUDA_SUCCESS;
  CpuDevice* device = OwnerOf(Pointer(pointer));
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  context->WaitIdle();
  return device->arena.Free(Pointer(pointer)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult MemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream handle) {
  std::shared_ptr<Stream> stream;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(handle, &stream));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Arena& arena = stream->context()->device.arena;
  void* memory = arena.Allocate(bytes, Arena::Kind::kOfStream);
  if (memory == nullptr) {
    stream->WaitIdle();  // Frees already in this stream come before this allocation.
    memory = arena.Allocate(bytes, Arena::Kind::kOfStream);
  }
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  bool capturing;
  {
    MutexLock lock(capture_mutex);
    capturing = stream->capture != nullptr;
  }
  if (capturing) {
    // Memory of a graph: its address is fixed now and it lives as long as a node that owns it.
    auto command = std::make_shared<Command>();
    command->kind = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    std::shared_ptr<void> owner(memory, [&arena](void* owned) { arena.Free(owned); });
    command->run = [owner] { return CUDA_SUCCESS; };
    TUNEONCE_CPU_RETURN_IF_ERROR(Submit(stream, {command}));
  }
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

CUresult MemFreeAsync(CUdeviceptr pointer, CUstream handle) {
  std::shared_ptr<Stream> stream;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(handle, &stream));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  if (pointer == 0) return CUDA_ERROR_INVALID_VALUE;
  CpuDevice* device = OwnerOf(Pointer(pointer));
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto command = std::make_shared<Command>();
  command->kind = CU_GRAPH_NODE_TYPE_MEM_FREE;
  bool capturing;
  {
    MutexLock lock(capture_mutex);
    capturing = stream->capture != nullptr;
  }
  // In a graph the memory stays with the node that allocated it, for the next replay.
  if (!capturing) {
    command->run = [device, pointer] {
      device->arena.Free(Pointer(pointer));
      return CUDA_SUCCESS;
    };
  }
  return Submit(stream, {command});
}

CUresult MemHostAlloc(void** pointer, size_t bytes, unsigned int) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  constexpr std::size_t kAlignment = 4096;
  *pointer = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  return *pointer == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult MemFreeHost(void* pointer) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  context->WaitIdle();
  std::free(pointer);
  return CUDA_SUCCESS;
}

CUresult MemcpyHtoD(CUdeviceptr target, const void* source, size_t bytes) {
  return SubmitAndWait(IsDeviceRange(target, bytes), bytes, [&] { return MakeCopy(Pointer(target), source, bytes); });
}

CUresult MemcpyDtoH(void* target, CUdeviceptr source, size_t bytes) {
  return SubmitAndWait(IsDeviceRange(source, bytes), bytes, [&] { return MakeCopy(target, Pointer(source), bytes); });
}

CUresult MemcpyHtoDAsync(CUdeviceptr target, const void* source, size_t bytes, CUstream stream) {
  return SubmitIfValid(IsDeviceRange(target, bytes), stream, bytes,
                       [&] { return MakeCopy(Pointer(target), source, bytes); });
}

CUresult MemcpyDtoHAsync(void* target, CUdeviceptr source, size_t bytes, CUstream stream) {
  return SubmitIfValid(IsDeviceRange(source, bytes), stream, bytes,
                       [&] { return MakeCopy(target, Pointer(source), bytes); });
}

CUresult MemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) {
  return SubmitIfValid(IsDeviceRange(target, bytes) && IsDeviceRange(source, bytes), stream, bytes,
                       [&] { return MakeCopy(Pointer(target), Pointer(source), bytes); });
}

CUresult MemsetD8(CUdeviceptr target, unsigned char value, size_t count) {
  return SubmitAndWait(IsDeviceRange(target, count), count, [&] { return MakeFill(target, value, count); });
}

CUresult MemsetD8Async(CUdeviceptr target, unsigned char value, size_t count, CUstream stream) {
  return SubmitIfValid(IsDeviceRange(target, count), stream, count, [&] { return MakeFill(target, value, count); });
}

CUresult MemsetD32Async(CUdeviceptr target, unsigned int value, size_t count, CUstream stream) {
  bool valid = target % sizeof(value) == 0 && IsDeviceRange(target, count * sizeof(value));
  return SubmitIfValid(valid, stream, count, [&] { return MakeFill(target, value, count); });
}

CUresult PointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  CpuDevice* owner = OwnerOf(Pointer(pointer));
  if (owner == nullptr || !owner->arena.Contains(Pointer(pointer), 1)) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(data) = CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      for (std::size_t i = 0; i < Driver::Get().devices.size(); ++i) {
        if (Driver::Get().devices[i].get() == owner) *static_cast<int*>(data) = static_cast<int>(i);
      }
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace tuneonce::cpu_device::driver
