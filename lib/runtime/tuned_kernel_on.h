#ifndef TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_ON_H_
#define TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_ON_H_

#include <chrono>

#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
inline namespace v0 {

/// What tools and tests do with a TunedKernel beyond its API. Create and FromBundle make one for a known device before
/// any context is current, or for a driver that the library did not load itself: a wrapped one that injects faults or
/// counts calls.
struct TunedKernelOn {
  /// Calls TunedKernel::Create, and makes the checks of the first launch. Errors: those of both.
  static Result<TunedKernel> Create(const Device& device, KernelDefinition definition, AutotunePolicy policy = {});
  /// Calls TunedKernel::FromBundle, and makes the checks of the first launch. Errors: those of both.
  static Result<TunedKernel> FromBundle(const Device& device, const Bundle& bundle, AutotunePolicy policy = {});
  /// Calls TunedKernel::TunePending, and divides the time until `end` over the pending keys. A key that is not reached
  /// by then stays pending. REQUIRES: the kernel has no group of ranks.
  static Status TunePending(TunedKernel* kernel, CUstream stream, std::chrono::steady_clock::time_point end);

 private:
  static Status Bind(const Device& device, TunedKernel* kernel);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_ON_H_
