#ifndef TUNEONCE_LIB_RUNTIME_CHOOSER_H_
#define TUNEONCE_LIB_RUNTIME_CHOOSER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/driver_api.h"
#include "launch/call_binder.h"
#include "ranks/rank_watch.h"
#include "runtime/announcer.h"
#include "runtime/code_loader.h"
#include "runtime/miss_counters.h"
#include "runtime/ready_keys.h"
#include "runtime/tune_once.h"
#include "runtime/tuning_call.h"
#include "search/candidate.h"
#include "search/search_call.h"
#include "search/search_plan.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// What a key may take that is one of many.
struct TuneLimits {
  std::chrono::steady_clock::time_point end;  ///< Nobody is waited for after this.
  /// The share of the time for this key. What is not done by then is not measured. Empty: no limit.
  std::optional<std::chrono::milliseconds> share;
  std::function<bool()> is_over;  ///< In place of SearchOptions::interrupted, which it asks too.
};

/// A call to choose for.
struct TuneRequest {
  CUstream stream;
  TuningCall& call;                    ///< Gets the current device's target.
  const TuneLimits* limits = nullptr;  ///< None.
};

/// Why the store has nothing that serves a key; `reason` kNone: it has.
struct StoreMiss {
  RecordMiss reason = RecordMiss::kNone;
  std::string detail;  ///< May be empty.
  /// A record is there that may serve once its config was compared with the baseline: it was imported, or the code
  /// under its config is not what was verified.
  bool is_to_check = false;
};

/// The `StoreMiss::detail` of a config that was imported and is to be compared with the baseline.
inline constexpr char kIsToCheck[] =
    "the config was imported and has not run here yet: it is compared with the baseline before its first launch";

/// Finds what a key is to run, and makes it ready: from the store, under a lease of the key, else by a search, which
/// it remembers. Whether and when a key is chosen for, and what runs meanwhile, others decide.
/// REQUIRES: what it is made of outlives it. Thread-safe; one thread at a time chooses for a key.
class Chooser {
 public:
  struct Context {
    const std::shared_ptr<const KernelDefinition>& definition;
    const CallBinder& binder;
    const DriverApi& api;
    const AutotunePolicy& policy;
    const Announcer& announcer;
    ReadyKeys& ready_keys;
    MissCounters& counters;
  };
  explicit Chooser(const Context& context) : to_(context), loader_(to_.definition, to_.api, to_.policy) {}

  /// The stored selection, else a search's. `may_wait`: for another process that tunes the key.
  TuneOutcome Choose(const TuneRequest& request, const LaunchKey& key, bool may_wait);
  /// The stored selection, with stored code; else is_not_stored.
  TuneOutcome Serve(TuningCall& call, const LaunchKey& key);
  /// Searches although the key may have a selection, and puts what is found in its place. Errors: FailedPrecondition
  /// for a pinned key.
  TuneOutcome Reselect(const TuneRequest& request, const LaunchKey& key, bool may_wait);
  /// Verifies the key's ready selection at extents like the call's: a search of it and the baseline. What was verified
  /// is remembered; a selection that is incorrect there gives way to what a search finds. Ranks do not come here.
  TuneOutcome VerifyAt(const TuneRequest& request, const LaunchKey& key, bool may_wait);
  /// Makes the host's selection ready, in place of what the key runs: TunedKernel::Pin and Unpin.
  Status Pin(TuningCall& call, const LaunchKey& key, const TunedKernel::NamedConfig& named,
             TunedKernel::PinFor how_long);
  Status Unpin(TuningCall& call, const LaunchKey& key);
  /// What this process brings along to an agreement of ranks.
  struct Contribution {
    TuningKey key;
    std::optional<TuningRecord> record;  ///< Its selection, ready or stored, if there is one that serves.
    Selection selection;                 ///< Where that is from.
    // Without a record, what a search here would be:
    Fingerprint variants;    ///< Which variants it could build.
    std::uint64_t cost = 0;  ///< EstimatedSearchUs.
  };
  Result<Contribution> Contribute(TuningCall& call, const LaunchKey& key);
  /// A selection for all ranks: the stored one, else a search's, which is remembered. Makes nothing ready. Errors: as
  /// Choose's.
  Result<TuningRecord> FindForRanks(const TuneRequest& request, const LaunchKey& key);
  /// What ranks agreed on, loaded; and then, if all could load it, ready.
  struct Agreed {
    Config config;
    std::shared_ptr<const LoadedKernel> loaded;
    TuningRecord record;
    Selection selection;
  };
  Result<Agreed> LoadAgreed(const TuneRequest& request, const LaunchKey& key, TuningRecord record, Selection selection);
  Status ServeAgreed(TuningCall& call, const LaunchKey& key, Agreed agreed);
  /// What of the store Choose (if `may_compile`) or Serve would take; loads nothing.
  struct StoredSelection {
    Config config;
    std::string variant;
    Selection selection;
    bool is_to_check;  ///< Imported, and to be compared with the baseline first.
  };
  Result<std::optional<StoredSelection>> FindStoredSelection(TuningCall& call, const LaunchKey& key, bool may_compile,
                                                             StoreMiss* miss);
  /// OK if some config can be launched for the call, as far as that shows without its code. Errors: InvalidArgument for
  /// a call without one, whose grid of a scalar has no blocks, say: the error of each of its launches.
  Status CheckLaunchable(const BoundCall& call);
  /// What runs if the selection may not.
  Result<Config> FallbackConfig(const ReadyKeys::DeviceState& device, const BoundCall& call);
  /// Makes what stands in for a selection ready, under the `key` that ReadyKeys::FindFallback gave. With limits that
  /// are over nothing is compiled.
  Result<const HitTable::Entry*> LoadFallback(const BoundCall& call, const LaunchKey& key,
                                              const TuneLimits* limits = nullptr);
  /// What Choose and LoadFallback would compile for the call: the fallback's code, then the candidates', each into the
  /// policy's cache. Errors: those of the definition's functions.
  Result<std::vector<CompileJob>> CompileJobs(TuningCall& at_hand, TuningCall& at_bound);
  /// Whether a call, or who made it, wants the work under `limits` (may be null) to end.
  const std::function<bool()>& InterruptOf(const TuneLimits* limits) const {
    return limits != nullptr ? limits->is_over : to_.policy.search.interrupted;
  }

 private:
  /// A key as space and store know it.
  struct KeyInStore {
    const ReadyKeys::DeviceState& device;
    const std::vector<Config>& configs;  // The whole space, whatever the guards say at the dims at hand.
    VariantSet left_out;
    TuningKey key;
    Fingerprint configs_identity;  // ConfigsFingerprint.
    Verification demanded;         // What a record must have been verified under to be used.
  };
  Result<KeyInStore> Identify(const ReadyKeys::DeviceState& device, const BoundCall& call, VariantSet left_out);
  /// On the current device, whose target the call gets.
  Result<KeyInStore> IdentifyHere(TuningCall& call, const LaunchKey& key);

  struct Serving {
    bool accept_incomplete;    ///< Also the record of a search that was cut short.
    bool may_compile;          ///< Its code, if that is not stored.
    bool accept_unchecked;     ///< Also what was imported and did not run here yet.
    const TuneLimits* limits;  ///< May be null.
  };
  /// Fills what a search for the key would be: Contribution::variants and ::cost.
  Status EstimateSearch(const TuningCall& call, const KeyInStore& in_store, Contribution* contribution);
  Serving ServingOf(bool may_compile_now, const TuneLimits* limits) const;
  /// A record that may serve, as far as policy goes.
  struct Found {
    TuningRecord record;
    RecordMatch match;
    bool is_shipped;
    Config config;  // A config of the space: the record's, or that of the table's row.

    bool is_unchecked() const { return record.is_imported() && match != RecordMatch::kExact; }
  };
  /// The key's own record, else what was decreed for the key of all variants, else an imported table's nearest row.
  /// `*miss`: why it is not the key's own.
  std::optional<Found> FindRecord(const KeyInStore& in_store, const Serving& serving, StoreMiss* miss) const;
  std::optional<Found> FindRecordOf(const TuningKey& key, const KeyInStore& in_store, const Serving& serving,
                                    StoreMiss* miss) const;
  /// An imported table's nearest row. The record is of the key, which leaves no variant out.
  std::optional<Found> FindNearest(const TuningKey& key, const KeyInStore& in_store) const;
  /// Why policy, or what the kernel demands of it, does not let it serve, if so.
  StoreMiss MissOf(const RecordLookup& lookup, const KeyInStore& in_store, const Serving& serving) const;
  /// Counts it, and says it.
  void NoteMiss(const TuningKey& key, const StoreMiss& miss) const;
  /// The space's config that a record names; a record brings none of its own.
  static std::optional<Config> ConfigOf(const KeyInStore& in_store, const Config& config);
  /// True if the loaded code of a record's config is what was verified for it. A person's word, and what another system
  /// decided, needs no verification.
  static bool IsVerifiedCode(const TuningRecord& record, const Fingerprint& identity);
  /// The code of a record's config: the stored artifact if the record `is_own` of this device, else compiled.
  Result<std::shared_ptr<const LoadedKernel>> LoadCodeOf(const TuningRecord& record, bool is_own, const Config& config,
                                                         const BoundCall& call, VariantSet left_out,
                                                         bool may_compile_now, const std::function<bool()>& interrupted,
                                                         Fingerprint* identity) const;
  /// True if the record may serve as it is, and its code is what was verified.
  bool IsVerifiedHere(const Found& found, const KeyInStore& in_store, const BoundCall& call,
                      const Serving& serving) const;
  /// The stored selection made ready, if there is one that policy lets serve.
  bool ServeFromStore(const KeyInStore& in_store, const BoundCall& call, const LaunchKey& key, Serving serving,
                      StoreMiss* miss);
  /// The right to tune `key`. Errors: DeadlineExceeded if another process has it; what is wrong with leases.
  Result<TuningLease> LeaseToTune(const TuneRequest& request, const TuningKey& key, bool may_wait) const;

  /// What a selection was measured on.
  struct MeasuredOn {
    Dims dims;
    TunedInputs inputs = TunedInputs::kUnknown;
  };
  /// Searches at the bucket's bound, or at the shape at hand; `*on` says at which.
  /// `only`: null, or the one config that is tried beside the baseline. `begin`: from when on the budget counts.
  Result<SearchOutcome> Search(const TuneRequest& request, const KeyInStore& in_store, const Config* only,
                               MeasuredOn* on);
  /// What ended its process when it was tried for this key before.
  std::vector<KnownFatal> FatalAt(const TuningKey& key) const;
  /// The policy's, within the request's limits, of which this much is spent.
  SearchOptions OptionsOf(const TuneRequest& request, std::chrono::steady_clock::time_point begin) const;
  Result<SearchPlan> PlanAt(const TuneRequest& request, const KeyInStore& in_store, const Config* only,
                            const BoundCall& call, const SearchOptions& options) const;
  Result<SearchOutcome> SearchAt(const TuneRequest& request, const KeyInStore& in_store, const Config* only,
                                 const BoundCall& call, std::chrono::steady_clock::time_point begin,
                                 TrialMemory memory);
  /// A search that is counted and told of. Its record is the key's.
  Result<SearchOutcome> SearchForKey(const TuneRequest& request, const KeyInStore& in_store);
  /// Stores what it found, and tells of it.
  void RememberSearched(const TuningRecord& record) const;
  TuneOutcome SearchAndRemember(const TuneRequest& request, KeyInStore in_store, const LaunchKey& key,
                                ReadyKeys::Place place);
  /// Adds the key, and the dims and inputs that were measured, to the record of a search.
  void Complete(const KeyInStore& in_store, const MeasuredOn& on, TuningRecord* record) const;
  /// Makes what a search found ready: its selection and, as the fallback, its baseline.
  Status PublishFound(const SearchOutcome& found, const ReadyKeys::DeviceState& device, const BoundCall& call,
                      const LaunchKey& key, ReadyKeys::Place place, const TuningRecord& record);
  /// Compares the config of a record with StoreMiss::is_to_check with the baseline, as a search of the two, and stores
  /// it unless it is incorrect or slower.
  std::optional<Agreed> CheckImported(const TuneRequest& request, const KeyInStore& in_store, StoreMiss* miss);
  /// Compares such a config and loads it.
  bool ServeChecked(const TuneRequest& request, const KeyInStore& in_store, const LaunchKey& key, StoreMiss* miss);
  /// Stores the record, if it may be, and unless what is stored knows more.
  void Remember(const TuningRecord& record) const;

  /// The code of `config` if a record of the call's key without those variants names it, as winner or baseline, or,
  /// where nothing may be compiled, a record of another key that has the same sources; else null.
  std::shared_ptr<const LoadedKernel> LoadStoredFallback(const ReadyKeys::DeviceState& device, const Config& config,
                                                         const BoundCall& call, VariantSet left_out);

  Trace* trace() const { return &to_.policy.search.runtime->trace(); }
  bool may_compile() const { return to_.policy.mode != AutotunePolicy::Mode::kStoredOnly; }

  const Context to_;
  const CodeLoader loader_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_CHOOSER_H_
