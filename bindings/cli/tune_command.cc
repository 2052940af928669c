// tuneonce tune EXAMPLE|BUNDLE
#include <filesystem>
#include <memory>
#include <mutex>

#include "base/environment.h"
#include "commands.h"
#include "example.h"
#include "measure/cupti_timer.h"
#include "measure/event_timer.h"
#include "output.h"
#include "store/memory_store.h"
#include "tune_bundle.h"
#include "tuneonce/artifact_cache.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/record_store.h"
#include "tuneonce/report.h"
#include "tuneonce/search_options.h"
#include "tuneonce/sqlite_store.h"
#include "tuneonce/timer.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce::cli {
namespace {

struct TuneArguments {
  std::string example;
  std::string device = "cuda";
  std::vector<std::string> shape;
  std::vector<std::string> scalars;
  bool json = false;
  bool quiet = false;
  std::string timer;
  bool warm = false;
  std::string store;
};

/// Tuning was asked for: nothing is looked up, what is found is stored. That a record could not be kept is told by
/// `failure`, not to the search, which would only warn.
class WriteOnlyStore final : public RecordStore {
 public:
  explicit WriteOnlyStore(std::shared_ptr<RecordStore> store) : store_(std::move(store)) {}

  Result<RecordLookup> Lookup(const TuningKey&) const override { return RecordLookup(); }
  Status Put(const TuningRecord& record) override {
    Status status = store_->Put(record);
    std::lock_guard<std::mutex> lock(mutex_);
    if (!status.ok()) failure_ = status.WithPrefix("what was tuned is not kept");
    return Status();
  }
  Result<std::vector<TuningRecord>> List() const override { return store_->List(); }
  Status Remove(const TuningKey& key) override { return store_->Remove(key); }
  Result<TuningLease> Lease(const TuningKey& key, const CompileLimits& limits) override {
    return store_->Lease(key, limits);
  }
  ArtifactCache* artifacts() override { return store_->artifacts(); }

  Status failure() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return failure_;
  }

 private:
  std::shared_ptr<RecordStore> store_;
  mutable std::mutex mutex_;
  Status failure_;
};

std::unique_ptr<Timer> TimerNamed(const std::string& name) {
  if (name == "cupti") return std::make_unique<CuptiTimer>();
  if (name == "events") return std::make_unique<EventTimer>();
  return nullptr;
}

void PrintResult(const std::string& name, const TuningResult& result, const std::string& device,
                 const std::string& shape, bool json) {
  if (json) {
    PrintText(ResultJson(result, device, shape) + "\n");
  } else {
    PrintLine("%s on %s, %s", name.c_str(), device.c_str(), shape.c_str());
    PrintText(SummaryTable(result));
  }
}

Status TuneExample(const TuneArguments& arguments, const Device& device, const AutotunePolicy& policy) {
  if (!arguments.scalars.empty())
    return InvalidArgumentError("an example's scalars are fixed: --scalar is for bundles");
  TUNEONCE_ASSIGN_OR_RETURN(const examples::Example* example, examples::FindExample(arguments.example));
  TUNEONCE_ASSIGN_OR_RETURN(examples::Shape shape, examples::ParseShape(*example, arguments.shape));
  TUNEONCE_ASSIGN_OR_RETURN(examples::ExampleReport report, examples::RunExample(*example, device, shape, policy));
  PrintResult(example->name, report.result, report.device_name, report.shape, arguments.json);
  if (arguments.json) return Status();
  PrintLine("output checked against the reference: largest relative error %.1e", report.max_error);
  PrintLine("a launch now costs %.2f us of host time", report.hit_host_us);
  return Status();
}

Status TuneBundleFolder(const TuneArguments& arguments, const Device& device, const AutotunePolicy& policy) {
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(arguments.example));
  TUNEONCE_ASSIGN_OR_RETURN(BundleReport report,
                            TuneBundle(bundle, device, arguments.shape, arguments.scalars, policy));
  PrintResult(bundle.definition().name(), report.run.result, report.device_name, report.shape, arguments.json);
  if (arguments.json) return Status();
  PrintLine("candidates' outputs were compared with the baseline's; the first call took %.1f ms",
            report.run.first_call_ms);
  PrintLine("a launch now costs %.2f us of host time", report.run.hit_host_us);
  return Status();
}

Status Tune(const TuneArguments& arguments) {
  std::error_code ignored;
  bool is_bundle = std::filesystem::is_directory(arguments.example, ignored);
  if (!is_bundle) {  // Before a device is looked for: a wrong name is the first thing to say.
    TUNEONCE_RETURN_IF_ERROR(examples::FindExample(arguments.example).status());
  }
  Result<Device> device = OpenDevice(arguments.device);
  if (!device.ok()) {
    bool no_gpu = device.status().code() == StatusCode::kUnavailable && arguments.device.compare(0, 4, "cuda") == 0;
    if (!no_gpu) return device.status();
    return Status(device.status().code(),
                  device.status().message() + "; without an NVIDIA GPU use the CPU device: --device cpu");
  }
  Environment::SetDisableAutotune(false);  // This command is asked to tune, whatever the environment says.
  AutotunePolicy policy;
  policy.search.quiet = arguments.quiet || arguments.json;
  policy.search.cache = arguments.warm ? CacheState::kWarm : CacheState::kDefault;
  policy.store = std::make_shared<MemoryStore>();
  std::shared_ptr<WriteOnlyStore> kept;
  if (!arguments.store.empty()) {
    SqliteStoreOptions where;
    where.path = arguments.store;
    TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, SqliteStore::Open(where));
    policy.store = kept = std::make_shared<WriteOnlyStore>(std::move(store));
  }
  std::unique_ptr<Timer> timer = TimerNamed(arguments.timer);
  policy.search.timer = timer.get();
  TUNEONCE_RETURN_IF_ERROR(is_bundle ? TuneBundleFolder(arguments, *device, policy)
                                     : TuneExample(arguments, *device, policy));
  return kept == nullptr ? Status() : kept->failure();
}

}  // namespace

void AddTune(CLI::App& app, Command* command) {
  std::string names;
  for (const examples::Example& example : examples::AllExamples()) {
    names += "\n  " + example.name + ": " + example.summary;
  }
  CLI::App* tune = app.add_subcommand(
      "tune", "Tune a bundle (a folder with a manifest.json) or an example on random data, and launch it:" + names);
  auto arguments = std::make_shared<TuneArguments>();
  tune->add_option("bundle", arguments->example, "A bundle's folder, or an example's name")->required();
  tune->add_option("--device", arguments->device, "cuda, cuda:N, cpu or cpu:N (default: cuda)");
  tune->add_option("--shape", arguments->shape, "Value of one dim, as M=4096; may be repeated");
  tune->add_option("--scalar", arguments->scalars, "Value of a bundle's scalar, as eps=1e-5; may be repeated");
  tune->add_option("--timer", arguments->timer, "cupti or events (default: cupti where it can be had)")
      ->check(CLI::IsMember({"cupti", "events"}));
  tune->add_option("--store", arguments->store, "Keep the record and the code in this store (default: nowhere)");
  tune->add_flag("--warm", arguments->warm,
                 "Leave the L2 cache as the run before left it (default: flush it on a GPU)");
  tune->add_flag("--json", arguments->json, "JSON instead of text");
  tune->add_flag("--quiet", arguments->quiet, "No progress line");
  tune->callback([=] { *command = [=] { return Tune(*arguments); }; });
}

}  // namespace tuneonce::cli
