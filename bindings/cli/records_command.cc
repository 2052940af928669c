// tuneonce records list|show|explain|export|import|prune|verify
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "files.h"
#include "import_decisions.h"
#include "numbers.h"
#include "output.h"
#include "records_explain.h"
#include "records_store.h"
#include "report/records_json.h"
#include "tuneonce/device.h"
#include "tuneonce/record_store.h"
#include "tuneonce/sqlite_store.h"

namespace tuneonce::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RecordsArguments {
  std::string store;
  std::string kernel;
  std::string file;
  std::string output;
  std::string device;
  std::string older_than_days;
  std::string decisions;
  std::string bundle;
  DecisionMap map;
  bool any_device = false;
  std::string key;
  std::vector<std::string> shape;
  bool replace = false;
  bool json = false;
};

void PrintRecord(const TuningRecord& record) {
  PrintLine("%s  %s  %s  {%s}  %.3f us%s  %s", record.key.kernel.c_str(), record.key.key_text.c_str(),
            record.key.device_name.c_str(), record.config.ToString().c_str(), record.measurement.mean_us,
            record.speedup_over_baseline ? (", " + std::to_string(*record.speedup_over_baseline) + "x").c_str() : "",
            DateOf(record.unix_seconds).c_str());
}

void PrintFields(const TuningRecord& record) {
  Json json = Json::parse(RecordsToJson({record}))["records"][0];
  for (const auto& [name, value] : json.items()) {
    PrintLine("%-22s %s", name.c_str(), (value.is_string() ? value.get<std::string>() : value.dump()).c_str());
  }
  PrintText("\n");
}

Status Print(const RecordsArguments& arguments, void (*print)(const TuningRecord&), bool with_count) {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, OpenStore(arguments.store, /*for_reading=*/true));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, Records(*store, arguments.kernel));
  if (arguments.json) {
    PrintText(RecordsToJson(records) + "\n");
    return Status();
  }
  for (const TuningRecord& record : records) print(record);
  if (with_count) PrintLine("%zu records in %s", records.size(), store->path().c_str());
  return Status();
}

Status List(const RecordsArguments& arguments) { return Print(arguments, PrintRecord, /*with_count=*/true); }
Status Show(const RecordsArguments& arguments) { return Print(arguments, PrintFields, /*with_count=*/false); }

Status Export(const RecordsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, OpenStore(arguments.store, /*for_reading=*/true));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, Records(*store, arguments.kernel));
  TUNEONCE_RETURN_IF_ERROR(WriteFile(arguments.output, RecordsToJson(records) + "\n"));
  if (arguments.json) {
    PrintJson({{"store", store->path()}, {"output", arguments.output}, {"exported", records.size()}});
  } else {
    PrintLine("%zu records written to %s", records.size(), arguments.output.c_str());
  }
  return Status();
}

/// Refuses records that this machine's device `arguments.device` would not use.
Status CheckDevice(const std::vector<TuningRecord>& records, const RecordsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice(arguments.device));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  for (const TuningRecord& record : records) {
    if (record.key.device_name == identity.name && record.key.num_sms == identity.num_sms) continue;
    return FailedPreconditionError("a record of kernel '" + record.key.kernel + "' is of device '" +
                                   record.key.device_name + "', not of this machine's '" + identity.name +
                                   "': without --device all are imported");
  }
  return Status();
}

Status PutAll(const std::vector<TuningRecord>& records, const RecordsArguments& arguments, const char* what) {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, OpenStore(arguments.store, /*for_reading=*/false));
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
    PrintJson({{"store", store->path()}, {"imported", imported}, {"kept", kept}});
  } else {
    PrintLine("%d %s imported to %s; %d were there already%s", imported, what, store->path().c_str(), kept,
              kept > 0 ? " (replace them with --replace)" : "");
  }
  return Status();
}

/// What a device is called in file names: "NVIDIA H200" is "NVIDIA_H200".
std::string InFileNames(std::string device) {
  std::replace(device.begin(), device.end(), ' ', '_');
  return device;
}

Status ImportDecisions(const RecordsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(DecisionsFile file, ReadDecisions(arguments.decisions));
  const std::string& name = arguments.bundle.empty() ? file.kernel : arguments.bundle;
  if (name.empty()) {
    return InvalidArgumentError(arguments.decisions + " does not say which kernel it is for: give --bundle NAME");
  }
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(name));
  if (!file.kernel.empty() && file.kernel != bundle.definition().name()) {
    return InvalidArgumentError(arguments.decisions + " is for the kernel '" + file.kernel + "', not for '" +
                                bundle.definition().name() + "'");
  }
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice(arguments.device.empty() ? "cuda" : arguments.device));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  if (!file.device.empty() && InFileNames(file.device) != InFileNames(identity.name) && !arguments.any_device) {
    return FailedPreconditionError(arguments.decisions + " is for the device '" + file.device +
                                   "', not for this machine's '" + identity.name +
                                   "': with --any-device it is taken all the same");
  }
  Result<std::vector<TuningRecord>> records = RecordsOf(file, arguments.map, bundle, device);
  if (!records.ok()) {
    const std::string& message = records.status().message();
    bool says_where = message.compare(0, arguments.decisions.size(), arguments.decisions) == 0;
    return says_where ? records.status() : records.status().WithPrefix(arguments.decisions);
  }
  return PutAll(*records, arguments, file.nearest.empty() ? "decisions" : "tables of decisions");
}

Status Import(const RecordsArguments& arguments) {
  if (!arguments.decisions.empty()) return ImportDecisions(arguments);
  TUNEONCE_ASSIGN_OR_RETURN(std::string text, ReadFile(arguments.file));
  Result<std::vector<TuningRecord>> records = RecordsFromJson(text);
  if (!records.ok()) return records.status().WithPrefix(arguments.file);
  // Only where it is asked for: a record is found by its device anyway, and this machine need not have a driver.
  if (!arguments.device.empty()) TUNEONCE_RETURN_IF_ERROR(CheckDevice(*records, arguments));
  return PutAll(*records, arguments, "records");
}

Status Explain(const RecordsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, OpenStore(arguments.store, /*for_reading=*/true));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, Records(*store, arguments.kernel));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<KeyRecords> keys,
                            KeysOf(std::move(records), {arguments.kernel, arguments.key, arguments.shape}));
  if (arguments.json) {
    PrintJson({{"store", store->path()}, {"kernel", arguments.kernel}, {"keys", ExplanationJson(keys)}});
  } else {
    PrintExplanation(keys);
  }
  return Status();
}

Status Prune(const RecordsArguments& arguments) {
  if (arguments.kernel.empty() && arguments.older_than_days.empty()) {
    return InvalidArgumentError("prune needs --kernel NAME, --older-than-days N, or both");
  }
  int days = 0;
  if (!arguments.older_than_days.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(days, ParseCount("--older-than-days", arguments.older_than_days));
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, OpenStore(arguments.store, /*for_reading=*/false));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, Records(*store, arguments.kernel));
  std::int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  constexpr std::int64_t kDay = 86400;
  int removed = 0;
  for (const TuningRecord& record : records) {
    if (days > 0 && record.unix_seconds > now - days * kDay) continue;
    TUNEONCE_RETURN_IF_ERROR(store->Remove(record.key));
    ++removed;
  }
  if (arguments.json) {
    PrintJson({{"store", store->path()}, {"removed", removed}});
  } else {
    PrintLine("%d records removed from %s", removed, store->path().c_str());
  }
  return Status();
}

Status VerifyStore(const RecordsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, OpenStore(arguments.store, /*for_reading=*/true));
  TUNEONCE_ASSIGN_OR_RETURN(StoreReport report, store->Verify());
  if (arguments.json) {
    PrintJson({{"store", store->path()},
               {"records", report.num_records},
               {"artifacts", report.num_artifacts},
               {"artifact_bytes", report.artifact_bytes},
               {"problems", report.problems}});
  } else {
    PrintLine("%s: %ld records, %ld artifacts of %ld bytes", store->path().c_str(), report.num_records,
              report.num_artifacts, report.artifact_bytes);
    for (const std::string& problem : report.problems) PrintLine("  %s", problem.c_str());
  }
  if (report.problems.empty()) return Status();
  return InternalError(std::to_string(report.problems.size()) + " problems in " + store->path() +
                       ": damaged rows count as missing, and are replaced when their keys are tuned again");
}

}  // namespace

namespace {

void AddDecisionOptions(CLI::App* import, RecordsArguments* arguments) {
  DecisionMap& map = arguments->map;
  auto list = [&](const char* name, std::vector<std::string>& into, const char* description) {
    import->add_option(name, into, description)->allow_extra_args(false);
  };
  import->add_option("--bundle", arguments->bundle, "Decisions: the kernel's bundle, a folder or a name");
  list("--axis", map.axes, "Decisions: THEIRS=OURS, what an axis is called there; may be repeated, as all below");
  list("--dim", map.dims, "Decisions: THEIRS=OURS, what a dim is called there");
  list("--value", map.values, "Decisions: AXIS=VALUE of an axis that they do not know");
  list("--shape", map.shape, "Decisions: DIM=EXTENT of a dim that they do not know");
  list("--dtype", map.dtypes, "Decisions: TENSOR=DTYPE of a tensor that the bundle leaves open");
  list("--ignore", map.ignored, "Decisions: a name of theirs that means nothing to this kernel");
  import->add_flag("--any-device", arguments->any_device, "Decisions: take those that were made for another device");
}

}  // namespace

void AddRecords(CLI::App& app, Command* command) {
  CLI::App* records =
      app.add_subcommand("records", "What is remembered: list, show, explain, export, import, prune, verify");
  records->require_subcommand(1);
  auto arguments = std::make_shared<RecordsArguments>();
  auto add = [&](const char* name, const char* description, Status (*run)(const RecordsArguments&)) {
    CLI::App* sub = records->add_subcommand(name, description);
    sub->add_option("--store", arguments->store, "The store's file (default: the user's)");
    sub->add_flag("--json", arguments->json, "JSON instead of text");
    sub->callback([=] { *command = [=] { return run(*arguments); }; });
    return sub;
  };
  CLI::App* list = add("list", "One line per record", List);
  list->add_option("--kernel", arguments->kernel, "Only this kernel's");
  CLI::App* show = add("show", "All fields of a kernel's records", Show);
  show->add_option("kernel", arguments->kernel, "Which kernel")->required();
  CLI::App* explain =
      add("explain", "What would run for a key, why, from where, how sure; and instead of what", Explain);
  explain->add_option("--kernel", arguments->kernel, "Which kernel")->required();
  explain->add_option("--key", arguments->key, "Only this key, as `list` prints it");
  explain->add_option("--shape", arguments->shape, "Only keys of this dim, as M=64, of a bundle; may be repeated");
  CLI::App* to_file = add("export", "Write records to a JSON file", Export);
  to_file->add_option("-o,--output", arguments->output, "The file")->required();
  to_file->add_option("--kernel", arguments->kernel, "Only this kernel's");
  CLI::App* from_file = add("import", "Add records of a JSON file, or decisions that were made elsewhere", Import);
  CLI::Option_group* source = from_file->add_option_group("source");
  source->add_option("file", arguments->file, "A file of records");
  source->add_option("--decisions", arguments->decisions, "A file of decisions: our form, or a table of vLLM's");
  source->require_option(1);
  from_file->add_option("--device", arguments->device,
                        "Refuse records of other devices than this one (default: take all); decisions are for this one "
                        "(default: cuda)");
  AddDecisionOptions(from_file, arguments.get());
  from_file->add_flag("--replace", arguments->replace, "Replace records that are there already");
  CLI::App* prune = add("prune", "Remove records", Prune);
  prune->add_option("--kernel", arguments->kernel, "Only this kernel's");
  prune->add_option("--older-than-days", arguments->older_than_days, "Only older ones");
  add("verify", "Read every row; exit code 1 if one is damaged", VerifyStore);
}

}  // namespace tuneonce::cli
