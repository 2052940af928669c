// tuneonce records list|show|export|import|prune|verify
#include <chrono>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "commands.h"
#include "files.h"
#include "numbers.h"
#include "output.h"
#include "report/records_json.h"
#include "store/default_store.h"
#include "tuneonce/device.h"
#include "tuneonce/record_store.h"
#include "tuneonce/runtime.h"
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
  bool replace = false;
  bool json = false;
};

/// How long a command waits for others that hold the store.
constexpr int kPatienceMs = 5000;

Result<std::shared_ptr<SqliteStore>> OpenStore(const RecordsArguments& arguments, bool for_reading) {
  SqliteStoreOptions where;
  where.path = arguments.store;
  if (where.path.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(where.path, DefaultStorePath(Runtime::Default()->environment()));
  }
  where.read_only = for_reading;
  where.busy_timeout_ms = kPatienceMs;
  Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(where);
  // Nothing was tuned yet: the user's own store has no records, and is made now.
  if (for_reading && arguments.store.empty() && store.status().code() == StatusCode::kNotFound) {
    return OpenStore(arguments, /*for_reading=*/false);
  }
  return store;
}

/// The store's records, of the kernel that was named, if any.
Result<std::vector<TuningRecord>> Records(const SqliteStore& store, const RecordsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> all, store.List());
  std::vector<TuningRecord> records;
  std::set<std::string> kernels;
  for (TuningRecord& record : all) {
    kernels.insert(record.key.kernel);
    if (arguments.kernel.empty() || record.key.kernel == arguments.kernel) records.push_back(std::move(record));
  }
  if (records.empty() && !arguments.kernel.empty()) {
    std::string names;
    for (const std::string& name : kernels) names += (names.empty() ? "" : ", ") + name;
    return NotFoundError("no record of kernel '" + arguments.kernel + "' in " + store.path() +
                         (names.empty() ? ", which is empty" : "; there are: " + names));
  }
  return records;
}

std::string DateOf(std::int64_t unix_seconds) {
  auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm date{};
  if (gmtime_r(&seconds, &date) == nullptr) return "no date";  // A year that no int holds.
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d", &date);
  return text;
}

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
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, OpenStore(arguments, /*for_reading=*/true));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, Records(*store, arguments));
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
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, OpenStore(arguments, /*for_reading=*/true));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, Records(*store, arguments));
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

Status Import(const RecordsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string text, ReadFile(arguments.file));
  Result<std::vector<TuningRecord>> records = RecordsFromJson(text);
  if (!records.ok()) return records.status().WithPrefix(arguments.file);
  // Only where it is asked for: a record is found by its device anyway, and this machine need not have a driver.
  if (!arguments.device.empty()) TUNEONCE_RETURN_IF_ERROR(CheckDevice(*records, arguments));
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, OpenStore(arguments, /*for_reading=*/false));
  int imported = 0;
  int kept = 0;
  for (const TuningRecord& record : *records) {
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
    PrintLine("%d records imported to %s; %d were there already%s", imported, store->path().c_str(), kept,
              kept > 0 ? " (replace them with --replace)" : "");
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
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, OpenStore(arguments, /*for_reading=*/false));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, Records(*store, arguments));
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
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, OpenStore(arguments, /*for_reading=*/true));
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

void AddRecords(CLI::App& app, Command* command) {
  CLI::App* records = app.add_subcommand("records", "What is remembered: list, show, export, import, prune, verify");
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
  CLI::App* to_file = add("export", "Write records to a JSON file", Export);
  to_file->add_option("-o,--output", arguments->output, "The file")->required();
  to_file->add_option("--kernel", arguments->kernel, "Only this kernel's");
  CLI::App* from_file = add("import", "Add records of a JSON file", Import);
  from_file->add_option("file", arguments->file, "The file")->required();
  from_file->add_option("--device", arguments->device,
                        "Refuse records of other devices than this one (default: take all)");
  from_file->add_flag("--replace", arguments->replace, "Replace records that are there already");
  CLI::App* prune = add("prune", "Remove records", Prune);
  prune->add_option("--kernel", arguments->kernel, "Only this kernel's");
  prune->add_option("--older-than-days", arguments->older_than_days, "Only older ones");
  add("verify", "Read every row; exit code 1 if one is damaged", VerifyStore);
}

}  // namespace tuneonce::cli
