// tuneonce records merge A B -o C, and pack: new stores made from stores, which are only read.
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/short_list.h"
#include "console/output.h"
#include "records/output_check.h"
#include "records/records_store.h"
#include "report/config_json.h"
#include "store/default_store.h"
#include "store/kernel_fingerprint.h"
#include "store/record_preference.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

/// The mode of a store's file, which only its owner may write.
constexpr mode_t kPrivate = 0600;
constexpr mode_t kReadOnly = 0444;

Status WriteStore(const SqliteStore& store, const std::string& output, mode_t mode) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string bytes, store.Bytes());
  TUNEONCE_RETURN_IF_ERROR(WriteOutput(output, bytes));
  struct stat info {};
  bool is_file = stat(output.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  if (!is_file || chmod(output.c_str(), mode) == 0) return Status();
  return UnavailableError("cannot set the mode of " + output + ": " + std::strerror(errno));
}

/// Returns the problems of the stores as an error, or skips and prints them. With `needs_code` damaged code is an
/// error, otherwise a note.
Status CheckProblems(const std::vector<WholeStore>& stores, bool needs_code, bool skip_damaged,
                     std::vector<std::string>* skipped) {
  for (const WholeStore& each : stores) {
    for (const std::string& problem : needs_code ? each.problems : RecordProblems(each)) {
      skipped->push_back(each.path + ": " + problem);
    }
  }
  if (skipped->empty() || skip_damaged) return Status();
  return FailedPreconditionError(absl::StrCat(skipped->size(), " rows cannot be read, the first in ", skipped->front(),
                                              "; nothing was written: add --skip-damaged to skip them"));
}

/// A key of several stores, and which record it keeps.
struct Decided {
  std::size_t taken_from;
  std::size_t left_from;
  TuningRecord taken;
  TuningRecord left;
  const char* why;
};

/// A record, and the number of the store that it is from.
struct Held {
  TuningRecord record;
  std::size_t from;
};

struct Merged {
  std::vector<Held> records;
  std::vector<Decided> decided;
};

/// Keeps one record of each name, in the position of the first.
std::vector<Held> KeepOneOfEach(std::vector<Held> records, std::string (*name)(const TuningRecord&), PreferRecord by,
                                std::vector<Decided>* decided) {
  std::vector<Held> kept;
  std::map<std::string, std::size_t> places;
  for (Held& held : records) {
    auto [it, is_new] = places.emplace(name(held.record), kept.size());
    if (is_new) {
      kept.push_back(std::move(held));
      continue;
    }
    Held& there = kept[it->second];
    if (EncodeRecord(there.record) == EncodeRecord(held.record)) continue;
    RecordPreference preference = PreferOf(there.record, held.record, by);
    if (preference.takes_second) std::swap(there, held);
    decided->push_back({there.from, held.from, there.record, held.record, preference.why});
  }
  return kept;
}

std::string KeyOf(const TuningRecord& record) { return FullKey(record.key).ToString(); }
std::string KeyAndShapeOf(const TuningRecord& record) { return absl::StrCat(KeyOf(record), " ", record.tuned_at); }

/// Merges records. Records of one shape are compared before those of several shapes, whose times cannot be compared, so
/// that the order of the stores does not matter.
Merged Merge(const std::vector<WholeStore>& stores, PreferRecord by) {
  std::vector<Held> all;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    for (const TuningRecord& record : stores[i].records) all.push_back({record, i});
  }
  Merged merged;
  merged.records = KeepOneOfEach(std::move(all), KeyAndShapeOf, by, &merged.decided);
  merged.records = KeepOneOfEach(std::move(merged.records), KeyOf, by, &merged.decided);
  return merged;
}

/// Copies the code under `key`; with `anew` even if it exists. Returns false if no store has it undamaged.
Result<bool> CopyCode(const std::vector<WholeStore>& stores, const Fingerprint& key, RecordStore& into, bool anew) {
  if (key == Fingerprint()) return false;
  if (!anew) {
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<Artifact> there, into.GetArtifact(key));
    if (there) return true;
  }
  for (const WholeStore& each : stores) {
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<Artifact> artifact, ReadCode(*each.store, key));
    if (!artifact) continue;
    TUNEONCE_RETURN_IF_ERROR(into.PutArtifact(key, *artifact));
    return true;
  }
  return false;
}

/// Puts the records into a store, with the code of their selections and baselines.
Status Fill(const std::vector<WholeStore>& stores, const std::vector<TuningRecord>& records, RecordStore& into,
            bool anew, int* without_code) {
  for (const TuningRecord& record : records) {
    TUNEONCE_ASSIGN_OR_RETURN(bool has_code, CopyCode(stores, record.best.artifact, into, anew));
    if (!has_code) ++*without_code;
    if (record.baseline) TUNEONCE_RETURN_IF_ERROR(CopyCode(stores, record.baseline->artifact, into, anew).status());
    TUNEONCE_RETURN_IF_ERROR(into.Put(record));
  }
  return Status();
}

PreferRecord PreferenceNamed(const std::string& by) {
  if (by == "newest") return PreferRecord::kNewest;
  return by == "best" ? PreferRecord::kBest : PreferRecord::kMostCertain;
}

Json DecidedJson(const Decided& each, const std::vector<WholeStore>& stores) {
  auto side = [&](const TuningRecord& record, std::size_t from) {
    return Json{{"store", stores[from].path},
                {"config", ConfigJson(record.best.config)},
                {"tuned_at", record.tuned_at},
                {"mean_us", MeanJson(record.best.measurement)},
                {"unix_seconds", record.unix_seconds}};
  };
  const TuningKey& key = each.taken.key;
  return {{"kernel", key.kernel},
          {"key", key.key_text},
          {"device", key.device_name},
          {"driver_version", key.driver_version},
          {"why", each.why},
          {"taken", side(each.taken, each.taken_from)},
          {"left", side(each.left, each.left_from)}};
}

void Print(const Merged& merged, const std::vector<WholeStore>& stores, const RecordsArguments& arguments) {
  for (const Decided& each : merged.decided) {
    PrintLine("%s: %s of %s, %s, rather than %s of %s", KeyLine(each.taken.key).c_str(), Brief(each.taken).c_str(),
              stores[each.taken_from].path.c_str(), each.why, Brief(each.left).c_str(),
              stores[each.left_from].path.c_str());
  }
  PrintLine("%zu records of %zu stores written to %s", merged.records.size(), stores.size(), arguments.output.c_str());
}

void PrintRest(int without_code, const std::vector<std::string>& skipped) {
  if (without_code > 0) PrintLine("%d of these records have no code: launches of them need a compiler", without_code);
  for (const std::string& line : skipped) PrintLine("skipped: %s", line.c_str());
}

}  // namespace

namespace {

/// Copies the candidates' code too, so that it is not compiled again.
Status CopyAllCode(const std::vector<WholeStore>& stores, RecordStore& into) {
  for (const WholeStore& each : stores) {
    Result<std::vector<Fingerprint>> keys = each.store->ArtifactKeys();
    // The list of a damaged file's artifacts is lost; the code that records name was copied by its keys.
    if (keys.status().code() == StatusCode::kInternal) continue;
    TUNEONCE_RETURN_IF_ERROR(keys.status());
    for (const Fingerprint& key : *keys) TUNEONCE_RETURN_IF_ERROR(CopyCode(stores, key, into, /*anew=*/false).status());
  }
  return Status();
}

/// Writes the merged records to a new file, or to a fleet's store, which keeps its other records and receives only the
/// code that is used.
Status WriteMerged(const std::vector<WholeStore>& stores, const std::vector<TuningRecord>& records,
                   const std::string& output, int* without_code) {
  if (IsFleetAddress(output)) {
    TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<AnyStore> fleet, OpenStore(output, /*for_reading=*/false));
    return Fill(stores, records, *fleet, /*anew=*/true, without_code);  // Signed by the present key.
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> made, SqliteStore::InMemory());
  TUNEONCE_RETURN_IF_ERROR(Fill(stores, records, *made, /*anew=*/false, without_code));
  TUNEONCE_RETURN_IF_ERROR(CopyAllCode(stores, *made));
  return WriteStore(*made, output, kPrivate);
}

}  // namespace

Status MergeRecords(const RecordsArguments& arguments) {
  if (!IsFleetAddress(arguments.output)) {
    if (arguments.stores.size() < 2) return InvalidArgumentError("merge needs at least two stores");
    TUNEONCE_RETURN_IF_ERROR(CheckStoreOutput(arguments.output, arguments.stores, /*kernel=*/""));
  }
  std::vector<WholeStore> stores;
  for (const std::string& path : arguments.stores) {
    TUNEONCE_ASSIGN_OR_RETURN(WholeStore whole, ReadWhole(path));
    stores.push_back(std::move(whole));
  }
  std::vector<std::string> skipped;
  TUNEONCE_RETURN_IF_ERROR(CheckProblems(stores, /*needs_code=*/false, arguments.skip_damaged, &skipped));
  const Merged merged = Merge(stores, PreferenceNamed(arguments.by));
  std::vector<TuningRecord> records;
  for (const Held& held : merged.records) records.push_back(held.record);
  int without_code = 0;
  TUNEONCE_RETURN_IF_ERROR(WriteMerged(stores, records, arguments.output, &without_code));
  if (!arguments.json) {
    Print(merged, stores, arguments);
    PrintRest(without_code, skipped);
    return Status();
  }
  Json decided = Json::array();
  for (const Decided& each : merged.decided) decided.push_back(DecidedJson(each, stores));
  PrintJson({{"output", arguments.output},
             {"by", arguments.by},
             {"records", merged.records.size()},
             {"without_code", without_code},
             {"decided", std::move(decided)},
             {"left_out", skipped}});
  return Status();
}

Status WriteSelected(const WholeStore& from, const std::vector<TuningRecord>& records, const std::string& output,
                     int* without_code, std::size_t* num_code) {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> made, SqliteStore::InMemory());
  TUNEONCE_RETURN_IF_ERROR(Fill({from}, records, *made, /*anew=*/false, without_code));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Fingerprint> code, made->ArtifactKeys());
  *num_code = code.size();
  return WriteStore(*made, output, kReadOnly);
}

Status PackStore(const RecordsArguments& arguments) {
  TUNEONCE_RETURN_IF_ERROR(CheckStoreOutput(arguments.output, {arguments.store}, /*kernel=*/""));
  std::vector<WholeStore> stores(1);
  TUNEONCE_ASSIGN_OR_RETURN(stores[0], ReadWhole(arguments.store));
  stores[0].path = stores[0].store->path();
  std::vector<std::string> skipped;
  TUNEONCE_RETURN_IF_ERROR(
      CheckProblems(stores, /*needs_code=*/!arguments.skip_damaged, arguments.skip_damaged, &skipped));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> of_kernel, Records(*stores[0].store, arguments.kernel));
  std::vector<TuningRecord> records;
  std::set<std::string> devices;
  for (TuningRecord& record : of_kernel) {
    devices.insert(record.key.device_name);
    if (arguments.device.empty() || record.key.device_name == arguments.device) records.push_back(std::move(record));
  }
  if (records.empty()) {
    std::string why = devices.empty()
                          ? "the store is empty"
                          : "its devices are: " + ShortList({devices.begin(), devices.end()}, arguments.device);
    return NotFoundError("there is nothing to pack in '" + stores[0].path + "': " + why);
  }
  int without_code = 0;
  std::size_t num_code = 0;
  TUNEONCE_RETURN_IF_ERROR(WriteSelected(stores[0], records, arguments.output, &without_code, &num_code));
  if (arguments.json) {
    PrintJson({{"store", stores[0].path},
               {"output", arguments.output},
               {"records", records.size()},
               {"code", num_code},
               {"without_code", without_code},
               {"left_out", skipped}});
    return Status();
  }
  PrintLine("%zu records and %zu pieces of code written to %s", records.size(), num_code, arguments.output.c_str());
  PrintRest(without_code, skipped);
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
