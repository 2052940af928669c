#include "cuda/driver_api.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

Result<ContextView> ContextView::Current(const DriverApi& api) {
  CUcontext context = nullptr;
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, CtxGetCurrent(&context));
  if (context == nullptr) {
    return FailedPreconditionError("this thread has no current CUDA context: make one current first");
  }
  return ContextView(api, context);
}

Result<Context> Context::RetainPrimary(const Device& device) {
  CUcontext context = nullptr;
  TUNEONCE_CUDA_RETURN_IF_ERROR(device.api(), DevicePrimaryCtxRetain(&context, device.handle()));
  return Context(device, context, /*is_primary=*/true);
}

Result<Context> Context::Create(const Device& device) {
  CUcontext context = nullptr;
  TUNEONCE_CUDA_RETURN_IF_ERROR(device.api(), CtxCreate(&context, 0, device.handle()));
  CUcontext popped = nullptr;
  TUNEONCE_CUDA_RETURN_IF_ERROR(device.api(), CtxPopCurrent(&popped));
  return Context(device, context, /*is_primary=*/false);
}

void Context::Reset() {
  if (context_ == nullptr) return;
  RelaxedDriver driver(device_.api());
  // A driver that is shutting down, or a context that is gone, is a success for a destructor: nothing is left to do.
  if (is_primary_) {
    driver->DevicePrimaryCtxRelease(device_.handle());
  } else {
    driver->CtxDestroy(context_);
  }
  context_ = nullptr;
}

ScopedContext::ScopedContext(ContextView context) : api_(context.api()) {
  status_ = TUNEONCE_CUDA_STATUS(api_, CtxPushCurrent(context.get()));
}

ScopedContext::~ScopedContext() {
  if (!status_.ok()) return;
  RelaxedDriver driver(api_);
  CUcontext popped = nullptr;
  driver->CtxPopCurrent(&popped);
}

}  // namespace v0
}  // namespace tuneonce
