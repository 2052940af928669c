// How many processes end within the driver if their threads launch CUDA graphs while CUPTI is claimed:
//
//   cupti_graphs_benchmark --device=cuda [--benchmark_format=json]
//
// Each row starts this program ten times anew. In each of six passes, four threads capture, launch and destroy graphs
// of empty kernels and event records, each in a stream of its own, on one device or spread over all devices of the
// driver. CUPTI is claimed never, once for all passes, or for each pass anew and released after it. Counters: processes
// that were started, that failed, and that a signal ended.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "base/process.h"
#include "cuda/driver_api.h"
#include "cuda/event.h"
#include "device_benchmark.h"
#include "launch/launch.h"
#include "measure/cupti_session.h"
#include "measure/verify.h"
#include "tuneonce/device.h"
#include "tuneonce/geometry.h"
#include "tuneonce/testing.h"

namespace tuneonce {
namespace {

enum Claims { kNever, kOnce, kInEachPass };

constexpr int kProcesses = 10;
constexpr int kPasses = 6;
constexpr int kThreads = 4;
constexpr int kGraphsOfThread = 200;
constexpr int kLaunchesOfGraph = 5;
constexpr int kSignal = 128;  ///< ProcessResult::exit_code is this and the signal's number.

/// One thread's context, stream, events and kernel.
struct Place {
  explicit Place(const Device& device)
      : context(OrDie(Context::RetainPrimary(device))),
        current(context.view()),
        stream(OrDie(Stream::Create(device.api()))),
        begin(OrDie(Event::Create(device.api(), Event::Timing::kEnabled))),
        end(OrDie(Event::Create(device.api(), Event::Timing::kEnabled))),
        kernels(OrDie(DeviceKernels::Load(device.api()))) {}

  Status Enqueue(CUstream to, int num_kernels) const {
    const DriverApi& driver = context.device().api();
    TUNEONCE_RETURN_IF_ERROR(begin.RecordInGraph(to));
    for (int i = 0; i < num_kernels; ++i) {
      CUresult launched = LaunchKernel(driver.launch_path(), kernels.empty.get(), Geometry(), to, nullptr);
      TUNEONCE_RETURN_IF_ERROR(CudaStatus(driver, launched, "cuLaunchKernelEx"));
    }
    return end.RecordInGraph(to);
  }

  void LaunchGraphs() const {
    for (int i = 0; i < kGraphsOfThread; ++i) {
      GraphExec graph = OrDie(
          GraphExec::Capture(stream.view(), [&](CUstream capturing) { return Enqueue(capturing, 1 + i % 20); }));
      for (int launch = 0; launch < kLaunchesOfGraph; ++launch) OrDie(graph.Launch(stream.get()));
      OrDie(stream.view().Synchronize());
    }
  }

  Context context;
  ScopedContext current;
  Stream stream;
  Event begin;
  Event end;
  DeviceKernels kernels;
};

/// The whole work of one process.
void LaunchUnderCupti(Claims claims, int num_devices) {
  Device first = OrDie(OpenDevice(device_name));
  const Cupti cupti(Environment::Read());
  std::shared_ptr<CuptiSession> claim;
  for (int pass = 0; pass < kPasses; ++pass) {
    if (claims != kNever && claim == nullptr) claim = OrDie(cupti.Claim(first.api()));
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, index = thread % num_devices] {
        Place(OrDie(Device::Get(first.api(), index))).LaunchGraphs();
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (claims == kInEachPass) claim.reset();
  }
}

void BM_Graphs(benchmark::State& state) {
  const bool on_all_devices = state.range(1) != 0;
  const int num_devices = on_all_devices ? OrDie(Device::Count(OrDie(OpenDevice(device_name)).api())) : 1;
  ProcessOptions options;
  options.arguments = {std::filesystem::read_symlink("/proc/self/exe"), device_name, std::to_string(state.range(0)),
                       std::to_string(num_devices)};
  for (char** variable = environ; *variable != nullptr; ++variable) options.environment.push_back(*variable);
  int failed = 0, ended_by_signal = 0;
  for (auto _ : state) {
    for (int i = 0; i < kProcesses; ++i) {
      ProcessResult result = OrDie(RunProcess(options));
      if (result.exit_code > kSignal) {
        ++ended_by_signal;
      } else if (result.exit_code != 0) {
        ++failed;
        std::fputs(result.output.c_str(), stderr);
      }
    }
  }
  state.counters["devices"] = num_devices;
  state.counters["processes"] = kProcesses;
  state.counters["failed"] = failed;
  state.counters["ended_by_signal"] = ended_by_signal;
}
BENCHMARK(BM_Graphs)
    ->ArgNames({"claims", "on_all_devices"})
    ->ArgsProduct({{kNever, kOnce, kInEachPass}, {0, 1}})
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  if (argc == 4 && argv[1][0] != '-') {
    tuneonce::device_name = argv[1];
    tuneonce::LaunchUnderCupti(static_cast<tuneonce::Claims>(std::stoi(argv[2])), std::stoi(argv[3]));
    return 0;
  }
  return tuneonce::RunDeviceBenchmarks(argc, argv);
}
