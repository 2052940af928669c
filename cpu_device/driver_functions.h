#ifndef TUNEONCE_CPU_DEVICE_DRIVER_FUNCTIONS_H_
#define TUNEONCE_CPU_DEVICE_DRIVER_FUNCTIONS_H_

#include <cuda.h>
#include <cudaTypedefs.h>

#include <type_traits>

#include "cuda/driver_functions.h"

/// The CPU device's version of every driver function, declared from the library's own list, so that none can be missing
/// and none can have another signature. They are defined in driver_<subject>.cc.
namespace tuneonce::cpu_device::driver {

#define TUNEONCE_DECLARE_CPU_FUNCTION(name, version, need) std::remove_pointer_t<PFN_cu##name##_v##version> name;
TUNEONCE_DRIVER_FUNCTIONS(TUNEONCE_DECLARE_CPU_FUNCTION)
#undef TUNEONCE_DECLARE_CPU_FUNCTION

}  // namespace tuneonce::cpu_device::driver

/// Returns from a driver function if `call` fails.
#define TUNEONCE_CPU_RETURN_IF_ERROR(call)                                           \
  do {                                                                               \
    if (CUresult cpu_result = (call); cpu_result != CUDA_SUCCESS) return cpu_result; \
  } while (false)

#endif  // TUNEONCE_CPU_DEVICE_DRIVER_FUNCTIONS_H_
