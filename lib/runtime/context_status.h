#ifndef TUNEONCE_LIB_RUNTIME_CONTEXT_STATUS_H_
#define TUNEONCE_LIB_RUNTIME_CONTEXT_STATUS_H_

#include <cuda.h>

#include "cuda/driver_api.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Returns the result of the driver function `call`, with advice if the thread's context caused the error.
Status ContextStatus(const DriverApi& api, CUresult result, const char* call);

/// Returns OK if the thread has a current context that was not destroyed.
Status CheckContext(const DriverApi& api);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_CONTEXT_STATUS_H_
