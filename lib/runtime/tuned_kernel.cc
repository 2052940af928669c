// The hot path: from arguments to a launch, if the key is loaded.
#include "tuneonce/tuned_kernel.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/environment.h"
#include "cuda/driver_api.h"
#include "launch/assumption.h"
#include "runtime/context_status.h"
#include "runtime/tuned_kernel_impl.h"
#include "runtime/tuned_kernel_on.h"
#include "store/guarded_store.h"
#include "store/shipped_selections.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/option_table.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

namespace {

/// Returns the records that were shipped with the kernel, or null without any.
Result<std::shared_ptr<RecordStore>> StoreOfShipped(const KernelDefinition& definition) {
  if (definition.shipped_selections().empty()) return std::shared_ptr<RecordStore>();
  Result<std::shared_ptr<RecordStore>> store = MakeShippedStore(definition.shipped_selections());
  return store.ok() ? std::move(store) : store.status().WithPrefix("kernel '" + definition.name() + "'");
}

}  // namespace

TunedKernel::Impl::Impl(std::shared_ptr<const KernelDefinition> kernel_definition, const DriverApi& driver,
                        AutotunePolicy given_policy, const std::shared_ptr<RecordStore>& shipped)
    : definition(std::move(kernel_definition)),
      api(driver),
      policy([&] {
        if (given_policy.observer == nullptr) given_policy.observer = std::make_shared<AutotuneObserver>();
        const Runtime& shared_runtime = *given_policy.search.runtime;
        // The mode kFallbackOnly looks up and stores nothing, so it opens no file.
        bool needs_store = given_policy.mode != AutotunePolicy::Mode::kFallbackOnly;
        if (given_policy.store == nullptr && !needs_store) given_policy.store = shared_runtime.memory_store();
        if (given_policy.store == nullptr) given_policy.store = shared_runtime.store();
        if (shipped != nullptr) {
          given_policy.store = StoreOverShipped(std::move(given_policy.store), shipped, given_policy.min_match);
        }
        given_policy.store = std::make_shared<GuardedStore>(std::move(given_policy.store), &shared_runtime.trace());
        std::shared_ptr<RecordStore>& cache = given_policy.search.compile.cache;
        cache = cache == nullptr ? given_policy.store
                                 : std::make_shared<GuardedStore>(std::move(cache), &shared_runtime.trace());
        return std::move(given_policy);
      }()),
      is_baseline_only(policy.mode == AutotunePolicy::Mode::kFallbackOnly),
      binder(*definition),
      launched_shapes(*definition, binder, policy.search.runtime->shape_log()),
      goes_the_long_way(is_baseline_only || launched_shapes.is_on()),
      announcer(*definition, binder, policy),
      ready_keys(*definition, binder, api),
      parts{definition, binder, api, policy, announcer, ready_keys, counters},
      chain(parts),
      fallbacks(parts),
      pins(parts),
      misses(parts, chain, fallbacks),
      agreed_configs(parts, chain),
      listed(policy.search.runtime->kernel_list(), definition->name(), [this] { return CountersNow(); }) {}

/// The state of a TunedKernel before and after its driver is known. It has no lock, because in a child of fork() a lock
/// that another thread of the parent held would stay locked forever.
struct TunedKernel::Origin {
  std::shared_ptr<const KernelDefinition> definition;
  AutotunePolicy policy;
  std::shared_ptr<RecordStore> shipped;

  Origin() = default;
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;
  ~Origin() { delete impl(); }

  /// Returns null before the first use.
  Impl* impl() const {
    Impl* made = state_.load();
    return made == Frozen() ? nullptr : made;
  }
  /// Returns the Impl. If several threads find none, each makes one and the first to finish is used.
  Result<Impl*> Bind(const Device& device) {
    TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
    TUNEONCE_RETURN_IF_ERROR(definition->VariantsFor(Target::Of(identity)).status());
    // Made of copies, because a failed attempt is repeated.
    auto made = std::make_unique<Impl>(definition, device.api(), policy, shipped);
    for (Impl* before = state_.load(); before == nullptr || before == Frozen();) {
      if (before != nullptr) made->misses.Freeze();
      if (state_.compare_exchange_strong(before, made.get())) return made.release();
    }
    return state_.load();
  }
  void Freeze() {
    Impl* before = nullptr;
    if (state_.compare_exchange_strong(before, Frozen()) || before == Frozen()) return;
    before->misses.Freeze();
  }

 private:
  /// Represents an Impl that is not made yet and will be frozen at once.
  static Impl* Frozen() {
    static char mark;
    return reinterpret_cast<Impl*>(&mark);
  }

  std::atomic<Impl*> state_{nullptr};  // Owned. Null, Frozen(), or the Impl, which never changes.
};

TunedKernel::TunedKernel(std::unique_ptr<Origin> origin) : origin_(std::move(origin)) {}
TunedKernel::~TunedKernel() = default;
TunedKernel::TunedKernel(TunedKernel&& other) noexcept
    : origin_(std::move(other.origin_)), impl_(other.impl_.exchange(nullptr)) {}
TunedKernel& TunedKernel::operator=(TunedKernel&& other) noexcept {
  std::swap(origin_, other.origin_);
  impl_ = other.impl_.exchange(impl_);
  return *this;
}

Result<TunedKernel> TunedKernel::Create(KernelDefinition definition, AutotunePolicy policy) {
  TUNEONCE_RETURN_IF_ERROR(ValidateForLaunch(definition));
  return OfValid(std::make_shared<const KernelDefinition>(std::move(definition)), std::move(policy));
}

Result<TunedKernel> TunedKernel::OfValid(std::shared_ptr<const KernelDefinition> definition, AutotunePolicy policy) {
  TUNEONCE_RETURN_IF_ERROR(CheckOptions(policy).WithPrefix("kernel '" + definition->name() + "'"));
  if (definition->key().size() + 1 > kMaxKeyWords) {
    return InvalidArgumentError(absl::StrCat("kernel '", definition->name(), "' has ", definition->key().size(),
                                             " key parts; at most ", kMaxKeyWords - 1, " are possible"));
  }
  auto origin = std::make_unique<Origin>();
  TUNEONCE_ASSIGN_OR_RETURN(origin->shipped, StoreOfShipped(*definition));
  origin->definition = std::move(definition);
  origin->policy = std::move(policy);
  std::shared_ptr<Runtime>& runtime = origin->policy.search.runtime;
  runtime = Runtime::OrDefault(runtime);
  if (runtime->environment().disable_autotune) origin->policy.mode = AutotunePolicy::Mode::kFallbackOnly;
  return TunedKernel(std::move(origin));
}

Result<TunedKernel> TunedKernelOn::Create(const Device& device, KernelDefinition definition, AutotunePolicy policy) {
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernel::Create(std::move(definition), std::move(policy)));
  TUNEONCE_RETURN_IF_ERROR(Bind(device, &kernel));
  return kernel;
}

Result<TunedKernel> TunedKernelOn::FromBundle(const Device& device, const Bundle& bundle, AutotunePolicy policy) {
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernel::FromBundle(bundle, std::move(policy)));
  TUNEONCE_RETURN_IF_ERROR(Bind(device, &kernel));
  return kernel;
}

Status TunedKernelOn::Bind(const Device& device, TunedKernel* kernel) {
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel::Impl * impl, kernel->origin_->Bind(device));
  kernel->impl_ = impl;
  return Status();
}

Result<TunedKernel::Impl*> TunedKernel::Bound() const {
  Impl* bound = impl_.load(std::memory_order_acquire);
  if (bound != nullptr) return bound;
  bound = origin_->impl();
  if (bound == nullptr) {
    try {
      TUNEONCE_ASSIGN_OR_RETURN(const DriverApi* api,
                                DriverOfCurrentContext(origin_->policy.search.runtime->environment()));
      TUNEONCE_RETURN_IF_ERROR(CheckContext(*api));
      TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(*api));
      TUNEONCE_ASSIGN_OR_RETURN(bound, origin_->Bind(device));
    } catch (...) {
      return StatusOfException("kernel '" + origin_->definition->name() + "'", StatusCode::kInternal);
    }
  }
  impl_.store(bound, std::memory_order_release);
  return bound;
}

Result<TunedKernel> TunedKernel::FromBundle(const std::variant<std::string, EmbeddedBundle, Bundle>& bundle,
                                            AutotunePolicy policy) {
  if (const Bundle* loaded = std::get_if<Bundle>(&bundle)) return OfValid(loaded->definition_, std::move(policy));
  const auto* embedded = std::get_if<EmbeddedBundle>(&bundle);
  TUNEONCE_ASSIGN_OR_RETURN(Bundle loaded, embedded != nullptr
                                               ? Bundle::Load(*embedded)
                                               : Bundle::Load(std::get<std::string>(bundle), policy.search.runtime));
  return OfValid(loaded.definition_, std::move(policy));
}

template <typename Otherwise>
inline Status TunedKernel::Impl::LaunchIfSuits(const HitTable::Entry& entry, CUstream stream, BoundCall& call,
                                               const Otherwise& otherwise) {
  if (const LaunchMemo* memo = entry.Remembered(call)) {
    hits.Add();
    return entry.kernel->LaunchPrepared(memo->grid, stream, call);
  }
  if (!entry.Suits(call)) return otherwise();
  hits.Add();
  return entry.Launch(stream, call);
}

inline Status TunedKernel::Impl::LaunchBound(CUstream stream, BoundCall& call, bool* missed) {
  LaunchKey key;
  if (Status keyed = ready_keys.KeyOf(call, LaunchKey::kTuned, &key); !keyed.ok()) return keyed;
  const HitTable::Entry* entry = ready_keys.Find(key);
  if (entry == nullptr) return LaunchOther(stream, call, key, missed);
  return LaunchIfSuits(*entry, stream, call, [&] { return LaunchOther(stream, call, key, missed); });
}

inline Status TunedKernel::Impl::Launch(CUstream stream, const Argument* arguments, std::size_t count, bool* missed) {
  if (InsideCallback()) {
    return FailedPreconditionError(
        absl::StrCat("kernel '", definition->name(),
                     "' was launched from inside a callback of this library: launch it after the callback returns"));
  }
  BoundCall call;
  bool is_empty;  // Set if Bind fails.
  if (Status bound = binder.Bind(arguments, count, &call, &is_empty); !bound.ok()) {
    return is_empty ? Status() : bound;  // A launch without elements succeeds.
  }
  if (goes_the_long_way) return LaunchTheLongWay(stream, call, missed);
  return LaunchBound(stream, call, missed);
}

Status TunedKernel::Impl::LaunchTheLongWay(CUstream stream, BoundCall& call, bool* missed) {
  // Counted before a search, which may not return. A try that misses is counted by its second call.
  if (missed == nullptr) launched_shapes.Count(call);
  Status launched = is_baseline_only ? misses.LaunchFallback(stream, call, missed) : LaunchBound(stream, call, missed);
  if (missed != nullptr && !*missed) launched_shapes.Count(call);
  return launched;
}

Status TunedKernel::Impl::LaunchOther(CUstream stream, BoundCall& call, LaunchKey& key, bool* missed) {
  const HitTable::Entry* entry = ready_keys.Find(key);
  if (entry == nullptr || !entry->IsFor(call)) {
    TUNEONCE_ASSIGN_OR_RETURN(bool has_own_key, ready_keys.LeaveOut(call, &key));
    if (has_own_key) entry = ready_keys.Find(key);
  }
  if (entry == nullptr) {
    if (missed == nullptr) return misses.LaunchMiss(stream, call, key);
    *missed = true;
    return Status();
  }
  return LaunchIfSuits(*entry, stream, call, [&] {
    if (!entry->is_provisional && !entry->kernel->IsVerifiedAt(call.problem.dims)) {
      if (missed == nullptr) return misses.LaunchUnverified(stream, call, key);
      *missed = true;
      return Status();
    }
    Status launched = misses.LaunchFallback(stream, call, missed);
    if (missed == nullptr || !*missed) hits.Add();
    return launched;
  });
}

Status TunedKernel::Launch(CUstream stream, ArgumentSpan arguments) {
  Impl* impl = impl_.load(std::memory_order_acquire);
  if (impl == nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(impl, Bound());
  }
  try {
    return impl->Launch(stream, arguments.data(), arguments.size(), nullptr);
  } catch (...) {
    return impl->CaughtStatus();
  }
}

Status TunedKernel::Launch(CUstream stream, ArgumentSpan arguments, bool* missed) {
  *missed = false;
  Impl* impl = impl_.load(std::memory_order_acquire);
  if (impl == nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(impl, Bound());
  }
  try {
    return impl->Launch(stream, arguments.data(), arguments.size(), missed);
  } catch (...) {
    return impl->CaughtStatus();
  }
}

Status TunedKernel::Impl::CaughtStatus() const {
  return StatusOfException(absl::StrCat("kernel '", definition->name(), "'"), StatusCode::kInternal);
}

Result<bool> TunedKernel::IsReady(ArgumentSpan arguments) const {
  TUNEONCE_ASSIGN_OR_RETURN(Impl * impl, Bound());
  BoundCall call;
  bool is_empty = false;
  Status bound = impl->binder.Bind(arguments.data(), arguments.size(), &call, &is_empty);
  if (is_empty) return true;
  TUNEONCE_RETURN_IF_ERROR(bound);
  LaunchKey key;
  TUNEONCE_RETURN_IF_ERROR(impl->ready_keys.SelectionKeyOf(call, &key));
  const ReadyKeys::Reader reader(impl->ready_keys);  // Made after the check that refuses a child of fork().
  return !impl->is_baseline_only && impl->ready_keys.HasVerifiedSelection(key, call);
}

Counters TunedKernel::counters() const {
  const Impl* impl = impl_.load(std::memory_order_acquire);
  return impl == nullptr ? Counters() : impl->CountersNow();
}

Counters TunedKernel::Impl::CountersNow() const {
  Counters result;
  const MissCounters& from = counters;
  result.hits = hits.Sum();
  result.tunes = from.tunes;
  result.stored_hits = from.stored_hits;
  result.predictions = from.predictions;
  result.waits = from.waits;
  result.fallbacks = misses.num_fallbacks();
  result.frozen_misses = from.frozen_misses;
  result.failed_tunes = from.failed_tunes;
  result.tuning_seconds = static_cast<double>(from.tuning_ns) * 1e-9;
  result.workers_replaced = from.workers_replaced;
  result.tuning_gpu_seconds = static_cast<double>(from.tuning_gpu_ns) * 1e-9;
  result.capture_misses = from.capture_misses;
  result.busy_elsewhere = from.busy_elsewhere;
  result.inputs_not_kept = from.inputs_not_kept;
  const auto missed = [&](RecordMiss reason) { return from.store_misses[static_cast<std::size_t>(reason)].load(); };
  result.misses_no_record = missed(RecordMiss::kNoRecord);
  result.misses_other_driver = missed(RecordMiss::kOtherDriver);
  result.misses_other_device = missed(RecordMiss::kOtherDevice);
  result.misses_other_source = missed(RecordMiss::kOtherSource);
  result.misses_refused = missed(RecordMiss::kRefused);
  // These take locks, which a child of fork() may have inherited locked.
  if (getpid() != process) return result;
  result.now.pending_keys = misses.num_pending();
  result.now.pinned_keys = ready_keys.selections().num_pinned();
  result.now.kept_inputs_bytes = misses.kept_inputs_bytes();
  result.now.loaded_kernels = ready_keys.num_loaded_kernels();
  result.now.ready_entries = ready_keys.num_entries();
  return result;
}

void TunedKernel::Freeze() { origin_->Freeze(); }

void TunedKernel::ReleaseRetired() {
  if (Impl* impl = impl_.load(std::memory_order_acquire); impl != nullptr) impl->ready_keys.ReleaseRetired();
}

std::vector<std::string> TunedKernel::frozen_misses() const {
  Impl* impl = impl_.load(std::memory_order_acquire);
  return impl == nullptr ? std::vector<std::string>() : impl->misses.frozen_misses();
}

const RankPolicy& TunedKernel::ranks() const { return origin_->policy.ranks; }

const KernelDefinition& TunedKernel::definition() const { return *origin_->definition; }

}  // namespace v0
}  // namespace tuneonce
