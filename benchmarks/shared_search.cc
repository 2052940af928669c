// What a search takes that N ranks share out, against one: a warm-up of a kernel with 65 candidates, by ranks that are
// threads of this process with a device each. "Warm": all code is compiled, so that trials are compared with trials.
// "Cold": with compiling, for which ranks of one host have the same cores together.
//
//   shared_search_benchmark --device=cuda --benchmark_format=json
//   shared_search_benchmark --device=cuda --repeats=1     # Candidates a tenth as heavy.
//
// Where the time goes stands beside each time: of each rank, the milliseconds of its own thread by phase, of the last
// iteration ("rank0 load"). "rest" is what is in no phase: the agreement, the plan, memory and its contents, the store.
//
// Kernels of the CPU device sleep for as long as they would take, so that ranks do not share the machine's cores in
// them: it shows what waits for what, and says nothing of a GPU.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/span.h"
#include "device_benchmark.h"
#include "tuneonce/artifact_cache.h"
#include "tuneonce/context.h"
#include "tuneonce/device.h"
#include "tuneonce/rank_group.h"
#include "tuneonce/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/stream.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

/// The span that all of a rank's are within.
constexpr char kWholeSpan[] = "all of it";

constexpr char kCudaSource[] = R"(
extern "C" __global__ void scale(const float* x, float* y, float factor, int n, int repeats) {
  // A thread's elements lie side by side: the more it has, the slower, so that candidates differ as a matmul's do.
  const long long begin = ((long long)blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
  for (int pass = 0; pass < repeats; ++pass) {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (begin + i < n) ((volatile float*)y)[begin + i] = ((const volatile float*)x)[begin + i] * factor;
    }
  }
})";
constexpr char kCpuSource[] = R"(
#include <time.h>
static void scale(const tuneonce_block& block, const float* x, float* y, float factor, int n, int repeats) {
  // 0.2 to 0.6 ms a repeat.
  if (block.x == 0) {
    const long ns = repeats * (200000L + ITEMS * 20000L + (BLOCK == 256 ? 0 : BLOCK * 20L));
    const timespec time = {ns / 1000000000L, ns % 1000000000L};
    nanosleep(&time, nullptr);
  }
  const int begin = block.x * BLOCK * ITEMS, end = begin + BLOCK * ITEMS < n ? begin + BLOCK * ITEMS : n;
  for (int i = begin; i < end; ++i) y[i] = x[i] * factor;
}
TUNEONCE_CPU_KERNEL(scale);)";

/// 512 MiB of memory to move on a GPU, 0.2 ms a repeat.
std::int64_t Elements() { return device_name == "cpu" ? 1 << 16 : 1 << 26; }
/// How often a launch does its work: --repeats. With ten a candidate's trials take some 10 to 30 ms.
int repeats = 10;

KernelDefinition Scale() {
  SearchSpace space;
  const IntAxis block = space.AddAxis("BLOCK", {64, 128, 256, 512, 1024});
  const IntAxis items = space.AddAxis("ITEMS", {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20});
  space.MaxConfigs(65);
  space.SetBaseline({{block, 256}, {items, 1}});
  KernelDefinition definition("scale");
  definition
      .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2),
                   DimValue("N"), Derived("repeats", [](const Config&, const Problem&) { return repeats; })})
      .Space(space)
      .Grid(Grid::OneD({"N", block * items}));
  if (device_name == "cpu") return definition.AddVariant(CpuCpp(kCpuSource, "scale"));
  return definition.AddVariant(CudaCpp(kCudaSource, "scale").Block(block));
}

/// Of one rank's trace, the milliseconds of its own thread by phase, without what is within another phase.
std::map<std::string, double> PhasesOf(const std::string& trace) {
  struct Open {
    std::string phase;
    double end_us;
  };
  std::vector<nlohmann::json> events;
  nlohmann::json thread;
  nlohmann::json parsed = nlohmann::json::parse(trace);
  for (nlohmann::json& event : parsed["traceEvents"]) {
    if (event["ph"] != "X") continue;
    if (event["name"] == kWholeSpan) thread = event["tid"];
    events.push_back(std::move(event));
  }
  std::stable_sort(events.begin(), events.end(), [](const nlohmann::json& a, const nlohmann::json& b) {
    if (a["ts"] != b["ts"]) return a["ts"] < b["ts"];
    return a["dur"] > b["dur"];
  });
  std::map<std::string, double> phases;
  std::vector<Open> open;
  for (const nlohmann::json& event : events) {
    if (event["tid"] != thread) continue;
    const double begin_us = event["ts"], duration_us = event["dur"];
    while (!open.empty() && open.back().end_us <= begin_us) open.pop_back();
    if (!open.empty()) phases[open.back().phase] -= duration_us / 1000;
    const std::string category = event["cat"];
    open.push_back({category == "wait" ? event["name"].get<std::string>() : category, begin_us + duration_us});
    phases[open.back().phase] += duration_us / 1000;
  }
  return phases;
}

/// A warm-up of all ranks, from when the last is ready.
class SharedWarmup {
 public:
  /// `runtimes`: by rank. `cache`: of all ranks; null: each has its own.
  SharedWarmup(std::vector<std::shared_ptr<Runtime>> runtimes, ArtifactCache* cache)
      : runtimes_(std::move(runtimes)), cache_(cache), groups_(MakeThreadRanks(static_cast<int>(runtimes_.size()))) {}

  /// Until the last rank is done, in seconds.
  double Run() {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < groups_.size(); ++rank) threads.emplace_back([this, rank] { RunRank(rank); });
    while (num_ready_ < static_cast<int>(groups_.size())) std::this_thread::yield();
    const auto begin = std::chrono::steady_clock::now();
    goes_ = true;
    for (std::thread& thread : threads) thread.join();
    return std::chrono::duration<double>(last_done_.load() - begin.time_since_epoch()).count();
  }
  const TuningRecord& record() const { return record_; }
  /// By rank: Runtime::EndTrace.
  std::string TraceOf(std::size_t rank) const { return runtimes_[rank]->EndTrace(); }

 private:
  using Since = std::chrono::steady_clock::duration;

  void RunRank(std::size_t rank) {
    Device first = OrDie(OpenDevice(device_name));
    const int devices = OrDie(Device::Count(first.api()));
    Device device = OrDie(Device::Get(first.api(), static_cast<int>(rank) % devices));
    Context context = OrDie(Context::RetainPrimary(device));
    const ScopedContext current(context.view());
    Stream stream = OrDie(Stream::Create(device.api()));
    AutotunePolicy policy;
    policy.store = MakeMemoryStore();
    policy.search.runtime = runtimes_[rank];
    policy.search.compile.cache = cache_ != nullptr ? cache_ : &runtimes_[rank]->artifacts();
    policy.ranks.group = groups_[rank];
    policy.ranks.share_search = true;
    TunedKernel kernel = OrDie(TunedKernel::Create(Scale(), policy));
    ++num_ready_;
    while (!goes_) std::this_thread::yield();
    runtimes_[rank]->BeginTrace();
    {
      Span span(&runtimes_[rank]->trace(), "rest", kWholeSpan);
      OrDie(kernel.Warmup(stream.get(), {{{"N", Elements()}}}));
    }
    const Since now = std::chrono::steady_clock::now().time_since_epoch();
    for (Since last = last_done_; last < now && !last_done_.compare_exchange_weak(last, now);) {
    }
    if (rank == 0) record_ = OrDie(policy.store->List()).front();
  }

  const std::vector<std::shared_ptr<Runtime>> runtimes_;
  ArtifactCache* const cache_;
  const std::vector<std::shared_ptr<RankGroup>> groups_;
  std::atomic<int> num_ready_{0};
  std::atomic<bool> goes_{false};
  std::atomic<Since> last_done_{Since(0)};
  TuningRecord record_;
};

std::vector<std::shared_ptr<Runtime>> MakeRuntimes(int ranks) {
  std::vector<std::shared_ptr<Runtime>> runtimes;
  for (int rank = 0; rank < ranks; ++rank) {
    runtimes.push_back(OrDie(Runtime::Create(RuntimeOptions())));
  }
  return runtimes;
}

bool HasDevices(benchmark::State& state, int ranks) {
  Device first = OrDie(OpenDevice(device_name));
  if (OrDie(Device::Count(first.api())) >= ranks) return true;
  state.SkipWithError("there are fewer devices than ranks");
  return false;
}

void Search(benchmark::State& state, bool is_warm) {
  const int ranks = static_cast<int>(state.range(0));
  if (!HasDevices(state, ranks)) return;
  std::vector<std::shared_ptr<Runtime>> runtimes = MakeRuntimes(ranks);
  static auto* const compiled = new MemoryArtifactCache();  // Of all warm searches.
  if (is_warm) SharedWarmup({runtimes.front()}, compiled).Run();
  std::string chosen;
  for (auto _ : state) {
    if (!is_warm) runtimes = MakeRuntimes(ranks);
    SharedWarmup warmup(runtimes, is_warm ? compiled : nullptr);
    state.SetIterationTime(warmup.Run());
    chosen += (chosen.empty() ? "" : "; ") + warmup.record().config.ToString();
    state.counters["candidates"] = static_cast<double>(warmup.record().candidates.size());
    state.counters["best_us"] = warmup.record().measurement.mean_us;
    for (int rank = 0; rank < ranks; ++rank) {
      for (const auto& [phase, ms] : PhasesOf(warmup.TraceOf(static_cast<std::size_t>(rank)))) {
        state.counters["rank" + std::to_string(rank) + " " + phase] = ms;
      }
    }
  }
  state.SetLabel(chosen);
}
void WarmSearch(benchmark::State& state) { Search(state, true); }
void ColdSearch(benchmark::State& state) { Search(state, false); }

constexpr int kWarmIterations = 5, kColdIterations = 2;
BENCHMARK(WarmSearch)
    ->Arg(1)
    ->Arg(2)
    ->Arg(4)
    ->Arg(8)
    ->ArgName("ranks")
    ->Iterations(kWarmIterations)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();
BENCHMARK(ColdSearch)
    ->Arg(1)
    ->Arg(2)
    ->Arg(4)
    ->Arg(8)
    ->ArgName("ranks")
    ->Iterations(kColdIterations)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  // As many devices as the most ranks; read when the first is opened.
  setenv("TUNEONCE_CPU_DEVICES", "8", /*overwrite=*/0);
  std::vector<char*> others;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--repeats=", 0) == 0) {
      tuneonce::repeats = std::max(1, std::atoi(argument.c_str() + sizeof("--repeats=") - 1));
    } else {
      others.push_back(argv[i]);
    }
  }
  return tuneonce::RunDeviceBenchmarks(static_cast<int>(others.size()), others.data());
}
