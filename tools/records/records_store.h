#ifndef TUNEONCE_TOOLS_RECORDS_RECORDS_STORE_H_
#define TUNEONCE_TOOLS_RECORDS_RECORDS_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "records/selections_file.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// A store that a command names: a file, or a fleet's by its address. Thread rule: as the store.
class AnyStore final : public ForwardingStore {
 public:
  /// `Store`: SqliteStore, RedisStore.
  template <typename Store>
  AnyStore(std::string path, const std::shared_ptr<Store>& store)
      : ForwardingStore(store),
        path_(std::move(path)),
        verify_([store] { return store->Verify(); }),
        artifact_keys_([store] { return store->ArtifactKeys(); }) {}

  /// The file's path, or the address without a password.
  const std::string& path() const { return path_; }
  Result<StoreReport> Verify() const { return verify_(); }
  Result<std::vector<Fingerprint>> ArtifactKeys() const { return artifact_keys_(); }

 private:
  const std::string path_;
  const std::function<Result<StoreReport>()> verify_;
  const std::function<Result<std::vector<Fingerprint>>()> artifact_keys_;
};

/// The store in the file `path`, or at that address; empty: the user's. It waits for others longer than a launch would.
Result<std::shared_ptr<AnyStore>> OpenStore(const std::string& path, bool for_reading);

/// The store's records; of `kernel`, unless that is empty. Errors: NotFound, with the kernels that there are.
Result<std::vector<TuningRecord>> Records(const AnyStore& store, const std::string& kernel);

/// All of a store, and what of it cannot be read.
struct WholeStore {
  std::string path;
  std::shared_ptr<AnyStore> store;  ///< Open for reading.
  std::vector<TuningRecord> records;
  std::vector<std::string> problems;  ///< One line each.
  bool are_records_whole = true;      ///< StoreReport's.
};
Result<WholeStore> ReadWhole(const std::string& path);

/// Returns what a command that only needs records cannot read of them, one line each. If only code is damaged, it
/// returns nothing and prints a note.
std::vector<std::string> RecordProblems(const WholeStore& whole);

/// The code under `key`; none where it is damaged. Damage of the file is noted once for each store.
Result<std::optional<Artifact>> ReadCode(const AnyStore& store, const Fingerprint& key);

/// "vector_add  N=4096  NVIDIA H200, driver 13.0".
std::string KeyLine(const TuningKey& key);

/// "{TILE=64} 1.5 us, pinned".
std::string Brief(const TuningRecord& record);

/// "2026-11-22".
std::string DateOf(std::int64_t unix_seconds);

/// The store of `tuneonce tune --store`. `failure` returns an error of writing, which a search would only log.
/// Thread-safe.
class TuneStore final : public ForwardingStore {
 public:
  /// With `serves` false, lookups find nothing, so that all keys are tuned again.
  TuneStore(std::shared_ptr<RecordStore> store, bool serves);
  ~TuneStore() override;

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;

  Status failure() const;

 private:
  const bool serves_;
  struct Failure;
  const std::unique_ptr<Failure> failure_;
};

/// The arguments of `tuneonce records ...`. Each command reads its own.
struct RecordsArguments {
  std::string store;
  std::string kernel;
  std::vector<std::string> files;
  std::string from;       ///< One of TunerNames, for the files. Empty: they are files of records.
  std::string operation;  ///< As ReadTunerTable takes it.
  std::string output;
  std::string device;
  std::string older_than_days;
  std::string selections;
  std::string bundle;
  SelectionMap map;
  bool any_device = false;
  std::string key;
  std::vector<std::string> shape;
  bool replace = false;
  bool with_code = false;
  std::vector<std::string> stores;  ///< For diff and merge.
  std::string by = "best";
  std::string within;  ///< For dispatch: "3%".
  bool skip_damaged = false;
  bool json = false;
};

// The commands that have files of their own.
Status ExportRecords(const RecordsArguments& arguments);
Status ImportRecords(const RecordsArguments& arguments);
Status DiffRecords(const RecordsArguments& arguments);
Status MergeRecords(const RecordsArguments& arguments);
Status PackStore(const RecordsArguments& arguments);
Status DispatchRecords(const RecordsArguments& arguments);

/// Writes records of a store, with the code of their selected configs and baselines, to a new read-only store. Counts
/// the records without code, and the pieces of code.
Status WriteSelected(const WholeStore& from, const std::vector<TuningRecord>& records, const std::string& output,
                     int* without_code, std::size_t* num_code);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_RECORDS_RECORDS_STORE_H_
