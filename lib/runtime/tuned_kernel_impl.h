#ifndef TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_
#define TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_

#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "cuda/driver_api.h"
#include "measure/cupti_timer.h"
#include "runtime/agreed_configs.h"
#include "runtime/agreed_keys.h"
#include "runtime/announcer.h"
#include "runtime/config_chain.h"
#include "runtime/fallback_configs.h"
#include "runtime/host_pins.h"
#include "runtime/kernel_parts.h"
#include "runtime/launched_shapes.h"
#include "runtime/miss_counters.h"
#include "runtime/miss_policy.h"
#include "runtime/ready_keys.h"
#include "runtime/threaded_counter.h"
#include "runtime/tuning_call.h"
#include "shared/kernel_list.h"
#include "store/guarded_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
inline namespace v0 {

/// The state of a TunedKernel, and the hot path: loaded keys (ReadyKeys) are launched, and MissPolicy does the rest.
struct TunedKernel::Impl {
  /// `shipped` has the definition's own records, and may be null. REQUIRES: the policy names its Runtime.
  Impl(std::shared_ptr<const KernelDefinition> kernel_definition, const DriverApi& driver, AutotunePolicy given_policy,
       const std::shared_ptr<RecordStore>& shipped);

  /// Runs a call of the API, which lets no exception pass. Exceptions from user code are caught where it is called, or
  /// are named there (Naming), so that the error states what threw.
  template <typename Function>
  Status Guarded(const Function& run) const {
    try {
      return run();
    } catch (...) {
      return CaughtStatus();
    }
  }
  Status CaughtStatus() const;
  /// If `missed` is not null, a launch whose code is not loaded sets `*missed` and does nothing else.
  [[gnu::always_inline]] inline Status Launch(CUstream stream, const Argument* arguments, std::size_t count,
                                              bool* missed);
  /// Launches a call whose arguments are bound; see Launch.
  [[gnu::always_inline]] inline Status LaunchBound(CUstream stream, BoundCall& call, bool* missed);
  /// Launches `entry` if it is not null and suits the call, else calls `otherwise()`.
  template <typename Otherwise>
  [[gnu::always_inline]] inline Status LaunchIfSuits(const HitTable::Entry& entry, CUstream stream, BoundCall& call,
                                                     const Otherwise& otherwise);
  /// LaunchBound for a kernel whose launches are never hits, or are recorded.
  Status LaunchTheLongWay(CUstream stream, BoundCall& call, bool* missed);
  /// Launches a call if the config of `key`, selected from all variants, is not loaded or does not suit: the config
  /// that was selected from the suitable variants, else what MissPolicy decides. It looks up the key again, so that a
  /// hit passes no additional arguments.
  Status LaunchOther(CUstream stream, BoundCall& call, LaunchKey& key, bool* missed);
  Status WarmShape(CUstream stream, const Shape& shape);
  Status TunePending(CUstream stream, bool continues, std::optional<std::chrono::steady_clock::time_point> end = {});
  Status WarmArguments(CUstream stream, const Argument* arguments, std::size_t count);
  /// Claims CUPTI for several searches, which otherwise each claim it, unless `burst` holds it or they time by another
  /// timer or in a worker process.
  void HoldCupti(std::optional<TimingBurst>* burst) const;
  /// Makes a call of a shape. Returns nothing if a launch would do nothing. Errors: those of the shape. `what` names
  /// the operation that needs it.
  Result<std::optional<TuningCall>> CallOfShape(CUstream stream, const Shape& shape, WarmupInputs::Use use,
                                                const char* what) const;
  /// Does the same for a shape or for the arguments of a launch.
  Result<std::optional<TuningCall>> CallOf(CUstream stream, const CallInputs& inputs, WarmupInputs::Use use,
                                           const char* what);
  /// Makes a call like CallOf, for an operation that needs no tensors.
  Result<std::optional<TuningCall>> CallToPin(const Shape& shape, const char* what, LaunchKey* key);
  Status Pin(const Shape& shape, const NamedConfig& config, PinFor how_long);
  Status Unpin(const Shape& shape);
  /// Thread-safe.
  Counters CountersNow() const;

  const std::shared_ptr<const KernelDefinition> definition;
  const DriverApi& api;
  const AutotunePolicy policy;     // Its observer, and the runtime and cache of its search, are never null.
  const pid_t process = getpid();  // A child of fork() is another one.
  const bool is_baseline_only;
  const CallBinder binder;
  LaunchedShapes launched_shapes;
  const bool goes_the_long_way;
  const Announcer announcer;
  MissCounters counters;
  ThreadedCounter hits;
  ReadyKeys ready_keys;
  const KernelParts parts;
  ConfigChain chain;
  FallbackConfigs fallbacks;
  HostPins pins;
  MissPolicy misses;
  AgreedConfigs agreed_configs;  // Used in a group of ranks, like the next one.
  AgreedKeys agreed;
  const KernelList::Listed listed;  // The last member: it is read as long as it lives.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_
