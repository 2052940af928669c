#ifndef TUNEONCE_RECORD_STORE_H_
#define TUNEONCE_RECORD_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/artifact_cache.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// How well a stored record fits a key. Policy says which of these may be used.
enum class RecordMatch { kExact, kOtherDriver, kOtherDevice, kNotFound };

/// How a record of `stored` fits `wanted`.
TUNEONCE_API RecordMatch MatchKeys(const TuningKey& stored, const TuningKey& wanted);

/// Why no record serves a key as it is. Policy may let one serve all the same (AutotunePolicy::weakest_match,
/// accept_incomplete).
enum class RecordMiss {
  kNone,         ///< One does.
  kNoRecord,     ///< There is none of a kernel of this name with these key words.
  kOtherDriver,  ///< There is one that was measured with another driver.
  kOtherDevice,  ///< There is one that was measured on another device.
  kOtherSource,  ///< There is one of a kernel of this name with other sources, configs or version.
  kIncomplete,   ///< There is one of a search that was cut short.
  kRefused,      ///< There is something that cannot be used, in words: a row that is damaged or of another format, a
                 ///< config that is none of the kernel's, code that is not there, an error of the store.
};
inline constexpr int kNumRecordMisses = static_cast<int>(RecordMiss::kRefused) + 1;
/// "no record", "other driver", ...; empty for kNone.
TUNEONCE_API std::string_view RecordMissName(RecordMiss miss);

struct RecordLookup {
  RecordMatch match = RecordMatch::kNotFound;
  std::optional<TuningRecord> record;  ///< The best fit; empty for kNotFound.
  bool is_shipped = false;             ///< It lies in a store under the user's (MakeLayeredStore).
  bool serves_any_driver = false;      ///< It came along with the kernel (KernelDefinition::ShippedDecisions).
  /// Where `record` is of a search that was cut short: the best complete record of another driver of the same device;
  /// null if there is none.
  std::shared_ptr<const RecordLookup> complete;
  /// Of kNotFound: what there is instead, kNoRecord, kOtherSource or kRefused.
  RecordMiss instead = RecordMiss::kNoRecord;
  std::string detail;  ///< Of kRefused: why.

  /// Why the record, or the lack of one, does not serve as it is.
  TUNEONCE_API RecordMiss Miss() const;
  /// A person chose the record, for this key on this device: no search replaces it.
  bool IsPinned() const { return record && match <= RecordMatch::kOtherDriver && record->is_pinned; }
  /// Notes what there is instead of a record, unless what is noted says more.
  TUNEONCE_API void NoteInstead(RecordMiss what, std::string why = "");
  /// Takes `found`, if that fits better than what is here. Of two that fit alike a complete record goes before one of a
  /// search that was cut short, and both before one that was imported; else the one that is here stays. Of what there
  /// is instead it takes what says most.
  TUNEONCE_API void Improve(RecordLookup found);
  /// This lookup, or `complete` where a policy that accepts matches up to `weakest` may use that.
  TUNEONCE_API const RecordLookup& BestFor(RecordMatch weakest) const;
};

/// What a store's Verify found.
struct StoreReport {
  std::int64_t num_records = 0;
  std::int64_t num_artifacts = 0;
  std::int64_t artifact_bytes = 0;
  std::vector<std::string> problems;  ///< One line each; empty if all is well.
  /// True if no record is damaged or lost: all `problems`, if there are any, concern artifacts, which can be compiled
  /// again.
  bool are_records_whole = true;
};

/// The right to tune one key, until it is destroyed. May be held and released on different threads.
using TuningLease = std::shared_ptr<void>;

/// Remembers tuning records. Thread rule: any thread.
class TUNEONCE_API RecordStore {
 public:
  RecordStore();
  virtual ~RecordStore();

  /// The best fitting record: of the same device and driver, else device, else any device (RecordLookup::Improve). What
  /// cannot be read back whole counts as missing (RecordLookup::instead says so). Errors: the store cannot be read.
  virtual Result<RecordLookup> Lookup(const TuningKey& key) const = 0;
  /// Adds a record, in place of one with exactly the same key. OK means that the record is there for every later
  /// Lookup, also of other processes, and after this process is killed. Errors: it is not kept; nothing else is lost.
  virtual Status Put(const TuningRecord& record) = 0;
  /// All records, in the order in which they were put.
  virtual Result<std::vector<TuningRecord>> List() const = 0;
  /// Removes the record with exactly this key, if there is one.
  virtual Status Remove(const TuningKey& key) = 0;

  /// Waits until no other process that shares this store tunes `key`, and keeps others from it while the lease lives.
  /// After it, Lookup again. Null: the store is not shared. Errors: DeadlineExceeded, if another process still tunes it
  /// after `limits.timeout_ms` (0: asked once); Cancelled; Unavailable, soon, if nobody can be kept out: no lock to be
  /// had.
  virtual Result<TuningLease> Lease(const TuningKey& /*key*/, const WaitLimits& /*limits*/) { return TuningLease(); }
  /// Where the store keeps artifacts; null if it does not.
  virtual ArtifactCache* artifacts() { return nullptr; }

  /// True the first time that these words are asked about: who warns of a failing store says it once, not for each key
  /// of each kernel.
  bool IsNews(const std::string& warning) const;

 private:
  struct Said;
  const std::unique_ptr<Said> said_;
};

/// The user's store over stores that an application ships: what is looked up is the best match of all, the upper
/// store's among equals (RecordLookup::Improve); what is written goes to the user's. The code of all layers serves;
/// where the user's store keeps none, what is compiled is kept in memory. `shipped`: the first lies over the others.
TUNEONCE_API std::shared_ptr<RecordStore> MakeLayeredStore(std::shared_ptr<RecordStore> user,
                                                           std::vector<std::shared_ptr<RecordStore>> shipped);

/// What a machine does with its fleet's store.
struct FleetUse {
  /// What is tuned here goes there, with its code, and what is removed here is removed there. Default true; false for a
  /// machine that only takes.
  bool writes = true;
  /// Told, on the calling thread, that the fleet's store, or the machine's own, did not do its part; the other did. The
  /// same words once. Null (default): nobody.
  std::function<void(const std::string& words)> on_error;
};

/// A machine's store over its fleet's (RedisStore). What the machine has a complete record of is served without asking
/// the fleet; what the fleet has, code included, is copied to the machine. What is put goes to the machine's, then to
/// the fleet's, with the code of the choice and the baseline; what the fleet did not take is offered again by later
/// calls of this process. A key is leased from both, so that one host tunes it. Either may fail: the other serves.
/// `machine`: as a rule of MakeLayeredStore, so that what an application ships goes before the fleet's.
TUNEONCE_API std::shared_ptr<RecordStore> MakeFleetStore(std::shared_ptr<RecordStore> machine,
                                                         std::shared_ptr<RecordStore> fleet, FleetUse use = {});

/// Records in memory, gone with the last of its owners.
TUNEONCE_API std::shared_ptr<RecordStore> MakeMemoryStore();

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_RECORD_STORE_H_
