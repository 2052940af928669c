#include "measuring_arguments.h"

#include <csignal>
#include <initializer_list>
#include <utility>

#include "numbers.h"
#include "output.h"
#include "tuneonce/runtime.h"

namespace tuneonce::cli {
namespace {

std::atomic<bool> was_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
volatile std::sig_atomic_t caught = 0;

extern "C" void OnInterrupt(int signal) {
  caught = signal;
  was_interrupted = true;
  std::signal(signal, SIG_DFL);
}

Isolation IsolationNamed(const std::string& name) {
  if (name == "off") return Isolation::kOff;
  return name == "required" ? Isolation::kRequired : Isolation::kPreferred;
}

}  // namespace

const std::atomic<bool>& CatchInterrupts() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (std::signal(signal, OnInterrupt) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  return was_interrupted;
}

void DieOfInterrupt() {
  if (caught == 0) return;
  std::signal(caught, SIG_DFL);
  std::raise(caught);
}

void AddMeasuringOptions(CLI::App* command, MeasuringArguments* arguments) {
  command
      ->add_option("--device", arguments->device,
                   "cuda, cuda:N, cpu, cpu:N, or auto, which is cuda if there is one, else cpu (default: cuda)")
      ->type_name("DEVICE");
  command->add_option("--timer", arguments->timer, "cupti or events (default: cupti where it can be had)")
      ->check(CLI::IsMember({"cupti", "events"}));
  command
      ->add_option("--isolation", arguments->isolation,
                   "Try candidates in a worker process, which may crash: off, preferred (in this one where that cannot "
                   "be) or required (default: preferred)")
      ->check(CLI::IsMember({"off", "preferred", "required"}));
  command->add_option("--candidate-deadline", arguments->candidate_deadline,
                      "In a worker: end a candidate that takes longer than this, as 2s, 1m (default: 10s)");
  command->add_flag("--all-configs", arguments->all_configs,
                    "Of a matmul with many configs: all, not only those that nvMatmulHeuristics proposes");
  command->add_flag("--warm", arguments->warm,
                    "Leave the L2 cache as the run before left it (default: flush it on a GPU)");
  command->add_flag("--json", arguments->json, "Print JSON instead of text");
  command->add_flag("--quiet", arguments->quiet, "No progress line");
}

Result<Device> OpenNamedDevice(const std::string& name) {
  Result<Device> device = OpenDevice(name == "auto" ? "cuda" : name);
  if (name == "auto") {
    const Status no_gpu = device.status();
    if (!device.ok()) device = OpenDevice("cpu");
    if (!device.ok()) return device.status().WithPrefix(no_gpu.message());
    TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device->Identity());
    PrintNote("--device auto selected " + identity.name +
              (no_gpu.ok() ? "" : ", since " + no_gpu.message().substr(0, no_gpu.message().find(';'))));
    return device;
  }
  bool no_gpu = device.status().code() == StatusCode::kUnavailable && name.compare(0, 4, "cuda") == 0;
  if (!no_gpu) return device;
  return Remedied(device.status(), "--device cpu, the CPU device; tuneonce doctor shows what was looked for");
}

std::unique_ptr<Timer> TimerNamed(const std::string& name) {
  if (name == "cupti") return MakeCuptiTimer();
  if (name == "events") return MakeEventTimer();
  return nullptr;
}

Result<SearchOptions> SearchOptionsOf(const MeasuringArguments& arguments, const std::atomic<bool>& interrupted) {
  RuntimeOptions of_runtime;
  of_runtime.environment = {{"DISABLE_AUTOTUNE", ""}, {"TUNEONCE_RECORD_SHAPES", ""}};
  SearchOptions search;
  TUNEONCE_ASSIGN_OR_RETURN(search.runtime, Runtime::Create(std::move(of_runtime)));
  search.quiet = arguments.quiet || arguments.json;
  search.cache = arguments.warm ? CacheState::kWarm : CacheState::kDefault;
  search.cancelled = &interrupted;
  if (arguments.all_configs) search.max_proposed = 0;
  search.isolation = IsolationNamed(arguments.isolation);
  if (!arguments.candidate_deadline.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t deadline_ms,
                              ParseDurationMs("--candidate-deadline", arguments.candidate_deadline));
    search.candidate_deadline_ms = static_cast<double>(deadline_ms);
  }
  return search;
}

}  // namespace tuneonce::cli
