// The hot path: from arguments to a launch, when the key is resident.
#include "tuneonce/tuned_kernel.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/environment.h"
#include "launch/assumption.h"
#include "runtime/guarded_store.h"
#include "runtime/tuned_kernel_impl.h"
#include "tuneonce/artifact_cache.h"
#include "tuneonce/autotune_observer.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/record_store.h"
#include "tuneonce/runtime.h"

namespace tuneonce {

TunedKernel::Impl::Impl(std::shared_ptr<const KernelDefinition> its_definition, const DriverApi& its_api,
                        AutotunePolicy its_policy)
    : definition(std::move(its_definition)),
      api(its_api),
      policy([&] {
        if (its_policy.observer == nullptr) its_policy.observer = std::make_shared<AutotuneObserver>();
        its_policy.search.runtime = Runtime::OrDefault(its_policy.search.runtime);
        const Runtime& its_runtime = *its_policy.search.runtime;
        if (its_runtime.environment().disable_autotune) its_policy.mode = AutotunePolicy::Mode::kBaselineOnly;
        // Then nothing is looked up or stored: no file is opened for it.
        bool needs_store = its_policy.mode != AutotunePolicy::Mode::kBaselineOnly;
        if (its_policy.store == nullptr && !needs_store) its_policy.store = its_runtime.memory_store();
        if (its_policy.store == nullptr) its_policy.store = its_runtime.store();
        its_policy.store = std::make_shared<GuardedStore>(std::move(its_policy.store));
        if (ArtifactCache* given = its_policy.search.compile.cache; given != nullptr) {
          its_policy.search.compile.cache = &given_cache.emplace(*given);
        }
        if (its_policy.search.compile.cache == nullptr) its_policy.search.compile.cache = its_policy.store->artifacts();
        if (its_policy.search.compile.cache == nullptr) its_policy.search.compile.cache = &its_runtime.artifacts();
        return std::move(its_policy);
      }()),
      is_baseline_only(policy.mode == AutotunePolicy::Mode::kBaselineOnly),
      binder(*definition),
      announcer(*definition, binder, policy),
      residency(*definition, binder, api),
      chooser({definition, binder, api, policy, announcer, residency, counters}),
      misses({definition, binder, api, policy, announcer, residency, counters}, chooser) {}

TunedKernel::TunedKernel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TunedKernel::~TunedKernel() = default;
TunedKernel::TunedKernel(TunedKernel&&) noexcept = default;
TunedKernel& TunedKernel::operator=(TunedKernel&&) noexcept = default;

Result<TunedKernel> TunedKernel::Create(KernelDefinition definition, const Device& device, AutotunePolicy policy) {
  TUNEONCE_RETURN_IF_ERROR(ValidateForLaunch(definition));
  if (definition.key().size() + 1 > kMaxKeyWords) {
    return InvalidArgumentError(absl::StrCat("kernel '", definition.name(), "' has ", definition.key().size(),
                                             " key parts; at most ", kMaxKeyWords - 1, " are possible"));
  }
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  TUNEONCE_RETURN_IF_ERROR(definition.VariantsFor(Target::Of(identity)).status());
  auto shared = std::make_shared<const KernelDefinition>(std::move(definition));
  return TunedKernel(std::make_unique<Impl>(std::move(shared), device.api(), std::move(policy)));
}

Result<TunedKernel> TunedKernel::FromBundle(const std::string& folder_or_name, const Device& device,
                                            AutotunePolicy policy) {
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(folder_or_name, policy.search.runtime));
  return Create(bundle.definition(), device, std::move(policy));
}

Result<TunedKernel> TunedKernel::FromBundle(const EmbeddedBundle& embedded, const Device& device,
                                            AutotunePolicy policy) {
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(embedded));
  return Create(bundle.definition(), device, std::move(policy));
}

Status TunedKernel::LaunchArguments(CUstream stream, const Argument* arguments, std::size_t count) {
  return impl_->Guarded([&] { return impl_->Launch(stream, arguments, count, nullptr); });
}

Status TunedKernel::LaunchIfResident(CUstream stream, const Argument* arguments, std::size_t count, bool* missed) {
  *missed = false;
  return impl_->Guarded([&] { return impl_->Launch(stream, arguments, count, missed); });
}

Status TunedKernel::Impl::CaughtStatus() const {
  return StatusOfException(absl::StrCat("kernel '", definition->name(), "'"), StatusCode::kInternal);
}

Status TunedKernel::Impl::Launch(CUstream stream, const Argument* arguments, std::size_t count, bool* missed) {
  if (InsideCallback()) {
    return FailedPreconditionError(
        absl::StrCat("kernel '", definition->name(), "' was launched from inside a callback of this library"));
  }
  BoundCall call;
  bool is_empty = false;
  if (Status bound = binder.Bind(arguments, count, &call, &is_empty); !bound.ok()) {
    return is_empty ? Status() : bound;  // A launch of nothing is done.
  }
  if (is_baseline_only) return misses.LaunchStandIn(stream, call, missed);
  ResidentKey key;
  if (Status keyed = residency.KeyOf(call, ResidentKey::kTuned, &key); !keyed.ok()) return keyed;
  const HitTable::Entry* entry = residency.Find(key);
  if (entry == nullptr) {
    if (missed == nullptr) return misses.LaunchMiss(stream, call, key);
    *missed = true;
    return Status();
  }
  if (entry->Suits(call)) {
    hits.Add();
    return entry->Launch(stream, call);
  }
  Status launched = misses.LaunchStandIn(stream, call, missed);
  if (missed == nullptr || !*missed) hits.Add();
  return launched;
}

Result<bool> TunedKernel::IsTunedArguments(const Argument* arguments, std::size_t count) const {
  BoundCall call;
  bool is_empty = false;
  Status bound = impl_->binder.Bind(arguments, count, &call, &is_empty);
  if (is_empty) return true;
  TUNEONCE_RETURN_IF_ERROR(bound);
  ResidentKey key;
  TUNEONCE_RETURN_IF_ERROR(impl_->residency.KeyOf(call, ResidentKey::kTuned, &key));
  return impl_->residency.HasChoice(key);
}

Counters TunedKernel::counters() const {
  const MissCounters& from = impl_->counters;
  Counters counters;
  counters.hits = impl_->hits.Sum();
  counters.tunes = from.tunes;
  counters.stored_hits = from.stored_hits;
  counters.waits = from.waits;
  counters.stand_ins = impl_->misses.num_stand_ins();
  counters.sealed_misses = from.sealed_misses;
  counters.failed_tunes = from.failed_tunes;
  counters.tuning_seconds = static_cast<double>(from.tuning_ns) * 1e-9;
  counters.tuning_gpu_seconds = static_cast<double>(from.tuning_gpu_ns) * 1e-9;
  counters.capture_misses = from.capture_misses;
  counters.busy_elsewhere = from.busy_elsewhere;
  counters.waiting_keys = impl_->misses.num_waiting();
  counters.loaded_kernels = impl_->residency.num_loaded_kernels();
  counters.resident_entries = impl_->residency.num_entries();
  return counters;
}

void TunedKernel::Seal() { impl_->misses.Seal(); }

std::vector<std::string> TunedKernel::sealed_misses() const { return impl_->misses.sealed_misses(); }

void TunedKernel::ReleaseRetired() { impl_->residency.ReleaseRetired(); }

const KernelDefinition& TunedKernel::definition() const { return *impl_->definition; }

}  // namespace tuneonce
