#ifndef TUNEONCE_LIB_RUNTIME_STORED_CONFIGS_H_
#define TUNEONCE_LIB_RUNTIME_STORED_CONFIGS_H_

#include <optional>

#include "runtime/config_provider.h"
#include "runtime/kernel_parts.h"

namespace tuneonce {
inline namespace v0 {

/// The configs that the store's records select: the key's own record, else what a host pinned or imported for the key
/// of all variants, else the nearest row of an imported table. REQUIRES: `kernel`'s parts outlive it.
class StoredConfigs : public ConfigProvider {
 public:
  explicit StoredConfigs(const KernelParts& kernel) : to_(kernel) {}

  /// Never returns an error. A config that is to be compared with the baseline first is a miss, unless the question
  /// accepts it.
  Result<std::optional<FoundConfig>> Find(const ConfigQuestion& question, StoreMiss* miss) override;

 private:
  std::optional<FoundConfig> FindOf(const TuningKey& key, const ConfigQuestion& question, StoreMiss* miss) const;
  /// Returns the config of an imported table's nearest row. The record is of the key of all variants.
  std::optional<FoundConfig> FindNearest(const TuningKey& key, const ConfigQuestion& question) const;
  /// Returns whether some variant may build the config for the question's call.
  bool Accepts(const Config& config, const ConfigQuestion& question) const;
  std::optional<FoundConfig> FindAny(const ConfigQuestion& question, StoreMiss* miss) const;
  /// Returns why the policy, or the verification that the kernel demands, does not let the record serve, if so.
  StoreMiss MissOf(const RecordLookup& lookup, const ConfigQuestion& question) const;

  const KernelParts to_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_STORED_CONFIGS_H_
