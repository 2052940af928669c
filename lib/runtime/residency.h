#ifndef TUNEONCE_LIB_RUNTIME_RESIDENCY_H_
#define TUNEONCE_LIB_RUNTIME_RESIDENCY_H_

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
#include "runtime/decisions.h"
#include "runtime/hit_table.h"
#include "runtime/resident_kernel.h"
#include "search/candidate.h"
#include "tuneonce/device.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// What is loaded, and what each key runs. Which config that is, and when it is loaded, others decide.
///
/// Code that no key runs any more has retired: it stays loaded, since launches may be on their way to it and graphs may
/// hold it, until ReleaseRetired or this object's end.
/// REQUIRES: what it is made of outlives it. Thread-safe but for ReleaseRetired; KeyOf and Find take no lock.
class Residency {
 public:
  struct VariantState {
    std::optional<ParameterLayout> layout;  // Always set: ParameterLayout has no empty form.
    AssumptionChecks assumptions;
  };
  /// What is fixed per device: target, identity, and the variants that run there.
  struct DeviceState {
    DeviceIdentity identity;
    Target target;
    std::map<const Variant*, VariantState> variants;
    /// The same in the definition's order, each with its index; empty if there is one.
    std::vector<std::pair<std::size_t, const AssumptionChecks*>> several;

    /// The variants that the call does not suit, of those that suit some call of its key; none, where none suits.
    VariantSet LeftOutBy(const BoundCall& call) const;
  };

  /// A call that looks up keys and is no hit. While it lives Evict on other threads frees nothing that it may look at.
  /// A thread has one at a time.
  class Reader {
   public:
    explicit Reader(const Residency& residency) : table_(residency.table_) { table_.BeginReading(); }
    ~Reader() { table_.EndReading(); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

   private:
    const HitTable& table_;
  };

  Residency(const KernelDefinition& definition, const CallBinder& binder, const DriverApi& api);

  /// Fills `key` for the current context's device. An out parameter: a key is 400 bytes that a Result would copy.
  [[gnu::always_inline]] Status KeyOf(const BoundCall& call, ResidentKey::Role role, ResidentKey* key) const {
    CUdevice device = 0;
    if (Status found = CurrentDeviceOf(&device); !found.ok()) return found;
    KeyWriter writer(key);
    writer.Add(ResidentKey::FirstWord(device, role, binder_.LeadingDType(call)));
    binder_.AddVaryingKeyWords(call, [&writer](std::uint64_t word) { writer.Add(word); });
    writer.Finish();
    return Status();
  }
  /// Makes `key`, by KeyOf, that of calls which the same variants suit as this one, with the same role. True if that
  /// changed it: what was chosen for calls that all variants suit is not for those that some do not suit, even where it
  /// may run, since its config was the best of other code, or of code that is slower than theirs.
  Result<bool> LeaveOut(const BoundCall& call, ResidentKey* key);
  /// The key of what a launch of `call` would run: that of all variants, if its choice is there and suits.
  Status ChoiceKeyOf(const BoundCall& call, ResidentKey* key);
  /// ResidentKey::DeviceAndRole of such keys.
  Result<std::uint64_t> DeviceWord(ResidentKey::Role role) const;
  /// What `key` runs, or null.
  [[gnu::always_inline]] const HitTable::Entry* Find(const ResidentKey& key) const { return table_.Find(key); }
  /// The loaded stand-in of the call, as variants' assumptions and configs' guards differ; or null, and in `key` what
  /// to load it under.
  Result<const HitTable::Entry*> FindStandIn(BoundCall& call, ResidentKey* key);
  /// True if `stand_in`, one of the call's key, suits the call and is the baseline at its dims, if there is one: which
  /// shape of a bucket came first does not decide what the others run.
  bool StandsInFor(BoundCall& call, const HitTable::Entry& stand_in) const {
    if (!stand_in.Suits(call)) return false;
    if (stand_in.is_prepared || !definition_.space().has_guards()) return true;
    call.problem.target = stand_in.kernel->target;
    const Config* baseline = definition_.space().FittingBaseline(call.problem);
    return baseline == nullptr || stand_in.kernel->config == *baseline;
  }
  /// What becomes of what a key runs already.
  enum class Place {
    kIfFree,    ///< It stays, unless it is provisional.
    kInstead,   ///< It gives way.
    kAndStays,  ///< It gives way, and what is put in its place is the host's: not dropped by Evict.
  };
  /// Makes `loaded` what `key` runs. `call` has the key's dims, and a target.
  const HitTable::Entry* Publish(const DeviceState& device, const ResidentKey& key, const BoundCall& call,
                                 const Config& config, std::shared_ptr<const LoadedKernel> loaded,
                                 Place place = Place::kIfFree,
                                 std::shared_ptr<const VerifiedExtents> verified = nullptr);
  /// The same of a key's choice, with where it is from. What its record says of the extents at which it was verified
  /// holds for its launches.
  void PublishChoice(const DeviceState& device, const ResidentKey& key, const BoundCall& call, const Config& config,
                     std::shared_ptr<const LoadedKernel> loaded, Place place, Decision decision);
  /// The key runs nothing from now on; what it ran retires.
  void Drop(const ResidentKey& key);

  /// Makes a key that waits for its choice known, so that its launches find that its stand-in is to run.
  void PublishProvisional(const ResidentKey& key, const HitTable::Entry& stand_in);
  /// Drops the key, if it is provisional.
  void DropProvisional(const ResidentKey& key);
  /// Drops the keys that have been there longest, each with its stand-ins, until there are `max_keys`; no pinned one.
  /// Returns them. What they were kept in is freed by the next call but one, if no other Reader lives then. REQUIRES:
  /// the caller has a Reader, and no hit has been under way since before the last call.
  std::vector<ResidentKey> Evict(std::size_t max_keys);
  /// Those that are there now are not dropped by Evict.
  void Keep() { table_.Keep(); }
  /// Unloads what has retired. REQUIRES: no other call is under way, what was launched is done, and no graph that holds
  /// retired code is used again.
  void ReleaseRetired();

  /// The key's choice is resident: it is not provisional.
  bool HasChoice(const ResidentKey& key) const {
    const HitTable::Entry* entry = table_.Find(key);
    return entry != nullptr && !entry->is_provisional;
  }

  /// The key's choice is resident, and was verified at extents of the call's class.
  bool HasVerifiedChoice(const ResidentKey& key, const BoundCall& call) const {
    const HitTable::Entry* entry = table_.Find(key);
    return entry != nullptr && !entry->is_provisional && entry->kernel->IsVerifiedAt(call.problem.dims);
  }

  /// Of the current context. It lives as long as this object.
  Result<const DeviceState*> CurrentDevice();
  /// The whole space on a device, whatever the guards say at some dims. Enumerated once, then kept.
  Result<const std::vector<Config>*> ConfigsOn(const DeviceState& device);
  /// OK if some variant's assumptions hold. Errors: those of the first that do not.
  Status CheckAssumptions(const BoundCall& call);

  /// Where the keys' choices are from.
  Decisions& decisions() { return decisions_; }
  const Decisions& decisions() const { return decisions_; }

  std::int64_t num_loaded_kernels() const;
  std::int64_t num_entries() const { return static_cast<std::int64_t>(table_.size()); }

 private:
  /// The device that a hit is for, which it need not ask for where there is one.
  [[gnu::always_inline]] Status CurrentDeviceOf(CUdevice* device) const {
    if (has_one_device_) return Status();
    CUresult result = api_.launch_path().CtxGetDevice(device);
    return result == CUDA_SUCCESS ? Status() : ContextStatus(api_, result, "cuCtxGetDevice");
  }

  /// What tells loaded kernels apart: device and role, config (Canonical), variant, code, the dynamic shared memory it
  /// was prepared for, and the extents that it was verified at.
  using KernelId = std::tuple<std::uint64_t, std::string, const Variant*, Fingerprint, std::int64_t, std::string>;

  /// What depends on nothing but the key: the geometry of its launches; or nothing, if each computes its own.
  std::optional<Geometry> GeometryOfKey(const AssumptionChecks& assumptions, const BoundCall& call,
                                        const Config& config, const LoadedKernel& loaded) const;

  const KernelDefinition& definition_;
  const CallBinder& binder_;
  const DriverApi& api_;
  const int num_devices_;
  const bool has_one_device_;  // Then a hit need not ask which it is for.
  /// Those of devices_, by index, that are known: to be read without the lock.
  const std::unique_ptr<std::atomic<const DeviceState*>[]> known_;
  HitTable table_;
  Mutex choices_mutex_;  // What a key runs, and where that is from, change together.
  Decisions decisions_;
  mutable Mutex kernels_mutex_;
  std::map<KernelId, std::unique_ptr<ResidentKernel>> kernels_
      TUNEONCE_GUARDED_BY(kernels_mutex_);  // Those that retired, too.
  Mutex devices_mutex_;
  std::map<int, std::unique_ptr<const DeviceState>> devices_
      TUNEONCE_GUARDED_BY(devices_mutex_);  // By index; entries never change.
  std::map<const DeviceState*, std::vector<Config>> configs_ TUNEONCE_GUARDED_BY(devices_mutex_);  // The same.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_RESIDENCY_H_
