// What a TunedKernel does when a key is not resident: store, fallback, search.
#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "runtime/bucket_call.h"
#include "runtime/tuned_kernel_impl.h"
#include "tuneonce/compile/compile_pool.h"

namespace tuneonce {
namespace {

std::int64_t NowUnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<const TunedKernel::Impl::DeviceState*> TunedKernel::Impl::CurrentDevice() {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(api));
  std::lock_guard<std::mutex> lock(devices_mutex_);
  auto& state = devices_[device.index()];
  if (state == nullptr) {
    auto made = std::make_unique<DeviceState>();
    TUNEONCE_ASSIGN_OR_RETURN(made->identity, device.Identity());
    made->target = Target::Of(made->identity);
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> variants, definition->VariantsFor(made->target));
    for (const Variant* variant : variants) {
      TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout, ParameterLayout::Create(*definition, variant->convention));
      made->layouts.emplace(variant, std::move(layout));
    }
    state = std::move(made);
  }
  return state.get();
}

const ResidentKernel* TunedKernel::Impl::Publish(const DeviceState& device, const ResidentKey& key,
                                                 const Config& config, std::shared_ptr<const LoadedKernel> loaded) {
  auto resident = std::make_unique<ResidentKernel>();
  resident->key = key;
  resident->config = config;
  resident->target = device.target;
  resident->variant = loaded->variant;
  resident->layout = &device.layouts.at(loaded->variant);
  resident->space = &definition->space();
  resident->api = &api;
  resident->function = loaded->kernel.get();
  resident->loaded = std::move(loaded);
  return table.Insert(std::move(resident));
}

Result<std::shared_ptr<const LoadedKernel>> TunedKernel::Impl::CompileAndLoad(const Config& config,
                                                                              const BoundCall& call,
                                                                              const std::string& preferred) {
  TUNEONCE_ASSIGN_OR_RETURN(PlannedConfig planned, PlanConfig(definition, config, call));
  if (planned.alternatives.empty()) return FailedPreconditionError(planned.passed_over.front().reason);
  std::stable_partition(planned.alternatives.begin(), planned.alternatives.end(),
                        [&](const Candidate& candidate) { return candidate.variant->name == preferred; });
  const ToolchainSet& toolchains =
      policy.search.toolchains != nullptr ? *policy.search.toolchains : ToolchainSet::Default();
  CompilePool pool(toolchains, call.problem.target, {CompileJobOf(planned)}, policy.search.compile);
  CompiledJob compiled = *pool.Next();
  Candidate& candidate = planned.alternatives[compiled.alternative];
  TUNEONCE_ASSIGN_OR_RETURN(candidate.artifact, std::move(compiled.artifact));
  return LoadCandidate(api, candidate);
}

Result<Config> TunedKernel::Impl::FallbackConfig(const DeviceState& device, const BoundCall& call) const {
  const SearchSpace& space = definition->space();
  // Also says what is wrong with the space, if anything is.
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, space.Enumerate(device.target, &call.problem.dims));
  if (space.baseline()) return *space.baseline();
  if (space.fallback()) return *space.fallback();
  return configs.front();
}

Status TunedKernel::Impl::LaunchFallback(CUstream stream, BoundCall& call) {
  ResidentKey key;
  TUNEONCE_RETURN_IF_ERROR(KeyOf(call, ResidentKey::kFallback, &key));
  const ResidentKernel* resident = table.Find(key);
  if (resident == nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(api, stream).IsCapturing());
    if (capturing) {
      ++counters.capture_misses;
      return FailedPreconditionError(absl::StrCat(
          "kernel '", definition->name(), "', ", definition->DimsString(call.problem.dims),
          ": the stream is capturing and nothing is loaded for this key: launch it once before the capture"));
    }
    TUNEONCE_ASSIGN_OR_RETURN(const DeviceState* device, CurrentDevice());
    call.problem.target = device->target;
    TUNEONCE_ASSIGN_OR_RETURN(Config config, FallbackConfig(*device, call));
    TUNEONCE_ASSIGN_OR_RETURN(auto loaded, CompileAndLoad(config, call, ""));
    resident = Publish(*device, key, config, std::move(loaded));
  }
  TUNEONCE_RETURN_IF_ERROR(resident->space->CheckGuards(resident->config, call.problem.dims));
  ++counters.fallbacks;
  return resident->Launch(stream, call);
}

Status TunedKernel::Impl::LaunchMiss(CUstream stream, BoundCall& call, const ResidentKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(api, stream).IsCapturing());
  if (capturing) {
    ResidentKey fallback_key;
    TUNEONCE_RETURN_IF_ERROR(KeyOf(call, ResidentKey::kFallback, &fallback_key));
    // Without a loaded fallback, LaunchFallback counts the miss and says so.
    if (table.Find(fallback_key) != nullptr) ++counters.capture_misses;
    return LaunchFallback(stream, call);
  }
  bool waited = false;
  std::vector<std::uint64_t> flight(key.words.begin(), key.words.begin() + static_cast<std::ptrdiff_t>(key.count));
  Status tuned = tune_once_.Run(flight, &waited, [&] {
    // The thread before this one may have landed between our Find and here.
    return table.Find(key) != nullptr ? Status() : Tune(stream, call, key);
  });
  if (waited) ++counters.waits;
  if (!tuned.ok()) return tuned;
  const ResidentKernel* resident = table.Find(key);
  if (!resident->Suits(call)) return LaunchFallback(stream, call);
  return resident->Launch(stream, call);
}

Result<TuningKey> TunedKernel::Impl::StoreKey(const DeviceState& device, const BoundCall& call) const {
  TuningKey key;
  key.kernel = definition->name();
  key.key_words.resize(binder.num_key_words());
  binder.KeyWords(call, key.key_words.data());
  for (std::size_t i = 0; i < key.key_words.size(); ++i) {
    absl::StrAppend(&key.key_text, i == 0 ? "" : ", ",
                    definition->key()[i].ToString(static_cast<std::int64_t>(key.key_words[i])));
  }
  key.device_name = device.identity.name;
  key.capability = device.target.capability();
  key.num_sms = device.identity.num_sms;
  key.driver_version = device.identity.driver_version;
  // Of the whole space, whatever the guards say at these dims.
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, definition->space().Enumerate(device.target));
  TUNEONCE_ASSIGN_OR_RETURN(key.kernel_fingerprint, KernelFingerprint(*definition, configs, call.problem));
  return key;
}

Result<bool> TunedKernel::Impl::ServeFromStore(const DeviceState& device, const TuningKey& store_key,
                                               const BoundCall& call, const ResidentKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(RecordLookup lookup, policy.store->Lookup(store_key));
  if (lookup.match != RecordMatch::kExact) return false;
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, definition->space().Enumerate(device.target));
  auto config = std::find_if(configs.begin(), configs.end(),
                             [&](const Config& c) { return c.ToString() == lookup.record->config; });
  if (config == configs.end()) return false;
  Result<std::shared_ptr<const LoadedKernel>> loaded = CompileAndLoad(*config, call, lookup.record->variant);
  if (!loaded.ok()) return false;  // The search finds out what does work, and says why if nothing does.
  Publish(device, key, *config, *std::move(loaded));
  ++counters.stored_hits;
  return true;
}

Result<TuningResult> TunedKernel::Impl::Search(CUstream stream, const BoundCall& call, Dims* tuned_at) {
  StreamView view(api, stream);
  if (policy.tune_at_bucket_bound && !(BucketCall::BoundOf(*definition, call.problem.dims) == call.problem.dims)) {
    Result<BucketCall> bucket = BucketCall::Create(*definition, call, view);
    if (bucket.ok()) {
      Result<TuningResult> result = exhaustive_search(definition, view, bucket->call(), policy.search);
      *tuned_at = bucket->call().problem.dims;
      // Where the memory for its trials is missing, the shape at hand may still fit.
      if (result.ok() || result.status().sticky()) return result;
    }
  }
  *tuned_at = call.problem.dims;
  return exhaustive_search(definition, view, call, policy.search);
}

Status TunedKernel::Impl::Tune(CUstream stream, const BoundCall& bound, const ResidentKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(const DeviceState* device, CurrentDevice());
  BoundCall call = bound;
  call.problem.target = device->target;
  TUNEONCE_ASSIGN_OR_RETURN(TuningKey store_key, StoreKey(*device, call));
  TUNEONCE_ASSIGN_OR_RETURN(bool served, ServeFromStore(*device, store_key, call, key));
  if (served) return Status();

  ++counters.tunes;
  Dims tuned_at;
  TUNEONCE_ASSIGN_OR_RETURN(TuningResult result, Search(stream, call, &tuned_at));
  Publish(*device, key, result.best.config, result.best.kernel);
  if (result.baseline) {
    ResidentKey fallback_key;
    TUNEONCE_RETURN_IF_ERROR(KeyOf(call, ResidentKey::kFallback, &fallback_key));
    Publish(*device, fallback_key, result.baseline->config, result.baseline->kernel);
  }
  TuningRecord record;
  record.key = std::move(store_key);
  record.config = result.best.config.ToString();
  record.variant = result.best.variant;
  record.measurement = result.best.measurement;
  record.speedup_over_baseline = result.speedup_over_baseline;
  record.tuned_at = definition->DimsString(tuned_at);
  record.unix_seconds = NowUnixSeconds();
  Status stored = policy.store->Put(record);
  if (policy.on_tuned) {
    CallbackScope scope;
    try {
      policy.on_tuned(result);
    } catch (...) {  // An observer must not fail a launch.
    }
  }
  return stored;
}

}  // namespace tuneonce
