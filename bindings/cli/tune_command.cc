// tuneonce tune BUNDLE, tuneonce tune --shapes FILE
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include "authoring/bundle_actions.h"
#include "commands.h"
#include "console/numbers.h"
#include "console/output.h"
#include "inspect/classified_bundle.h"
#include "interrupts.h"
#include "measuring_arguments.h"
#include "records/output_check.h"
#include "records/records_store.h"
#include "report/config_json.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/report.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"
#include "tuning/tune_job.h"
#include "tuning/tune_shapes.h"

namespace tuneonce::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TuneArguments : MeasuringArguments {
  std::string bundle;
  std::vector<std::string> shape;
  std::string shapes;
  std::vector<std::string> scalars;
  std::string store;
  bool retune = false;
  bool continues = false;
  bool dry_run = false;
  bool verbose = false;
  std::string budget;
  std::string trace;
  bool samples = false;

  bool is_traced() const { return samples || !trace.empty(); }
};

void PrintStored(const std::string& name, const BundleReport& report) {
  const TuningRecord& record = report.run.record;
  PrintLine("%s on %s, %s", name.c_str(), report.device_name.c_str(), report.shape.c_str());
  const bool is_cut_short = !record.is_complete && !record.is_pinned;
  PrintLine("the store has {%s} for %s, stored on %s by %s%s: nothing was searched; add %s",
            record.best.config.ToString().c_str(), report.run.key.c_str(), DateOf(record.unix_seconds).c_str(),
            record.host.empty() ? "an unknown host" : record.host.c_str(),
            record.is_pinned ? ", pinned"
            : is_cut_short   ? ", cut short"
                             : "",
            is_cut_short ? "--continue to continue the search" : "--retune to search again");
  if (record.best.measurement.mean_us > 0) PrintLine("the stored time is %.2f us", record.best.measurement.mean_us);
  PrintLine("a launch now costs %.2f us of host time", report.run.hit_host_us);
}

/// `trace`: what the search did when; empty: not asked for.
void Print(const std::string& name, const BundleReport& report, const TuneArguments& arguments,
           const std::string& trace) {
  const TuningRecord& record = report.run.record;
  if (arguments.json) {
    Json all = Json::parse(RecordsToJson({record}));
    all["from"] = report.run.is_from_store ? "store" : "search";
    if (!trace.empty()) AddTimeline(record, trace, &all);
    return PrintJson(all);
  }
  if (report.run.is_from_store) return PrintStored(name, report);
  PrintLine("%s on %s, %s", name.c_str(), report.device_name.c_str(), report.shape.c_str());
  // What fits on a screen: --json has every row.
  PrintText(SummaryTable(record, {/*top=*/3, /*bottom=*/1, /*with_remarks=*/arguments.verbose}));
  PrintLine(
      "all outputs were compared with the baseline's; the first call took %.1f ms, a launch now costs %.2f us of "
      "host time",
      report.run.first_call_ms, report.run.hit_host_us);
}

/// Returns the policy for the arguments. `*kept` is the store that they name.
Result<AutotunePolicy> PolicyOf(const TuneArguments& arguments, const std::atomic<bool>& interrupted,
                                std::shared_ptr<TuneStore>* kept) {
  AutotunePolicy policy;
  TUNEONCE_ASSIGN_OR_RETURN(policy.search, SearchOptionsOf(arguments, interrupted));
  policy.store = MakeMemoryStore();
  if (arguments.store.empty()) return policy;
  Result<std::shared_ptr<AnyStore>> store = OpenStore(arguments.store, /*for_reading=*/arguments.dry_run);
  if (arguments.dry_run && store.status().code() == StatusCode::kNotFound) return policy;  // It has no records yet.
  TUNEONCE_RETURN_IF_ERROR(store.status());
  policy.store = *kept = std::make_shared<TuneStore>(*std::move(store), /*serves=*/!arguments.retune);
  return policy;
}

Result<WantedShapes> WantedOf(const TuneArguments& arguments, const Device& device,
                              const std::shared_ptr<Runtime>& runtime) {
  if (!arguments.shapes.empty()) {
    return ReadShapes(arguments.shapes, arguments.bundle, device, arguments.shape, arguments.scalars, runtime);
  }
  WantedShapes wanted;
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(arguments.bundle));
  WantedShape one;
  one.bundle = arguments.bundle;
  TUNEONCE_ASSIGN_OR_RETURN(one.job, MakeTuneJob(bundle, device, arguments.shape, arguments.scalars));
  wanted.bundles.emplace(arguments.bundle, std::move(bundle));
  wanted.shapes.push_back(std::move(one));
  return wanted;
}

/// Prints, with --verbose, warnings about the code of the device's variants, on the CPU device about that for GPUs. A
/// bundle whose code cannot be read gives the reason when it is tuned.
void PrintCodeWarnings(const TuneArguments& arguments, const Bundle& bundle, const Device& device,
                       const std::shared_ptr<const Runtime>& runtime) {
  Result<DeviceIdentity> identity = device.Identity();
  if (!arguments.verbose || !identity.ok()) return;
  ClassifiedBundle::Options options;
  options.runtime = runtime;
  if (!identity->is_cpu_device) options.target = Target::Of(*identity);
  Result<ClassifiedBundle> classified = ClassifiedBundle::Of(bundle, options);
  if (!classified.ok()) return;
  for (const std::string& warning : classified->warnings) PrintNote(classified->kernel + ": " + warning);
}

void BeginTrace(const TuneArguments& arguments, const AutotunePolicy& policy) {
  if (arguments.is_traced()) policy.search.runtime->BeginTrace();
}

/// The trace, written to where it was asked for; empty if none was made.
Result<std::string> EndTrace(const TuneArguments& arguments, const AutotunePolicy& policy) {
  if (!arguments.is_traced()) return std::string();
  std::string trace = policy.search.runtime->EndTrace();
  if (!arguments.trace.empty()) TUNEONCE_RETURN_IF_ERROR(WriteOutput(arguments.trace, trace));
  return trace;
}

/// Moves a bundle that the parser took for a further value of --shape or --scalar to its place: in
/// "--shape N=64 vector_add" it is the word without a value.
void TakeBundle(TuneArguments* arguments) {
  for (std::vector<std::string>* settings : {&arguments->shape, &arguments->scalars}) {
    const auto word = std::find_if(settings->begin(), settings->end(),
                                   [](const std::string& each) { return each.find('=') == std::string::npos; });
    if (!arguments->bundle.empty() || word == settings->end()) continue;
    arguments->bundle = *word;
    settings->erase(word);
  }
}

/// Checks the file that --trace names. `bundle`: one that is tuned; empty where it is not known yet.
Status CheckTrace(const TuneArguments& arguments, const std::string& bundle) {
  if (arguments.trace.empty()) return Status();
  std::vector<std::string> inputs;
  if (!bundle.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(inputs, FilesOfBundle(bundle));
  }
  if (!arguments.store.empty()) inputs.push_back(arguments.store);
  if (!arguments.shapes.empty()) inputs.push_back(arguments.shapes);
  return CheckOutput(arguments.trace, inputs);
}

Status Tune(const TuneArguments& arguments) {
  if (arguments.bundle.empty() && arguments.shapes.empty()) {
    return Remedied(InvalidArgumentError("give a bundle or --shapes FILE"),
                    "tuneonce tune matmul, or tuneonce tune --shapes FILE; tuneonce tune --help");
  }
  if (arguments.samples && (!arguments.json || !arguments.shapes.empty() || arguments.dry_run)) {
    return InvalidArgumentError("--samples needs --json, and cannot be used with --shapes or --dry-run");
  }
  if (arguments.continues && (arguments.store.empty() || arguments.retune)) {
    return InvalidArgumentError("--continue needs --store, and cannot be used with --retune");
  }
  std::optional<std::int64_t> budget_ms;
  if (!arguments.budget.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(budget_ms, ParseDurationMs("--budget", arguments.budget));
  }
  // Checked before a device is opened, because a wrong name should be reported first.
  if (!arguments.bundle.empty()) TUNEONCE_RETURN_IF_ERROR(Bundle::Load(arguments.bundle).status());
  TUNEONCE_RETURN_IF_ERROR(CheckTrace(arguments, arguments.bundle));
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenNamedDevice(arguments.device));
  const std::atomic<bool>& interrupted = CatchInterrupts();
  std::shared_ptr<TuneStore> kept;
  TUNEONCE_ASSIGN_OR_RETURN(AutotunePolicy policy, PolicyOf(arguments, interrupted, &kept));
  std::unique_ptr<Timer> timer = TimerNamed(arguments.timer);
  policy.search.timer = timer.get();
  if (arguments.dry_run || !arguments.shapes.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(WantedShapes wanted, WantedOf(arguments, device, policy.search.runtime));
    for (const auto& [name, bundle] : wanted.bundles) {
      TUNEONCE_RETURN_IF_ERROR(CheckTrace(arguments, name));
      PrintCodeWarnings(arguments, bundle, device, policy.search.runtime);
    }
    if (arguments.dry_run)
      return EstimateTuning(wanted, device, policy, budget_ms, arguments.continues, arguments.json);
    if (arguments.store.empty()) PrintNote("the selection is not stored: add --store FILE to store it");
    BeginTrace(arguments, policy);
    Status tuned = TuneMany(wanted, device,
                            {policy, budget_ms, &interrupted, arguments.json, arguments.quiet, arguments.continues});
    Status traced = EndTrace(arguments, policy).status();  // Also of a tune that failed: it shows why.
    TUNEONCE_RETURN_IF_ERROR(tuned);
    TUNEONCE_RETURN_IF_ERROR(traced);
    return kept == nullptr ? Status() : kept->failure();
  }
  if (budget_ms) policy.search.budgets.wall = std::chrono::milliseconds(*budget_ms);
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(arguments.bundle));
  PrintCodeWarnings(arguments, bundle, device, policy.search.runtime);
  BeginTrace(arguments, policy);
  Result<BundleReport> tuned =
      TuneBundle(bundle, device, arguments.shape, arguments.scalars, policy, arguments.continues);
  Result<std::string> traced = EndTrace(arguments, policy);
  TUNEONCE_RETURN_IF_ERROR(tuned.status());
  TUNEONCE_RETURN_IF_ERROR(traced.status());
  Print(bundle.definition().name(), *tuned, arguments, arguments.samples ? *traced : "");
  return kept == nullptr ? Status() : kept->failure();
}

}  // namespace

void AddTune(CLI::App& app, Command* command) {
  std::string names;
  for (const std::string& name : Bundle::Names()) names += (names.empty() ? "" : ", ") + name;
  CLI::App* tune = app.add_subcommand(
      "tune",
      "Tune a bundle (a folder with a manifest.json) on generated data, and launch it. Bundles with a name: " + names);
  auto arguments = std::make_shared<TuneArguments>();
  tune->add_option("bundle", arguments->bundle, "Folder or name of a bundle")->type_name("BUNDLE");
  AddMeasuringOptions(tune, arguments.get());
  tune->add_option("--shape", arguments->shape,
                   "Value of a dim, scalar or dtype, such as M=4096, causal=1, x=float16; may be repeated");
  tune->add_option("--shapes", arguments->shapes,
                   "All shapes of this file, one per line: M=64 N=4096, or matmul M=64 N=4096 (without BUNDLE all "
                   "kernels'); TUNEONCE_RECORD_SHAPES makes such a file")
      ->type_name("FILE");
  tune->add_option("--scalar", arguments->scalars, "Value of a bundle's scalar, such as eps=1e-5; may be repeated");
  tune->add_option("--store", arguments->store,
                   "Use this store's records, and write new ones to it (default: no store)");
  tune->add_flag("--continue", arguments->continues,
                 "Also continue the searches of records whose search was cut short (needs --store)");
  tune->add_flag("--retune", arguments->retune, "Also search for keys that have a record");
  tune->add_option("--budget", arguments->budget,
                   "Select from what is measured after this time, such as 90s, 10m, 1h30m (default: no limit)");
  tune->add_flag("--dry-run", arguments->dry_run,
                 "Only print what would be searched, with an estimate of time and memory");
  tune->add_flag("--samples", arguments->samples,
                 "With --json: add each sample of each config and a timeline, for tuneonce report");
  tune->add_option("--trace", arguments->trace, "Write a trace to this file, for ui.perfetto.dev");
  const CLI::App* root = &app;
  tune->callback([=] {
    arguments->verbose = root->count("--verbose") > 0;
    TakeBundle(arguments.get());
    *command = [=] { return Tune(*arguments); };
  });
}

}  // namespace tuneonce::cli
