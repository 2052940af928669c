// Host time of one decode step of the example's language model (docs/examples/llm), per token of a batch of 1.
//
//   llm_step_benchmark --device=cpu|cuda [--benchmark_format=json]
//
// To be compared within one run, each a step of the same kernels with the same arguments:
//   ByLaunches   TunedKernel::Launch of each kernel, by shapes and keys;
//   ByDriver     cuLaunchKernelEx of each, with parameters that were written down before: no host could do less;
//   ByGraph      cuGraphLaunch of all of them.
// The time is that until the step is in the stream; the stream is waited for in between. `launches` counts kernels.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cuda/driver_api.h"
#include "cuda/graph.h"
#include "device_benchmark.h"
#include "model.h"
#include "runtime/tuned_kernel_on.h"
#include "tuneonce/device.h"

namespace tuneonce {
namespace {

/// One cuLaunchKernelEx, with copies of all that it was given.
struct Launch {
  CUlaunchConfig config;
  std::vector<CUlaunchAttribute> attributes;
  CUfunction function;
  std::vector<std::vector<unsigned char>> values;
};

std::string Describe(const Launch& launch) {
  const CUlaunchConfig& of = launch.config;
  return absl::StrCat("a kernel of ", launch.values.size(), " parameters, grid ", of.gridDimX, "x", of.gridDimY, "x",
                      of.gridDimZ, ", block ", of.blockDimX, "x", of.blockDimY, "x", of.blockDimZ, ", ",
                      of.sharedMemBytes, " bytes of shared memory, ", of.numAttrs, " attributes");
}

DriverTable for_real;
std::vector<Launch>* written_down = nullptr;  // Null: launches are not written down.

CUresult WriteDown(const CUlaunchConfig* config, CUfunction kernel, void** parameters, void** extra) {
  if (written_down != nullptr) {
    // What is launched is a CUkernel, of which cuFuncGetParamInfo knows nothing.
    CUfunction function = nullptr;
    const CUresult found = for_real.KernelGetFunction(&function, reinterpret_cast<CUkernel>(kernel));
    if (found != CUDA_SUCCESS) return found;
    Launch launch = {*config, {config->attrs, config->attrs + config->numAttrs}, kernel, {}};
    std::size_t offset = 0, bytes = 0;
    CUresult more = CUDA_SUCCESS;
    for (std::size_t i = 0; (more = for_real.FuncGetParamInfo(function, i, &offset, &bytes)) == CUDA_SUCCESS; ++i) {
      const auto* value = static_cast<const unsigned char*>(parameters[i]);
      launch.values.emplace_back(value, value + bytes);
    }
    if (more != CUDA_ERROR_INVALID_VALUE) return more;  // Not the one past the last.
    written_down->push_back(std::move(launch));
  }
  return for_real.LaunchKernelEx(config, kernel, parameters, extra);
}

/// What was written down is launched again with the same workspaces: these stay, a step's worth.
CUresult FreeUnlessWrittenDown(CUdeviceptr memory, CUstream stream) {
  return written_down != nullptr ? CUDA_SUCCESS : for_real.MemFreeAsync(memory, stream);
}

/// The model on a driver whose launches can be written down.
struct Bench {
  Bench()
      : device(OrDie(OpenDevice(device_name))),
        context(OrDie(Context::RetainPrimary(device))),
        current(context.view()),
        stream(OrDie(Stream::Create(device.api()))) {
    DriverTable writing = for_real = UnguardedTable(device.api());
    if (for_real.FuncGetParamInfo == nullptr) {
      OrDie(UnimplementedError("the driver has no cuFuncGetParamInfo: it is of 12.4"));
    }
    writing.LaunchKernelEx = WriteDown;
    writing.MemFreeAsync = FreeUnlessWrittenDown;
    api = std::make_unique<DriverApi>(writing, "writing down", device.api().is_cpu_device());
    Device on = OrDie(Device::Get(*api, device.index()));
    const llm::ModelShape shape = device_name == "cpu" ? llm::ModelShape() : llm::ModelShape::Small();
    llm::Kernels kernels = OrDie(llm::Kernels::Make([&](const EmbeddedBundle& bundle) -> Result<TunedKernel> {
      TUNEONCE_ASSIGN_OR_RETURN(Bundle loaded, Bundle::Load(bundle));
      return TunedKernelOn::Create(on, loaded.definition());
    }));
    model =
        std::make_unique<llm::Model>(OrDie(llm::Model::Make(stream.view(), std::move(kernels), shape, {{16}, {1}})));
    OrDie(model->WarmUpAndFreeze(stream.get()));
    Restart();
    std::vector<Launch> seen;
    written_down = &seen;
    OrDie(model->Decode(stream.get(), 1));
    written_down = nullptr;
    launches = std::move(seen);
    for (Launch& launch : launches) {
      launch.config.attrs = launch.attributes.data();
      for (std::vector<unsigned char>& value : launch.values) parameters.push_back(value.data());
    }
    OrDie(stream.view().Synchronize());
  }

  void Restart() { OrDie(model->Prefill(stream.get(), OrDie(model->Begin({{1, 2, 3}})))); }

  Device device;
  Context context;
  ScopedContext current;
  Stream stream;
  std::unique_ptr<DriverApi> api;
  std::unique_ptr<llm::Model> model;
  std::vector<Launch> launches;
  std::vector<void*> parameters;  // Of one launch behind the other.
};

Bench& GetBench() {
  static Bench* const bench = new Bench;
  return *bench;
}

/// `step` puts one step into the stream.
template <typename Step>
void Time(benchmark::State& state, const Step& step) {
  Bench& bench = GetBench();
  std::int64_t steps = 0;
  for (auto _ : state) {
    if (steps++ % 32 == 0) bench.Restart();  // So that the caches do not fill up.
    OrDie(bench.stream.view().Synchronize());
    const auto begin = std::chrono::steady_clock::now();
    step(bench);
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  OrDie(bench.stream.view().Synchronize());
  state.counters["launches"] = static_cast<double>(bench.launches.size());
}

void ByLaunches(benchmark::State& state) {
  Time(state, [](Bench& bench) { OrDie(bench.model->Decode(bench.stream.get(), 1)); });
}

void ByDriver(benchmark::State& state) {
  Time(state, [](Bench& bench) {
    void** parameters = bench.parameters.data();
    for (const Launch& launch : bench.launches) {
      CUresult result = for_real.LaunchKernelEx(&launch.config, launch.function, parameters, nullptr);
      if (result != CUDA_SUCCESS) {
        const std::size_t number = static_cast<std::size_t>(&launch - bench.launches.data());
        OrDie(CudaStatus(*bench.api, result, "cuLaunchKernelEx")
                  .WithPrefix(absl::StrCat("launch ", number, " of ", bench.launches.size(),
                                           " that were written down, ", Describe(launch))));
      }
      parameters += launch.values.size();
    }
  });
}

void ByGraph(benchmark::State& state) {
  Bench& bench = GetBench();
  const GraphExec graph =
      OrDie(GraphExec::Capture(bench.stream.view(), [&](CUstream stream) { return bench.model->Decode(stream, 1); }));
  Time(state, [&](Bench& on) { OrDie(graph.Launch(on.stream.get())); });
}

// As many steps of each: a graph is launched in so little time that half a second of it would be minutes of steps.
BENCHMARK(ByLaunches)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(512);
BENCHMARK(ByDriver)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(512);
BENCHMARK(ByGraph)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(512);

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) { return tuneonce::RunDeviceBenchmarks(argc, argv); }
