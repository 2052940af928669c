// What a TunedKernel does when a key is not resident: store, stand-in, search.
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/environment.h"
#include "compile/compile_cached.h"
#include "compile/compile_pool.h"
#include "runtime/bucket_call.h"
#include "runtime/profiler_range.h"
#include "runtime/recorded_result.h"
#include "runtime/tuned_kernel_impl.h"
#include "runtime/warmup_inputs.h"
#include "search/candidate.h"
#include "search/search_call.h"
#include "search/trial_tensors.h"
#include "store/kernel_fingerprint.h"
#include "tuneonce/artifact_cache.h"
#include "tuneonce/autotune_observer.h"
#include "tuneonce/context.h"
#include "tuneonce/device.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/record_store.h"
#include "tuneonce/toolchain.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
namespace {

std::int64_t NowUnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

TuneOnce::Key FlightOf(const ResidentKey& key) {
  return TuneOnce::Key(key.words.begin(), key.words.begin() + static_cast<std::ptrdiff_t>(key.count));
}

/// Whether a stored record is kept although a new search ended: a person chose it, or it measured as much.
bool MustStay(const TuningRecord& stored, const TuningRecord& found) {
  bool measured_as_much = stored.is_complete || stored.num_not_measured <= found.num_not_measured;
  return stored.is_pinned || (!found.is_complete && measured_as_much);
}

/// How long one wait for another process's lease takes, before this thread looks whether it is to go on.
constexpr int kLeaseSliceMs = 20;

}  // namespace

Status BothFailed(const Status& why, const Status& instead) {
  const Status& first = instead.sticky() && !why.sticky() ? instead : why;
  return Status::FromDriver(first.code(),
                            absl::StrCat(why.message(), "; nor can the baseline run instead: ", instead.message()),
                            first.driver_code(), first.sticky());
}

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
      VariantState of_variant;
      TUNEONCE_ASSIGN_OR_RETURN(of_variant.layout,
                                ParameterLayout::Create(*definition, variant->convention, variant->parameters));
      TUNEONCE_ASSIGN_OR_RETURN(of_variant.assumptions, AssumptionChecks::Create(*definition, *variant));
      made->variants.emplace(variant, std::move(of_variant));
    }
    state = std::move(made);
  }
  return state.get();
}

const HitTable::Entry* TunedKernel::Impl::Publish(const DeviceState& device, const ResidentKey& key,
                                                  const BoundCall& call, const Config& config,
                                                  std::shared_ptr<const LoadedKernel> loaded) {
  // What depends on nothing but the key is computed now, once.
  std::optional<Geometry> geometry;
  const VariantState& of_variant = device.variants.at(loaded->variant);
  if (binder.key_decides_problem() && of_variant.assumptions.Hold(call) &&
      definition->space().CheckGuards(config, call.problem.dims).ok()) {
    Result<Geometry> computed =
        CallUser("the geometry function", [&] { return loaded->variant->geometry(config, call.problem); });
    if (computed.ok() && computed->IsLaunchable()) geometry = *computed;
  }
  std::lock_guard<std::mutex> lock(kernels_mutex_);
  // One library per device, config and code, however many keys chose it: the one just loaded goes if there is one.
  KernelId id{key.words[0], config.Canonical(), loaded->variant, loaded->code, loaded->shared_memory_bytes};
  std::unique_ptr<ResidentKernel>& resident = kernels_[id];
  if (resident == nullptr) {
    resident = std::make_unique<ResidentKernel>();
    resident->config = config;
    resident->target = device.target;
    resident->variant = loaded->variant;
    resident->layout = &*of_variant.layout;
    resident->assumptions = &of_variant.assumptions;
    resident->space = &definition->space();
    resident->api = &api;
    resident->function = loaded->kernel.get();
    if (geometry) {
      resident->setup.emplace(*geometry);
      resident->setup_geometry = geometry;
    }
    resident->loaded = std::move(loaded);
  }
  HitTable::Entry entry{resident.get(), {}, false};
  if (geometry && resident->CanPrepare(*geometry)) {
    entry.is_prepared = true;
    entry.grid[0] = static_cast<std::uint32_t>(geometry->grid.x);
    entry.grid[1] = static_cast<std::uint32_t>(geometry->grid.y);
    entry.grid[2] = static_cast<std::uint32_t>(geometry->grid.z);
  }
  return table.Insert(key, entry);
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
  CompileOptions options = policy.search.compile;
  options.interrupted = policy.search.interrupted;
  CompilePool pool(toolchains, call.problem.target, {CompileJobOf(planned)}, options);
  CompiledJob compiled = *pool.Next();
  Candidate& candidate = planned.alternatives[compiled.alternative];
  TUNEONCE_ASSIGN_OR_RETURN(candidate.artifact, std::move(compiled.artifact));
  return LoadCandidate(api, candidate);
}

Result<Config> TunedKernel::Impl::StandInConfig(const DeviceState& device, const BoundCall& call) const {
  const SearchSpace& space = definition->space();
  // Also says what is wrong with the space, if anything is.
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, space.Enumerate(device.target, &call.problem.dims));
  if (space.baseline()) return *space.baseline();
  if (space.fallback()) return *space.fallback();
  return configs.front();
}

Result<const HitTable::Entry*> TunedKernel::Impl::LoadStandIn(const BoundCall& bound, const ResidentKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(const DeviceState* device, CurrentDevice());
  BoundCall call = bound;
  call.problem.target = device->target;
  TUNEONCE_ASSIGN_OR_RETURN(Config config, StandInConfig(*device, call));
  std::shared_ptr<const LoadedKernel> loaded = LoadStoredStandIn(*device, config, call);
  if (loaded == nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(loaded, CompileAndLoad(config, call, ""));
  }
  return Publish(*device, key, call, config, std::move(loaded));
}

Result<const HitTable::Entry*> TunedKernel::Impl::FindStandIn(const BoundCall& call, ResidentKey* key) {
  // Each was loaded for a call that those before it did not suit, so there are no more than variants.
  for (std::size_t i = 0; i < std::min(definition->variants().size(), ResidentKey::kMostStandIns); ++i) {
    TUNEONCE_RETURN_IF_ERROR(KeyOf(call, ResidentKey::StandIn(i), key));
    const HitTable::Entry* entry = table.Find(*key);
    if (entry == nullptr || entry->kernel->assumptions->Hold(call)) return entry;
  }
  TUNEONCE_RETURN_IF_ERROR(CheckAssumptions(call));
  return InternalError("kernel '" + definition->name() + "': its variant for these arguments cannot be loaded");
}

Status TunedKernel::Impl::LaunchStandIn(CUstream stream, BoundCall& call, bool* missed) {
  ResidentKey key;
  TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* entry, FindStandIn(call, &key));
  if (entry == nullptr && missed != nullptr) {
    *missed = true;
    return Status();
  }
  if (entry == nullptr) {
    TUNEONCE_RETURN_IF_ERROR(CheckContext(api));
    TUNEONCE_RETURN_IF_ERROR(CheckAssumptions(call));
    TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(api, stream).IsCapturing());
    if (capturing) {
      ++counters.capture_misses;
      return FailedPreconditionError(absl::StrCat(
          "kernel '", definition->name(), "', ", definition->DimsString(call.problem.dims),
          ": the stream is capturing and nothing is loaded for this key: launch it once before the capture"));
    }
    TUNEONCE_ASSIGN_OR_RETURN(entry, LoadStandIn(call, key));
  }
  if (!entry->is_prepared) {
    TUNEONCE_RETURN_IF_ERROR(entry->kernel->space->CheckGuards(entry->kernel->config, call.problem.dims));
  }
  stand_ins.Add();
  return entry->Launch(stream, call);
}

Status TunedKernel::Impl::CheckAssumptions(const BoundCall& call) {
  TUNEONCE_ASSIGN_OR_RETURN(const DeviceState* device, CurrentDevice());
  Status first;
  for (const auto& [variant, state] : device->variants) {
    Status suits = state.assumptions.Verify(call);
    if (suits.ok()) return suits;
    if (first.ok()) first = std::move(suits);
  }
  return first;
}

Status TunedKernel::Impl::CheckTunable(CUstream stream, const BoundCall& call) {
  TUNEONCE_RETURN_IF_ERROR(CheckAssumptions(call));
  TUNEONCE_RETURN_IF_ERROR(TrialTensors::CheckSizes(*definition, call));
  TUNEONCE_ASSIGN_OR_RETURN(ContextView current, ContextView::Current(api));
  TUNEONCE_ASSIGN_OR_RETURN(CUcontext owner, StreamView(api, stream).Context());
  if (owner == current.get()) return Status();
  return InvalidArgumentError("the stream belongs to another context than the thread's current one");
}

TuneOutcome TunedKernel::Impl::MakeResident(const TuneRequest& request, const ResidentKey& key, bool* waited) {
  TuneOnce::Key flight = FlightOf(key);
  return tune_once_.Run(flight, waited, policy.search.interrupted, [&] {
    // The thread before this one may have landed between the caller's Find and here, or failed.
    if (table.Find(key) != nullptr) return TuneOutcome();
    if (!request.is_warmup) {
      if (std::optional<TuneOutcome> failed = failed_.Find(flight, FailedTunes::Clock::now())) return *failed;
    }
    TuneOutcome outcome;
    try {
      outcome = Tune(request, key);
    } catch (...) {  // What others wrote was caught where it is called.
      outcome.status = StatusOfException("kernel '" + definition->name() + "': tuning", StatusCode::kInternal);
    }
    if (outcome.status.ok()) {
      failed_.Remove(flight);
    } else {
      NoteFailure(flight, request.call, outcome);
    }
    return outcome;
  });
}

void TunedKernel::Impl::NoteFailure(const TuneOnce::Key& flight, const BoundCall& call, const TuneOutcome& outcome) {
  // A lost context fails everything, and whoever interrupted knows: neither says anything about the key.
  bool is_interrupted =
      outcome.status.code() == StatusCode::kCancelled && IsInterrupted(policy.search.interrupted);
  if (outcome.status.sticky() || is_interrupted) return;
  int attempts = failed_.Add(flight, outcome, FailedTunes::Clock::now());
  if (outcome.is_elsewhere) {
    if (attempts == 1) Warn(KeyText(call) + ": " + outcome.status.message() + "; the baseline runs meanwhile");
    return;
  }
  ++counters.failed_tunes;
  Tell([&](AutotuneObserver& observer) {
    observer.OnTuneFailed(definition->name(), KeyText(call), outcome.status);
  });
}

Status TunedKernel::Impl::LaunchInstead(CUstream stream, BoundCall& call, const TuneOutcome& why) {
  if (why.is_elsewhere) ++counters.busy_elsewhere;
  Status launched = LaunchStandIn(stream, call);
  return launched.ok() ? launched : BothFailed(why.status, launched);
}

Status TunedKernel::Impl::LaunchMiss(CUstream stream, BoundCall& call, const ResidentKey& key) {
  TUNEONCE_RETURN_IF_ERROR(CheckContext(api));
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(api, stream).IsCapturing());
  if (capturing) {
    Tell([&](AutotuneObserver& observer) { observer.OnRefusedMiss(definition->name(), KeyText(call)); });
    ResidentKey stand_in_key;
    // Without a loaded stand-in, LaunchStandIn counts the miss and says so.
    TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* stand_in, FindStandIn(call, &stand_in_key));
    if (stand_in != nullptr) ++counters.capture_misses;
    return LaunchStandIn(stream, call);
  }
  if (sealed.load(std::memory_order_relaxed)) {
    constexpr std::size_t kMostListed = 1000;
    ++counters.sealed_misses;
    std::string text = KeyText(call);
    Tell([&](AutotuneObserver& observer) { observer.OnRefusedMiss(definition->name(), text); });
    {
      std::lock_guard<std::mutex> lock(missed_mutex);
      bool listed = std::find(missed_keys.begin(), missed_keys.end(), text) != missed_keys.end();
      if (!listed && missed_keys.size() < kMostListed) missed_keys.push_back(std::move(text));
    }
    return LaunchStandIn(stream, call);
  }
  TuneOnce::Key flight = FlightOf(key);
  if (std::optional<TuneOutcome> failed = failed_.Find(flight, FailedTunes::Clock::now())) {
    return LaunchInstead(stream, call, *failed);
  }
  if (policy.on_miss == AutotunePolicy::OnMiss::kUseBaseline && tune_once_.IsBusy(flight)) {
    return LaunchStandIn(stream, call);
  }
  // Before the search, whose failure would be remembered: another launch of this key may suit.
  TUNEONCE_RETURN_IF_ERROR(CheckTunable(stream, call));
  bool waited = false;
  TuneOutcome tuned = MakeResident({stream, call, /*is_warmup=*/false, nullptr}, key, &waited);
  if (waited) ++counters.waits;
  if (tuned.status.ok()) {
    const HitTable::Entry* entry = table.Find(key);
    return entry->Suits(call) ? entry->Launch(stream, call) : LaunchStandIn(stream, call);
  }
  // Whoever interrupts wants this call to end.
  if (tuned.status.sticky() || IsInterrupted(policy.search.interrupted)) return tuned.status;
  bool wants_error = policy.on_tune_error == AutotunePolicy::OnTuneError::kReturn;
  bool wants_baseline = tuned.is_elsewhere && policy.on_miss == AutotunePolicy::OnMiss::kUseBaseline;
  if (wants_error && !wants_baseline) return tuned.status;
  return LaunchInstead(stream, call, tuned);
}

std::string TunedKernel::Impl::KeyText(const BoundCall& call) const {
  std::vector<std::uint64_t> words(binder.num_key_words());
  binder.KeyWords(call, words.data());
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", definition->key()[i].ToString(static_cast<std::int64_t>(words[i])));
  }
  return text;
}

void TunedKernel::Impl::Warn(const std::string& line) const {
  Tell([&](AutotuneObserver& observer) { observer.OnWarning("kernel '" + definition->name() + "': " + line); });
}

void TunedKernel::Impl::WarnOfStore(const Status& failed, const char* consequence) const {
  if (policy.store->IsNews(failed.message())) Warn(failed.message() + consequence);
}

Result<TuningKey> TunedKernel::Impl::StoreKey(const DeviceState& device, const BoundCall& call) const {
  TuningKey key;
  key.kernel = definition->name();
  key.key_words.resize(binder.num_key_words());
  binder.KeyWords(call, key.key_words.data());
  key.key_text = KeyText(call);
  key.device_name = device.identity.name;
  key.capability = device.target.capability();
  key.num_sms = device.identity.num_sms;
  key.driver_version = device.identity.driver_version;
  // Of the whole space, whatever the guards say at these dims.
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, definition->space().Enumerate(device.target));
  if (policy.shared_choice.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(key.kernel_fingerprint, KernelFingerprint(*definition, configs, call.problem));
  } else {
    key.kernel = policy.shared_choice;
    key.kernel_fingerprint = SharedChoiceFingerprint(policy.shared_choice, configs);
  }
  return key;
}

std::shared_ptr<const LoadedKernel> TunedKernel::Impl::LoadStored(const Fingerprint& artifact_key,
                                                                  const std::string& variant, const Config& config,
                                                                  const BoundCall& call) {
  ArtifactCache* artifacts = policy.store->artifacts();
  if (artifacts == nullptr || artifact_key == Fingerprint()) return nullptr;
  Result<PlannedConfig> planned = PlanConfig(definition, config, call);
  if (!planned.ok()) return nullptr;
  for (Candidate& candidate : planned->alternatives) {
    if (candidate.variant->name != variant) continue;
    std::optional<Artifact> artifact = FindCurrent(*artifacts, artifact_key);
    if (!artifact) return nullptr;
    candidate.artifact = *std::move(artifact);
    Result<std::shared_ptr<const LoadedKernel>> loaded = LoadCandidate(api, candidate);
    return loaded.ok() ? *std::move(loaded) : nullptr;
  }
  return nullptr;
}

std::shared_ptr<const LoadedKernel> TunedKernel::Impl::LoadStoredStandIn(const DeviceState& device,
                                                                          const Config& config, const BoundCall& call) {
  // Another kernel's code is not this one's; and without artifacts nothing is to be had.
  if (!policy.shared_choice.empty() || policy.store->artifacts() == nullptr) return nullptr;
  Result<TuningKey> store_key = StoreKey(device, call);
  if (!store_key.ok()) return nullptr;
  Result<RecordLookup> lookup = policy.store->Lookup(*store_key);
  // What another driver's search compiled is this kernel's code all the same; what another device's did need not run.
  if (!lookup.ok() || !lookup->record || lookup->match > RecordMatch::kOtherDriver) return nullptr;
  const TuningRecord& record = *lookup->record;
  if (record.baseline && config.IsSame(record.baseline->config)) {
    return LoadStored(record.baseline->artifact, record.baseline->variant, config, call);
  }
  return config.IsSame(record.config) ? LoadStored(record.artifact, record.variant, config, call) : nullptr;
}

bool TunedKernel::Impl::ServeFromStore(const DeviceState& device, const TuningKey& store_key, const BoundCall& call,
                                       const ResidentKey& key, bool accept_incomplete) {
  Result<RecordLookup> lookup = policy.store->Lookup(store_key);
  if (!lookup.ok()) {
    WarnOfStore(lookup.status(), "; tuning goes on without it");
    return false;
  }
  if (lookup->match > policy.weakest_match || !lookup->record) return false;
  if (!lookup->record->is_complete && !lookup->record->is_pinned && !accept_incomplete) return false;
  Result<std::vector<Config>> configs = definition->space().Enumerate(device.target);
  if (!configs.ok()) return false;
  auto config =
      std::find_if(configs->begin(), configs->end(), [&](const Config& c) { return c.IsSame(lookup->record->config); });
  if (config == configs->end()) return false;
  std::shared_ptr<const LoadedKernel> loaded;
  // Another device's code need not run here, and another kernel's code is not this one's.
  if (lookup->match != RecordMatch::kOtherDevice && policy.shared_choice.empty())
    loaded = LoadStored(lookup->record->artifact, lookup->record->variant, *config, call);
  if (loaded == nullptr) {
    Result<std::shared_ptr<const LoadedKernel>> compiled = CompileAndLoad(*config, call, lookup->record->variant);
    if (!compiled.ok()) return false;  // The search finds out what does work, and says why if nothing does.
    loaded = *std::move(compiled);
  }
  Publish(device, key, call, *config, std::move(loaded));
  ++counters.stored_hits;
  Tell([&](AutotuneObserver& observer) {
    observer.OnStoredHit(definition->name(), store_key.key_text, config->ToString());
  });
  return true;
}

Result<SearchOutcome> TunedKernel::Impl::SearchAtBound(const TuneRequest& request, const BoundCall& call,
                                                      const Dims& bound) {
  StreamView view(api, request.stream);
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory memory, TrialMemory::Create(api, policy.search.memory_budget_bytes));
  if (request.fills_of == nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(BucketCall bucket, BucketCall::Create(*definition, call, view, memory));
    return SearchCall(definition, view, bucket.call(), policy.search, memory);
  }
  // Fills that are repeated would be others: offsets that fall, lengths of another shape.
  TUNEONCE_ASSIGN_OR_RETURN(WarmupInputs inputs, WarmupInputs::Create(*definition, bound, *request.fills_of, view));
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory::Charge charge, memory.Count(inputs.bytes()));
  BoundCall at_bound;
  TUNEONCE_RETURN_IF_ERROR(binder.Bind(inputs.arguments().data(), inputs.arguments().size(), &at_bound));
  at_bound.problem.target = call.problem.target;
  return SearchCall(definition, view, at_bound, policy.search, memory);
}

Result<SearchOutcome> TunedKernel::Impl::Search(const TuneRequest& request, const BoundCall& call, MeasuredOn* on) {
  bool is_on_fills = request.fills_of != nullptr;
  on->dims = BucketCall::BoundOf(*definition, call.problem.dims);
  on->inputs = is_on_fills ? TunedInputs::kFill : TunedInputs::kRepeated;
  if (policy.tune_at_bucket_bound && !(on->dims == call.problem.dims)) {
    Result<SearchOutcome> result = SearchAtBound(request, call, on->dims);
    // Where the memory for it or its trials is missing, the shape at hand may still fit.
    bool is_over = result.ok() || result.status().sticky() || result.status().code() == StatusCode::kCancelled;
    if (is_over) return result;
  }
  on->dims = call.problem.dims;
  on->inputs = is_on_fills ? TunedInputs::kFill : TunedInputs::kCaller;
  return SearchCall(definition, StreamView(api, request.stream), call, policy.search);
}

Result<TuningLease> TunedKernel::Impl::LeaseToTune(const TuningKey& key, bool may_wait) const {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(may_wait ? policy.longest_wait_ms : 0);
  CompileLimits limits;
  limits.cancelled = policy.search.cancelled;
  limits.timeout_ms = 0;
  for (;;) {
    Result<TuningLease> lease = policy.store->Lease(key, limits);
    if (lease.ok() || lease.status().code() != StatusCode::kDeadlineExceeded) return lease;
    if (IsInterrupted(policy.search.interrupted)) {
      return CancelledError("interrupted while another process tunes the same key");
    }
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return DeadlineExceededError(
          may_wait ? absl::StrCat("another process tunes this key, and was not done within ", policy.longest_wait_ms,
                                  " ms (AutotunePolicy::longest_wait_ms)")
                   : "another process tunes this key");
    }
    limits.timeout_ms = std::min(kLeaseSliceMs, static_cast<int>(left.count()));
  }
}

void TunedKernel::Impl::Remember(const TuningRecord& record) const {
  Result<RecordLookup> there = policy.store->Lookup(record.key);
  if (there.ok() && there->match == RecordMatch::kExact && MustStay(*there->record, record)) return;
  if (Status stored = policy.store->Put(record); !stored.ok()) {
    WarnOfStore(stored, "; the choice holds for this process only");
  }
}

TuneOutcome TunedKernel::Impl::Tune(const TuneRequest& request, const ResidentKey& key) {
  Result<const DeviceState*> device = CurrentDevice();
  if (!device.ok()) return {device.status()};
  BoundCall call = request.call;
  call.problem.target = (*device)->target;
  Result<TuningKey> store_key = StoreKey(**device, call);
  if (!store_key.ok()) return {store_key.status()};
  if (ServeFromStore(**device, *store_key, call, key, policy.accept_incomplete)) return {};
  // One process tunes; the others find its record when it is done, or take over if it died.
  Result<TuningLease> lease = LeaseToTune(*store_key, request.is_warmup || policy.on_miss == AutotunePolicy::OnMiss::kWait);
  if (StatusCode code = lease.status().code(); code == StatusCode::kDeadlineExceeded || code == StatusCode::kCancelled) {
    return {lease.status(), /*is_elsewhere=*/code == StatusCode::kDeadlineExceeded};
  }
  if (!lease.ok()) {
    WarnOfStore(lease.status(), "; tuning goes on beside others");
  } else if (*lease != nullptr && ServeFromStore(**device, *store_key, call, key, policy.accept_incomplete)) {
    return {};
  }
  return {SearchAndRemember(request, **device, call, key, *std::move(store_key))};
}

Status TunedKernel::Impl::SearchAndRemember(const TuneRequest& request, const DeviceState& device,
                                            const BoundCall& call, const ResidentKey& key, TuningKey store_key) {
  ++counters.tunes;
  ProfilerRange range("tune " + definition->name() + " " + store_key.key_text);
  Tell([&](AutotuneObserver& observer) { observer.OnTuneBegin(definition->name(), store_key.key_text); });
  MeasuredOn measured_on;
  Result<SearchOutcome> searched = Search(request, call, &measured_on);
  if (!searched.ok()) {
    // What a search that was cut short left is better than nothing.
    bool context_lives = !searched.status().sticky() && searched.status().code() != StatusCode::kCancelled;
    if (context_lives && ServeFromStore(device, store_key, call, key, /*accept_incomplete=*/true)) return Status();
    return searched.status();
  }
  const TuningResult& result = searched->result;
  counters.tuning_ns += static_cast<std::int64_t>(result.cost.wall_seconds * 1e9);
  counters.tuning_gpu_ns += static_cast<std::int64_t>(result.cost.gpu_seconds * 1e9);
  Publish(device, key, call, result.best.config, searched->best);
  if (result.baseline) {
    ResidentKey stand_in_key;
    TUNEONCE_RETURN_IF_ERROR(KeyOf(call, ResidentKey::kStandIn, &stand_in_key));
    Publish(device, stand_in_key, call, result.baseline->config, searched->baseline);
  }
  TuningRecord record;
  record.key = std::move(store_key);
  RecordResult(result, &record);
  record.tuned_at = definition->DimsString(measured_on.dims);
  record.inputs = measured_on.inputs;
  record.host = HostName();
  record.unix_seconds = NowUnixSeconds();
  bool all_suit = std::all_of(device.variants.begin(), device.variants.end(), [&](const auto& variant) {
    const AssumptionChecks& assumptions = variant.second.assumptions;
    return binder.key_decides_problem() ? assumptions.HoldApartFromExtents(call) : assumptions.Hold(call);
  });
  if (std::string profiler = Environment::Get().profiler; !profiler.empty() && !policy.store_under_profiler) {
    Warn("tuned under a profiler (" + profiler + "): the choice is used, but not stored");
  } else if (!all_suit) {
    // Another launch of this key may suit the variants that were left out now.
    Warn("tuned without the variants that these arguments do not suit: the choice is used, but not stored");
  } else {
    Remember(record);
  }
  Tell([&](AutotuneObserver& observer) { observer.OnTuned(definition->name(), record.key.key_text, result); });
  return Status();
}

}  // namespace tuneonce
