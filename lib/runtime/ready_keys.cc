#include "runtime/ready_keys.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "cuda/driver_api.h"
#include "definition/requirement_parts.h"
#include "launch/requirement_check.h"
#include "search/candidate.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

namespace {

/// Returns whether the variant has a requirement that decides keys.
bool DecidesKeys(const Variant* variant) {
  if (variant->requirement.IsAlways()) return false;
  const std::vector<Condition> parts = variant->requirement.Conjuncts();
  return std::any_of(parts.begin(), parts.end(),
                     [](const Condition& part) { return UseOf(part.reads()) == RequirementUse::kOfKey; });
}

}  // namespace

ReadyKeys::ReadyKeys(const KernelDefinition& definition, const CallBinder& binder, const DriverApi& api)
    : definition_(definition),
      binder_(binder),
      api_(api),
      key_decides_baseline_(definition.KeyDecidesBaseline()),
      num_devices_([&] {
        Result<int> count = Device::Count(api);
        return count.ok() ? *count : 0;
      }()),
      has_one_device_(num_devices_ == 1),
      known_(new std::atomic<const DeviceState*>[static_cast<std::size_t>(num_devices_)]()),
      table_(1 + binder.num_varying_key_words()) {}

Result<std::uint64_t> ReadyKeys::DeviceWord(LaunchKey::Role role) const {
  CUdevice device = 0;
  TUNEONCE_RETURN_IF_ERROR(CurrentDeviceOf(&device));
  return LaunchKey::FirstWord(device, role);
}

Result<const ReadyKeys::DeviceState*> ReadyKeys::CurrentDevice() {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(api_));
  MutexLock lock(devices_mutex_);
  auto& state = devices_[device.index()];
  if (state == nullptr) {
    auto made = std::make_unique<DeviceState>();
    TUNEONCE_ASSIGN_OR_RETURN(made->identity, device.Identity());
    made->target = Target::Of(made->identity);
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> variants, definition_.VariantsFor(made->target));
    if (std::any_of(variants.begin(), variants.end(), DecidesKeys)) {
      for (const Condition& atom : definition_.requirement_atoms()) {
        TUNEONCE_ASSIGN_OR_RETURN(AssumptionChecks checks, AssumptionChecks::OfPart(definition_, atom));
        made->atoms.push_back(std::move(checks));
      }
    }
    const Variant* const first = definition_.variants().data();
    for (const Variant* variant : variants) {
      VariantState of_variant;
      TUNEONCE_ASSIGN_OR_RETURN(of_variant.layout,
                                ParameterLayout::Create(definition_, variant->convention, variant->parameters));
      TUNEONCE_ASSIGN_OR_RETURN(of_variant.assumptions,
                                AssumptionChecks::Create(definition_, *variant, *of_variant.layout));
      const VariantState& added = made->variants.emplace(variant, std::move(of_variant)).first->second;
      if (variants.size() > 1 || !made->atoms.empty()) made->several.emplace_back(variant - first, &added.assumptions);
    }
    for (std::size_t i = 0; i < made->atoms.size(); ++i) {
      made->several.emplace_back(definition_.variants().size() + i, &made->atoms[i]);
    }
    state = std::move(made);
    if (device.index() < num_devices_) known_[static_cast<std::size_t>(device.index())] = state.get();
  }
  return state.get();
}

VariantSet ReadyKeys::DeviceState::LeftOutBy(const BoundCall& call) const {
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

Result<bool> ReadyKeys::LeaveOut(const BoundCall& call, LaunchKey* key) {
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

Status ReadyKeys::SelectionKeyOf(const BoundCall& call, LaunchKey* key) {
  TUNEONCE_RETURN_IF_ERROR(KeyOf(call, LaunchKey::kTuned, key));
  const HitTable::Entry* entry = table_.Find(*key);
  return entry != nullptr && entry->IsFor(call) ? Status() : LeaveOut(call, key).status();
}

Result<const std::vector<Config>*> ReadyKeys::ConfigsOn(const DeviceState& device) {
  {
    MutexLock lock(devices_mutex_);
    auto found = configs_.find(&device);
    if (found != configs_.end()) return &found->second;
  }
  // Outside of the lock, because conditions may call user code. An error is not kept, because it may be transient.
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, definition_.space().Enumerate(device.target));
  MutexLock lock(devices_mutex_);
  return &configs_.try_emplace(&device, std::move(configs)).first->second;
}

Result<std::shared_ptr<const std::vector<Config>>> ReadyKeys::FittingOn(const DeviceState& device,
                                                                        const Problem& problem) {
  using Fitting = std::shared_ptr<const std::vector<Config>>;
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<Config>* all, ConfigsOn(device));
  if (!definition_.space().has_guards()) return Fitting(std::shared_ptr<void>(), all);
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> fitting, definition_.space().Fitting(*all, device.target, problem));
  return std::make_shared<const std::vector<Config>>(std::move(fitting));
}

Result<Config> ReadyKeys::FirstOn(const DeviceState& device) {
  {
    MutexLock lock(devices_mutex_);
    if (auto found = configs_.find(&device); found != configs_.end()) return found->second.front();
    if (auto found = first_configs_.find(&device); found != first_configs_.end()) return found->second;
  }
  TUNEONCE_ASSIGN_OR_RETURN(Config first, definition_.space().First(device.target));
  MutexLock lock(devices_mutex_);
  return first_configs_.try_emplace(&device, std::move(first)).first->second;
}

Result<ExtentClasses> ReadyKeys::ExtentClassesOn(const DeviceState& device) {
  ExtentClasses of_all(definition_.space().StructuralNumbers());
  if (!of_all.has_odd_factors()) return of_all;
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<Config>* configs, ConfigsOn(device));
  return ExtentClasses(*configs);
}

Status ReadyKeys::CheckAssumptions(const BoundCall& call) {
  TUNEONCE_ASSIGN_OR_RETURN(const DeviceState* device, CurrentDevice());
  std::vector<const AssumptionChecks*> any;
  for (const auto& [variant, state] : device->variants) any.push_back(&state.assumptions);
  return AssumptionChecks::VerifyAny(any, call);
}

Result<const HitTable::Entry*> ReadyKeys::FindFallback(BoundCall& call, LaunchKey* key) {
  // Each one was loaded for a call that the earlier ones do not suit: by another variant, or with another config of a
  // bucket.
  TUNEONCE_RETURN_IF_ERROR(KeyOf(call, LaunchKey::kFallback, key));
  TUNEONCE_RETURN_IF_ERROR(LeaveOut(call, key).status());
  for (std::size_t i = 0; i < LaunchKey::kMostFallbacks; ++i) {
    if (i > 0) *key = WithRole(*key, LaunchKey::Fallback(i));
    const HitTable::Entry* entry = table_.Find(*key);
    if (entry == nullptr || StandsInFor(call, *entry)) return entry;
  }
  TUNEONCE_RETURN_IF_ERROR(CheckAssumptions(call));
  return InternalError("kernel '" + definition_.name() + "': no loaded variant accepts these arguments");
}

bool ReadyKeys::IsFallbackOf(BoundCall& call, const ReadyKernel& kernel) const {
  call.problem.target = &kernel.target;
  const SearchSpace& space = definition_.space();
  auto accepts = [&](const Config& config) {
    return !definition_.has_config_requirements() || IsAccepted(definition_, config, call, VariantSet());
  };
  if (const Config* baseline = space.FittingBaseline(call.problem, accepts)) return kernel.config == *baseline;
  const Config* fallback = FittingFallback(space, kernel.target, call.problem);
  return fallback == nullptr || !accepts(*fallback) || kernel.config == *fallback;
}

std::optional<Geometry> ReadyKeys::GeometryOfKey(const AssumptionChecks& assumptions, const BoundCall& call,
                                                 const Config& config, const LoadedKernel& loaded) const {
  if (loaded.variant->launcher || !binder_.key_decides_problem() || !assumptions.Hold(call)) return std::nullopt;
  // What reads a scalar that may differ between the key's launches fails here, and is computed at each.
  const Problem decided = definition_.DecidedByKey(call.problem);
  if (!definition_.space().CheckGuards(config, decided).ok()) return std::nullopt;
  if (!CheckRequirementGuards(*loaded.variant, config, decided).ok()) return std::nullopt;
  Result<Geometry> computed =
      CallUser("the geometry function", [&] { return loaded.variant->geometry(config, decided); });
  return computed.ok() && computed->IsLaunchable() ? std::optional<Geometry>(*computed) : std::nullopt;
}

Result<std::shared_ptr<const LoadedKernel>> ReadyKeys::LoadOnce(const Candidate& candidate) {
  if (candidate.is_callable()) return LoadCandidate(api_, candidate);
  TUNEONCE_ASSIGN_OR_RETURN(const DeviceState* device, CurrentDevice());
  const CodeId id{device, candidate.config.Canonical(), candidate.variant, candidate.artifact.code_fingerprint,
                  candidate.geometry.shared_memory_bytes};
  std::shared_ptr<const LoadedKernel> loaded;
  {
    MutexLock lock(kernels_mutex_);
    const auto known = codes_.find(id);
    if (known != codes_.end()) loaded = known->second.lock();
  }
  if (loaded != nullptr) {
    // Into this context too, if another one of the device loaded it: its first launch would wait for running kernels.
    TUNEONCE_RETURN_IF_ERROR(loaded->library->GetKernel(loaded->symbol).status());
    return loaded;
  }
  TUNEONCE_ASSIGN_OR_RETURN(loaded, LoadCandidate(api_, candidate));
  MutexLock lock(kernels_mutex_);
  codes_[id] = loaded;
  return loaded;
}

const HitTable::Entry* ReadyKeys::Publish(const DeviceState& device, const LaunchKey& key, const BoundCall& call,
                                          const Config& config, std::shared_ptr<const LoadedKernel> loaded, Place place,
                                          Served served) {
  const VariantState& of_variant = device.variants.at(loaded->variant);
  const AssumptionChecks assumptions = loaded->assumptions ? *loaded->assumptions : of_variant.assumptions.For(config);
  std::optional<Geometry> geometry = GeometryOfKey(assumptions, call, config, *loaded);
  MutexLock lock(kernels_mutex_);
  // There is one library per device, config and code, for all keys that selected it. If it exists, the one just loaded
  // is unloaded.
  std::string serves = served.verified != nullptr ? served.verified->id() : "";
  for (const Config& each : served.baselines) absl::StrAppend(&serves, "{", each.Canonical(), "}");
  KernelId id{LaunchKey::DeviceAndRole(key.words[0]),
              config.Canonical(),
              loaded->variant,
              loaded->code,
              loaded->shared_memory_bytes,
              std::move(serves)};
  std::unique_ptr<ReadyKernel>& ready = kernels_[id];
  if (ready == nullptr) {
    ready = std::make_unique<ReadyKernel>();
    ready->config = config;
    ready->target = device.target;
    ready->variant = loaded->variant;
    ready->layout = &*of_variant.layout;
    ready->assumptions = assumptions;
    ready->space = &definition_.space();
    ready->api = &api_;
    ready->function = loaded->function;
    ready->verified_extents = std::move(served.verified);
    ready->baselines = std::move(served.baselines);
    ready->definition = &definition_;
    if (std::size_t maps = ready->layout->map_parameters().size(); maps > 0) {
      ready->remembered_maps = std::make_unique<TensorMapCache>(maps);
      ready->tensor_maps = {&api_, ready->remembered_maps.get()};
    }
    ready->SetUp(geometry);
    if (loaded->library) {
      codes_[{&device, config.Canonical(), loaded->variant, loaded->code, loaded->shared_memory_bytes}] = loaded;
    }
    ready->loaded = std::move(loaded);
  }
  HitTable::Entry entry{ready.get(), {}, false, false, place == Place::kAndStays};
  if (geometry && ready->baselines.empty() && ready->CanPrepare(*geometry)) {
    entry.is_prepared = true;
    entry.grid[0] = static_cast<std::uint32_t>(geometry->grid.x);
    entry.grid[1] = static_cast<std::uint32_t>(geometry->grid.y);
    entry.grid[2] = static_cast<std::uint32_t>(geometry->grid.z);
  } else if (ready->is_of_dims) {
    entry.Remember();
  }
  return place == Place::kIfFree ? table_.Insert(key, entry) : table_.Replace(key, entry);
}

ReadyKeys::Served ReadyKeys::ServedBy(const DeviceState& device, const LaunchKey& key, const BoundCall& call,
                                      const Config& config, const TuningRecord* record) {
  Served served;
  if (record == nullptr || record->is_pinned) return served;
  if (record->baseline && config.IsSame(record->baseline->config)) {  // The others were compared with it.
    if (key_decides_baseline_) return served;
    for (const Config& each : definition_.space().BaselinesOn(device.target)) {
      const bool may_run =
          !definition_.has_config_requirements() || IsAcceptedByKey(definition_, each, call, key.left_out());
      if (may_run) served.baselines.push_back(each);
    }
    const bool is_for_all = served.baselines.empty() ||
                            (served.baselines.front() == config && !definition_.space().IsBaselineOfSome(config));
    if (is_for_all) return Served();
    if (std::find(served.baselines.begin(), served.baselines.end(), config) != served.baselines.end()) return served;
    served.baselines.clear();
  }
  if (!VerifiedExtents::MayLimit(record->verification)) return served;
  Result<ExtentClasses> classes = ExtentClassesOn(device);
  if (!classes.ok()) return served;
  served.verified = VerifiedExtents::Of(definition_, record->verification, call.problem.dims, *std::move(classes));
  return served;
}

void ReadyKeys::PublishSelection(const DeviceState& device, const LaunchKey& key, const BoundCall& call,
                                 const Config& config, std::shared_ptr<const LoadedKernel> loaded, Place place,
                                 Selection selection) {
  Served served;
  if (place != Place::kAndStays) served = ServedBy(device, key, call, config, selection.record.get());
  MutexLock lock(choices_mutex_);
  const HitTable::Entry* entry = Publish(device, key, call, config, std::move(loaded), place, std::move(served));
  if (entry->is_pinned == (place == Place::kAndStays)) selections_.Note(key, std::move(selection));
}

void ReadyKeys::Drop(const LaunchKey& key) {
  MutexLock lock(choices_mutex_);
  table_.Drop(key);
  selections_.Forget(key);
}

void ReadyKeys::PublishProvisional(const LaunchKey& key, const HitTable::Entry& fallback) {
  table_.Insert(key, HitTable::Entry{fallback.kernel, {}, false, true, false});
}

void ReadyKeys::DropProvisional(const LaunchKey& key) {
  const HitTable::Entry* entry = table_.Find(key);
  if (entry != nullptr && entry->is_provisional) table_.Drop(key);
}

std::vector<LaunchKey> ReadyKeys::Evict(std::size_t max_keys) {
  std::vector<LaunchKey> dropped;
  while (table_.num_selections() > max_keys) {
    std::optional<LaunchKey> oldest = table_.Oldest();
    if (!oldest) break;
    const LaunchKey selection = WithRole(*oldest, LaunchKey::kTuned);
    const HitTable::Entry* entry = table_.Find(selection);
    if (entry != nullptr && entry->is_pinned) {  // Its fallback config stays with it.
      table_.KeepOldest();
      continue;
    }
    dropped.push_back(selection);
    Drop(selection);
    for (std::size_t i = 0; i < LaunchKey::kMostFallbacks; ++i) {
      LaunchKey fallback = WithRole(*oldest, LaunchKey::Fallback(i));
      if (table_.Find(fallback) == nullptr) break;
      table_.Drop(fallback);
    }
  }
  table_.ReleaseOutgrown();
  return dropped;
}

void ReadyKeys::ReleaseRetired() {
  MutexLock lock(kernels_mutex_);
  table_.ReleaseRetired();
  std::vector<const ReadyKernel*> in_use = table_.Kernels();
  std::sort(in_use.begin(), in_use.end());
  for (auto it = kernels_.begin(); it != kernels_.end();) {
    bool is_used = std::binary_search(in_use.begin(), in_use.end(), it->second.get());
    it = is_used ? std::next(it) : kernels_.erase(it);
  }
  for (auto it = codes_.begin(); it != codes_.end();) it = it->second.expired() ? codes_.erase(it) : std::next(it);
}

std::int64_t ReadyKeys::num_loaded_kernels() const {
  MutexLock lock(kernels_mutex_);
  return static_cast<std::int64_t>(kernels_.size());
}

}  // namespace v0
}  // namespace tuneonce
