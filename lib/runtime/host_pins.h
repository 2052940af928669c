#ifndef TUNEONCE_LIB_RUNTIME_HOST_PINS_H_
#define TUNEONCE_LIB_RUNTIME_HOST_PINS_H_

#include "runtime/code_loader.h"
#include "runtime/kernel_parts.h"
#include "runtime/launch_key.h"
#include "runtime/tuning_call.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
inline namespace v0 {

/// The configs that the host selects. A pin is published at once in place of what the key runs, so that no provider is
/// asked for it; in the store it is a record, which StoredConfigs finds before any other. REQUIRES: `kernel`'s parts
/// outlive it. Thread-safe.
class HostPins {
 public:
  explicit HostPins(const KernelParts& kernel) : to_(kernel), loader_(kernel) {}

  /// Implements TunedKernel::Pin for `key`.
  Status Pin(TuningCall& call, const LaunchKey& key, const TunedKernel::NamedConfig& named,
             TunedKernel::PinFor how_long);
  /// Implements TunedKernel::Unpin for `key`.
  Status Unpin(TuningCall& call, const LaunchKey& key);

 private:
  const KernelParts to_;
  const CodeLoader loader_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_HOST_PINS_H_
