// Contexts, and the calling thread's stack of them.
#include "context.h"
#include "driver_functions.h"

namespace tuneonce::cpu_device::driver {
namespace {

CUcontext Handle(const std::shared_ptr<Context>& context) { return reinterpret_cast<CUcontext>(context.get()); }

CpuDevice* FindDevice(CUdevice device) {
  auto& devices = Driver::Get().devices;
  return device >= 0 && device < static_cast<int>(devices.size()) ? devices[static_cast<std::size_t>(device)].get()
                                                                  : nullptr;
}

/// Ends a context: waits for its work, then forgets its streams and events. Memory of a primary context's device stays
/// allocated until it is freed by its owner, which is possible from any context of the device.
void Destroy(const std::shared_ptr<Context>& context) {
  Driver& driver = Driver::Get();
  driver.contexts.Remove(context.get());
  context->Close();
  driver.streams.RemoveIf([&](const Stream& stream) { return stream.context() == context; });
  driver.events.RemoveIf([&](const Event& event) { return event.context() == context; });
}

}  // namespace

CUresult DevicePrimaryCtxRetain(CUcontext* context, CUdevice_v1 index) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  CpuDevice* device = FindDevice(index);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  MutexLock lock(device->mutex);
  if (device->primary == nullptr) {
    auto created = std::make_shared<Context>(index, *device);
    Driver::Get().contexts.Add<CUcontext>(created);
    device->primary = std::move(created);
  }
  ++device->primary_references;
  *context = Handle(device->primary);
  return CUDA_SUCCESS;
}

CUresult DevicePrimaryCtxRelease(CUdevice_v1 index) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  CpuDevice* device = FindDevice(index);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  MutexLock lock(device->mutex);
  if (device->primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->primary_references == 0) {
    Destroy(device->primary);
    device->primary = nullptr;
  }
  return CUDA_SUCCESS;
}

CUresult DevicePrimaryCtxReset(CUdevice_v1 index) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  CpuDevice* device = FindDevice(index);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  MutexLock lock(device->mutex);
  if (device->primary != nullptr) {
    Destroy(device->primary);
    device->primary = nullptr;
    device->primary_references = 0;
  }
  return CUDA_SUCCESS;
}

CUresult DevicePrimaryCtxGetState(CUdevice_v1 index, unsigned int* flags, int* active) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  CpuDevice* device = FindDevice(index);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  MutexLock lock(device->mutex);
  *flags = 0;
  *active = device->primary != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult CtxCreate(CUcontext* context, unsigned int, CUdevice_v1 index) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  CpuDevice* device = FindDevice(index);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (ThreadContexts().IsFull()) return CUDA_ERROR_OUT_OF_MEMORY;
  auto created = std::make_shared<Context>(index, *device);
  *context = Driver::Get().contexts.Add<CUcontext>(created);
  ThreadContexts().Push(created.get());
  return CUDA_SUCCESS;
}

CUresult CtxDestroy(CUcontext handle) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  std::shared_ptr<Context> context = Driver::Get().contexts.Find(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (ThreadContexts().Top() == context.get()) ThreadContexts().Pop();
  Destroy(context);
  return CUDA_SUCCESS;
}

CUresult CtxGetCurrent(CUcontext* context) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  *context = reinterpret_cast<CUcontext>(ThreadContexts().Top());
  return CUDA_SUCCESS;
}

CUresult CtxSetCurrent(CUcontext handle) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  ContextStack& stack = ThreadContexts();
  std::shared_ptr<Context> context;
  if (handle != nullptr) {
    context = Driver::Get().contexts.Find(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (stack.depth > 0) stack.Pop();
  if (context != nullptr) stack.Push(context.get());
  return CUDA_SUCCESS;
}

CUresult CtxPushCurrent(CUcontext handle) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  std::shared_ptr<Context> context = Driver::Get().contexts.Find(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return ThreadContexts().Push(context.get()) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CtxPopCurrent(CUcontext* context) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  ContextStack& stack = ThreadContexts();
  if (stack.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
  *context = reinterpret_cast<CUcontext>(stack.Top());
  stack.Pop();
  return CUDA_SUCCESS;
}

CUresult CtxGetDevice(CUdevice_v1* device) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindCurrentContext(&context));
  *device = context->index;
  return CUDA_SUCCESS;
}

CUresult CtxGetId(CUcontext handle, unsigned long long* id) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  std::shared_ptr<Context> context;
  if (handle == nullptr) {
    TUNEONCE_CPU_RETURN_IF_ERROR(FindCurrentContext(&context));
  } else {
    context = Driver::Get().contexts.Find(handle);
  }
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *id = context->id;
  return CUDA_SUCCESS;
}

CUresult CtxSynchronize() {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckContextSynchronize(context.get()));
  context->WaitIdle();
  return static_cast<CUresult>(context->sticky.load());
}

}  // namespace tuneonce::cpu_device::driver
