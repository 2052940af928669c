#ifndef TUNEONCE_LIB_RUNTIME_AGREED_CONFIGS_H_
#define TUNEONCE_LIB_RUNTIME_AGREED_CONFIGS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/config_chain.h"
#include "runtime/config_provider.h"
#include "runtime/kernel_parts.h"
#include "runtime/launch_key.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// The chain of a kernel whose configs are agreed on in a group of ranks: each rank contributes what its own chain
/// finds, and only what the ranks agreed on is published. RankedKeys runs the agreement. REQUIRES: the constructor's
/// arguments outlive it.
class AgreedConfigs {
 public:
  AgreedConfigs(const KernelParts& kernel, ConfigChain& chain) : to_(kernel), chain_(chain) {}

  /// What this process brings along to an agreement.
  struct Contribution {
    TuningKey key;
    std::uint64_t space = 0;             ///< KeyInStore::space
    std::optional<TuningRecord> record;  ///< Its selection, loaded or stored, if there is one that serves.
    Selection selection;                 ///< Where that is from.
    // What this rank loaded of it while it found it:
    std::shared_ptr<const LoadedKernel> loaded;
    std::shared_ptr<const LoadedKernel> baseline;
    // Without a record, what a search here would be:
    Fingerprint variants;    ///< Which variants it could build.
    std::uint64_t cost = 0;  ///< EstimatedSearchUs.
  };
  Result<Contribution> Contribute(TuningCall& call, const LaunchKey& key);
  /// Asks the whole chain on behalf of all ranks, and stores what a search finds. It publishes nothing. Errors: those
  /// of ConfigChain::Choose.
  Status Find(const TuneRequest& request, const LaunchKey& key, Contribution* contribution);
  /// Loads what the ranks agreed on: `agreed` has its record. The baseline that is stored with it becomes the key's
  /// fallback config.
  Result<FoundConfig> Load(const TuneRequest& request, const LaunchKey& key, const Contribution& agreed);
  /// Publishes what Load returned, after all ranks could load it.
  Status Publish(TuningCall& call, const LaunchKey& key, FoundConfig agreed);

 private:
  /// Sets what a search for the key would be.
  Status EstimateSearch(const TuningCall& call, const KeyInStore& in_store, Contribution* contribution);

  const KernelParts to_;
  ConfigChain& chain_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_AGREED_CONFIGS_H_
