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

#include "runtime/context_status.h"
#include "runtime/hit_table.h"
#include "runtime/threaded_counter.h"
#include "runtime/tune_once.h"
#include "tuneonce/runtime/tuned_kernel.h"

namespace tuneonce {

/// The state of a TunedKernel. tuned_kernel.cc holds the hot path, tuned_kernel_miss.cc what happens on a miss.
struct TunedKernel::Impl {
  Impl(std::shared_ptr<const KernelDefinition> its_definition, const DriverApi& its_api, AutotunePolicy its_policy);

  // The hot path.
  /// Runs what calls functions of the user's (geometry, guards, derived parameters): no exception crosses the API.
  template <typename Function>
  Status Guarded(const Function& run) const {
    try {
      return run();
    } catch (const std::exception& e) {
      return FunctionThrew(std::string(": ") + e.what());
    } catch (...) {
      return FunctionThrew("");
    }
  }
  Status FunctionThrew(const std::string& what) const;
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
  Status LaunchFallback(CUstream stream, BoundCall& call, bool* missed = nullptr);
  /// The loaded fallback that the call suits, as variants' assumptions differ; or null, and in `key` what to load it under.
  Result<const HitTable::Entry*> FindFallback(const BoundCall& call, ResidentKey* key);
  /// OK if some variant's assumptions hold. Errors: those of the first that do not.
  Status CheckAssumptions(const BoundCall& call);
  /// Makes the key resident, or waits for the thread that does. `*waited` says which.
  Status MakeResident(CUstream stream, const BoundCall& call, const ResidentKey& key, bool* waited);
  /// Makes the key resident: from the store, else by a search.
  Status Tune(CUstream stream, const BoundCall& call, const ResidentKey& key);
  /// Makes the key's fallback resident.
  Result<const HitTable::Entry*> LoadFallback(const BoundCall& call, const ResidentKey& key);
  /// Loads or tunes ahead of any launch: the key of `call`, and its fallback.
  Status Warm(CUstream stream, BoundCall& call);

  const std::shared_ptr<const KernelDefinition> definition;
  const DriverApi& api;
  std::string store_warning;    // Why the default store is not on disk; set while `policy` is made.
  const AutotunePolicy policy;  // Its observer is never null.
  const bool disabled;
  const bool has_one_device;  // Then a hit need not ask which it is for.
  const CallBinder binder;
  HitTable table;

  ThreadedCounter hits;
  ThreadedCounter fallbacks;

  struct AtomicCounters {
    std::atomic<std::int64_t> tunes{0};
    std::atomic<std::int64_t> stored_hits{0};
    std::atomic<std::int64_t> waits{0};
    std::atomic<std::int64_t> sealed_misses{0};
    std::atomic<std::int64_t> failed_tunes{0};
    std::atomic<std::int64_t> tuning_ns{0};
    std::atomic<std::int64_t> tuning_gpu_ns{0};
    std::atomic<std::int64_t> capture_misses{0};
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
  Result<Config> FallbackConfig(const DeviceState& device, const BoundCall& call) const;
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
  std::shared_ptr<const LoadedKernel> LoadStoredFallback(const DeviceState& device, const Config& config,
                                                         const BoundCall& call);
  /// Keeps the record, unless what is stored knows more.
  void Remember(const TuningRecord& record) const;
  Status SearchAndRemember(CUstream stream, const DeviceState& device, const BoundCall& call, const ResidentKey& key,
                           TuningKey store_key);
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
  /// Searches at the bucket's bound, or at the shape at hand; `*tuned_at` says at which dims.
  Result<TuningResult> Search(CUstream stream, const BoundCall& call, Dims* tuned_at);

  /// What tells loaded kernels apart: device and role, config (Canonical), variant, code, and the dynamic shared memory
  /// it was prepared for.
  using KernelId = std::tuple<std::uint64_t, std::string, const Variant*, Fingerprint, std::int64_t>;

  mutable std::mutex kernels_mutex_;
  std::map<KernelId, std::unique_ptr<ResidentKernel>> kernels_;  // Entries stay: the table refers to them.
  std::mutex devices_mutex_;
  std::map<int, std::unique_ptr<const DeviceState>> devices_;  // By index; entries never change.
  TuneOnce tune_once_;
  std::mutex failed_mutex_;
  std::map<TuneOnce::Key, Status> failed_;  // Searches that found nothing: not tried again.
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_
