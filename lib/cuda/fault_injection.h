#ifndef TUNEONCE_LIB_CUDA_FAULT_INJECTION_H_
#define TUNEONCE_LIB_CUDA_FAULT_INJECTION_H_

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/driver_api.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// One planned fault: when a function is called for the n-th time, fail it, delay it, or both.
struct Fault {
  std::string function;           ///< Name without "cu", as in driver_functions.h: "MemAllocAsync".
  std::int64_t ordinal = 1;       ///< Which call, from 1 on; 0 means every call.
  CUresult error = CUDA_SUCCESS;  ///< Returned instead of calling the driver; CUDA_SUCCESS: call it.
  int delay_us = 0;               ///< Waited before either.
};

/// A DriverApi that passes every call on to another driver, except for planned faults. It works over any driver. For
/// tests of what happens when the driver fails.
///
/// The table holds plain C functions, which carry no state, so at most one FaultInjection lives at a time.
/// REQUIRES: nothing calls through `api()` after this object's end. Thread rule: faults may be planned, and calls made,
/// on any thread.
class TUNEONCE_API FaultInjection {
 public:
  /// Errors: FailedPrecondition if another FaultInjection lives.
  static Result<std::unique_ptr<FaultInjection>> Create(const DriverApi& wrapped);
  ~FaultInjection();
  FaultInjection(const FaultInjection&) = delete;
  FaultInjection& operator=(const FaultInjection&) = delete;

  const DriverApi& api() const { return *api_; }
  /// Errors: InvalidArgument for a function that is not in driver_functions.h.
  Status Plan(const Fault& fault);
  /// Forgets all faults and counts.
  void Clear();
  /// Calls made to a function so far ("MemAllocAsync"), failed ones included; 0 for unknown names.
  std::int64_t CallCount(const std::string& function) const;

 private:
  explicit FaultInjection(const DriverApi& wrapped);

  std::unique_ptr<DriverApi> api_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_FAULT_INJECTION_H_
