// tuneonce tune BUNDLE
#include <memory>

#include "base/mutex.h"
#include "commands.h"
#include "files.h"
#include "output.h"
#include "store/memory_store.h"
#include "tune_bundle.h"
#include "tuneonce/artifact_cache.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/record_store.h"
#include "tuneonce/report.h"
#include "tuneonce/runtime.h"
#include "tuneonce/search_options.h"
#include "tuneonce/sqlite_store.h"
#include "tuneonce/timer.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce::cli {
namespace {

struct TuneArguments {
  std::string bundle;
  std::string device = "cuda";
  std::vector<std::string> shape;
  std::vector<std::string> scalars;
  bool json = false;
  bool quiet = false;
  std::string timer;
  bool warm = false;
  std::string store;
  std::string trace;
};

/// Tuning was asked for: nothing is looked up, what is found is stored. That a record could not be kept is told by
/// `failure`, not to the search, which would only warn.
class WriteOnlyStore final : public RecordStore {
 public:
  explicit WriteOnlyStore(std::shared_ptr<RecordStore> store) : store_(std::move(store)) {}

  Result<RecordLookup> Lookup(const TuningKey&) const override { return RecordLookup(); }
  Status Put(const TuningRecord& record) override {
    Result<RecordLookup> there = store_->Lookup(record.key);
    bool is_pinned = there.ok() && there->match == RecordMatch::kExact && there->record->is_pinned;
    Status status = is_pinned ? FailedPreconditionError("its key is pinned in the store: Unpin it, or prune the record")
                              : store_->Put(record);
    MutexLock lock(mutex_);
    if (!status.ok()) failure_ = status.WithPrefix("what was tuned is not kept");
    return Status();
  }
  Result<std::vector<TuningRecord>> List() const override { return store_->List(); }
  Status Remove(const TuningKey& key) override { return store_->Remove(key); }
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override {
    return store_->Lease(key, limits);
  }
  ArtifactCache* artifacts() override { return store_->artifacts(); }

  Status failure() const {
    MutexLock lock(mutex_);
    return failure_;
  }

 private:
  std::shared_ptr<RecordStore> store_;
  mutable Mutex mutex_;
  Status failure_ TUNEONCE_GUARDED_BY(mutex_);
};

std::unique_ptr<Timer> TimerNamed(const std::string& name) {
  if (name == "cupti") return MakeCuptiTimer();
  if (name == "events") return MakeEventTimer();
  return nullptr;
}

void Print(const std::string& name, const BundleReport& report, bool json) {
  if (json) return PrintText(ResultJson(report.run.result, report.device_name, report.shape) + "\n");
  PrintLine("%s on %s, %s", name.c_str(), report.device_name.c_str(), report.shape.c_str());
  PrintText(SummaryTable(report.run.result));
  PrintLine("candidates' outputs were compared with the baseline's; the first call took %.1f ms",
            report.run.first_call_ms);
  PrintLine("a launch now costs %.2f us of host time", report.run.hit_host_us);
}

Status Tune(const TuneArguments& arguments) {
  // Before a device is looked for: a wrong name is the first thing to say.
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(arguments.bundle));
  Result<Device> device = OpenDevice(arguments.device);
  if (!device.ok()) {
    bool no_gpu = device.status().code() == StatusCode::kUnavailable && arguments.device.compare(0, 4, "cuda") == 0;
    if (!no_gpu) return device.status();
    return Status(device.status().code(),
                  device.status().message() + "; without an NVIDIA GPU use the CPU device: --device cpu");
  }
  RuntimeOptions of_runtime;
  // This command is asked to tune, whatever the environment says.
  of_runtime.environment = {{"DISABLE_AUTOTUNE", ""}};
  AutotunePolicy policy;
  TUNEONCE_ASSIGN_OR_RETURN(policy.search.runtime, Runtime::Create(std::move(of_runtime)));
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
  if (!arguments.trace.empty()) policy.search.runtime->BeginTrace();
  Result<BundleReport> tuned = TuneBundle(bundle, *device, arguments.shape, arguments.scalars, policy);
  // Also of a tune that failed: it shows why.
  Status traced = arguments.trace.empty() ? Status() : WriteFile(arguments.trace, policy.search.runtime->EndTrace());
  TUNEONCE_ASSIGN_OR_RETURN(BundleReport report, std::move(tuned));
  TUNEONCE_RETURN_IF_ERROR(traced);
  Print(bundle.definition().name(), report, arguments.json);
  return kept == nullptr ? Status() : kept->failure();
}

}  // namespace

void AddTune(CLI::App& app, Command* command) {
  std::string names;
  for (const std::string& name : Bundle::Names()) names += (names.empty() ? "" : ", ") + name;
  CLI::App* tune = app.add_subcommand(
      "tune", "Tune a bundle (a folder with a manifest.json) on made-up data, and launch it. Found by name: " + names);
  auto arguments = std::make_shared<TuneArguments>();
  tune->add_option("bundle", arguments->bundle, "A bundle's folder, or the name of one that is found by name")
      ->required();
  tune->add_option("--device", arguments->device, "cuda, cuda:N, cpu or cpu:N (default: cuda)");
  tune->add_option("--shape", arguments->shape, "Value of one dim, scalar or dtype, as M=4096, causal=1, x=float16; may be repeated");
  tune->add_option("--scalar", arguments->scalars, "Value of a bundle's scalar, as eps=1e-5; may be repeated");
  tune->add_option("--timer", arguments->timer, "cupti or events (default: cupti where it can be had)")
      ->check(CLI::IsMember({"cupti", "events"}));
  tune->add_option("--store", arguments->store, "Keep the record and the code in this store (default: nowhere)");
  tune->add_option("--trace", arguments->trace, "Write what was done when to this file, for ui.perfetto.dev");
  tune->add_flag("--warm", arguments->warm,
                 "Leave the L2 cache as the run before left it (default: flush it on a GPU)");
  tune->add_flag("--json", arguments->json, "JSON instead of text");
  tune->add_flag("--quiet", arguments->quiet, "No progress line");
  tune->callback([=] { *command = [=] { return Tune(*arguments); }; });
}

}  // namespace tuneonce::cli
