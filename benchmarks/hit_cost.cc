// What a TunedKernel's hit adds to the raw launch, with 1, 64 and 4096 ready keys.
//
//   hit_cost_benchmark --device=cpu|cuda [--benchmark_format=json]
//
// To be compared within one run:
//   RawLaunch / Hit            cuLaunchKernelEx by hand, and TunedKernel::Launch, on the device;
//   RawNothing / HitNothing    the same with cuLaunchKernelEx replaced by a function that only returns: what is left is
//                              all that a hit adds, without the launch's noise. Where several devices are visible, that
//                              is also a cuCtxGetDevice.
// TensorMapHitNothing/1 is a kernel that takes a tensor map, TensorMapHitNothing/0 the same without.
// RawLaunch and Hit also from 16 threads, each with a stream of its own.
// The kernel is vector_add over 32 to 4127 elements, with one config and its own search for every key.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "best_kernel.h"
#include "cuda/driver_api.h"
#include "device_benchmark.h"
#include "matmul_bundle.h"
#include "measure/cupti_timer.h"
#include "runtime/tuned_kernel_on.h"
#include "store/memory_store.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"
#include "vector_add_bundle.h"

namespace tuneonce {
namespace {

bool launch_nothing = false;

PFN_cuLaunchKernelEx_v11060 launch_for_real = nullptr;
bool is_tuning = false;  // A search needs launches that do something.
CUresult LaunchNothing(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  return is_tuning ? launch_for_real(config, function, parameters, extra) : CUDA_SUCCESS;
}

/// One device with its context current, and its driver with launches that do nothing.
struct Bench {
  Bench()
      : device(OrDie(OpenDevice(device_name))),
        context(OrDie(Context::RetainPrimary(device))),
        current(context.view()),
        stream(OrDie(Stream::Create(device.api()))),
        buffer(OrDie(DeviceBuffer::Allocate(stream.view(), kMaxElements * sizeof(float)))) {
    OrDie(buffer.Fill(0));
    DriverTable nothing = UnguardedTable(device.api());
    launch_for_real = nothing.LaunchKernelEx;
    nothing.LaunchKernelEx = LaunchNothing;
    doing_nothing = std::make_unique<DriverApi>(nothing, "nothing", device.api().is_cpu_device());
  }

  static constexpr std::int64_t kMaxElements = 1 << 16;

  Device device;
  Context context;
  ScopedContext current;
  Stream stream;
  DeviceBuffer buffer;
  std::unique_ptr<DriverApi> doing_nothing;
};

Bench& GetBench() {
  static Bench* const bench = new Bench;
  return *bench;
}

TensorView View(std::int64_t elements, std::int64_t offset = 0) {
  return TensorView::Contiguous(static_cast<float*>(GetBench().buffer.data()) + offset, DType::kFloat32, {elements});
}

/// What the kernel writes: apart from what it reads.
TensorView Output(std::int64_t elements) { return View(elements, Bench::kMaxElements / 2); }

/// vector_add with one config, so that making a key ready costs one load.
KernelDefinition OneConfig() {
  KernelDefinition example = OrDie(Bundle::Load(vector_add_bundle)).definition();
  Target target = Target::Of(OrDie(GetBench().device.Identity()));
  Config baseline = *example.space().baseline();
  bool is_cpu = target.is_cpu_device;
  const std::vector<Variant>& variants = example.variants();
  Variant variant = *std::find_if(variants.begin(), variants.end(),
                                  [&](const Variant& v) { return v.name == (is_cpu ? "cpu" : "cuda"); });
  Variant fixed = variant;
  fixed.source = [=](const Config&, const Problem& p) { return variant.source(baseline, p); };
  fixed.hints = [](const Config&) { return Hints(); };
  fixed.geometry = GeometryFn(Grid::OneD({"N", 1024})).Block(is_cpu ? 1 : 256);  // The baseline's.
  KernelDefinition definition("vector_add_fixed");
  definition.DimsInOrder({"N"}).Parameters(example.parameters()).AddVariant(fixed);
  return definition;
}

/// A kernel with `num_keys` ready keys; made once for all runs and threads of a benchmark.
TunedKernel& ready(const DriverApi& api, std::int64_t num_keys) {
  static auto* const mutex = new std::mutex;
  std::lock_guard<std::mutex> lock(*mutex);
  ScopedContext current(GetBench().context.view());
  static auto* const kernels = new std::map<std::pair<const DriverApi*, std::int64_t>, std::unique_ptr<TunedKernel>>;
  std::unique_ptr<TunedKernel>& known = (*kernels)[{&api, num_keys}];
  if (known != nullptr) return *known;
  Bench& bench = GetBench();
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  policy.search.max_rounds = 1;
  TimingBurst burst(Runtime::Default()->cupti(), api);  // One claim of CUPTI for all these searches.
  TunedKernel kernel = OrDie(TunedKernelOn::Create(OrDie(Device::Get(api, bench.device.index())), OneConfig(), policy));
  is_tuning = true;
  for (std::int64_t i = 0; i < num_keys; ++i) {
    OrDie(kernel.Launch(bench.stream.get(), View(32 + i), View(32 + i), Output(32 + i)));
  }
  OrDie(bench.stream.view().Synchronize());
  is_tuning = false;
  known = std::make_unique<TunedKernel>(std::move(kernel));
  return *known;
}

/// What each benchmark thread launches into: a stream of its own, drained now and then outside the timed part, since
/// queues are not without end.
class Lane {
 public:
  explicit Lane(benchmark::State& state)
      : state_(state), current_(GetBench().context.view()), stream_(OrDie(Stream::Create(GetBench().device.api()))) {}
  CUstream stream() const { return stream_.get(); }
  void Step() {
    if (launch_nothing || ++count_ % 256 != 0) return;
    state_.PauseTiming();
    OrDie(stream_.view().Synchronize());
    state_.ResumeTiming();
  }
  ~Lane() { OrDie(stream_.view().Synchronize()); }

 private:
  benchmark::State& state_;
  ScopedContext current_;
  Stream stream_;
  int count_ = 0;
};

/// The kernel that raw launches launch.
const CompiledKernel& RawKernel() {
  static const auto* const kernel = [] {
    Bench& bench = GetBench();
    ScopedContext current(bench.context.view());
    TensorView view = View(32);
    KernelDefinition definition = OneConfig();
    TuningRecord result =
        OrDie(exhaustive_search(definition, bench.stream.get(), {view, view, Output(32)}, SearchOptions()));
    return new CompiledKernel(OrDie(BestKernel(bench.device, definition, result.best)));
  }();
  return *kernel;
}

void RunRaw(benchmark::State& state, const DriverApi& api) {
  const CompiledKernel& kernel = RawKernel();
  const Geometry geometry = kernel.geometry();
  CUdeviceptr pointer = GetBench().buffer.get();
  std::int64_t n = 32;
  Lane lane(state);
  for (auto _ : state) {
    void* parameters[] = {&pointer, &pointer, &pointer, &n};
    CUlaunchConfig config{};
    config.gridDimX = static_cast<unsigned>(geometry.grid.x);
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = static_cast<unsigned>(geometry.block.x);
    config.hStream = lane.stream();
    CUresult result = api.launch_path().LaunchKernelEx(&config, kernel.function(), parameters, nullptr);
    if (result != CUDA_SUCCESS) state.SkipWithError("the launch failed");
    lane.Step();
  }
}

/// Fails the benchmark if what it timed since `before` was anything but hits, of all its threads.
void ExpectHits(benchmark::State& state, const Counters& before, const Counters& after) {
  if (after.hits - before.hits < static_cast<std::int64_t>(state.iterations()) || after.tunes != before.tunes ||
      after.fallbacks != before.fallbacks) {
    const std::string why = "of " + std::to_string(state.iterations()) + " launches " +
                            std::to_string(after.hits - before.hits) + " were hits and " +
                            std::to_string(after.fallbacks - before.fallbacks) +
                            " fallbacks; tunes that failed: " + std::to_string(after.failed_tunes);
    state.SkipWithError(why.c_str());
  }
}

void RunHit(benchmark::State& state, const DriverApi& api) {
  TunedKernel& kernel = ready(api, state.range(0));
  const Counters before = kernel.counters();
  Lane lane(state);
  std::int64_t i = 0;
  TensorView view = View(32), sum = Output(32);
  for (auto _ : state) {
    view.shape[0] = sum.shape[0] = 32 + i;
    view.bytes = sum.bytes = static_cast<std::size_t>(32 + i) * sizeof(float);
    if (++i == state.range(0)) i = 0;
    Status status = kernel.Launch(lane.stream(), view, view, sum);
    if (!status.ok()) state.SkipWithError(status.message().c_str());
    lane.Step();
  }
  ExpectHits(state, before, kernel.counters());
}

void BM_RawLaunch(benchmark::State& state) {
  launch_nothing = false;
  RunRaw(state, GetBench().device.api());
}
void BM_Hit(benchmark::State& state) {
  launch_nothing = false;
  RunHit(state, GetBench().device.api());
}
void BM_RawNothing(benchmark::State& state) {
  launch_nothing = true;
  RunRaw(state, *GetBench().doing_nothing);
}
void BM_HitNothing(benchmark::State& state) {
  launch_nothing = true;
  RunHit(state, *GetBench().doing_nothing);
}

/// A bundle's kernel: three tensors of rank 2, on a GPU 15 kernel parameters and 13 assumptions to check.
void BM_BundleHitNothing(benchmark::State& state) {
  launch_nothing = true;
  Bench& bench = GetBench();
  const DriverApi& api = *bench.doing_nothing;
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  Bundle bundle = OrDie(Bundle::Load(matmul_bundle));
  TunedKernel kernel =
      OrDie(TunedKernelOn::Create(OrDie(Device::Get(api, bench.device.index())), bundle.definition(), policy));
  auto matrix = [&](std::int64_t at) {
    return TensorView::Contiguous(static_cast<char*>(bench.buffer.data()) + at * 8192, DType::kFloat16, {64, 64});
  };
  TensorView a = matrix(0), b = matrix(1), c = matrix(2);
  Lane lane(state);
  is_tuning = true;
  OrDie(kernel.Launch(lane.stream(), a, b, c));
  OrDie(bench.stream.view().Synchronize());
  is_tuning = false;
  const Counters before = kernel.counters();
  for (auto _ : state) {
    Status status = kernel.Launch(lane.stream(), a, b, c);
    if (!status.ok()) state.SkipWithError(status.message().c_str());
  }
  ExpectHits(state, before, kernel.counters());
}

/// A kernel of two matrices, which takes the first as a tensor map, or only its pointer: what a map that is remembered
/// adds. On a GPU from compute capability 9.0 on.
void BM_TensorMapHitNothing(benchmark::State& state) {
  launch_nothing = true;
  Bench& bench = GetBench();
  const DriverApi& api = *bench.doing_nothing;
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  policy.search.max_rounds = 1;
  policy.search.verify = Verify::kOff;  // The code writes nothing.
  std::vector<Parameter> parameters = {In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M", "N"})};
  std::string map_on_gpu, map_on_cpu;
  if (state.range(0) != 0) {
    parameters.push_back(Descriptor("map", "x", TensorMap{{4, 8}}));
    map_on_gpu = ", const __grid_constant__ Map";
    map_on_cpu = ", tuneonce_tensor_map";
  }
  KernelDefinition definition("with_map");
  definition.Parameters(parameters)
      .Grid(Grid::OneD({"M", 64}))
      .AddVariant(
          CudaCpp("struct alignas(64) Map { char bytes[128]; };\nextern \"C\" __global__ void with_map(const void*, "
                  "void*" +
                      map_on_gpu + ") {}",
                  "with_map"))
      .AddVariant(CpuCpp("static void with_map(const tuneonce_block&, const void*, void*" + map_on_cpu +
                             ") {}\nTUNEONCE_CPU_KERNEL(with_map);",
                         "with_map"));
  TunedKernel kernel = OrDie(TunedKernelOn::Create(OrDie(Device::Get(api, bench.device.index())), definition, policy));
  TensorView x = TensorView::Contiguous(bench.buffer.data(), DType::kFloat32, {64, 64});
  TensorView y = TensorView::Contiguous(static_cast<char*>(bench.buffer.data()) + (1 << 16), DType::kFloat32, {64, 64});
  Lane lane(state);
  is_tuning = true;
  for (int i = 0; i < 2; ++i) OrDie(kernel.Launch(lane.stream(), x, y));
  OrDie(bench.stream.view().Synchronize());
  is_tuning = false;
  const Counters before = kernel.counters();
  for (auto _ : state) {
    Status status = kernel.Launch(lane.stream(), x, y);
    if (!status.ok()) state.SkipWithError(status.message().c_str());
  }
  ExpectHits(state, before, kernel.counters());
}

BENCHMARK(BM_RawLaunch);
BENCHMARK(BM_Hit)->Arg(1)->Arg(64)->Arg(4096);
BENCHMARK(BM_RawLaunch)->Threads(16)->UseRealTime();
BENCHMARK(BM_Hit)->Arg(1)->Arg(64)->Threads(16)->UseRealTime();
BENCHMARK(BM_RawNothing);
BENCHMARK(BM_HitNothing)->Arg(1)->Arg(64)->Arg(4096);
BENCHMARK(BM_BundleHitNothing);
BENCHMARK(BM_TensorMapHitNothing)->Arg(0)->Arg(1);

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) { return tuneonce::RunDeviceBenchmarks(argc, argv); }
