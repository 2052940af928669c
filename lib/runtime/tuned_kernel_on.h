#ifndef TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_ON_H_
#define TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_ON_H_

#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
inline namespace v0 {

/// Makes a TunedKernel for a known device before any context is current, or for a driver that the library did not load
/// itself: a wrapped one that injects faults or counts calls.
struct TunedKernelOn {
  /// Calls TunedKernel::Create, and makes the checks of the first launch. Errors: those of both.
  static Result<TunedKernel> Create(const Device& device, KernelDefinition definition, AutotunePolicy policy = {});
  /// Calls TunedKernel::FromBundle, and makes the checks of the first launch. Errors: those of both.
  static Result<TunedKernel> FromBundle(const Device& device, const Bundle& bundle, AutotunePolicy policy = {});

 private:
  static Status Bind(const Device& device, TunedKernel* kernel);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_ON_H_
