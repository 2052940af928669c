#ifndef TUNEONCE_TESTS_TESTING_FAULT_INJECTION_H_
#define TUNEONCE_TESTS_TESTING_FAULT_INJECTION_H_

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/driver_api.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A planned fault: the n-th call of a function fails, is delayed, or both.
struct Fault {
  std::string function;           ///< Name without "cu", as in driver_functions.h: "MemAllocAsync".
  std::int64_t ordinal = 1;       ///< The number of the call, from 1 on. 0 means every call.
  CUresult error = CUDA_SUCCESS;  ///< The result in place of the driver's. CUDA_SUCCESS calls the driver.
  int delay_us = 0;               ///< Waited before either.
};

/// A DriverApi that passes every call on to another driver, except for planned faults. It works over any driver. For
/// tests of what happens when the driver fails.
///
/// The table holds plain C functions, which carry no state, so at most one FaultInjection lives at a time.
/// REQUIRES: nothing calls through `api()` after this object's end. Thread rule: faults may be planned, and calls made,
/// on any thread.
class FaultInjection {
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
  /// Returns how many calls were made to a function ("MemAllocAsync"), failed ones included. Unknown names return 0.
  std::int64_t CallCount(const std::string& function) const;

 private:
  explicit FaultInjection(const DriverApi& wrapped);

  std::unique_ptr<DriverApi> api_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TESTS_TESTING_FAULT_INJECTION_H_
