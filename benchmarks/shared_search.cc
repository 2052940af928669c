// What a search takes that N ranks share out, against one: a warm-up of a kernel with 65 candidates, by ranks that are
// threads of this process with a device each. "Warm": all code is compiled, so that trials are compared with trials.
// "Cold": with compiling, for which ranks of one host have the same cores together.
//
//   shared_search_benchmark --device=cuda --benchmark_format=json
//
// Ranks of the CPU device share the machine's cores in trials, too: only GPUs say what is gained.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device_benchmark.h"
#include "tuneonce/context.h"
#include "tuneonce/device.h"
#include "tuneonce/rank_group.h"
#include "tuneonce/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/stream.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

constexpr char kCudaSource[] = R"(
extern "C" __global__ void scale(const float* x, float* y, float factor, int n) {
  // A thread's elements lie side by side: the more it has, the slower, so that candidates differ as a matmul's do.
  const long long begin = ((long long)blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    if (begin + i < n) y[begin + i] = x[begin + i] * factor;
  }
})";
constexpr char kCpuSource[] = R"(
static void scale(const tuneonce_block& block, const float* x, float* y, float factor, int n) {
  const int begin = block.x * BLOCK * ITEMS, end = begin + BLOCK * ITEMS < n ? begin + BLOCK * ITEMS : n;
  for (int i = begin; i < end; ++i) y[i] = x[i] * factor;
}
TUNEONCE_CPU_KERNEL(scale);)";

/// 512 MiB of memory to move on a GPU: 0.2 ms, as a kernel of an engine's may take.
std::int64_t Elements() { return device_name == "cpu" ? 1 << 20 : 1 << 26; }

KernelDefinition Scale() {
  SearchSpace space;
  const IntAxis block = space.AddAxis("BLOCK", {64, 128, 256, 512, 1024});
  const IntAxis items = space.AddAxis("ITEMS", {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20});
  space.AllowConfigs(65);
  space.SetBaseline({{block, 256}, {items, 1}});
  KernelDefinition definition("scale");
  definition
      .Parameters(
          {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
      .Space(space)
      .Grid(Grid::OneD({"N", block * items}));
  if (device_name == "cpu") return definition.AddVariant(HostCpp(kCpuSource, "scale"));
  return definition.AddVariant(CudaCpp(kCudaSource, "scale").Block(block));
}

/// A warm-up of all ranks, from when the last is ready.
class SharedWarmup {
 public:
  /// `runtimes`: by rank; what they compiled before is there.
  explicit SharedWarmup(std::vector<std::shared_ptr<Runtime>> runtimes)
      : runtimes_(std::move(runtimes)), groups_(MakeThreadRanks(static_cast<int>(runtimes_.size()))) {}

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
    policy.search.compile.cache = &runtimes_[rank]->artifacts();
    policy.ranks.group = groups_[rank];
    policy.ranks.share_search = true;
    TunedKernel kernel = OrDie(TunedKernel::Create(Scale(), policy));
    ++num_ready_;
    while (!goes_) std::this_thread::yield();
    OrDie(kernel.Warmup(stream.get(), {{{"N", Elements()}}}));
    const Since now = std::chrono::steady_clock::now().time_since_epoch();
    for (Since last = last_done_; last < now && !last_done_.compare_exchange_weak(last, now);) {
    }
    if (rank == 0) record_ = OrDie(policy.store->List()).front();
  }

  const std::vector<std::shared_ptr<Runtime>> runtimes_;
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
  if (is_warm) {  // In each cache: every rank searches alone once.
    for (const std::shared_ptr<Runtime>& runtime : runtimes) SharedWarmup({runtime}).Run();
  }
  std::string chosen;
  for (auto _ : state) {
    if (!is_warm) runtimes = MakeRuntimes(ranks);
    SharedWarmup warmup(runtimes);
    state.SetIterationTime(warmup.Run());
    chosen += (chosen.empty() ? "" : "; ") + warmup.record().config.ToString();
    state.counters["candidates"] = static_cast<double>(warmup.record().candidates.size());
    state.counters["best_us"] = warmup.record().measurement.mean_us;
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

int main(int argc, char** argv) { return tuneonce::RunDeviceBenchmarks(argc, argv); }
