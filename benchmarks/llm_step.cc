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
#include <utility>
#include <vector>

#include "cuda/driver_api.h"
#include "cuda/graph.h"
#include "device_benchmark.h"
#include "model.h"
#include "runtime/tuned_kernel_on.h"
#include "tuneonce/context.h"
#include "tuneonce/device.h"
#include "tuneonce/stream.h"

namespace tuneonce {
namespace {

/// One cuLaunchKernelEx, with copies of all that it was given.
struct Launch {
  CUlaunchConfig config;
  std::vector<CUlaunchAttribute> attributes;
  CUfunction function;
  std::vector<std::vector<unsigned char>> values;
};

PFN_cuLaunchKernelEx_v11060 launch_for_real = nullptr;
PFN_cuFuncGetParamInfo_v12040 get_parameter = nullptr;
std::vector<Launch>* written_down = nullptr;  // Null: launches are not written down.

CUresult WriteDown(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  if (written_down != nullptr) {
    Launch launch = {*config, {config->attrs, config->attrs + config->numAttrs}, function, {}};
    std::size_t offset = 0, bytes = 0;
    for (std::size_t i = 0; get_parameter(function, i, &offset, &bytes) == CUDA_SUCCESS; ++i) {
      const auto* value = static_cast<const unsigned char*>(parameters[i]);
      launch.values.emplace_back(value, value + bytes);
    }
    written_down->push_back(std::move(launch));
  }
  return launch_for_real(config, function, parameters, extra);
}

/// The model on a driver whose launches can be written down.
struct Bench {
  Bench()
      : device(OrDie(OpenDevice(device_name))),
        context(OrDie(Context::RetainPrimary(device))),
        current(context.view()),
        stream(OrDie(Stream::Create(device.api()))) {
    DriverTable writing = UnguardedTable(device.api());
    launch_for_real = writing.LaunchKernelEx;
    get_parameter = writing.FuncGetParamInfo;
    if (get_parameter == nullptr) OrDie(UnimplementedError("the driver has no cuFuncGetParamInfo: it is of 12.4"));
    writing.LaunchKernelEx = WriteDown;
    api = std::make_unique<DriverApi>(writing, "writing down", device.api().is_cpu_device());
    Device on = OrDie(Device::Get(*api, device.index()));
    llm::ModelShape shape;
    if (device_name != "cpu") {
      shape.layers = 16;
      shape.hidden = 1536;
      shape.heads = 12;
      shape.kv_heads = 4;
      shape.inner = 4096;
      shape.vocab = 32768;
      shape.context = 2048;
    }
    llm::Kernels kernels = OrDie(llm::Kernels::Make([&](const EmbeddedBundle& bundle) -> Result<TunedKernel> {
      TUNEONCE_ASSIGN_OR_RETURN(Bundle loaded, Bundle::Load(bundle));
      return TunedKernelOn::Create(on, loaded.definition());
    }));
    model =
        std::make_unique<llm::Model>(OrDie(llm::Model::Make(stream.view(), std::move(kernels), shape, {{16}, {1}})));
    OrDie(model->WarmUpAndSeal(stream.get()));
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
      if (launch_for_real(&launch.config, launch.function, parameters, nullptr) != CUDA_SUCCESS) {
        OrDie(InternalError("a launch that was written down fails"));
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

BENCHMARK(ByLaunches)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(ByDriver)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(ByGraph)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) { return tuneonce::RunDeviceBenchmarks(argc, argv); }
