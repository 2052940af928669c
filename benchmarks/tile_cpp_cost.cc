// What it costs to lower 40 instances of a matmul in CUDA Tile C++ to Tile IR: in shared runs of NVRTC, as a search
// does it; in a run for each; and by a process of nvcc for each (--nvcc=PATH of CUDA 13.3 or newer). Runs of NVRTC are
// in processes of their own (worker:1) or in this process (worker:0), also for a small kernel in CUDA C++. And what the
// Tile IR of 8 of them costs to compile as a search's pool does it, against as many processes of nvcc at a time.
// tile_cpp_cost_benchmark [--nvcc=PATH]. Needs NVRTC 13.3 or newer and tileiras; no GPU.
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/process.h"
#include "base/temporary_folder.h"
#include "compile/compile_slots.h"
#include "compile/nvrtc_source.h"
#include "compile/tile_cpp_toolchain.h"
#include "compile/tile_front_end.h"
#include "compile/toolbox.h"
#include "shared/compile_pool.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
namespace {

std::string nvcc;

constexpr char kMatmul[] = R"(
#include "cuda_tile.h"
#include "cuda_fp16.h"
template <int TM, int TN, int TK>
__tile_global__ void matmul(const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c, int m,
                            int n, int k) {
  namespace tiles = ::cuda::tiles;
  auto as = tiles::partition_view{tiles::tensor_span{a, tiles::extents{m, k}}, tiles::shape<TM, TK>{}};
  auto bs = tiles::partition_view{tiles::tensor_span{b, tiles::extents{k, n}}, tiles::shape<TK, TN>{}};
  auto cs = tiles::partition_view{tiles::tensor_span{c, tiles::extents{m, n}}, tiles::shape<TM, TN>{}};
  const int row = tiles::bid().x, col = tiles::bid().y;
  auto sum = tiles::full<tiles::tile<float, tiles::shape<TM, TN>>>(0.0f);
  for (auto i : tiles::irange(0, (k + TK - 1) / TK)) {
    sum = tiles::mma(as.load_masked(row, i), bs.load_masked(i, col), sum);
  }
  cs.store_masked(tiles::element_cast<__half>(sum), row, col);
}
)";

Target Sm90() {
  Target target;
  target.capability_major = 9;
  return target;
}

std::shared_ptr<const Toolbox> Tools() {
  static const auto tools = std::make_shared<const Toolbox>(Environment::Read());
  return tools;
}

/// With NVRTC in this process, as where no tuneonce_worker is installed.
std::shared_ptr<const Toolbox> ToolsWithoutWorker() {
  Environment environment = Environment::Read();
  environment.worker = "/none";
  return std::make_shared<const Toolbox>(std::move(environment));
}

/// Names of the first `count` instances, 40 at most.
std::vector<std::string> Instances(std::size_t count) {
  std::vector<std::string> names;
  for (int m : {16, 32, 64, 128}) {
    for (int n : {16, 32, 64, 128, 256}) {
      for (int k : {32, 64}) {
        names.push_back("matmul<" + std::to_string(m) + ", " + std::to_string(n) + ", " + std::to_string(k) + ">");
      }
    }
  }
  names.resize(count);
  return names;
}

std::vector<KernelSource> Sources(std::size_t count) {
  std::vector<KernelSource> sources;
  for (const std::string& name : Instances(count)) sources.push_back(KernelSource::TileCpp(kMatmul, name));
  return sources;
}

void BM_Lower40(benchmark::State& state) {
  const bool is_shared = state.range(0) != 0;
  const std::shared_ptr<const Toolbox> tools = state.range(1) != 0 ? Tools() : ToolsWithoutWorker();
  const std::vector<KernelSource> sources = Sources(40);
  std::vector<const KernelSource*> pointers;
  for (const KernelSource& source : sources) pointers.push_back(&source);
  std::int64_t runs = 0;
  for (auto _ : state) {
    TileFrontEnd front_end(tools, TileCppToolchain::kMostRunSeconds);
    std::shared_ptr<void> announcement;
    if (is_shared) announcement = front_end.Announce(pointers, Sm90());
    for (const KernelSource& source : sources) {
      const Status lowered = front_end.Lower(source, Sm90(), WaitLimits()).status();
      if (!lowered.ok()) return state.SkipWithError(lowered.message().c_str());
    }
    runs = front_end.num_runs();
  }
  state.counters["runs_of_nvrtc"] = static_cast<double>(runs);
}
BENCHMARK(BM_Lower40)
    ->ArgNames({"shared", "worker"})
    ->ArgsProduct({{1, 0}, {1, 0}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void BM_CompileCudaCpp(benchmark::State& state) {
  const NvrtcToolchain nvrtc(state.range(0) != 0 ? Tools() : ToolsWithoutWorker());
  const KernelSource source = KernelSource::CudaCpp("__global__ void k(float* x) { x[threadIdx.x] *= 2; }", "k");
  for (auto _ : state) {
    const Status compiled = nvrtc.Compile(source, Hints(), Sm90()).status();
    if (!compiled.ok()) return state.SkipWithError(compiled.message().c_str());
  }
}
BENCHMARK(BM_CompileCudaCpp)->ArgName("worker")->Arg(1)->Arg(0)->UseRealTime()->Unit(benchmark::kMillisecond);

Status RunNvccOn(const std::string& instance, const std::string& option) {
  TUNEONCE_ASSIGN_OR_RETURN(TemporaryFolder folder, Tools()->MakeFolder());
  const std::string text = std::string(kMatmul) + "template __tile_global__ void " + instance +
                           "(const __half*, const __half*, __half*, int, int, int);\n";
  TUNEONCE_ASSIGN_OR_RETURN(const std::string file, folder.WriteFile("k.cu", text));
  ProcessOptions options;
  options.arguments = {nvcc, "-arch=sm_90", "--enable-tile", "-std=c++20", option, file, "-o", folder.path() + "/out"};
  options.environment = {"PATH=" + Environment::Read().path, "TMPDIR=" + folder.path()};
  options.folder = folder.path();
  TUNEONCE_ASSIGN_OR_RETURN(ProcessResult result, RunProcess(options));
  return result.exit_code == 0 ? Status() : InternalError(result.output);
}

/// Runs nvcc with `option` on each of `count` instances, `num_processes` at a time.
void RunNvcc(benchmark::State& state, const std::string& option, std::size_t count, std::int64_t num_processes) {
  if (nvcc.empty()) return state.SkipWithError("give --nvcc=PATH");
  const std::vector<std::string> names = Instances(count);
  for (auto _ : state) {
    std::atomic<std::size_t> next{0};
    std::vector<Status> results(static_cast<std::size_t>(num_processes));
    std::vector<std::thread> threads;
    for (Status& result : results) {
      threads.emplace_back([&] {
        for (std::size_t i = next++; i < names.size() && result.ok(); i = next++) result = RunNvccOn(names[i], option);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& result : results) {
      if (!result.ok()) return state.SkipWithError(result.message().c_str());
    }
  }
}
void BM_Nvcc40(benchmark::State& state) { RunNvcc(state, "--tilebc", 40, 1); }
BENCHMARK(BM_Nvcc40)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);

/// From source to cubin, as a search's pool does it.
void BM_Compile(benchmark::State& state) {
  for (auto _ : state) {
    ToolchainSet toolchains({std::make_shared<TileCppToolchain>(Tools())});
    CompileSlots slots(static_cast<int>(state.range(1)));
    CompileOptions options;
    options.cache = MakeMemoryStore();
    const std::vector<KernelSource> sources = Sources(static_cast<std::size_t>(state.range(0)));
    std::vector<CompileJob> jobs(sources.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].alternatives.push_back({sources[i], Hints()});
    CompilePool pool(slots, toolchains, Sm90(), jobs, options);
    while (std::optional<CompiledJob> job = pool.Next()) {
      if (!job->artifact.ok()) return state.SkipWithError(job->artifact.status().message().c_str());
    }
  }
}
void BM_NvccCompile(benchmark::State& state) {
  RunNvcc(state, "--tilecubin", static_cast<std::size_t>(state.range(0)), state.range(1));
}

/// A few instances at a time, and all with a process for each processor.
void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"instances", "workers"})->Args({8, 1})->Args({8, 2});
  benchmark->Args({40, static_cast<std::int64_t>(std::thread::hardware_concurrency())});
  benchmark->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);
}
BENCHMARK(BM_Compile)->Apply(Sizes);
BENCHMARK(BM_NvccCompile)->Apply(Sizes);

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--nvcc=", 0) == 0) tuneonce::nvcc = argument.substr(7);
  }
  benchmark::RunSpecifiedBenchmarks();
}
