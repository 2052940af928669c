#include "tuning/kernel_on_device.h"

#include <utility>

#include "runtime/tuned_kernel_on.h"

namespace tuneonce {
inline namespace v0 {

Result<TunedKernel> KernelOnDevice(const Device& device, const Bundle& bundle, AutotunePolicy policy) {
  return TunedKernelOn::FromBundle(device, bundle, std::move(policy));
}

}  // namespace v0
}  // namespace tuneonce
