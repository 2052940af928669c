#include "runtime/residency.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/callback.h"
#include "cuda/driver_api.h"
#include "search/candidate.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

Residency::Residency(const KernelDefinition& definition, const CallBinder& binder, const DriverApi& api)
    : definition_(definition),
      binder_(binder),
      api_(api),
      num_devices_([&] {
        Result<int> count = Device::Count(api);
        return count.ok() ? *count : 0;
      }()),
      has_one_device_(num_devices_ == 1),
      known_(new std::atomic<const DeviceState*>[static_cast<std::size_t>(num_devices_)]()),
      table_(1 + binder.num_varying_key_words()) {}

Result<std::uint64_t> Residency::DeviceWord(ResidentKey::Role role) const {
  CUdevice device = 0;
  TUNEONCE_RETURN_IF_ERROR(CurrentDeviceOf(&device));
  return ResidentKey::FirstWord(device, role);
}

Result<const Residency::DeviceState*> Residency::CurrentDevice() {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(api_));
  MutexLock lock(devices_mutex_);
  auto& state = devices_[device.index()];
  if (state == nullptr) {
    auto made = std::make_unique<DeviceState>();
    TUNEONCE_ASSIGN_OR_RETURN(made->identity, device.Identity());
    made->target = Target::Of(made->identity);
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> variants, definition_.VariantsFor(made->target));
    const Variant* const first = definition_.variants().data();
    for (const Variant* variant : variants) {
      VariantState of_variant;
      TUNEONCE_ASSIGN_OR_RETURN(of_variant.layout,
                                ParameterLayout::Create(definition_, variant->convention, variant->parameters));
      TUNEONCE_ASSIGN_OR_RETURN(of_variant.assumptions,
                                AssumptionChecks::Create(definition_, *variant, *of_variant.layout));
      const VariantState& added = made->variants.emplace(variant, std::move(of_variant)).first->second;
      if (variants.size() > 1) made->several.emplace_back(variant - first, &added.assumptions);
    }
    state = std::move(made);
    if (device.index() < num_devices_) known_[static_cast<std::size_t>(device.index())] = state.get();
  }
  return state.get();
}

VariantSet Residency::DeviceState::LeftOutBy(const BoundCall& call) const {
  VariantSet left_out;
  bool any_suits = false;
  for (const auto& [index, assumptions] : several) {
    if (assumptions->HoldOrFailFast(call)) {
      any_suits = true;
    } else if (assumptions->MayHoldForKey(call)) {
      left_out = left_out.With(index);
    }
  }
  return any_suits ? left_out : VariantSet();
}

Result<bool> Residency::LeaveOut(const BoundCall& call, ResidentKey* key) {
  const auto index = static_cast<std::size_t>(key->device());
  const DeviceState* device = nullptr;
  if (key->device() < num_devices_) device = known_[index].load(std::memory_order_acquire);
  if (device == nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(device, CurrentDevice());
  }
  const VariantSet left_out = device->LeftOutBy(call);
  if (left_out.is_empty()) return false;
  *key = LeavingOut(*key, left_out);
  return true;
}

Status Residency::ChoiceKeyOf(const BoundCall& call, ResidentKey* key) {
  TUNEONCE_RETURN_IF_ERROR(KeyOf(call, ResidentKey::kTuned, key));
  const HitTable::Entry* entry = table_.Find(*key);
  return entry != nullptr && entry->IsFor(call) ? Status() : LeaveOut(call, key).status();
}

Result<const std::vector<Config>*> Residency::ConfigsOn(const DeviceState& device) {
  {
    MutexLock lock(devices_mutex_);
    auto found = configs_.find(&device);
    if (found != configs_.end()) return &found->second;
  }
  // Outside of the lock, because constraints call user code. An error is not kept, because it may be transient.
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, definition_.space().Enumerate(device.target));
  MutexLock lock(devices_mutex_);
  return &configs_.try_emplace(&device, std::move(configs)).first->second;
}

Status Residency::CheckAssumptions(const BoundCall& call) {
  TUNEONCE_ASSIGN_OR_RETURN(const DeviceState* device, CurrentDevice());
  std::vector<const AssumptionChecks*> any;
  for (const auto& [variant, state] : device->variants) any.push_back(&state.assumptions);
  return AssumptionChecks::VerifyAny(any, call);
}

Result<const HitTable::Entry*> Residency::FindStandIn(BoundCall& call, ResidentKey* key) {
  // Each one was loaded for a call that the earlier ones do not suit: by another variant, or with another config of a
  // bucket.
  TUNEONCE_RETURN_IF_ERROR(KeyOf(call, ResidentKey::kStandIn, key));
  TUNEONCE_RETURN_IF_ERROR(LeaveOut(call, key).status());
  for (std::size_t i = 0; i < ResidentKey::kMostStandIns; ++i) {
    if (i > 0) *key = WithRole(*key, ResidentKey::StandIn(i));
    const HitTable::Entry* entry = table_.Find(*key);
    if (entry == nullptr || StandsInFor(call, *entry)) return entry;
  }
  TUNEONCE_RETURN_IF_ERROR(CheckAssumptions(call));
  return InternalError("kernel '" + definition_.name() + "': nothing that was loaded suits these arguments");
}

std::optional<Geometry> Residency::GeometryOfKey(const AssumptionChecks& assumptions, const BoundCall& call,
                                                 const Config& config, const LoadedKernel& loaded) const {
  if (loaded.variant->launcher || !binder_.key_decides_problem() || !assumptions.Hold(call)) return std::nullopt;
  // What reads a scalar that may differ between the key's launches fails here, and is computed at each.
  const Problem decided = definition_.DecidedByKey(call.problem);
  if (!definition_.space().CheckGuards(config, decided).ok()) return std::nullopt;
  Result<Geometry> computed =
      CallUser("the geometry function", [&] { return loaded.variant->geometry(config, decided); });
  return computed.ok() && computed->IsLaunchable() ? std::optional<Geometry>(*computed) : std::nullopt;
}

const HitTable::Entry* Residency::Publish(const DeviceState& device, const ResidentKey& key, const BoundCall& call,
                                          const Config& config, std::shared_ptr<const LoadedKernel> loaded, Place place,
                                          std::shared_ptr<const VerifiedExtents> verified) {
  const VariantState& of_variant = device.variants.at(loaded->variant);
  const AssumptionChecks& assumptions = loaded->assumptions ? *loaded->assumptions : of_variant.assumptions;
  std::optional<Geometry> geometry = GeometryOfKey(assumptions, call, config, *loaded);
  MutexLock lock(kernels_mutex_);
  // There is one library per device, config and code, for all keys that selected it. If it exists, the one just loaded
  // is unloaded.
  KernelId id{ResidentKey::DeviceAndRole(key.words[0]),
              config.Canonical(),
              loaded->variant,
              loaded->code,
              loaded->shared_memory_bytes,
              verified != nullptr ? verified->id() : std::string()};
  std::unique_ptr<ResidentKernel>& resident = kernels_[id];
  if (resident == nullptr) {
    resident = std::make_unique<ResidentKernel>();
    resident->config = config;
    resident->target = device.target;
    resident->variant = loaded->variant;
    resident->layout = &*of_variant.layout;
    resident->assumptions = assumptions;
    resident->space = &definition_.space();
    resident->api = &api_;
    resident->function = loaded->function;
    resident->verified_extents = std::move(verified);
    resident->definition = &definition_;
    if (std::size_t maps = resident->layout->map_parameters().size(); maps > 0) {
      resident->remembered_maps = std::make_unique<TensorMapCache>(maps);
      resident->tensor_maps = {&api_, resident->remembered_maps.get()};
    }
    resident->SetUp(geometry);
    resident->loaded = std::move(loaded);
  }
  HitTable::Entry entry{resident.get(), {}, false, false, place == Place::kAndStays};
  if (geometry && resident->CanPrepare(*geometry)) {
    entry.is_prepared = true;
    entry.grid[0] = static_cast<std::uint32_t>(geometry->grid.x);
    entry.grid[1] = static_cast<std::uint32_t>(geometry->grid.y);
    entry.grid[2] = static_cast<std::uint32_t>(geometry->grid.z);
  } else if (resident->is_of_dims) {
    entry.Remember();
  }
  return place == Place::kIfFree ? table_.Insert(key, entry) : table_.Replace(key, entry);
}

void Residency::PublishChoice(const DeviceState& device, const ResidentKey& key, const BoundCall& call,
                              const Config& config, std::shared_ptr<const LoadedKernel> loaded, Place place,
                              Decision decision) {
  std::shared_ptr<const VerifiedExtents> verified;
  const TuningRecord* record = decision.record.get();
  const bool is_reference = record != nullptr && record->baseline && config.IsSame(record->baseline->config);
  if (record != nullptr && !record->is_pinned && !is_reference && place != Place::kAndStays) {
    // Enumerated before, because the selected config is one of them.
    Result<const std::vector<Config>*> configs = ConfigsOn(device);
    if (configs.ok()) verified = VerifiedExtents::Of(definition_, record->verification, call.problem.dims, **configs);
  }
  MutexLock lock(choices_mutex_);
  const HitTable::Entry* entry = Publish(device, key, call, config, std::move(loaded), place, std::move(verified));
  if (entry->is_pinned == (place == Place::kAndStays)) decisions_.Note(key, std::move(decision));
}

void Residency::Drop(const ResidentKey& key) {
  MutexLock lock(choices_mutex_);
  table_.Drop(key);
  decisions_.Forget(key);
}

void Residency::PublishProvisional(const ResidentKey& key, const HitTable::Entry& stand_in) {
  table_.Insert(key, HitTable::Entry{stand_in.kernel, {}, false, true, false});
}

void Residency::DropProvisional(const ResidentKey& key) {
  const HitTable::Entry* entry = table_.Find(key);
  if (entry != nullptr && entry->is_provisional) table_.Drop(key);
}

std::vector<ResidentKey> Residency::Evict(std::size_t max_keys) {
  std::vector<ResidentKey> dropped;
  // Most keys have two entries: the selected config and the fallback config.
  while (table_.size() / 2 > max_keys) {
    std::optional<ResidentKey> oldest = table_.Oldest();
    if (!oldest) break;
    const ResidentKey choice = WithRole(*oldest, ResidentKey::kTuned);
    const HitTable::Entry* entry = table_.Find(choice);
    if (entry != nullptr && entry->is_pinned) {  // Its fallback config stays with it.
      table_.KeepOldest();
      continue;
    }
    dropped.push_back(choice);
    Drop(choice);
    for (std::size_t i = 0; i < ResidentKey::kMostStandIns; ++i) {
      ResidentKey stand_in = WithRole(*oldest, ResidentKey::StandIn(i));
      if (table_.Find(stand_in) == nullptr) break;
      table_.Drop(stand_in);
    }
  }
  table_.ReleaseOutgrown();
  return dropped;
}

void Residency::ReleaseRetired() {
  MutexLock lock(kernels_mutex_);
  table_.ReleaseRetired();
  std::vector<const ResidentKernel*> in_use = table_.Kernels();
  std::sort(in_use.begin(), in_use.end());
  for (auto it = kernels_.begin(); it != kernels_.end();) {
    bool is_used = std::binary_search(in_use.begin(), in_use.end(), it->second.get());
    it = is_used ? std::next(it) : kernels_.erase(it);
  }
}

std::int64_t Residency::num_loaded_kernels() const {
  MutexLock lock(kernels_mutex_);
  return static_cast<std::int64_t>(kernels_.size());
}

}  // namespace v0
}  // namespace tuneonce
