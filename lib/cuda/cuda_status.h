#ifndef TUNEONCE_LIB_CUDA_CUDA_STATUS_H_
#define TUNEONCE_LIB_CUDA_CUDA_STATUS_H_

#include <cuda.h>

#include <string_view>

#include "cuda/driver_api.h"
#include "tuneonce/status.h"

namespace tuneonce {
inline namespace v0 {

/// True if `result` leaves the context unusable: every later call on it fails the same way until the context, or the
/// process, is gone (CUDA driver API, descriptions of 700, 702, 714-719 and 710).
TUNEONCE_API bool IsSticky(CUresult result);

/// Converts a driver's result to a Status. It keeps the number, marks sticky errors, and names the call: "cuMemAlloc:
/// CUDA_ERROR_OUT_OF_MEMORY (2): out of memory".
TUNEONCE_API Status CudaStatus(const DriverApi& api, CUresult result, std::string_view call);

}  // namespace v0
}  // namespace tuneonce

/// Returns the Status of one driver call, made by a RelaxedDriver: TUNEONCE_CUDA_STATUS(api, EventQuery(e)). The name
/// of the call appears in the message.
#define TUNEONCE_CUDA_STATUS(api, call) \
  ::tuneonce::CudaStatus((api), ::tuneonce::RelaxedDriver((api))->call, "cu" #call)

/// Returns from the enclosing function if a driver call fails: TUNEONCE_CUDA_RETURN_IF_ERROR(api, EventQuery(e)).
#define TUNEONCE_CUDA_RETURN_IF_ERROR(api, call) TUNEONCE_RETURN_IF_ERROR(TUNEONCE_CUDA_STATUS(api, call))

#endif  // TUNEONCE_LIB_CUDA_CUDA_STATUS_H_
