#ifndef TUNEONCE_LIB_RUNTIME_CONFIG_PROVIDER_H_
#define TUNEONCE_LIB_RUNTIME_CONFIG_PROVIDER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cuda/driver_api.h"
#include "runtime/key_in_store.h"
#include "runtime/selections.h"
#include "runtime/tuning_call.h"
#include "search/candidate.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/wait_limits.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Limits of the work for one key of many.
struct TuneLimits {
  std::chrono::steady_clock::time_point end;  ///< Nobody is waited for after this.
  /// The share of the time for this key. What is not done by then is not measured. Empty: no limit.
  std::optional<std::chrono::milliseconds> share;
  StopToken stop;  ///< In place of SearchOptions::stop, which it asks too.
};

/// A call that a config is wanted for.
struct TuneRequest {
  CUstream stream;  ///< Not used where nothing is measured.
  TuningCall& call;
  const TuneLimits* limits = nullptr;  ///< Null: no limits.
  bool is_idle = false;                ///< TunePending asks, so that a search is better than a prediction.

  /// Returns what ends this request's work early.
  const StopToken& stop(const SearchOptions& search) const { return limits != nullptr ? limits->stop : search.stop; }
};

/// Why the store has nothing that serves a key. `reason` kNone: it has a record that does.
struct StoreMiss {
  RecordMiss reason = RecordMiss::kNone;
  std::string detail;  ///< May be empty.
  /// Whether a record exists that may serve after its config was compared with the baseline: it was imported, nothing
  /// verified it, it was compared with another baseline, or the code of its config is not the verified code.
  bool is_to_check = false;
  /// The key's record from before an update: another version of the driver measured its configs, or another toolchain
  /// compiled them. A search begins with its fast configs. May be null.
  std::shared_ptr<const TuningRecord> before_update = nullptr;
};

/// The `StoreMiss::detail` of a config that was imported and is to be compared with the baseline.
inline constexpr char kIsToCheck[] =
    "the config was imported and has not run here yet: it is compared with the baseline before its first launch";

/// The `StoreMiss::detail` of a config that `records dispatch` selected.
inline constexpr char kIsNotVerified[] =
    "no search verified the config: it is compared with the baseline before its first launch";

/// The `StoreMiss::detail` of a config for which KeyInStore::HasBaseline is false.
inline constexpr char kHasOtherBaseline[] =
    "the config was verified with another baseline or space, and is compared with the baseline before its first launch";

/// A config for a key, and what is known about it.
struct FoundConfig {
  Config config;
  std::unique_ptr<TuningRecord> record;  ///< On the heap, because the thread of a host may have a small stack.
  Selection selection;
  /// Whether the record's artifacts were compiled for this kind of device.
  bool is_own = true;
  bool is_new = false;                         ///< The store does not have the record yet.
  std::shared_ptr<const LoadedKernel> loaded;  ///< Null until it is loaded.
  std::string toolchain;  ///< The toolchain that made `loaded`, if the code of the record was not in the store.
  /// The code of the record's baseline. Null unless the search that found the config loaded it.
  std::shared_ptr<const LoadedKernel> baseline;
  TuningLease lease;  ///< The right to tune the key, held until the record is stored. May be null.

  /// Returns whether the config was imported and did not run here yet.
  bool is_unchecked() const { return record->is_imported() && selection.match != RecordMatch::kExact; }
};

/// What a provider is asked: a config for `key`.
struct ConfigQuestion {
  const TuneRequest& request;
  const KeyInStore& key;
  bool accept_unchecked;    ///< Also a config that was imported and did not run here yet.
  bool may_compile;         ///< The code of the config, if the store does not have it.
  bool will_check = false;  ///< The caller compares the config with the call's baseline.
  bool may_measure = true;  ///< The provider may compare configs or search.
};

/// Finds configs for keys. A provider does not lease, load, publish or notify: ConfigChain does. Thread-safe.
class ConfigProvider {
 public:
  virtual ~ConfigProvider() = default;
  /// Returns nothing if this provider has no config for the key; the next one of the chain is asked then. `*miss` is
  /// why the store's record does not serve, as far as the providers before this one and this one know. An error ends
  /// the chain.
  virtual Result<std::optional<FoundConfig>> Find(const ConfigQuestion& question, StoreMiss* miss) = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_CONFIG_PROVIDER_H_
