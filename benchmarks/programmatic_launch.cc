// What programmatic dependent launch saves in a chain of two kernels that alternate: each adds 1 to what the other
// wrote.
//
//   programmatic_launch_benchmark --device=cuda [--benchmark_format=json]
//
// Both kernels allow the next one to begin at once, and wait for the one before only where they read its output. The
// chain runs with and without the attribute (GeometryFn::ProgrammaticLaunch), of CUDA C++ and of Tile IR (cuTile's
// grid_dependency_control_wait), on a stream and as a CUDA graph. The time is that of one kernel of the chain: a
// chain's wall time from an empty stream until the stream is empty again, divided by its length. Each run checks the
// sum, which a kernel that did not wait would get wrong. On the CPU device, which ignores the attribute, times mean
// nothing.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

constexpr int kChain = 200;
constexpr std::int64_t kTile = 1024;

constexpr char kCudaSource[] = R"(
extern "C" __global__ void add_one(const float* x, float* y, int n) {
  asm volatile("griddepcontrol.launch_dependents;");
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (i < n) y[i] = x[i] + 1;
})";

constexpr char kCpuSource[] = R"(
static void add_one(const tuneonce_block& block, const float* x, float* y, int n) {
  for (int i = block.x * 1024; i < n && i < (block.x + 1) * 1024; ++i) y[i] = x[i] + 1;
}
TUNEONCE_CPU_KERNEL(add_one);)";

std::string device_name = "cpu";

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);
}

template <typename T>
T OrDie(Result<T> result) {
  if (!result.ok()) Die(result.status().ToString());
  return *std::move(result);
}
void OrDie(const Status& status) {
  if (!status.ok()) Die(status.ToString());
}

std::string Bytecode() {
  std::ifstream file(TUNEONCE_DEPENDENT_TILEIR, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The kernel y = x + 1 by one back end.
KernelDefinition AddOne(const std::string& back_end, bool is_programmatic) {
  GeometryFn geometry = Grid::OneD({"N", kTile});
  if (is_programmatic) geometry.ProgrammaticLaunch();
  KernelDefinition definition(is_programmatic ? "add_one_programmatic" : "add_one");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")}).Grid(geometry);
  if (back_end == "tile") {
    // The code was exported for dense tensors whose addresses are multiples of 16.
    Variant tile([](const Config&) { return KernelSource::TileIr(Bytecode(), "dependent"); });
    tile.Named("tile").Convention(CallingConvention::kCutilePython).KernelArgs({"x", "y"});
    tile.Assuming({Aligned("x", 16), Aligned("y", 16), Contiguous("x"), Contiguous("y")});
    definition.AddVariant(std::move(tile));
  } else {
    definition.AddVariant(CudaCpp(kCudaSource, "add_one").Block(static_cast<int>(kTile)));
  }
  return definition.AddVariant(CpuCpp(kCpuSource, "add_one").Block(1));
}

struct Bench {
  Bench()
      : device(OrDie(OpenDevice(device_name))),
        context(OrDie(Context::RetainPrimary(device))),
        current(context.view()),
        stream(OrDie(Stream::Create(device.api()))) {}

  Device device;
  Context context;
  ScopedContext current;
  Stream stream;
};

Bench& GetBench() {
  static Bench* const bench = new Bench;
  return *bench;
}

void BM_Chain(benchmark::State& state, const std::string& back_end, bool is_programmatic, bool is_graph) {
  const std::int64_t n = state.range(0);
  Bench& bench = GetBench();
  AutotunePolicy policy;
  policy.store = MakeMemoryStore();
  TunedKernel kernel = OrDie(TunedKernel::Create(AddOne(back_end, is_programmatic), policy));
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(float);
  DeviceBuffer a = OrDie(DeviceBuffer::Allocate(bench.stream.view(), bytes));
  DeviceBuffer b = OrDie(DeviceBuffer::Allocate(bench.stream.view(), bytes));
  // Numbers that tell their places, so that a search can verify the kernel.
  std::vector<float> first(static_cast<std::size_t>(n)), last(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<float>(i % 1000);
  const TensorView views[] = {TensorView::Contiguous(a.data(), kFloat32, {n}),
                              TensorView::Contiguous(b.data(), kFloat32, {n})};
  auto enqueue = [&](CUstream stream) -> Status {
    for (int i = 0; i < kChain; ++i) {
      TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream, views[i % 2], views[1 - i % 2]));
    }
    return Status();
  };
  OrDie(a.CopyFromHost(first.data(), bytes));
  OrDie(kernel.Launch(bench.stream.get(), views[0], views[1]));  // Tunes it.
  OrDie(bench.stream.view().Synchronize());
  std::vector<GraphExec> graph;
  if (is_graph) graph.push_back(OrDie(GraphExec::Capture(bench.stream.view(), enqueue)));
  for (auto _ : state) {
    OrDie(a.CopyFromHost(first.data(), bytes));
    OrDie(bench.stream.view().Synchronize());
    const auto start = std::chrono::steady_clock::now();
    OrDie(is_graph ? graph.front().Launch(bench.stream.get()) : enqueue(bench.stream.get()));
    OrDie(bench.stream.view().Synchronize());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    state.SetIterationTime(seconds / kChain);
    OrDie(a.CopyToHost(last.data(), bytes));
    OrDie(bench.stream.view().Synchronize());
    for (std::size_t i = 0; i < last.size(); ++i) {
      if (last[i] != first[i] + kChain) Die("a kernel of the chain read what the one before had not written");
    }
  }
}

void RegisterAll() {
  for (const char* back_end : {"cuda", "tile"}) {
    for (bool is_graph : {false, true}) {
      for (bool is_programmatic : {false, true}) {
        const std::string name = std::string("BM_Chain/") + back_end + (is_graph ? "/graph" : "/stream") +
                                 (is_programmatic ? "/programmatic" : "/plain");
        benchmark::RegisterBenchmark(name.c_str(), BM_Chain, back_end, is_programmatic, is_graph)
            ->Arg(1 << 12)
            ->Arg(1 << 20)
            ->Iterations(200)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--device=", 0) != 0) {
      std::fprintf(stderr, "unknown argument %s; use --device=cpu|cuda and --benchmark_*\n", argv[i]);
      return 2;
    }
    tuneonce::device_name = argument.substr(9);
  }
  benchmark::AddCustomContext("tuneonce_device", tuneonce::device_name);
  tuneonce::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
