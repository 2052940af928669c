#ifndef TUNEONCE_PLUGIN_RECORD_STORE_H_
#define TUNEONCE_PLUGIN_RECORD_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/wait_limits.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// How well a stored record fits a key, best first: kExact (same kernel, device and driver), kOtherDriver (another
/// version of the driver), kOtherDevice (another device), kNotFound (no such record). AutotunePolicy::min_match states
/// which of them may be used without a search.
enum class RecordMatch { kExact, kOtherDriver, kOtherDevice, kNotFound };

/// Returns how well a record of the key `stored` fits the key `wanted`.
TUNEONCE_API RecordMatch MatchKeys(const TuningKey& stored, const TuningKey& wanted);

// The keys by which a store can index records.

/// Returns the fingerprint of the whole key, by which records are stored and leased.
TUNEONCE_API Fingerprint FullKey(const TuningKey& key);
/// Returns the fingerprint that records of all devices and drivers share: kernel and key words.
TUNEONCE_API Fingerprint KernelKey(const TuningKey& key);
/// Returns the fingerprint that records of all sources of a kernel share: its name and key words.
TUNEONCE_API Fingerprint ShapeKey(const TuningKey& key);

/// Why no record serves a key directly. A policy may accept a record nevertheless (AutotunePolicy::min_match).
enum class RecordMiss {
  kNone,         ///< A record serves the key.
  kNoRecord,     ///< No record has the key's kernel name and TuningKey::key_words.
  kOtherDriver,  ///< A record exists, but was measured with another driver.
  kOtherDevice,  ///< A record exists, but was measured on another device.
  /// A record with the key's kernel name and TuningKey::key_words exists, but for other sources, configs or another
  /// version of the kernel.
  kOtherSource,
  /// Something exists that cannot be used, and RecordLookup::detail states why: a row that is damaged or has another
  /// format, a config that the kernel does not have, code that is missing, or an error of the store.
  kRefused,
};
inline constexpr int kNumRecordMisses = static_cast<int>(RecordMiss::kRefused) + 1;
/// Returns the name of a value: "no record", "other driver", ...; empty for kNone.
TUNEONCE_API std::string_view RecordMissName(RecordMiss miss);

/// The result of looking up a key in a store.
struct RecordLookup {
  RecordMatch match = RecordMatch::kNotFound;
  std::optional<TuningRecord> record;  ///< The best fitting record. Empty for kNotFound.
  /// Whether the record was shipped with the application (MakeLayeredStore) or the kernel, and is not from the user's
  /// store.
  bool is_shipped = false;
  /// Whether the record was shipped with the kernel (KernelDefinition::ShippedSelections), so that it may be used with
  /// any version of the driver.
  bool serves_any_driver = false;
  /// If `record` is of a search that was cut short: the best complete record of the same device with another driver, or
  /// null.
  std::shared_ptr<const RecordLookup> complete;
  /// For kNotFound, what exists in place of a record: kNoRecord, kOtherSource or kRefused.
  RecordMiss instead = RecordMiss::kNoRecord;
  std::string detail;  ///< For kRefused, the reason.

  /// Returns why the record, or the lack of one, does not serve the key directly.
  TUNEONCE_API RecordMiss Miss() const;
  /// Returns whether the record was pinned for this key on this device (TunedKernel::Pin), with any version of the
  /// driver, so that no search replaces it.
  bool IsPinned() const { return record && match <= RecordMatch::kOtherDriver && record->is_pinned; }
  /// Sets `instead` to `what` and `detail` to `why`, unless `instead` is the same or more specific (a later value).
  TUNEONCE_API void NoteInstead(RecordMiss what, std::string why = "");
  /// Replaces this lookup by `found` if that fits better. Between two that fit equally, a complete record is better
  /// than one of a search that was cut short, which is better than an imported one; otherwise this lookup stays. If
  /// `found` has no record, its reason is noted (NoteInstead).
  TUNEONCE_API void Improve(RecordLookup found);
  /// Returns `complete` if it exists and either fits at least as well as `weakest` or is pinned. Otherwise returns this
  /// lookup.
  TUNEONCE_API const RecordLookup& BestFor(RecordMatch weakest) const;
};

/// The result of checking a store (SqliteStore::Verify, RedisStore::Verify).
struct StoreReport {
  std::int64_t num_records = 0;
  std::int64_t num_artifacts = 0;
  std::int64_t artifact_bytes = 0;
  std::vector<std::string> problems;  ///< One line for each problem found.
  /// Whether no record is damaged or lost. If true, all `problems` concern artifacts, which can be compiled again.
  bool are_records_whole = true;
};

/// The right to tune one key or to compile one artifact, held until the last copy is destroyed. Any thread may hold or
/// release it.
using TuningLease = std::shared_ptr<void>;

/// Keeps tuning records by their TuningKey, and artifacts (the compiled code that records name) by their
/// Toolchain::ArtifactKey. A host's own store that has no place for code can pass the calls for artifacts to a store
/// from MakeMemoryStore. Thread rule: any thread may call all functions.
class TUNEONCE_API RecordStore {
 public:
  RecordStore();
  virtual ~RecordStore();

  /// Returns the best fitting record: one of the same device and driver, else of the same device, else of any device
  /// (RecordLookup::Improve). A record that is damaged counts as missing, which RecordLookup::instead states. Errors:
  /// the store cannot be read.
  virtual Result<RecordLookup> Lookup(const TuningKey& key) const = 0;
  /// Adds a record and replaces one with exactly the same key. OK means that every later Lookup finds the record. For a
  /// store outside of this process's memory that includes other processes, also after this process is killed. If it
  /// fails, this record is not kept and the others stay.
  virtual Status Put(const TuningRecord& record) = 0;
  /// Returns all records, in the order in which they were put. Errors: the store cannot be read.
  virtual Result<std::vector<TuningRecord>> List() const = 0;
  /// Removes the record with exactly this key, if it exists. Errors: the store cannot be written.
  virtual Status Remove(const TuningKey& key) = 0;

  /// Waits until no other process that shares this store tunes `key`, and blocks others while the lease lives. Call
  /// Lookup again after it. Null: the store is not shared. Errors: DeadlineExceeded if another process still tunes the
  /// key after `limits.timeout` (0: check once); Cancelled; Unavailable, soon, if the store cannot lock out others.
  virtual Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) = 0;

  /// Returns the artifact for `key`, or nothing if the store does not have it. An artifact that is damaged counts as
  /// missing and is removed. Errors: the store cannot be read.
  virtual Result<std::optional<Artifact>> GetArtifact(const Fingerprint& key) const = 0;
  /// Adds an artifact, replaces one with the same key, and removes the least recently used ones when the store is full.
  /// The others stay if it fails. Errors: ResourceExhausted if the artifact is larger than the store's limit; the store
  /// cannot be written.
  virtual Status PutArtifact(const Fingerprint& key, const Artifact& artifact) = 0;
  /// Waits until no other thread, and no other process that shares this store, compiles the artifact, and blocks them
  /// while the lease lives. Call GetArtifact again after it, because the previous holder may have put the artifact.
  /// Null: nothing is locked. Errors: as Lease.
  virtual Result<TuningLease> LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) = 0;

  /// Returns true the first time that it is called with this text, so that a warning about a failing store is logged
  /// once and not for each key of each kernel. It remembers 100 texts, and returns true each time for further ones.
  bool IsNews(const std::string& warning) const;

 private:
  struct Warnings;
  const std::unique_ptr<Warnings> warnings_;
};

/// Forwards all calls to another store. A host's own store derives from it and overrides what it changes: it counts,
/// filters or refuses calls. Thread rule: as the other store.
class ForwardingStore : public RecordStore {
 public:
  /// REQUIRES: `store` is not null.
  explicit ForwardingStore(std::shared_ptr<RecordStore> store) : store_(std::move(store)) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const override { return store_->Lookup(key); }
  Status Put(const TuningRecord& record) override { return store_->Put(record); }
  Result<std::vector<TuningRecord>> List() const override { return store_->List(); }
  Status Remove(const TuningKey& key) override { return store_->Remove(key); }
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override {
    return store_->Lease(key, limits);
  }
  Result<std::optional<Artifact>> GetArtifact(const Fingerprint& key) const override {
    return store_->GetArtifact(key);
  }
  Status PutArtifact(const Fingerprint& key, const Artifact& artifact) override {
    return store_->PutArtifact(key, artifact);
  }
  Result<TuningLease> LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) override {
    return store_->LeaseArtifact(key, limits);
  }

 protected:
  const std::shared_ptr<RecordStore> store_;
};

/// Makes a store that layers the user's store over stores that an application ships. A lookup returns the best match of
/// all layers, and that of the upper layer if several fit equally (RecordLookup::Improve). An artifact is that of the
/// uppermost layer that has it. Writes go to the user's store, in memory if `user` is null. `shipped` is in order, the
/// uppermost first; a null is left out.
TUNEONCE_API std::shared_ptr<RecordStore> MakeLayeredStore(std::shared_ptr<RecordStore> user,
                                                           std::vector<std::shared_ptr<RecordStore>> shipped);

/// Options of MakeFleetStore: how a machine uses its fleet's store.
struct FleetUse {
  /// Whether records and code that are tuned here are written to the fleet's store, and records that are removed here
  /// are removed there. Default true. Use false for a machine that only reads.
  bool writes = true;
  /// Called on the thread that uses the store, when one of the two stores failed and the other one did the work. The
  /// same text is reported once. Null (default): not reported.
  std::function<void(const std::string& words)> on_error;
};

/// Makes a store that combines a machine's store with its fleet's (RedisStore). A key with a complete record in the
/// machine's store is served without asking the fleet. Records and code from the fleet are copied to the machine. A put
/// writes to the machine's store and then to the fleet's, with the code of the selected config and the baseline. What
/// the fleet's store did not accept is written again by later calls of this process, unless it has a pin or a better
/// record by then. A key is leased from both, so that one host tunes it. If either store fails, the other one serves.
/// `machine` is usually a layered store (MakeLayeredStore), so that records that an application ships precede the
/// fleet's.
TUNEONCE_API std::shared_ptr<RecordStore> MakeFleetStore(std::shared_ptr<RecordStore> machine,
                                                         std::shared_ptr<RecordStore> fleet, FleetUse use = {});

/// Makes a store in this process's memory, whose contents are lost with its last owner. It keeps all records, and at
/// most `max_artifact_bytes` bytes of artifacts. The default of 256 MiB holds thousands of cubins.
TUNEONCE_API std::shared_ptr<RecordStore> MakeMemoryStore(std::int64_t max_artifact_bytes = std::int64_t{256} << 20);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PLUGIN_RECORD_STORE_H_
