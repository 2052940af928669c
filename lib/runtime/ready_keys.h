#ifndef TUNEONCE_LIB_RUNTIME_READY_KEYS_H_
#define TUNEONCE_LIB_RUNTIME_READY_KEYS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cuda/driver_api.h"
#include "launch/call_binder.h"
#include "runtime/context_status.h"
#include "runtime/hit_table.h"
#include "runtime/ready_kernel.h"
#include "runtime/selections.h"
#include "search/candidate.h"
#include "search/extent_classes.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

/// The code that is loaded, and what each key runs. Its callers select the configs and decide when they are loaded.
///
/// Code that no key runs any more is retired. It stays loaded, because launches may still use it and graphs may contain
/// it, until ReleaseRetired or the destructor. REQUIRES: the constructor's arguments outlive it. Thread-safe except for
/// ReleaseRetired. KeyOf and Find take no lock.
class ReadyKeys {
 public:
  struct VariantState {
    std::optional<ParameterLayout> layout;  // Always set; ParameterLayout has no default constructor.
    AssumptionChecks assumptions;
  };
  /// The constant state of a device: target, identity, and the variants that run there.
  struct DeviceState {
    DeviceIdentity identity;
    Target target;
    std::map<const Variant*, VariantState> variants;
    /// The checks of the parts of requirements that decide keys, in the order of KernelDefinition::requirement_atoms.
    std::vector<AssumptionChecks> atoms;
    /// The variants in the definition's order and then `atoms`, with their places in a VariantSet. Empty if there is
    /// one variant without atoms.
    std::vector<std::pair<std::size_t, const AssumptionChecks*>> several;

    /// Returns the variants that reject the call's arguments, and the parts of requirements that fail for them, without
    /// those that fail for all calls of its key. Empty if nothing of them accepts the arguments.
    VariantSet LeftOutBy(const BoundCall& call) const;
  };

  /// A call that looks up keys and is not a hit. While it lives, Evict on other threads frees nothing that it may read.
  /// A thread has one at a time.
  class Reader {
   public:
    explicit Reader(const ReadyKeys& ready_keys) : table_(ready_keys.table_) { table_.BeginReading(); }
    ~Reader() { table_.EndReading(); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

   private:
    const HitTable& table_;
  };

  ReadyKeys(const KernelDefinition& definition, const CallBinder& binder, const DriverApi& api);

  /// Sets `key` for the current context's device. It is an output parameter because a Result would copy 400 bytes.
  [[gnu::always_inline]] Status KeyOf(const BoundCall& call, LaunchKey::Role role, LaunchKey* key) const {
    CUdevice device = 0;
    if (Status found = CurrentDeviceOf(&device); !found.ok()) return found;
    KeyWriter writer(key);
    writer.Add(LaunchKey::FirstWord(device, role, binder_.LeadingDType(call)));
    binder_.AddVaryingKeyWords(call, [&writer](std::uint64_t word) { writer.Add(word); });
    writer.Finish();
    return Status();
  }
  /// Changes `key`, which KeyOf made, to the key of calls with the same role that the same variants accept. Returns
  /// whether it changed. A config that was selected for calls that all variants accept is not used for calls that some
  /// reject, even where it could run, because it won against other code or code that is slower than theirs.
  Result<bool> LeaveOut(const BoundCall& call, LaunchKey* key);
  /// Sets `key` to what a launch of `call` would run: the key of all variants if its config is loaded and suits the
  /// call.
  Status SelectionKeyOf(const BoundCall& call, LaunchKey* key);
  /// Returns LaunchKey::DeviceAndRole of the current context's keys.
  Result<std::uint64_t> DeviceWord(LaunchKey::Role role) const;
  /// Returns the entry of `key`, or null.
  [[gnu::always_inline]] const HitTable::Entry* Find(const LaunchKey& key) const { return table_.Find(key); }
  /// Returns the loaded fallback config of the call, which depends on variants' assumptions and configs' guards.
  /// Otherwise returns null and sets `key` to the key for loading it.
  Result<const HitTable::Entry*> FindFallback(BoundCall& call, LaunchKey* key);
  /// Returns whether `fallback`, an entry of the call's key, suits the call and is its baseline, or where it has none
  /// the space's fallback config, if there is any. The launch of a key that came first must not decide what the others
  /// run.
  bool StandsInFor(BoundCall& call, const HitTable::Entry& fallback) const {
    return fallback.Suits(call) && (key_decides_baseline_ || IsFallbackOf(call, *fallback.kernel));
  }
  /// Which launches of a key its selected config may serve.
  struct Served {
    std::shared_ptr<const VerifiedExtents> verified;  ///< ReadyKernel::verified_extents
    std::vector<Config> baselines;                    ///< ReadyKernel::baselines
  };
  /// Returns which launches of the key a config serves that was selected by `record`, which may be null. `call` is one
  /// of them, and has a target.
  Served ServedBy(const DeviceState& device, const LaunchKey& key, const BoundCall& call, const Config& config,
                  const TuningRecord* record);
  /// What happens to the key's current entry.
  enum class Place {
    kIfFree,    ///< The current entry stays, unless it is provisional.
    kInstead,   ///< The current entry is replaced.
    kAndStays,  ///< The current entry is replaced by one that the host pinned, which Evict does not drop.
  };
  /// Loads a candidate's code into the current context, or returns the code that is loaded on the device for another
  /// key. Errors: as LoadCandidate.
  Result<std::shared_ptr<const LoadedKernel>> LoadOnce(const Candidate& candidate);
  /// Publishes `loaded` as the entry of `key`. `call` has the key's dims and a target.
  const HitTable::Entry* Publish(const DeviceState& device, const LaunchKey& key, const BoundCall& call,
                                 const Config& config, std::shared_ptr<const LoadedKernel> loaded,
                                 Place place = Place::kIfFree, Served served = {});
  /// Publishes the selected config of a key with its origin. It serves the launches of ServedBy, or all if it stays.
  void PublishSelection(const DeviceState& device, const LaunchKey& key, const BoundCall& call, const Config& config,
                        std::shared_ptr<const LoadedKernel> loaded, Place place, Selection selection);
  /// Removes the key's entry. The code that it ran is retired.
  void Drop(const LaunchKey& key);

  /// Publishes a pending key, so that its launches find its fallback config.
  void PublishProvisional(const LaunchKey& key, const HitTable::Entry& fallback);
  /// Removes the key if it is provisional.
  void DropProvisional(const LaunchKey& key);
  /// Drops the oldest keys with their fallback configs, except pinned ones, until `max_keys` remain, and returns them.
  /// Their memory is freed by the second call after this one, if no other Reader lives then. REQUIRES: the caller has a
  /// Reader, and no hit that began before the previous call is running.
  std::vector<LaunchKey> Evict(std::size_t max_keys);
  /// Protects the current keys: Evict does not drop them.
  void Keep() { table_.Keep(); }
  /// Unloads retired code. REQUIRES: no other call is running, all launches are done, and no graph with retired code is
  /// used again.
  void ReleaseRetired();

  /// Returns whether the key's selected config is loaded.
  bool HasSelection(const LaunchKey& key) const {
    const HitTable::Entry* entry = table_.Find(key);
    return entry != nullptr && !entry->is_provisional;
  }

  /// Returns whether the key's selected config is loaded and was verified at extents of the call's class.
  bool HasVerifiedSelection(const LaunchKey& key, const BoundCall& call) const {
    const HitTable::Entry* entry = table_.Find(key);
    return entry != nullptr && !entry->is_provisional && entry->kernel->IsVerifiedAt(call.problem.dims);
  }

  /// Returns the state of the current context's device, which lives as long as this object.
  Result<const DeviceState*> CurrentDevice();
  /// Returns the whole space on a device, without checking guards. It is enumerated once and kept.
  Result<const std::vector<Config>*> ConfigsOn(const DeviceState& device);
  /// Returns those of ConfigsOn that may run for the problem (SearchSpace::Fitting), without copying the list where it
  /// has all of them. REQUIRES: this object outlives the result.
  Result<std::shared_ptr<const std::vector<Config>>> FittingOn(const DeviceState& device, const Problem& problem);
  /// Returns the first of ConfigsOn, without enumerating the space.
  Result<Config> FirstOn(const DeviceState& device);
  /// Returns the classes of extents by the configs on a device. It enumerates only if an axis has values with odd
  /// factors.
  Result<ExtentClasses> ExtentClassesOn(const DeviceState& device);
  /// Returns OK if the assumptions of some variant hold. Errors: those of the first variant.
  Status CheckAssumptions(const BoundCall& call);

  /// The origins of the keys' selected configs.
  Selections& selections() { return selections_; }
  const Selections& selections() const { return selections_; }

  std::int64_t num_loaded_kernels() const;
  std::int64_t num_entries() const { return static_cast<std::int64_t>(table_.size()); }

 private:
  /// Returns the device of a hit without asking the driver if there is only one.
  [[gnu::always_inline]] Status CurrentDeviceOf(CUdevice* device) const {
    if (has_one_device_) return Status();
    CUresult result = api_.launch_path().CtxGetDevice(device);
    return result == CUDA_SUCCESS ? Status() : ContextStatus(api_, result, "cuCtxGetDevice");
  }

  /// Identifies a loaded kernel: device and role, config (Canonical), variant, code, the dynamic shared memory that it
  /// was prepared for, and which launches it serves.
  using KernelId = std::tuple<std::uint64_t, std::string, const Variant*, Fingerprint, std::int64_t, std::string>;

  /// Identifies loaded code: device, config (Canonical), variant, code, and the dynamic shared memory that it was
  /// prepared for.
  using CodeId = std::tuple<const DeviceState*, std::string, const Variant*, Fingerprint, std::int64_t>;

  /// Returns whether the kernel has the call's fallback config. Sets the call's target.
  bool IsFallbackOf(BoundCall& call, const ReadyKernel& kernel) const;
  /// What depends on nothing but the key: the geometry of its launches; or nothing, if each computes its own.
  std::optional<Geometry> GeometryOfKey(const AssumptionChecks& assumptions, const BoundCall& call,
                                        const Config& config, const LoadedKernel& loaded) const;

  const KernelDefinition& definition_;
  const CallBinder& binder_;
  const DriverApi& api_;
  const bool key_decides_baseline_;
  const int num_devices_;
  const bool has_one_device_;  // A hit does not ask the driver for its device then.
  /// The known entries of devices_ by index, readable without the lock.
  const std::unique_ptr<std::atomic<const DeviceState*>[]> known_;
  HitTable table_;
  Mutex choices_mutex_;  // A key's entry and its origin change together.
  Selections selections_;
  mutable Mutex kernels_mutex_;
  std::map<KernelId, std::unique_ptr<ReadyKernel>> kernels_
      TUNEONCE_GUARDED_BY(kernels_mutex_);  // Includes retired kernels.
  /// The code that is loaded, which several kernels may share.
  std::map<CodeId, std::weak_ptr<const LoadedKernel>> codes_ TUNEONCE_GUARDED_BY(kernels_mutex_);
  Mutex devices_mutex_;
  std::map<int, std::unique_ptr<const DeviceState>> devices_
      TUNEONCE_GUARDED_BY(devices_mutex_);  // By index. Entries never change.
  // By device. Entries never change.
  std::map<const DeviceState*, std::vector<Config>> configs_ TUNEONCE_GUARDED_BY(devices_mutex_);
  std::map<const DeviceState*, Config> first_configs_ TUNEONCE_GUARDED_BY(devices_mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_READY_KEYS_H_
