#ifndef TUNEONCE_LIB_RUNTIME_CONTEXT_STATUS_H_
#define TUNEONCE_LIB_RUNTIME_CONTEXT_STATUS_H_

#include <cuda.h>

#include "cuda/driver_api.h"
#include "tuneonce/status.h"

namespace tuneonce {
inline namespace v0 {

/// The result of the driver's function `call`; if the thread's context is what is wrong, with what to do about it.
Status ContextStatus(const DriverApi& api, CUresult result, const char* call);

/// OK if the thread has a current context that lives.
Status CheckContext(const DriverApi& api);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_CONTEXT_STATUS_H_
