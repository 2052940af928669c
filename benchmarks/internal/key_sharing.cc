// Time of a warm-up of 30 keys whose searches are distributed over the ranks of a group, on 1, 2, 4 and 8 devices. The
// ranks are threads of this process with a device each.
//
//   key_sharing_benchmark --device=cpu|cuda [--benchmark_format=json] [--trace=FOLDER]
//
// Compare the rows of one workload within one run:
//   Warm       the code of all candidates is in the cache that all ranks share, as after an earlier start;
//   Cold       nothing is compiled, and each rank has as many compile threads as the machine has cores;
//   ColdSplit  nothing is compiled, and the ranks divide the machine's cores among their compile threads.
// Workloads: "sleep" (kernels of the CPU device that sleep, so that ranks do not share the machine's cores in them; it
// says nothing about a GPU), "uneven" (such kernels, of which some keys take four times as long as their estimates
// say), "matmul" (30 shapes of the bundle) and "llm" (the language model of docs/examples/llm). Each row has, of each
// rank, the milliseconds of its own thread by phase ("rank0 load"), of the last iteration; "rest" is what is in no
// phase: waits for other ranks, memory and its contents. `digests` is 1 if all ranks run the same config of each key;
// `tuned` is the number of searches in the group.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/span.h"
#include "device_benchmark.h"
#include "key_sharing_workloads.h"
#include "trace_phases.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/rank_group.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

/// --trace=FOLDER. Empty: traces are not written.
std::string trace_folder;

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
        tuned_(groups_.size()),
        phases_(groups_.size()) {}

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
  const std::vector<std::int64_t>& tuned() const { return tuned_; }
  const std::map<std::string, double>& PhasesOfRank(std::size_t rank) const { return phases_[rank]; }

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
    runtime->BeginTrace();
    {
      Span span(&runtime->trace(), "rest", kWholeSpan);
      OrDie(workload->WarmUp(stream.get()));
    }
    const Since now = std::chrono::steady_clock::now().time_since_epoch();
    for (Since last = last_done_; last < now && !last_done_.compare_exchange_weak(last, now);) {
    }
    for (TunedKernel* kernel : workload->Kernels()) tuned_[rank] += kernel->counters().tunes;
    selected_[rank] = SelectedIn(*policy.store);
    const std::string trace = runtime->EndTrace();
    phases_[rank] = PhasesOf(trace);
    if (!trace_folder.empty()) std::ofstream(trace_folder + "/rank" + std::to_string(rank) + ".json") << trace;
  }

  const MakeWorkload make_;
  const int workers_;
  const std::shared_ptr<RecordStore> cache_;
  const std::vector<std::shared_ptr<RankGroup>> groups_;
  std::vector<std::map<std::string, std::string>> selected_;  // By rank.
  std::vector<std::int64_t> tuned_;                           // By rank.
  std::vector<std::map<std::string, double>> phases_;         // By rank.
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
      const std::string name = "rank" + std::to_string(rank);
      state.counters[name] = static_cast<double>(warmup.tuned()[rank]);
      for (const auto& [phase, ms] : warmup.PhasesOfRank(rank)) state.counters[name + " " + phase] = ms;
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
  tuneonce::Register("uneven", tuneonce::MakeUneven);
  tuneonce::Register("matmul", tuneonce::MakeMatmul);
  tuneonce::Register("llm", tuneonce::MakeModel);
  std::vector<char*> others;
  const std::string trace = "--trace=";
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind(trace, 0) == 0) tuneonce::trace_folder = argument.substr(trace.size());
    if (argument.rfind(trace, 0) != 0) others.push_back(argv[i]);
  }
  return tuneonce::RunDeviceBenchmarks(static_cast<int>(others.size()), others.data());
}
