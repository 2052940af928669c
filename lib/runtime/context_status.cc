#include "runtime/context_status.h"

#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {

Status ContextStatus(const DriverApi& api, CUresult result, const char* call) {
  switch (result) {
    case CUDA_ERROR_INVALID_CONTEXT:
      return FailedPreconditionError("this thread has no current CUDA context: make one current first");
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return FailedPreconditionError("this thread's current CUDA context was destroyed: make another one current");
    case CUDA_ERROR_NOT_INITIALIZED:
      return FailedPreconditionError(
          "the CUDA driver cannot be used in this process: in a child of fork() nothing can be launched; start it with "
          "exec, or fork before the first use of CUDA");
    default:
      return CudaStatus(api, result, call);
  }
}

Status CheckContext(const DriverApi& api) {
  RelaxedDriver driver(api);
  // Only cuCtxGetId detects a destroyed context; cuCtxGetDevice and cuCtxGetCurrent accept it.
  unsigned long long id = 0;
  return ContextStatus(api, driver->CtxGetId(nullptr, &id), "cuCtxGetId");
}

}  // namespace v0
}  // namespace tuneonce
