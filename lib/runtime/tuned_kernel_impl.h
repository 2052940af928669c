#ifndef TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_
#define TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/callback.h"
#include "cuda/driver_api.h"
#include "runtime/context_status.h"
#include "runtime/failed_tunes.h"
#include "runtime/guarded_store.h"
#include "runtime/hit_table.h"
#include "runtime/threaded_counter.h"
#include "runtime/tune_once.h"
#include "search/candidate.h"
#include "search/search_call.h"
#include "tuneonce/device.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {

/// Neither the tuned config can run, for the reason `why`, nor what stands in for it. What lost the context is what the
/// caller must see.
Status BothFailed(const Status& why, const Status& instead);

/// The state of a TunedKernel. tuned_kernel.cc holds the hot path, tuned_kernel_miss.cc what happens on a miss.
struct TunedKernel::Impl {
  Impl(std::shared_ptr<const KernelDefinition> its_definition, const DriverApi& its_api, AutotunePolicy its_policy);

  // The hot path.
  /// Runs a call of the API, which no exception crosses. What is not ours is caught where it is called, or named there
  /// (Naming), so that the error says what threw.
  template <typename Function>
  Status Guarded(const Function& run) const {
    try {
      return run();
    } catch (...) {
      return CaughtStatus();
    }
  }
  Status CaughtStatus() const;
  /// `missed`: null, or where to say that nothing is resident to launch, instead of doing something about it.
  Status Launch(CUstream stream, const Argument* arguments, std::size_t count, bool* missed);
  /// Fills `key` for the current context's device. An out parameter: a key is 400 bytes that a Result would copy.
  Status KeyOf(const BoundCall& call, ResidentKey::Role role, ResidentKey* key) const {
    CUdevice device = 0;
    if (!has_one_device) {
      CUresult result = api.launch_path().CtxGetDevice(&device);
      if (result != CUDA_SUCCESS) return ContextStatus(api, result, "cuCtxGetDevice");
    }
    KeyWriter writer(key);
    writer.Add(ResidentKey::DeviceWord(device, role));
    binder.AddVaryingKeyWords(call, [&writer](std::uint64_t word) { writer.Add(word); });
    writer.Finish();
    return Status();
  }

  // A miss.
  Status LaunchMiss(CUstream stream, BoundCall& call, const ResidentKey& key);
  Status LaunchStandIn(CUstream stream, BoundCall& call, bool* missed = nullptr);
  /// The loaded stand-in that the call suits, as variants' assumptions differ; or null, and in `key` what to load it under.
  Result<const HitTable::Entry*> FindStandIn(const BoundCall& call, ResidentKey* key);
  /// OK if some variant's assumptions hold. Errors: those of the first that do not.
  Status CheckAssumptions(const BoundCall& call);
  /// Launches the stand-in since the tuned config cannot be had, for the reason `why`. Errors: both reasons.
  Status LaunchInstead(CUstream stream, BoundCall& call, const TuneOutcome& why);
  /// OK if the call is one that a search can be made on. Errors: what is wrong with this call, not with its key.
  Status CheckTunable(CUstream stream, const BoundCall& call);
  /// A call to tune for.
  struct TuneRequest {
    CUstream stream;
    const BoundCall& call;
    bool is_warmup;                      ///< Waits for another process, and tries again what failed.
    const std::vector<DType>* fills_of;  ///< Not null: the call's tensors, of these dtypes, hold warm-up fills.
  };
  /// Makes the key resident, or waits for the thread that does. `*waited` says which.
  TuneOutcome MakeResident(const TuneRequest& request, const ResidentKey& key, bool* waited);
  /// Makes the key resident: from the store, else by a search.
  TuneOutcome Tune(const TuneRequest& request, const ResidentKey& key);
  /// The right to tune `key`. Errors: DeadlineExceeded if another process has it; what is wrong with leases.
  Result<TuningLease> LeaseToTune(const TuningKey& key, bool may_wait) const;
  /// Counts, tells and remembers that the key could not be tuned.
  void NoteFailure(const TuneOnce::Key& flight, const BoundCall& call, const TuneOutcome& outcome);
  /// Makes the key's stand-in resident.
  Result<const HitTable::Entry*> LoadStandIn(const BoundCall& call, const ResidentKey& key);
  /// Loads or tunes ahead of any launch: the key of these arguments, and its stand-in. `fills_of`: as TuneRequest's.
  Status Warm(CUstream stream, const Argument* arguments, std::size_t count, const std::vector<DType>* fills_of);
  Status WarmShape(CUstream stream, const Shape& shape);
  Status MakeStandInResident(const BoundCall& call);
  /// Errors: FailedPrecondition without a context, and on a capturing stream.
  Status CheckCanWarm(CUstream stream) const;
  /// Makes what a launch of `call` would find resident: the tuned config, unless it is disabled.
  TuneOutcome WarmTuned(const TuneRequest& request);

  const std::shared_ptr<const KernelDefinition> definition;
  const DriverApi& api;
  std::string store_warning;    // Why the default store is not on disk; set while `policy` is made.
  std::optional<GuardedArtifactCache> given_cache;  // Round the policy's, if it names one.
  const AutotunePolicy policy;  // Its observer is never null.
  const bool disabled;
  const bool has_one_device;  // Then a hit need not ask which it is for.
  const CallBinder binder;
  HitTable table;

  ThreadedCounter hits;
  ThreadedCounter stand_ins;

  struct AtomicCounters {
    std::atomic<std::int64_t> tunes{0};
    std::atomic<std::int64_t> stored_hits{0};
    std::atomic<std::int64_t> waits{0};
    std::atomic<std::int64_t> sealed_misses{0};
    std::atomic<std::int64_t> failed_tunes{0};
    std::atomic<std::int64_t> tuning_ns{0};
    std::atomic<std::int64_t> tuning_gpu_ns{0};
    std::atomic<std::int64_t> capture_misses{0};
    std::atomic<std::int64_t> busy_elsewhere{0};
  } counters;
  std::atomic<bool> sealed{false};
  std::mutex missed_mutex;
  std::vector<std::string> missed_keys;  // After Seal; the first ones.

 private:
  struct VariantState {
    std::optional<ParameterLayout> layout;  // Always set: ParameterLayout has no empty form.
    AssumptionChecks assumptions;
  };
  /// What is fixed per device: target, identity, and the variants that run there.
  struct DeviceState {
    DeviceIdentity identity;
    Target target;
    std::map<const Variant*, VariantState> variants;
  };

  Result<const DeviceState*> CurrentDevice();
  Result<Config> StandInConfig(const DeviceState& device, const BoundCall& call) const;
  /// By the variant named `preferred` if it compiles, else by the first that does.
  Result<std::shared_ptr<const LoadedKernel>> CompileAndLoad(const Config& config, const BoundCall& call,
                                                             const std::string& preferred);
  friend class TunedKernel;
  /// Makes `loaded` what `key` runs, unless it runs something already. `call` has the key's dims, and a target.
  const HitTable::Entry* Publish(const DeviceState& device, const ResidentKey& key, const BoundCall& call,
                                 const Config& config, std::shared_ptr<const LoadedKernel> loaded);
  Result<TuningKey> StoreKey(const DeviceState& device, const BoundCall& call) const;
  /// The stored choice made resident, if there is one that policy lets serve. `accept_incomplete`: also of a search
  /// that was cut short.
  bool ServeFromStore(const DeviceState& device, const TuningKey& store_key, const BoundCall& call,
                      const ResidentKey& key, bool accept_incomplete);
  /// Stored code as it is, without a compiler; null if the store does not have it, or it does not load.
  std::shared_ptr<const LoadedKernel> LoadStored(const Fingerprint& artifact, const std::string& variant,
                                                 const Config& config, const BoundCall& call);
  /// The code of `config` if a record of the call's key names it, as winner or baseline; null as LoadStored.
  std::shared_ptr<const LoadedKernel> LoadStoredStandIn(const DeviceState& device, const Config& config,
                                                         const BoundCall& call);
  /// Keeps the record, unless what is stored knows more.
  void Remember(const TuningRecord& record) const;
  /// `call`: the request's, with a target.
  Status SearchAndRemember(const TuneRequest& request, const DeviceState& device, const BoundCall& call,
                           const ResidentKey& key, TuningKey store_key);
  std::string KeyText(const BoundCall& call) const;
  void Warn(const std::string& line) const;
  /// Of the store: once for each reason, whichever kernel and key met it.
  void WarnOfStore(const Status& failed, const char* consequence) const;
  /// Calls the observer; its exceptions are dropped.
  template <typename Function>
  void Tell(const Function& tell) const {
    CallbackScope scope;
    try {
      tell(*policy.observer);
    } catch (...) {
    }
  }
  /// What a choice was measured on.
  struct MeasuredOn {
    Dims dims;
    TunedInputs inputs = TunedInputs::kUnknown;
  };
  /// Searches at the bucket's bound, or at the shape at hand; `*on` says at which.
  Result<SearchOutcome> Search(const TuneRequest& request, const BoundCall& call, MeasuredOn* on);
  /// At the bucket's bound, on the fills made for it, or on the caller's bytes repeated.
  Result<SearchOutcome> SearchAtBound(const TuneRequest& request, const BoundCall& call, const Dims& bound);

  /// What tells loaded kernels apart: device and role, config (Canonical), variant, code, and the dynamic shared memory
  /// it was prepared for.
  using KernelId = std::tuple<std::uint64_t, std::string, const Variant*, Fingerprint, std::int64_t>;

  mutable std::mutex kernels_mutex_;
  std::map<KernelId, std::unique_ptr<ResidentKernel>> kernels_;  // Entries stay: the table refers to them.
  std::mutex devices_mutex_;
  std::map<int, std::unique_ptr<const DeviceState>> devices_;  // By index; entries never change.
  TuneOnce tune_once_;
  FailedTunes failed_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_
