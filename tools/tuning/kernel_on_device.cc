#include "tuning/kernel_on_device.h"

#include <utility>

#include "base/environment.h"
#include "runtime/tuned_kernel_on.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

Result<TunedKernel> KernelOnDevice(const Device& device, const Bundle& bundle, AutotunePolicy policy) {
  return TunedKernelOn::FromBundle(device, bundle, std::move(policy));
}

Result<TunedKernel> KernelOnDevice(const Device& device, KernelDefinition definition, AutotunePolicy policy) {
  return TunedKernelOn::Create(device, std::move(definition), std::move(policy));
}

bool IsTuningDisabled(const AutotunePolicy& policy) {
  return policy.mode == AutotunePolicy::Mode::kFallbackOnly ||
         Runtime::OrDefault(policy.search.runtime)->environment().disable_autotune;
}

}  // namespace v0
}  // namespace tuneonce
