#ifndef TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_ON_H_
#define TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_ON_H_

#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
inline namespace v0 {

/// A TunedKernel for a device that is known before any context is current, or whose driver is none of the loaded ones:
/// a wrapped one, that injects faults or counts calls.
struct TUNEONCE_API TunedKernelOn {
  /// TunedKernel::Create, and what otherwise the first launch checks. Errors: of both.
  static Result<TunedKernel> Create(const Device& device, KernelDefinition definition, AutotunePolicy policy = {});
  /// The same with TunedKernel::FromBundle.
  static Result<TunedKernel> FromBundle(const Device& device, const Bundle& bundle, AutotunePolicy policy = {});

 private:
  static Status Bind(const Device& device, TunedKernel* kernel);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_ON_H_
