// Time of a warm-up of 30 keys whose searches are distributed over the ranks of a group, on 1, 2, 4 and 8 devices. The
// ranks are threads of this process with a device each.
//
//   key_sharing_benchmark --device=cpu|cuda [--benchmark_format=json]
//
// Compare the rows of one workload within one run:
//   Warm       the code of all candidates is in the cache that all ranks share, as after an earlier start;
//   Cold       nothing is compiled, and each rank has as many compile threads as the machine has cores;
//   ColdSplit  nothing is compiled, and the ranks divide the machine's cores among their compile threads.
// Workloads: "sleep" (kernels of the CPU device that sleep, so that ranks do not share the machine's cores in them; it
// says nothing about a GPU), "matmul" (30 shapes of the bundle) and "llm" (the language model of docs/examples/llm).
// `digests` is 1 if all ranks run the same config of each key; `tuned` is the number of searches in the group.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device_benchmark.h"
#include "model.h"
#include "tuneonce/context.h"
#include "tuneonce/device.h"
#include "tuneonce/rank_group.h"
#include "tuneonce/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/stream.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

constexpr int kKeys = 30;

/// Sleeps for 1 to 2 ms, depending on the config.
constexpr char kSleepSource[] = R"(
#include <time.h>
static void scale(const tuneonce_block& block, const float* x, float* y, float factor, int n) {
  if (block.x == 0) {
    const timespec time = {0, 1000000L + BLOCK * 1000L};
    nanosleep(&time, nullptr);
  }
  const int begin = block.x * BLOCK, end = begin + BLOCK < n ? begin + BLOCK : n;
  for (int i = begin; i < end; ++i) y[i] = x[i] * factor;
}
TUNEONCE_CPU_KERNEL(scale);)";

KernelDefinition Sleep() {
  SearchSpace space;
  const IntAxis block = space.AddAxis("BLOCK", {64, 128, 256, 512, 1024});
  space.SetBaseline({{block, 256}});
  KernelDefinition definition("scale");
  definition
      .Parameters(
          {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
      .Space(space)
      .Grid(Grid::OneD({"N", block}))
      .AddVariant(CpuCpp(kSleepSource, "scale"));
  return definition;
}

/// One rank's part of a workload: made before the clock starts, then run.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual Status WarmUp(CUstream stream) = 0;
  virtual std::vector<TunedKernel*> Kernels() = 0;
};

class OneKernel final : public Workload {
 public:
  OneKernel(TunedKernel kernel, std::vector<TunedKernel::Shape> shapes)
      : kernel_(std::move(kernel)), shapes_(std::move(shapes)) {}
  Status WarmUp(CUstream stream) override { return WarmupAll(stream, {{&kernel_, shapes_}}).status(); }
  std::vector<TunedKernel*> Kernels() override { return {&kernel_}; }

 private:
  TunedKernel kernel_;
  const std::vector<TunedKernel::Shape> shapes_;
};

class LanguageModel final : public Workload {
 public:
  explicit LanguageModel(llm::Model model) : model_(std::move(model)) {}
  Status WarmUp(CUstream stream) override { return model_.WarmUpAndFreeze(stream); }
  std::vector<TunedKernel*> Kernels() override { return model_.kernels().All(); }

 private:
  llm::Model model_;
};

std::unique_ptr<Workload> MakeSleep(const AutotunePolicy& policy, StreamView /*stream*/) {
  std::vector<TunedKernel::Shape> shapes;
  for (int i = 1; i <= kKeys; ++i) shapes.push_back({{"N", 1000 + i}});
  return std::make_unique<OneKernel>(OrDie(TunedKernel::Create(Sleep(), policy)), std::move(shapes));
}

std::unique_ptr<Workload> MakeMatmul(const AutotunePolicy& policy, StreamView /*stream*/) {
  std::vector<TunedKernel::Shape> shapes;
  for (std::int64_t m : {16, 64, 256, 1024, 4096}) {
    for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{4096, 4096},
                               {6144, 4096},
                               {1024, 4096},
                               {4096, 11008},
                               {11008, 4096},
                               {2048, 2048}}) {
      shapes.push_back({{"M", m}, {"N", n}, {"K", k}});
    }
  }
  return std::make_unique<OneKernel>(OrDie(TunedKernel::FromBundle("matmul", policy)), std::move(shapes));
}

std::unique_ptr<Workload> MakeModel(const AutotunePolicy& policy, StreamView stream) {
  llm::ModelShape shape;
  const llm::Buckets buckets = {{64, 512}, {1, 8}};
  llm::Kernels kernels = OrDie(
      llm::Kernels::Make([&](const EmbeddedBundle& embedded) { return TunedKernel::FromBundle(embedded, policy); }));
  return std::make_unique<LanguageModel>(OrDie(llm::Model::Make(stream, std::move(kernels), shape, buckets)));
}

using MakeWorkload = std::unique_ptr<Workload> (*)(const AutotunePolicy& policy, StreamView stream);

/// A warm-up of all ranks, from when the last one is ready.
class SharedWarmup {
 public:
  /// `cache`: shared by all ranks. Null: each rank has its own and they exchange code.
  SharedWarmup(MakeWorkload make, int ranks, int workers_per_rank, std::shared_ptr<RecordStore> cache)
      : make_(make),
        workers_(workers_per_rank),
        cache_(std::move(cache)),
        groups_(MakeThreadRanks(ranks)),
        selected_(groups_.size()),
        tuned_(groups_.size()) {}

  /// Returns the time until the last rank is done, in seconds.
  double Run() {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < groups_.size(); ++rank) threads.emplace_back([this, rank] { RunRank(rank); });
    while (num_ready_ < static_cast<int>(groups_.size())) std::this_thread::yield();
    const auto begin = std::chrono::steady_clock::now();
    goes_ = true;
    for (std::thread& thread : threads) thread.join();
    return std::chrono::duration<double>(last_done_.load() - begin.time_since_epoch()).count();
  }
  /// Whether all ranks run the same config of each key.
  bool IsSameInAllRanks() const {
    return std::all_of(selected_.begin(), selected_.end(), [&](const auto& each) { return each == selected_.front(); });
  }
  std::size_t num_keys() const { return selected_.front().size(); }
  std::vector<std::int64_t> tuned() const { return tuned_; }

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
    const std::shared_ptr<Runtime> runtime = OrDie(Runtime::Create(RuntimeOptions()));
    policy.store = MakeMemoryStore();
    policy.search.quiet = true;
    policy.search.runtime = runtime;
    policy.search.compile.num_workers = workers_;
    policy.search.compile.cache = cache_ != nullptr ? cache_ : runtime->memory_store();
    policy.ranks.group = groups_[rank];
    policy.ranks.exchange_code = cache_ == nullptr;
    std::unique_ptr<Workload> workload = make_(policy, stream.view());
    ++num_ready_;
    while (!goes_) std::this_thread::yield();
    OrDie(workload->WarmUp(stream.get()));
    const Since now = std::chrono::steady_clock::now().time_since_epoch();
    for (Since last = last_done_; last < now && !last_done_.compare_exchange_weak(last, now);) {
    }
    for (TunedKernel* kernel : workload->Kernels()) tuned_[rank] += kernel->counters().tunes;
    for (const TuningRecord& record : OrDie(policy.store->List())) {
      selected_[rank].emplace(record.key.kernel + record.key.key_text, record.config.ToString() + record.variant);
    }
  }

  const MakeWorkload make_;
  const int workers_;
  const std::shared_ptr<RecordStore> cache_;
  const std::vector<std::shared_ptr<RankGroup>> groups_;
  std::vector<std::map<std::string, std::string>> selected_;  // By rank.
  std::vector<std::int64_t> tuned_;                           // By rank.
  std::atomic<int> num_ready_{0};
  std::atomic<bool> goes_{false};
  std::atomic<Since> last_done_{Since(0)};
};

enum class Code { kWarm, kCold, kColdSplit };

void Warmup(benchmark::State& state, MakeWorkload make, Code code) {
  const int ranks = static_cast<int>(state.range(0));
  Device first = OrDie(OpenDevice(device_name));
  if (OrDie(Device::Count(first.api())) < ranks) return state.SkipWithError("there are fewer devices than ranks");
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int workers = code == Code::kColdSplit ? std::max(1, cores / ranks) : cores;
  static auto* const caches = new std::map<MakeWorkload, std::shared_ptr<RecordStore>>();
  std::shared_ptr<RecordStore> cache;
  if (code == Code::kWarm) cache = caches->emplace(make, MakeMemoryStore()).first->second;
  if (cache != nullptr && ranks == 1) (void)SharedWarmup(make, 1, cores, cache).Run();
  for (auto _ : state) {
    SharedWarmup warmup(make, ranks, workers, cache);
    state.SetIterationTime(warmup.Run());
    state.counters["keys"] = static_cast<double>(warmup.num_keys());
    state.counters["digests"] = warmup.IsSameInAllRanks() ? 1 : 0;
    double tuned = 0;
    for (std::size_t rank = 0; rank < warmup.tuned().size(); ++rank) {
      tuned += static_cast<double>(warmup.tuned()[rank]);
      state.counters["rank" + std::to_string(rank)] = static_cast<double>(warmup.tuned()[rank]);
    }
    state.counters["tuned"] = tuned;
  }
}

void Register(const std::string& name, MakeWorkload make) {
  const std::pair<const char*, Code> all[] = {
      {"Warm", Code::kWarm}, {"Cold", Code::kCold}, {"ColdSplit", Code::kColdSplit}};
  for (const auto& [text, code] : all) {
    const Code of_row = code;
    auto* registered = benchmark::RegisterBenchmark(
        (text + ("/" + name)).c_str(), [make, of_row](benchmark::State& state) { Warmup(state, make, of_row); });
    registered->Arg(1)->Arg(2)->Arg(4)->Arg(8)->ArgName("ranks");
    registered->Iterations(code == Code::kWarm ? 3 : 1)->Unit(benchmark::kMillisecond)->UseManualTime();
  }
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  // As many devices as the most ranks; read when the first is opened.
  setenv("TUNEONCE_CPU_DEVICES", "8", /*overwrite=*/0);
  tuneonce::Register("sleep", tuneonce::MakeSleep);
  tuneonce::Register("matmul", tuneonce::MakeMatmul);
  tuneonce::Register("llm", tuneonce::MakeModel);
  return tuneonce::RunDeviceBenchmarks(argc, argv);
}
