#ifndef TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_
#define TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_

#include <memory>
#include <optional>
#include <string>

#include "cuda/driver_api.h"
#include "runtime/agreed_keys.h"
#include "runtime/announcer.h"
#include "runtime/chooser.h"
#include "runtime/guarded_store.h"
#include "runtime/launched_shapes.h"
#include "runtime/miss_counters.h"
#include "runtime/miss_policy.h"
#include "runtime/residency.h"
#include "runtime/threaded_counter.h"
#include "runtime/tuning_call.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
inline namespace v0 {

/// The state of a TunedKernel, and the hot path: what is resident (Residency) is launched; the rest is MissPolicy's.
struct TunedKernel::Impl {
  /// `shipped`: the definition's own decisions; null if it has none. REQUIRES: the policy names its Runtime.
  Impl(std::shared_ptr<const KernelDefinition> its_definition, const DriverApi& its_api, AutotunePolicy its_policy,
       const std::shared_ptr<RecordStore>& shipped);

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
  [[gnu::always_inline]] inline Status Launch(CUstream stream, const Argument* arguments, std::size_t count,
                                              bool* missed);
  /// The same for what is bound.
  [[gnu::always_inline]] inline Status LaunchBound(CUstream stream, BoundCall& call, bool* missed);
  /// What `entry` runs, or else what `otherwise()` does.
  template <typename Otherwise>
  [[gnu::always_inline]] inline Status LaunchIfSuits(const HitTable::Entry& entry, CUstream stream, BoundCall& call,
                                                     const Otherwise& otherwise);
  /// LaunchBound where no launch is a hit, or each is recorded.
  Status LaunchTheLongWay(CUstream stream, BoundCall& call, bool* missed);
  /// Where the choice from all variants, `key`'s, is not there or does not suit: the choice from those that suit, else
  /// what MissPolicy says. (It looks the key up again, so that a hit hands over no more than before.)
  Status LaunchOther(CUstream stream, BoundCall& call, ResidentKey& key, bool* missed);
  Status WarmShape(CUstream stream, const Shape& shape);
  Status WarmArguments(CUstream stream, const Argument* arguments, std::size_t count);
  /// The same in a group of ranks, whose keys they agree on.
  Status WarmArgumentsInRanks(CUstream stream, const Argument* arguments, std::size_t count);
  Status SafePointInRanks(CUstream stream);
  /// A call of a shape, or nothing where a launch would do nothing. Errors: what is wrong with the shape, with `what`
  /// for which it is.
  Result<std::optional<TuningCall>> CallOf(CUstream stream, const Shape& shape, WarmupInputs::Use use,
                                           const char* what) const;
  Result<Choice> ChoiceOf(CUstream stream, TuningCall& call);
  /// Puts what stands in for the choice into it.
  Status PutStandIn(CUstream stream, const BoundCall& call, Choice* choice);
  /// Puts what a launch of a key does that is not resident.
  Status PutStored(CUstream stream, TuningCall& call, const ResidentKey& key, Choice* choice);
  /// As CallOf, for `what` needs no tensors.
  Result<std::optional<TuningCall>> CallToPin(const Shape& shape, const char* what, ResidentKey* key);
  Status RetuneArguments(CUstream stream, const Argument* arguments, std::size_t count);
  Status Pin(const Shape& shape, const NamedConfig& config, PinFor how_long);
  Status Unpin(const Shape& shape);

  const std::shared_ptr<const KernelDefinition> definition;
  const DriverApi& api;
  std::optional<GuardedArtifactCache> given_cache;  // Round the policy's, if it names one.
  const AutotunePolicy policy;                      // Its observer and its search's runtime and cache are never null.
  const bool is_baseline_only;
  const CallBinder binder;
  LaunchedShapes launched_shapes;
  const bool goes_the_long_way;
  const Announcer announcer;
  MissCounters counters;
  ThreadedCounter hits;
  Residency residency;
  Chooser chooser;
  MissPolicy misses;
  AgreedKeys agreed;  // In a group of ranks.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNED_KERNEL_IMPL_H_
