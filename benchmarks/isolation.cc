// What it costs a healthy search of 16 configs to run in a worker process: isolation_benchmark --device cpu|cuda prints
// JSON. Compared are searches with all code compiled before: in this process; in a worker that must start first; in one
// that the search before has left. And what the candidates' times are in each; how much device memory an idle worker
// holds; and what the host's own launches and kernels take while a candidate hangs in a worker on the same device.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "cuda/driver_api.h"
#include "cuda/event.h"
#include "device_benchmark.h"
#include "store/memory_store.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kN = 1 << 20;

constexpr char kHostSource[] = R"(
static void scale(const tuneonce_block& block, const float* x, float* y, int n) {
  int begin = block.x * TILE, end = begin + TILE < n ? begin + TILE : n;
  for (int i = begin; i < end; i += STEP) {
    for (int j = i; j < i + STEP && j < end; ++j) y[j] = 2 * x[j];
  }
}
TUNEONCE_CPU_KERNEL(scale);)";
constexpr char kCudaSource[] = R"(
extern "C" __global__ void scale(const float* x, float* y, int n) {
  for (int i = 0; i < STEP; ++i) {
    int at = blockIdx.x * TILE + i * (TILE / STEP) + threadIdx.x;
    if (threadIdx.x < TILE / STEP && at < n) y[at] = 2 * x[at];
  }
})";

constexpr char kHostHang[] = R"(
static void hang(const tuneonce_block& block, const float* x, float* y, int n) {
  for (int i = 0; i < n && block.x == 0; ++i) y[i] = x[i];
  volatile int going = HANGS;
  while (going) {}
}
TUNEONCE_CPU_KERNEL(hang);)";
constexpr char kCudaHang[] = R"(
__device__ int going = HANGS;
extern "C" __global__ void hang(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];
  while (*(volatile int*)&going) {}
})";

/// One block that copies x to y, and by HANGS never ends.
KernelDefinition Hang() {
  SearchSpace space;
  IntAxis hangs = space.AddAxis("HANGS", {0, 1});
  space.SetBaseline({{hangs, 0}});
  KernelDefinition definition("hang");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
      .Space(space)
      .AddVariant(CudaCpp(kCudaHang, "hang").Block(256).ForTarget(OnGpu()))
      .AddVariant(CpuCpp(kHostHang, "hang").ForTarget(OnCpuDevice()));
  return definition;
}

KernelDefinition Scale() {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {512, 1024, 2048, 4096});
  IntAxis step = space.AddAxis("STEP", {4, 8, 16, 32});
  space.SetBaseline({{tile, 512}, {step, 4}});
  KernelDefinition definition("scale");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
      .Space(space)
      .Grid(Grid::OneD({"N", tile}))
      .AddVariant(CudaCpp(kCudaSource, "scale").Block(Term(tile) / step).ForTarget(OnGpu()))
      .AddVariant(CpuCpp(kHostSource, "scale").ForTarget(OnCpuDevice()));
  return definition;
}

std::shared_ptr<Runtime> FreshRuntime() { return OrDie(Runtime::Create()); }

struct Searcher {
  StreamView stream;
  TensorView x, y;
  KernelDefinition definition;
  SearchOptions options;

  /// Milliseconds; adds the candidates' times to `times_us`.
  double Search(Json* times_us) {
    const auto start = std::chrono::steady_clock::now();
    TuningRecord result = OrDie(exhaustive_search(definition, stream.get(), {x, y}, options));
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (result.is_isolated != (options.isolation != Isolation::kOff)) OrDie(InternalError("it ran elsewhere"));
    for (const CandidateOutcome& success : result.successes()) {
      (*times_us)[success.config.ToString()].push_back(success.measurement.mean_us);
    }
    return ms;
  }
};

Json Summary(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {{"median_ms", values[values.size() / 2]}, {"least_ms", values.front()}, {"most_ms", values.back()}};
}

double Percentile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(p * static_cast<double>(values.size() - 1))];
}

/// So few elements that launches at this pace do not queue up.
TensorView Few(const TensorView& all) { return TensorView::Contiguous(all.data, DType::kFloat32, {4096}); }

/// For a second each: what a launch of the host's takes the host, one every 20 us; and what its kernel takes on the
/// device, one after the other.
Json HostsLaunches(const Searcher& searcher, TunedKernel& kernel) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kDuration = std::chrono::seconds(1);
  constexpr auto kPace = std::chrono::microseconds(20);
  const TensorView x = Few(searcher.x), y = Few(searcher.y);
  auto launch = [&] { OrDie(kernel.Launch(searcher.stream.get(), x, y)); };
  std::vector<double> host_us, kernel_us;
  for (const auto end = Clock::now() + kDuration; Clock::now() < end;) {
    const Clock::time_point start = Clock::now();
    launch();
    host_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    while (Clock::now() < start + kPace) {  // Spins: a sleep would measure the wake-up's cold caches.
    }
  }
  OrDie(searcher.stream.Synchronize());
  Event before = OrDie(Event::Create(searcher.stream.api(), Event::Timing::kEnabled));
  Event after = OrDie(Event::Create(searcher.stream.api(), Event::Timing::kEnabled));
  for (const auto end = Clock::now() + kDuration; Clock::now() < end;) {
    OrDie(before.Record(searcher.stream.get()));
    launch();
    OrDie(after.Record(searcher.stream.get()));
    OrDie(after.Synchronize());
    kernel_us.push_back(OrDie(after.MicrosecondsSince(before)));
  }
  return {{"launches", host_us.size()},
          {"host_p50_us", Percentile(host_us, 0.5)},
          {"host_p99_us", Percentile(host_us, 0.99)},
          {"kernels", kernel_us.size()},
          {"kernel_p50_us", Percentile(kernel_us, 0.5)},
          {"kernel_p99_us", Percentile(kernel_us, 0.99)}};
}

/// The same launches alone, and while a candidate hangs in a worker for longer than they take.
Json BesideAHangingWorker(const Searcher& searcher, const ContextView& context) {
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  policy.search.quiet = true;
  TunedKernel kernel = OrDie(TunedKernel::Create(Scale(), policy));
  OrDie(kernel.Launch(searcher.stream.get(), Few(searcher.x), Few(searcher.y)));
  Json alone = HostsLaunches(searcher, kernel);
  Stream stream = OrDie(Stream::Create(searcher.stream.api()));
  std::atomic<bool> over{false};
  SearchOptions options;
  options.quiet = true;
  options.isolation = Isolation::kRequired;
  options.candidate_deadline_ms = 5000;
  std::thread search([&] {
    ScopedContext current(context);
    TuningRecord result = OrDie(exhaustive_search(Hang(), stream.get(), {searcher.x, searcher.y}, options));
    if (result.cost.workers_replaced < 1) OrDie(InternalError("nothing hung"));
    over = true;
  });
  std::this_thread::sleep_for(std::chrono::seconds(2));  // By now it has compiled, has its worker, and hangs.
  Json beside = HostsLaunches(searcher, kernel);
  const bool in_time = !over;
  search.join();
  if (!in_time) OrDie(InternalError("the worker no longer hung at the end"));
  return {{"alone", alone}, {"beside", beside}};
}

/// Device memory, in MiB, that a worker holds between two searches: its context and what its allocator keeps.
Json IdleWorkerMib(Searcher& searcher) {
  auto free_mib = [&] {
    OrDie(searcher.stream.Synchronize());
    std::size_t free = 0, total = 0;
    if (UnguardedTable(searcher.stream.api()).MemGetInfo(&free, &total) != CUDA_SUCCESS) {
      OrDie(InternalError("cuMemGetInfo failed"));
    }
    return static_cast<double>(free) / (1 << 20);
  };
  Json ignored = Json::object();
  searcher.options.isolation = Isolation::kRequired;
  searcher.options.runtime = FreshRuntime();
  searcher.Search(&ignored);
  const double with = free_mib();
  searcher.options.runtime = FreshRuntime();  // Ends the worker.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return free_mib() - with;
}

Json Run(int repetitions) {
  Device device = OrDie(OpenDevice(device_name));
  Context context = OrDie(Context::RetainPrimary(device));
  ScopedContext current(context.view());
  Stream stream = OrDie(Stream::Create(device.api()));
  DeviceBuffer x = OrDie(DeviceBuffer::Allocate(stream.view(), kN * sizeof(float)));
  DeviceBuffer y = OrDie(DeviceBuffer::Allocate(stream.view(), kN * sizeof(float)));
  OrDie(x.Fill(0x40));
  OrDie(stream.view().Synchronize());
  Searcher searcher{stream.view(), TensorView::Contiguous(x.data(), DType::kFloat32, {kN}),
                    TensorView::Contiguous(y.data(), DType::kFloat32, {kN}), Scale(), SearchOptions()};
  searcher.options.quiet = true;
  searcher.options.compile.cache = MakeMemoryStore();
  searcher.options.runtime = FreshRuntime();
  Json warm_up = Json::object();
  searcher.Search(&warm_up);  // Compiles.
  Json times_us[2] = {Json::object(), Json::object()};
  std::vector<double> in_process, first, further;
  for (int i = 0; i < repetitions; ++i) {  // Side by side, so that what else the machine does is alike for all.
    searcher.options.isolation = Isolation::kOff;
    in_process.push_back(searcher.Search(&times_us[0]));
    searcher.options.isolation = Isolation::kRequired;
    searcher.options.runtime = FreshRuntime();  // It has no worker yet.
    first.push_back(searcher.Search(&times_us[1]));
    further.push_back(searcher.Search(&times_us[1]));
  }
  const Json idle_worker_mib = IdleWorkerMib(searcher);
  return {{"device", OrDie(device.Identity()).name},
          {"repetitions", repetitions},
          {"in_process", Summary(in_process)},
          {"first_of_a_burst", Summary(first)},
          {"further", Summary(further)},
          {"idle_worker_mib", idle_worker_mib},
          {"hosts_launches", BesideAHangingWorker(searcher, context.view())},
          {"in_process_us", times_us[0]},
          {"isolated_us", times_us[1]}};
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  CLI::App app("What it costs a search to run in a worker process");
  int repetitions = 15;
  app.add_option("--device", tuneonce::device_name, "cpu or cuda (default: cpu)");
  app.add_option("--repetitions", repetitions, "Of each kind of search (default: 15)");
  CLI11_PARSE(app, argc, argv);
  std::printf("%s\n", tuneonce::Run(repetitions).dump(2).c_str());
  return 0;
}
