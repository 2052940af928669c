// tuneonce tune EXAMPLE
#include <cstdio>
#include <memory>

#include "commands.h"
#include "example.h"
#include "tuneonce/measure/cupti_timer.h"
#include "tuneonce/measure/event_timer.h"
#include "tuneonce/report/json.h"
#include "tuneonce/report/table.h"
#include "tuneonce/store/memory_store.h"
#include "tuneonce/store/sqlite_store.h"

namespace tuneonce::cli {
namespace {

struct Options {
  std::string example;
  std::string device = "cuda";
  std::vector<std::string> shape;
  bool json = false;
  bool quiet = false;
  std::string timer;
  bool warm = false;
  std::string store;
};

/// Tuning was asked for: nothing is looked up, what is found is stored.
class WriteOnlyStore final : public RecordStore {
 public:
  explicit WriteOnlyStore(std::shared_ptr<RecordStore> store) : store_(std::move(store)) {}

  Result<RecordLookup> Lookup(const TuningKey&) const override { return RecordLookup(); }
  Status Put(const TuningRecord& record) override { return store_->Put(record); }
  Result<std::vector<TuningRecord>> List() const override { return store_->List(); }
  Status Remove(const TuningKey& key) override { return store_->Remove(key); }
  Result<TuningLease> Lease(const TuningKey& key, const CompileLimits& limits) override {
    return store_->Lease(key, limits);
  }
  ArtifactCache* artifacts() override { return store_->artifacts(); }

 private:
  std::shared_ptr<RecordStore> store_;
};

std::unique_ptr<Timer> TimerNamed(const std::string& name) {
  if (name == "cupti") return std::make_unique<CuptiTimer>();
  if (name == "events") return std::make_unique<EventTimer>();
  return nullptr;
}

Status Tune(const Options& options) {
  TUNEONCE_ASSIGN_OR_RETURN(const examples::Example* example, examples::FindExample(options.example));
  TUNEONCE_ASSIGN_OR_RETURN(examples::Shape shape, examples::ParseShape(*example, options.shape));
  Result<Device> device = OpenDevice(options.device);
  if (!device.ok()) {
    bool no_gpu = device.status().code() == StatusCode::kUnavailable && options.device.compare(0, 4, "cuda") == 0;
    if (!no_gpu) return device.status();
    return Status(device.status().code(),
                  device.status().message() + "; without an NVIDIA GPU use the CPU device: --device cpu");
  }
  AutotunePolicy policy;
  policy.disabled = false;  // This command is asked to tune, whatever the environment says.
  policy.search.quiet = options.quiet || options.json;
  policy.search.cache = options.warm ? CacheState::kWarm : CacheState::kDefault;
  policy.store = std::make_shared<MemoryStore>();
  if (!options.store.empty()) {
    SqliteStoreOptions where;
    where.path = options.store;
    TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, SqliteStore::Open(where));
    policy.store = std::make_shared<WriteOnlyStore>(std::move(store));
  }
  std::unique_ptr<Timer> timer = TimerNamed(options.timer);
  policy.search.timer = timer.get();
  TUNEONCE_ASSIGN_OR_RETURN(examples::ExampleReport report, examples::RunExample(*example, *device, shape, policy));
  if (options.json) {
    std::printf("%s\n", ResultJson(report.result, report.device_name, report.shape).c_str());
    return Status();
  }
  std::printf("%s on %s, %s\n%s", example->name.c_str(), report.device_name.c_str(), report.shape.c_str(),
              SummaryTable(report.result).c_str());
  std::printf("output checked against the reference: largest relative error %.1e\n", report.max_error);
  std::printf("a launch now costs %.2f us of host time\n", report.hit_host_us);
  return Status();
}

}  // namespace

void AddTune(CLI::App& app, Command* command) {
  std::string names;
  for (const examples::Example& example : examples::AllExamples()) {
    names += "\n  " + example.name + ": " + example.summary;
  }
  CLI::App* tune =
      app.add_subcommand("tune", "Tune an example on random data, check its output, and launch it:" + names);
  auto options = std::make_shared<Options>();
  tune->add_option("example", options->example, "Which example")->required();
  tune->add_option("--device", options->device, "cuda, cuda:N, cpu or cpu:N (default: cuda)");
  tune->add_option("--shape", options->shape, "Value of one dim, as M=4096; may be repeated");
  tune->add_option("--timer", options->timer, "cupti or events (default: cupti where it can be had)")
      ->check(CLI::IsMember({"cupti", "events"}));
  tune->add_option("--store", options->store, "Keep the record and the code in this store (default: nowhere)");
  tune->add_flag("--warm", options->warm, "Leave the L2 cache as the run before left it (default: flush it on a GPU)");
  tune->add_flag("--json", options->json, "JSON instead of text");
  tune->add_flag("--quiet", options->quiet, "No progress line");
  tune->callback([=] { *command = [=] { return Tune(*options); }; });
}

}  // namespace tuneonce::cli
