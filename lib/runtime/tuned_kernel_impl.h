#ifndef TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_
#define TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/hit_table.h"
#include "runtime/tune_once.h"
#include "tuneonce/runtime/tuned_kernel.h"

namespace tuneonce {

/// The state of a TunedKernel. tuned_kernel.cc holds the hot path, tuned_kernel_miss.cc what happens on a miss.
struct TunedKernel::Impl {
  Impl(std::shared_ptr<const KernelDefinition> its_definition, const DriverApi& its_api, AutotunePolicy its_policy);

  // The hot path.
  Status Launch(CUstream stream, const Argument* arguments, std::size_t count);
  /// Fills `key` for the current context. An out parameter: a key is 400 bytes that a Result would copy.
  Status KeyOf(const BoundCall& call, ResidentKey::Role role, ResidentKey* key) const;

  // A miss.
  Status LaunchMiss(CUstream stream, BoundCall& call, const ResidentKey& key);
  Status LaunchFallback(CUstream stream, BoundCall& call);
  Status Tune(CUstream stream, const BoundCall& call, const ResidentKey& key);

  const std::shared_ptr<const KernelDefinition> definition;
  const DriverApi& api;
  const AutotunePolicy policy;
  const bool disabled;
  const CallBinder binder;
  HitTable table;

  struct AtomicCounters {
    std::atomic<std::int64_t> tunes{0};
    std::atomic<std::int64_t> stored_hits{0};
    std::atomic<std::int64_t> waits{0};
    std::atomic<std::int64_t> fallbacks{0};
    std::atomic<std::int64_t> capture_misses{0};
  } counters;

 private:
  /// What is fixed per device: target, identity, and a layout for each variant that runs there.
  struct DeviceState {
    DeviceIdentity identity;
    Target target;
    std::map<const Variant*, ParameterLayout> layouts;
  };

  Result<const DeviceState*> CurrentDevice();
  Result<Config> FallbackConfig(const DeviceState& device, const BoundCall& call) const;
  /// By the variant named `preferred` if it compiles, else by the first that does.
  Result<std::shared_ptr<const LoadedKernel>> CompileAndLoad(const Config& config, const BoundCall& call,
                                                             const std::string& preferred);
  const ResidentKernel* Publish(const DeviceState& device, const ResidentKey& key, const Config& config,
                                std::shared_ptr<const LoadedKernel> loaded);
  Result<TuningKey> StoreKey(const DeviceState& device, const BoundCall& call) const;
  Result<bool> ServeFromStore(const DeviceState& device, const TuningKey& store_key, const BoundCall& call,
                              const ResidentKey& key);
  /// Searches at the bucket's bound, or at the shape at hand; `*tuned_at` says at which dims.
  Result<TuningResult> Search(CUstream stream, const BoundCall& call, Dims* tuned_at);

  std::mutex devices_mutex_;
  std::map<int, std::unique_ptr<const DeviceState>> devices_;  // By index; entries never change.
  TuneOnce tune_once_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_
