#ifndef TUNEONCE_LIB_RUNTIME_KEY_IN_STORE_H_
#define TUNEONCE_LIB_RUNTIME_KEY_IN_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "launch/call_binder.h"
#include "launch/variant_set.h"
#include "runtime/kernel_parts.h"
#include "runtime/launch_key.h"
#include "runtime/ready_keys.h"
#include "runtime/tuning_call.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// A key as the space and the store know it.
struct KeyInStore {
  const std::shared_ptr<const KernelDefinition>& definition;
  ReadyKeys& ready_keys;
  const ReadyKeys::DeviceState& device;
  VariantSet left_out;
  TuningKey key;
  std::uint64_t space = 0;  ///< SpaceIdentity on the device.
  Verification demanded;    ///< What a record must have been verified under to be used.

  /// Identifies the key of a call that these variants reject. Errors: those of the space and of the definition's
  /// functions.
  static Result<KeyInStore> Of(const KernelParts& kernel, const ReadyKeys::DeviceState& device, const BoundCall& call,
                               VariantSet left_out);
  /// Identifies `key` on the current device, whose target the call gets.
  static Result<KeyInStore> Of(const KernelParts& kernel, TuningCall& call, const LaunchKey& key);

  /// Returns the whole space on the device, whatever its guards say about the call's dims. It is enumerated at the
  /// first call for the device, so that a key whose config is in the store does without.
  Result<const std::vector<Config>*> Configs() const { return ready_keys.ConfigsOn(device); }
  /// Returns whether a record with this TuningRecord::configs is of the space's configs. It enumerates only if the
  /// record is of a space that was defined in another way.
  bool HasConfigs(const Fingerprint& configs) const;
  /// Returns whether the record's config may serve without another comparison: it was compared with the baseline that
  /// the call has here, or no comparison is demanded. A record of another space of this device does not show it if the
  /// key leaves dims or scalars open. Like HasConfigs, it enumerates only for a record of another space.
  bool HasBaseline(const TuningRecord& record, const BoundCall& call) const;
  /// Returns whether the baseline that the record names is the one that the call has here, or no comparison is
  /// demanded.
  bool HasBaselineOfCall(const TuningRecord& record, const BoundCall& call) const;
  /// Returns whether the record's config was compared with baselines that may not be those of this space.
  bool IsOfOtherBaselines(const TuningRecord& record) const;
  /// Returns the space's config that is the same as a record's. It does not enumerate.
  std::optional<Config> ConfigOf(const Config& config) const;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_KEY_IN_STORE_H_
