#ifndef TUNEONCE_LIB_RUNTIME_CHECKED_CONFIGS_H_
#define TUNEONCE_LIB_RUNTIME_CHECKED_CONFIGS_H_

#include <optional>

#include "runtime/config_provider.h"
#include "runtime/kernel_parts.h"
#include "runtime/searched_configs.h"
#include "runtime/stored_configs.h"

namespace tuneonce {
inline namespace v0 {

/// The configs of stored records that may serve only after a comparison with the baseline (StoreMiss::is_to_check): it
/// compares them by a search of the two, and has none if the config is incorrect or slower. REQUIRES: the constructor's
/// arguments outlive it.
class CheckedConfigs : public ConfigProvider {
 public:
  CheckedConfigs(const KernelParts& kernel, StoredConfigs& stored, SearchedConfigs& searched)
      : to_(kernel), stored_(stored), searched_(searched) {}

  /// Never returns an error. Without a config it logs a warning that says why.
  Result<std::optional<FoundConfig>> Find(const ConfigQuestion& question, StoreMiss* miss) override;

 private:
  /// Compares the config. Errors: why it must not be used.
  Status Check(const ConfigQuestion& question, FoundConfig* found);

  const KernelParts to_;
  StoredConfigs& stored_;
  SearchedConfigs& searched_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_CHECKED_CONFIGS_H_
