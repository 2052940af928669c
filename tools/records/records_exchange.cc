// tuneonce records export|import: records, their code, and others' selections, as files.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "console/output.h"
#include "records/output_check.h"
#include "records/records_store.h"
#include "records/selections_file.h"
#include "records/tuner_tables.h"
#include "report/records_json.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The code of the records' selections and baselines, as far as the store has it; how many records' selections have
/// none.
Result<std::vector<RecordedCode>> CodeOf(const AnyStore& store, const std::vector<TuningRecord>& records,
                                         int* without_code) {
  std::vector<RecordedCode> code;
  std::set<std::string> seen;
  auto add = [&](const Fingerprint& key) -> Result<bool> {
    if (key == Fingerprint()) return false;
    if (seen.count(key.ToString()) > 0) return true;
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<Artifact> artifact, ReadCode(store, key));
    if (!artifact) return false;
    seen.insert(key.ToString());
    code.push_back({key, *std::move(artifact)});
    return true;
  };
  for (const TuningRecord& record : records) {
    TUNEONCE_ASSIGN_OR_RETURN(bool has_code, add(record.best.artifact));
    if (!has_code) ++*without_code;
    if (record.baseline) TUNEONCE_RETURN_IF_ERROR(add(record.baseline->artifact).status());
  }
  return code;
}

/// Refuses records that this machine's device `arguments.device` would not use.
Status CheckDevice(const std::vector<TuningRecord>& records, const RecordsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice(arguments.device));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  for (const TuningRecord& record : records) {
    if (record.key.device_name == identity.name && record.key.num_sms == identity.num_sms) continue;
    return FailedPreconditionError("a record of kernel '" + record.key.kernel + "' is of device '" +
                                   record.key.device_name + "', not of this machine's '" + identity.name +
                                   "': import all devices' records without --device");
  }
  return Status();
}

/// `code` goes first: a record never names code that is still to come.
Status PutAll(const std::vector<TuningRecord>& records, const std::vector<RecordedCode>& code,
              const RecordsArguments& arguments, const char* what) {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<AnyStore> store, OpenStore(arguments.store, /*for_reading=*/false));
  if (arguments.with_code) {
    for (const RecordedCode& each : code) TUNEONCE_RETURN_IF_ERROR(store->PutArtifact(each.key, each.artifact));
  }
  int imported = 0;
  int kept = 0;
  for (const TuningRecord& record : records) {
    TUNEONCE_ASSIGN_OR_RETURN(RecordLookup there, store->Lookup(record.key));
    if (there.match == RecordMatch::kExact && !arguments.replace) {
      ++kept;
      continue;
    }
    TUNEONCE_RETURN_IF_ERROR(store->Put(record));
    ++imported;
  }
  if (arguments.json) {
    PrintJson({{"store", store->path()},
               {"imported", imported},
               {"kept", kept},
               {"code", arguments.with_code ? code.size() : 0},
               {"code_left_out", arguments.with_code ? 0 : code.size()}});
  } else {
    PrintLine("%d %s imported to %s; %d existed already%s", imported, what, store->path().c_str(), kept,
              kept > 0 ? " (replace them with --replace)" : "");
    if (!code.empty() && arguments.with_code) PrintLine("%zu pieces of code were imported with them", code.size());
    if (!code.empty() && !arguments.with_code) {
      PrintLine("%zu pieces of code were not imported, because code is executed: add --with-code if you trust the file",
                code.size());
    }
  }
  return Status();
}

/// Returns a device's name for file names: "NVIDIA_H200" for "NVIDIA H200".
std::string InFileNames(std::string device) {
  std::replace(device.begin(), device.end(), ' ', '_');
  return device;
}

/// Returns the records of one file of selections.
Result<std::vector<TuningRecord>> ReadSelectionsOf(const std::string& path, const SelectionsFile& file,
                                                   const RecordsArguments& arguments,
                                                   std::vector<std::string>* notes) {
  const std::string& name = arguments.bundle.empty() ? file.kernel : arguments.bundle;
  if (name.empty()) return InvalidArgumentError(path + " does not name its kernel: give --bundle NAME");
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(name));
  if (!file.kernel.empty() && file.kernel != bundle.definition().name()) {
    return InvalidArgumentError(path + " is for the kernel '" + file.kernel + "', not for '" +
                                bundle.definition().name() + "'");
  }
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice(arguments.device.empty() ? "cuda" : arguments.device));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  if (!file.device.empty() && InFileNames(file.device) != InFileNames(identity.name) && !arguments.any_device) {
    return FailedPreconditionError(path + " was made for device '" + file.device + "', but this machine has '" +
                                   identity.name + "': use --any-device to import it anyway");
  }
  Result<std::vector<TuningRecord>> of_file = RecordsOf(file, arguments.map, bundle, device, notes);
  const bool says_where = of_file.ok() || of_file.status().message().compare(0, path.size(), path) == 0;
  return says_where ? of_file : of_file.status().WithPrefix(path);
}

/// Refuses options that this kind of import does not use.
Status CheckImportOptions(const RecordsArguments& arguments, bool are_selections) {
  if (are_selections && arguments.with_code) {
    return InvalidArgumentError("--with-code applies to files of records, because selections have no code: remove it");
  }
  if (arguments.from.empty() && !arguments.operation.empty()) {
    return InvalidArgumentError("--operation needs --from");
  }
  if (are_selections) return Status();
  const SelectionMap& map = arguments.map;
  const std::pair<const char*, bool> of_selections[] = {
      {"--bundle", !arguments.bundle.empty()}, {"--axis", !map.axes.empty()},         {"--dim", !map.dims.empty()},
      {"--value", !map.values.empty()},        {"--shape", !map.shape.empty()},       {"--dtype", !map.dtypes.empty()},
      {"--ignore", !map.ignored.empty()},      {"--any-device", arguments.any_device}};
  for (const auto& [option, is_given] : of_selections) {
    if (is_given) return InvalidArgumentError(std::string(option) + " needs --selections or --from");
  }
  return Status();
}

Status ImportSelections(const RecordsArguments& arguments) {
  std::vector<TuningRecord> records;
  std::vector<std::string> paths;  // The file of each record.
  std::vector<std::string> notes;
  const bool is_of_tuner = !arguments.from.empty();
  bool are_tables = false;
  for (const std::string& path : is_of_tuner ? arguments.files : std::vector<std::string>{arguments.selections}) {
    TUNEONCE_ASSIGN_OR_RETURN(SelectionsFile file, is_of_tuner
                                                       ? ReadTunerTable(arguments.from, path, arguments.operation)
                                                       : ReadSelections(path));
    notes.insert(notes.end(), file.notes.begin(), file.notes.end());
    are_tables = !file.nearest.empty();
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> of_file, ReadSelectionsOf(path, file, arguments, &notes));
    for (TuningRecord& record : of_file) {
      auto same = std::find_if(records.begin(), records.end(),
                               [&](const TuningRecord& each) { return each.key.SameKernel(record.key); });
      if (same != records.end()) {
        return InvalidArgumentError(path + ": the same key, " + record.key.key_text + ", is in " +
                                    paths[same - records.begin()] + ": import one of the files");
      }
      records.push_back(std::move(record));
      paths.push_back(path);
    }
  }
  for (const std::string& note : notes) PrintNote(note);
  return PutAll(records, {}, arguments, are_tables ? "tables of selections" : "selections");
}

}  // namespace

Status ExportRecords(const RecordsArguments& arguments) {
  TUNEONCE_RETURN_IF_ERROR(CheckOutput(arguments.output, {arguments.store}));
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<AnyStore> store, OpenStore(arguments.store, /*for_reading=*/true));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, Records(*store, arguments.kernel));
  std::string text = RecordsToJson(records);
  std::vector<RecordedCode> code;
  int without_code = 0;
  if (arguments.with_code) {
    TUNEONCE_ASSIGN_OR_RETURN(code, CodeOf(*store, records, &without_code));
    text = WithCode(text, code);
  }
  TUNEONCE_RETURN_IF_ERROR(WriteOutput(arguments.output, text + "\n"));
  if (arguments.json) {
    PrintJson({{"store", store->path()},
               {"output", arguments.output},
               {"exported", records.size()},
               {"code", code.size()},
               {"without_code", without_code}});
    return Status();
  }
  PrintLine("%zu records written to %s", records.size(), arguments.output.c_str());
  if (!arguments.with_code) return Status();
  PrintLine("%zu pieces of code were written with them", code.size());
  if (without_code > 0) PrintLine("%d records have no code in the store: they need a compiler", without_code);
  return Status();
}

Status ImportRecords(const RecordsArguments& arguments) {
  const bool are_selections = !arguments.selections.empty() || !arguments.from.empty();
  TUNEONCE_RETURN_IF_ERROR(CheckImportOptions(arguments, are_selections));
  if (are_selections) return ImportSelections(arguments);
  if (arguments.files.size() != 1)
    return InvalidArgumentError("give one file of records, or --from with files of a tuner");
  const std::string& file = arguments.files.front();
  TUNEONCE_ASSIGN_OR_RETURN(std::string text, ReadInput(file));
  Result<std::vector<TuningRecord>> records = RecordsFromJson(text);
  if (!records.ok()) return records.status().WithPrefix(file);
  Result<std::vector<RecordedCode>> code = CodeFromJson(text);
  if (!code.ok()) return code.status().WithPrefix(file);
  // Only where it is asked for: a record is found by its device anyway, and this machine need not have a driver.
  if (!arguments.device.empty()) TUNEONCE_RETURN_IF_ERROR(CheckDevice(*records, arguments));
  return PutAll(*records, *code, arguments, "records");
}

}  // namespace v0
}  // namespace tuneonce
