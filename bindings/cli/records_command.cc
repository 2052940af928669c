// tuneonce records: its commands, and those that look at one store.
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_format.h"
#include "commands.h"
#include "console/numbers.h"
#include "console/output.h"
#include "records/records_explain.h"
#include "records/records_store.h"
#include "records/tuner_tables.h"
#include "report/records_json.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce::cli {
namespace {

using Json = nlohmann::ordered_json;

void PrintRecord(const TuningRecord& record) {
  const Measurement& measured = record.best.measurement;
  const std::string time = measured.num_samples > 0 ? absl::StrFormat("%.3f us", measured.mean_us) : "not measured";
  PrintLine("%s  %s  %s  {%s}  %s%s  %s", record.key.kernel.c_str(), record.key.key_text.c_str(),
            record.key.device_name.c_str(), record.best.config.ToString().c_str(), time.c_str(),
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
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<AnyStore> store, OpenStore(arguments.store, /*for_reading=*/true));
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

Status Explain(const RecordsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<AnyStore> store, OpenStore(arguments.store, /*for_reading=*/true));
  std::optional<SelectionHere> here;
  if (!arguments.device.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(here, AskHere(arguments.kernel, arguments.device, arguments.shape, store));
  }
  auto find_keys = [&]() -> Result<std::vector<KeyRecords>> {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, Records(*store, arguments.kernel));
    return KeysOf(std::move(records), {arguments.kernel, arguments.key, arguments.shape});
  };
  Result<std::vector<KeyRecords>> keys = find_keys();
  // Then the answer is that the key has no record.
  if (!keys.ok() && !(here && keys.status().code() == StatusCode::kNotFound)) return keys.status();
  std::vector<KeyRecords> found = keys.ok() ? *std::move(keys) : std::vector<KeyRecords>();
  if (arguments.json) {
    nlohmann::ordered_json json = {{"store", store->path()}, {"kernel", arguments.kernel}};
    if (here) json["here"] = SelectionHereJson(*here);
    json["keys"] = ExplanationJson(found);
    PrintJson(json);
  } else {
    if (here) PrintSelectionHere(*here);
    PrintExplanation(found);
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
  Status there = OpenStore(arguments.store, /*for_reading=*/true).status();
  if (there.code() == StatusCode::kNotFound) return there;  // Writing would make the store.
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<AnyStore> store, OpenStore(arguments.store, /*for_reading=*/false));
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
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<AnyStore> store, OpenStore(arguments.store, /*for_reading=*/true));
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

void AddSelectionOptions(CLI::App* import, RecordsArguments* arguments) {
  SelectionMap& map = arguments->map;
  auto list = [&](const char* name, std::vector<std::string>& into, const char* description) {
    import->add_option(name, into, description)->allow_extra_args(false);
  };
  import->add_option("--bundle", arguments->bundle, "Selections: the kernel's bundle, a folder or a name");
  list("--axis", map.axes, "Selections: THEIRS=OURS for the name of an axis; may be repeated, like the options below");
  list("--dim", map.dims, "Selections: THEIRS=OURS for the name of a dim");
  list("--value", map.values, "Selections: AXIS=VALUE for an axis that the file does not have");
  list("--shape", map.shape, "Selections: DIM=EXTENT for a dim that the file does not have");
  list("--dtype", map.dtypes, "Selections: TENSOR=DTYPE for a tensor whose dtype the bundle leaves open");
  list("--ignore", map.ignored, "Selections: a name in the file that this kernel does not use");
  import->add_flag("--any-device", arguments->any_device, "Selections: accept a file that was made for another device");
}

void AddStores(CLI::App* diff, CLI::App* merge, RecordsArguments* arguments) {
  diff->add_option("stores", arguments->stores, "The two stores")->required()->expected(2);
  diff->add_option("--kernel", arguments->kernel, "Only records of this kernel");
  merge->add_option("stores", arguments->stores, "The stores; at least one for a fleet's store, else two")
      ->required()
      ->expected(1, CLI::detail::expected_max_vector_size);
  merge->add_option("-o,--output", arguments->output, "The store to create, or a fleet's store to merge into")
      ->required();
  merge
      ->add_option("--by", arguments->by,
                   "Which measured record of a key to keep: best, newest or most-certain (default: best)")
      ->check(CLI::IsMember({"best", "newest", "most-certain"}));
  merge->add_flag("--skip-damaged", arguments->skip_damaged, "Skip rows that cannot be read, and list them");
  for (CLI::App* command : {diff, merge}) command->remove_option(command->get_option("--store"));
}

void AddPack(CLI::App* pack, RecordsArguments* arguments) {
  pack->add_option("-o,--output", arguments->output, "The file; with --bundle the folder")->required();
  pack->add_option(
      "--bundle", arguments->bundle,
      "Write this bundle (a folder or a name) with its selected configs and their code, instead of a store");
  pack->add_option("--kernel", arguments->kernel, "Only records of this kernel");
  pack->add_option("--device", arguments->device, "Only records of the device with this name");
  pack->add_flag("--skip-damaged", arguments->skip_damaged, "Skip rows that cannot be read, and list them");
}

}  // namespace

void AddRecords(CLI::App& app, Command* command) {
  CLI::App* records = app.add_subcommand(
      "records",
      "Work with stored records: list, show, explain, diff, merge, export, import, pack, dispatch, prune, verify");
  records->require_subcommand(1);
  auto arguments = std::make_shared<RecordsArguments>();
  auto add = [&](const char* name, const char* description, Status (*run)(const RecordsArguments&)) {
    CLI::App* sub = records->add_subcommand(name, description);
    sub->add_option("--store", arguments->store, "The store's file (default: the user's)");
    sub->add_flag("--json", arguments->json, "Print JSON instead of text");
    sub->callback([=] { *command = [=] { return run(*arguments); }; });
    return sub;
  };
  CLI::App* list = add("list", "Print one line per record", List);
  list->add_option("--kernel", arguments->kernel, "Only records of this kernel");
  CLI::App* show = add("show", "Print all fields of a kernel's records", Show);
  show->add_option("kernel", arguments->kernel, "The kernel's name")->required();
  CLI::App* explain = add(
      "explain", "Explain what would run for a key: why, where it comes from, how certain it is, and the alternatives",
      Explain);
  explain->add_option("--kernel", arguments->kernel, "The kernel's name")->required();
  explain->add_option("--key", arguments->key, "Only this key, in the form that `list` prints");
  explain->add_option("--device", arguments->device,
                      "Also show what a launch on this device gets from the store, or why it gets nothing");
  explain->add_option("--shape", arguments->shape,
                      "Only keys with this value of a bundle's dim, such as M=64; may be repeated");
  CLI::App* to_file = add("export", "Write records to a JSON file", ExportRecords);
  to_file->add_option("-o,--output", arguments->output, "The file")->required();
  to_file->add_option("--kernel", arguments->kernel, "Only records of this kernel");
  to_file->add_flag("--with-code", arguments->with_code, "Include the code of selected configs and baselines");
  AddStores(add("diff", "Compare the records of two stores", DiffRecords),
            add("merge", "Merge several stores into one, without changing them", MergeRecords), arguments.get());
  AddPack(add("pack", "Write a store as one small read-only file for shipping", PackRecords), arguments.get());
  CLI::App* dispatch = add("dispatch",
                           "Select the fewest configs that are nearly the fastest for all keys of a kernel, and write "
                           "its records with these, to ship them",
                           DispatchRecords);
  dispatch->add_option("--kernel", arguments->kernel, "The kernel's name")->required();
  dispatch->add_option("--within", arguments->within,
                       "By how much a key's config may be slower than its fastest, such as 3% (default: 3%)");
  dispatch->add_option("--device", arguments->device, "Only records of the device with this name");
  dispatch->add_option("-o,--output", arguments->output, "The store to write, for bundle compile and records pack")
      ->required();
  CLI::App* from_file =
      add("import", "Add records from a JSON file, or configs that were selected elsewhere", ImportRecords);
  CLI::Option_group* source = from_file->add_option_group("source");
  CLI::Option* files =
      source->add_option("file", arguments->files, "A file of records; with --from files of another tuner");
  source->add_option("--selections", arguments->selections,
                     "A file of selected configs: tuneonce's format, or a table of vLLM");
  source->require_option(1);
  from_file
      ->add_option("--from", arguments->from,
                   "The tuner that wrote the files: what it selected is proposed for --bundle, and verified before it "
                   "runs")
      ->check(CLI::IsMember(TunerNames()))
      ->needs(files);
  from_file->add_option("--operation", arguments->operation,
                        "With --from: the operation in the files (default: the only one)");
  from_file->add_option(
      "--device", arguments->device,
      "Refuse records of other devices than this one (default: accept all); selections are for this one "
      "(default: cuda)");
  from_file->add_flag("--with-code", arguments->with_code, "Also add the file's code; only for files that you trust");
  AddSelectionOptions(from_file, arguments.get());
  from_file->add_flag("--replace", arguments->replace, "Replace existing records");
  CLI::App* prune = add("prune", "Remove records", Prune);
  prune->add_option("--kernel", arguments->kernel, "Only records of this kernel");
  prune->add_option("--older-than-days", arguments->older_than_days, "Only records older than this");
  add("verify", "Read every row; exit code 1 if one is damaged", VerifyStore);
}

}  // namespace tuneonce::cli
