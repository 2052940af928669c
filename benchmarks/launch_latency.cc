// How long single launches take on the host while another thread tunes: the stalls that a load, a free or CUPTI would
// cause on the threads that go on working.
//
//   launch_latency_benchmark --device=cpu|cuda [--benchmark_format=json]
//
// Four threads launch at a steady pace for a second, each into a stream of its own, raw (cuLaunchKernelEx by hand) or
// by TunedKernel hits; beside them nothing, or one thread that tunes new keys of another kernel without end, timed
// by CUPTI or by events, its compiles coming from a cache. Counters: percentiles of a launch's host time, in
// microseconds; searches done meanwhile.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "best_kernel.h"
#include "cuda/driver_api.h"
#include "device_benchmark.h"
#include "measure/cupti_timer.h"
#include "measure/event_timer.h"
#include "store/memory_store.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"
#include "vector_add_bundle.h"

namespace tuneonce {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 4;
constexpr auto kDuration = std::chrono::seconds(1);
/// A launch every 20 us and thread: an engine's pace, and slow enough for queues to stay empty.
constexpr auto kPace = std::chrono::microseconds(20);
constexpr std::int64_t kElements = 1024;

KernelDefinition VectorAdd() { return OrDie(Bundle::Load(vector_add_bundle)).definition(); }

/// With compiles from a cache that all searches share.
AutotunePolicy InMemory() {
  static const std::shared_ptr<RecordStore> artifacts = MakeMemoryStore();
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  policy.search.compile.cache = artifacts;
  return policy;
}

/// The kernel under test, with one ready key.
struct Bench {
  Bench()
      : device(OrDie(OpenDevice(device_name))),
        context(OrDie(Context::RetainPrimary(device))),
        current(context.view()),
        stream(OrDie(Stream::Create(device.api()))),
        buffer(OrDie(DeviceBuffer::Allocate(stream.view(), kElements * sizeof(float)))),
        kernel(OrDie(TunedKernel::Create(VectorAdd(), InMemory()))) {
    OrDie(buffer.Fill(0));
    TensorView view = View();
    KernelDefinition definition = VectorAdd();
    TuningRecord result = OrDie(exhaustive_search(definition, stream.get(), {view, view, view}));
    best.emplace(OrDie(BestKernel(device, definition, result.best)));
    OrDie(kernel.Launch(stream.get(), view, view, view));
    OrDie(stream.view().Synchronize());
  }
  TensorView View() const { return TensorView::Contiguous(buffer.data(), DType::kFloat32, {kElements}); }

  Device device;
  Context context;
  ScopedContext current;
  Stream stream;
  DeviceBuffer buffer;
  TunedKernel kernel;
  std::optional<CompiledKernel> best;
};

Bench& GetBench() {
  static Bench* const bench = new Bench;
  return *bench;
}

/// Host times of one thread's launches, in us.
std::vector<double> LaunchForAWhile(bool raw) {
  Bench& bench = GetBench();
  ScopedContext current(bench.context.view());
  Stream stream = OrDie(Stream::Create(bench.device.api()));
  TensorView view = bench.View();
  CUdeviceptr pointer = bench.buffer.get();
  std::int64_t n = kElements;
  std::vector<double> times;
  times.reserve(kDuration / kPace + 1);
  Clock::time_point end = Clock::now() + kDuration;
  while (Clock::now() < end) {
    Clock::time_point start = Clock::now();
    if (raw) {
      void* parameters[] = {&pointer, &pointer, &pointer, &n};
      CUlaunchConfig config{};
      config.gridDimX = static_cast<unsigned>(bench.best->geometry().grid.x);
      config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
      config.blockDimX = static_cast<unsigned>(bench.best->geometry().block.x);
      config.hStream = stream.get();
      if (bench.device.api().launch_path().LaunchKernelEx(&config, bench.best->function(), parameters, nullptr) !=
          CUDA_SUCCESS) {
        OrDie(InternalError("the launch failed"));
      }
    } else {
      OrDie(bench.kernel.Launch(stream.get(), view, view, view));
    }
    Clock::time_point done = Clock::now();
    times.push_back(std::chrono::duration<double, std::micro>(done - start).count());
    // Spins: a sleep would measure the wake-up's cold caches.
    while (Clock::now() < start + kPace) {
    }
  }
  OrDie(stream.view().Synchronize());
  return times;
}

enum class Beside { kNothing, kTuning, kTuningByEvents };

/// Tunes key after key until `stop`. Returns the number of searches.
int TuneWithoutEnd(bool by_events, const std::atomic<bool>& stop) {
  Bench& bench = GetBench();
  ScopedContext current(bench.context.view());
  Stream stream = OrDie(Stream::Create(bench.device.api()));
  EventTimer events;
  AutotunePolicy policy = InMemory();
  if (by_events) policy.search.timer = &events;
  TunedKernel kernel = OrDie(TunedKernel::Create(VectorAdd(), policy));
  TimingBurst burst(Runtime::Default()->cupti(), bench.device.api());  // One claim of CUPTI, as Warmup of a list makes.
  int searches = 0;
  for (; !stop; ++searches) OrDie(kernel.Warmup(stream.get(), {{{"N", 2048 + 64 * searches}}}));
  return searches;
}

void BM_Launch(benchmark::State& state, bool raw, Beside beside) {
  GetBench();
  std::vector<double> all;
  int searches = 0;
  for (auto _ : state) {
    std::atomic<bool> stop{false};
    std::thread tuner;
    if (beside != Beside::kNothing) {
      tuner = std::thread([&] { searches += TuneWithoutEnd(beside == Beside::kTuningByEvents, stop); });
    }
    std::vector<std::vector<double>> times(kThreads);
    std::vector<std::thread> threads;
    for (std::vector<double>& mine : times) threads.emplace_back([&mine, raw] { mine = LaunchForAWhile(raw); });
    for (std::thread& thread : threads) thread.join();
    stop = true;
    if (tuner.joinable()) tuner.join();
    for (const std::vector<double>& mine : times) all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  auto percentile = [&](double p) { return all[static_cast<std::size_t>(p * static_cast<double>(all.size() - 1))]; };
  state.counters["p50_us"] = percentile(0.5);
  state.counters["p99_us"] = percentile(0.99);
  state.counters["p999_us"] = percentile(0.999);
  state.counters["max_us"] = all.back();
  state.counters["searches"] = searches;
}

BENCHMARK_CAPTURE(BM_Launch, raw_alone, true, Beside::kNothing)->Iterations(3)->UseRealTime();
BENCHMARK_CAPTURE(BM_Launch, hit_alone, false, Beside::kNothing)->Iterations(3)->UseRealTime();
BENCHMARK_CAPTURE(BM_Launch, raw_beside_tuning, true, Beside::kTuning)->Iterations(3)->UseRealTime();
BENCHMARK_CAPTURE(BM_Launch, hit_beside_tuning, false, Beside::kTuning)->Iterations(3)->UseRealTime();
BENCHMARK_CAPTURE(BM_Launch, raw_beside_tuning_by_events, true, Beside::kTuningByEvents)->Iterations(3)->UseRealTime();
BENCHMARK_CAPTURE(BM_Launch, hit_beside_tuning_by_events, false, Beside::kTuningByEvents)->Iterations(3)->UseRealTime();

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) { return tuneonce::RunDeviceBenchmarks(argc, argv); }
