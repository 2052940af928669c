#ifndef TUNEONCE_LIB_RUNTIME_CONFIG_CHAIN_H_
#define TUNEONCE_LIB_RUNTIME_CONFIG_CHAIN_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/checked_configs.h"
#include "runtime/code_loader.h"
#include "runtime/config_provider.h"
#include "runtime/kernel_parts.h"
#include "runtime/key_in_store.h"
#include "runtime/predicted_configs.h"
#include "runtime/ready_keys.h"
#include "runtime/searched_configs.h"
#include "runtime/stored_configs.h"
#include "runtime/tune_once.h"

namespace tuneonce {
inline namespace v0 {

/// Selects the config of a key by asking a chain of providers: the store's records, then, under a lease of the key, the
/// records that are to be compared with the baseline, then a prediction, then a search. Where no search may follow, the
/// store's records and a prediction are asked. Leasing, loading, publishing, storing and notifying happen here, each in
/// one function. MissPolicy decides whether and when a key is asked for, and what runs meanwhile; AgreedConfigs is this
/// chain in a group of ranks. REQUIRES: `kernel`'s parts outlive it. Thread-safe, but one thread at a time asks for one
/// key.
class ConfigChain {
 public:
  explicit ConfigChain(const KernelParts& kernel)
      : to_(kernel),
        loader_(kernel),
        stored_(kernel),
        searched_(kernel),
        checked_(kernel, stored_, searched_),
        predicted_(kernel, searched_) {}

  /// Which providers are asked.
  enum class Asked {
    kStored,      ///< The store, for a config with code. Nothing is leased or compiled. TuneOutcome::is_not_stored.
    kAll,         ///< The whole chain.
    kSearchOnly,  ///< A search, although the key may have a config. FailedPrecondition for a pinned key.
    /// As kSearchOnly, for a key whose search was cut short, unless the store has a complete record by now.
    kContinue,
  };
  /// Makes the key's config ready. `may_wait`: for another process that tunes the key.
  TuneOutcome Choose(const TuneRequest& request, const LaunchKey& key, Asked asked, bool may_wait);
  /// Verifies the key's ready config at extents like the call's, by a search of it and the baseline. What was verified
  /// is stored; a config that is incorrect there gives way to what a search finds. Ranks do not come here.
  TuneOutcome VerifyAt(const TuneRequest& request, const LaunchKey& key, bool may_wait);
  /// What Choose would take without a search: a config of the store, or a predicted one.
  struct StoredConfig {
    Config config;
    std::string variant;
    Selection selection;
    bool is_to_check;    ///< Imported or predicted, and to be compared with the baseline first.
    std::string detail;  ///< For a prediction, what it is based on.
  };
  /// Asks the store as Choose does, with kAll if `may_compile`, else kStored. It loads nothing.
  Result<std::optional<StoredConfig>> Preview(TuningCall& call, const LaunchKey& key, bool may_compile,
                                              StoreMiss* miss);

  /// The steps of Choose, for a group of ranks. Finds the key's config among those providers and loads its code.
  TuneOutcome Find(const TuneRequest& request, const KeyInStore& in_store, Asked asked, bool may_wait,
                   FoundConfig* found);
  /// Returns the provider that only looks up the store.
  StoredConfigs& stored() { return stored_; }
  /// Returns the question for the providers.
  ConfigQuestion QuestionOf(const TuneRequest& request, const KeyInStore& in_store, bool may_compile) const;
  /// Loads the code of a found config: the stored artifact, or else what is compiled. Errors: `*is_to_check` is set if
  /// the code or the baseline's is not that of the verification; a pinned or imported config needs none.
  Status Load(const ConfigQuestion& question, FoundConfig* found, bool* is_to_check) const;
  /// Returns whether the code of the record's baseline, with which its config was compared, has changed since.
  bool HasChangedBaseline(const ConfigQuestion& question, const TuningRecord& record) const;
  /// Makes a loaded config the one that the key runs, and a loaded baseline the key's fallback config.
  void Publish(FoundConfig& found, const KeyInStore& in_store, const BoundCall& call, const LaunchKey& key,
               ReadyKeys::Place place);
  /// Loads the code of the record's baseline, if it is stored and no search loaded it.
  void LoadBaseline(const ConfigQuestion& question, FoundConfig* found) const;
  /// Makes a loaded baseline the key's fallback config.
  void PublishBaseline(FoundConfig& found, const KeyInStore& in_store, const BoundCall& call, const LaunchKey& key);
  /// Stores the config's record if it is new, unless the stored one is better or the policy forbids it.
  void Store(const FoundConfig& found) const;
  /// Counts a config that serves, and tells the observer and the log.
  void Note(const FoundConfig& found, const KeyInStore& in_store) const;

 private:
  /// Asks a provider and loads what it finds. Returns false also where the code cannot be loaded or is not the verified
  /// code. Errors: those of the search.
  Result<bool> Ask(ConfigProvider& provider, const ConfigQuestion& question, FoundConfig* found, StoreMiss* miss);
  /// Completes `*miss`, whose config's code is not the verified code, if that is because another toolchain compiles it
  /// now: the record is one from before an update.
  void NoteToolchainUpdate(FoundConfig* found, StoreMiss* miss) const;
  /// Acquires the right to tune the key. Errors: DeadlineExceeded if another process has it; those of the store.
  Result<TuningLease> LeaseToTune(const TuneRequest& request, const TuningKey& key, bool may_wait) const;
  /// FailedPrecondition if the key is pinned.
  Status CheckNotPinned(const KeyInStore& in_store, const LaunchKey& key) const;
  /// Counts why the store does not serve, and tells the observer and the log.
  void NoteMiss(const TuningKey& key, const StoreMiss& miss) const;
  /// Warns that `what` is not stored, because the data could not have shown an error.
  void WarnOfWeakData(const TuningKey& key, const char* what) const;
  /// Adds these extents to the verified ones of the stored record, if it selects the same config and the data could
  /// have shown an error.
  void AddToStored(const Verification& fresh, const FoundConfig& found, const KeyInStore& in_store) const;

  const KernelParts to_;
  const CodeLoader loader_;
  StoredConfigs stored_;
  SearchedConfigs searched_;
  CheckedConfigs checked_;
  PredictedConfigs predicted_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_CONFIG_CHAIN_H_
