// What it costs a healthy search of 16 configs to run in a worker process: isolation_benchmark --device cpu|cuda prints
// JSON. Compared are searches with all code compiled before: in this process; in a worker that must start first; in one
// that the search before has left. And what the candidates' times are in each.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "cuda/driver_api.h"
#include "device_benchmark.h"
#include "tuneonce/artifact_cache.h"
#include "tuneonce/context.h"
#include "tuneonce/device.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/runtime.h"
#include "tuneonce/search_options.h"
#include "tuneonce/stream.h"
#include "tuneonce/tuning_result.h"

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

KernelDefinition Scale() {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {512, 1024, 2048, 4096});
  IntAxis step = space.AddAxis("STEP", {4, 8, 16, 32});
  space.SetBaseline({{tile, 512}, {step, 4}});
  KernelDefinition definition("scale");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
      .Space(space)
      .Grid(Grid::OneD({"N", tile}))
      .AddVariant(CudaCpp(kCudaSource, "scale").Block(Term(tile) / step).On(OnGpu()))
      .AddVariant(HostCpp(kHostSource, "scale").On(OnCpuDevice()));
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
    TuningResult result = OrDie(exhaustive_search(definition, stream.get(), {x, y}, options));
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (result.is_isolated != (options.isolation != Isolation::kOff)) OrDie(InternalError("it ran elsewhere"));
    for (const Success& success : result.successes) {
      (*times_us)[success.config.ToString()].push_back(success.measurement.mean_us);
    }
    return ms;
  }
};

Json Summary(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {{"median_ms", values[values.size() / 2]}, {"least_ms", values.front()}, {"most_ms", values.back()}};
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
  MemoryArtifactCache cache;
  searcher.options.quiet = true;
  searcher.options.compile.cache = &cache;
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
  return {{"device", OrDie(device.Identity()).name},
          {"repetitions", repetitions},
          {"in_process", Summary(in_process)},
          {"first_of_a_burst", Summary(first)},
          {"further", Summary(further)},
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
