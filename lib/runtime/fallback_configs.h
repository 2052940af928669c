#ifndef TUNEONCE_LIB_RUNTIME_FALLBACK_CONFIGS_H_
#define TUNEONCE_LIB_RUNTIME_FALLBACK_CONFIGS_H_

#include <memory>
#include <vector>

#include "launch/call_binder.h"
#include "launch/variant_set.h"
#include "runtime/code_loader.h"
#include "runtime/compile_ahead.h"
#include "runtime/config_provider.h"
#include "runtime/hit_table.h"
#include "runtime/kernel_parts.h"
#include "runtime/launch_key.h"
#include "runtime/ready_keys.h"

namespace tuneonce {
inline namespace v0 {

/// The configs that run in place of selected ones, at the end of every chain: the baseline, or what the space declares.
/// They need no measurement. REQUIRES: `kernel`'s parts outlive it. Thread-safe.
class FallbackConfigs {
 public:
  explicit FallbackConfigs(const KernelParts& kernel) : to_(kernel), loader_(kernel) {}

  /// Returns OK if some config can be launched for the call, as far as that is known without its code. Errors:
  /// InvalidArgument if none can, for example because the call's grid has no blocks: the error of each of its launches.
  Status CheckLaunchable(const BoundCall& call);
  /// Returns the fallback config of the call. Errors: those of the space and its functions.
  Result<Config> Find(const ReadyKeys::DeviceState& device, const BoundCall& call);
  /// Loads the fallback config under the `key` that ReadyKeys::FindFallback returned. After the end of the limits
  /// nothing is compiled.
  Result<const HitTable::Entry*> Load(const BoundCall& call, const LaunchKey& key, const TuneLimits* limits = nullptr);
  /// Returns what Load and a search would compile for the call, each into the policy's cache. Errors: those of the
  /// definition's functions.
  Result<KeyJobs> JobsOf(TuningCall& at_hand, TuningCall& at_bound);

 private:
  /// Returns the code of `config` if a record of the call's key without those variants names it, as its selected config
  /// or its baseline, or, where nothing may be compiled, a record of another key with the same sources; else null.
  std::shared_ptr<const LoadedKernel> LoadStored(const ReadyKeys::DeviceState& device, const Config& config,
                                                 const BoundCall& call, VariantSet left_out);

  /// Whether configs can be launched for a call.
  struct Launchable {
    bool any_fits = false;  ///< The guards of some config hold.
    bool any = false;       ///< Some config can be launched.
    Status first_error;     ///< The error of the first config that cannot.
  };
  Launchable LaunchableOf(const std::vector<Config>& configs, const ReadyKeys::DeviceState& device,
                          const BoundCall& call) const;

  const KernelParts to_;
  const CodeLoader loader_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_FALLBACK_CONFIGS_H_
