#ifndef TUNEONCE_TOOLS_TUNING_KERNEL_ON_DEVICE_H_
#define TUNEONCE_TOOLS_TUNING_KERNEL_ON_DEVICE_H_

#include "tuneonce/autotune_policy.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
inline namespace v0 {

/// Makes the TunedKernel of a bundle for a device that a person named, before a context of it is current, and makes the
/// checks of the first launch. Errors: those of TunedKernel::FromBundle and of a first launch.
Result<TunedKernel> KernelOnDevice(const Device& device, const Bundle& bundle, AutotunePolicy policy);
/// Does the same for a definition. Errors: those of TunedKernel::Create and of a first launch.
Result<TunedKernel> KernelOnDevice(const Device& device, KernelDefinition definition, AutotunePolicy policy);
/// Returns whether a kernel with this policy only runs its fallback config, also if DISABLE_AUTOTUNE demands that.
bool IsTuningDisabled(const AutotunePolicy& policy);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_TUNING_KERNEL_ON_DEVICE_H_
