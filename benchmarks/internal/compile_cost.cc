// What compiling costs: candidates at once against one after the other, from the cache against compiled, and patching
// hints. compile_cost_benchmark --kernels=FOLDER: FOLDER is what tests/cutile/export.py wrote; needs
// tileiras. The 16 candidates are those of cuTile's own matmul example: 64/128 x 64/128 x 32/64 and occupancy 1/2.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <new>
#include <sstream>

#include "shared/compile_pool.h"
#include "tile_ir/tile_ir.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"

namespace {
std::atomic<std::int64_t> num_allocations{0};
}  // namespace

// Counts what patching allocates. Kept out of line: inlined, g++ 12 takes the pair for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tuneonce {
namespace {

std::string kernels_folder = ".";
std::string store_path;

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  if (!stream || content.str().empty()) {
    std::fprintf(stderr, "cannot read %s: give --kernels=FOLDER\n", path.c_str());
    std::exit(1);
  }
  return content.str();
}

Target Sm90() {
  Target target;
  target.capability_major = 9;
  return target;
}

std::vector<CompileJob> MatmulJobs() {
  std::vector<CompileJob> jobs;
  for (int m : {64, 128}) {
    for (int n : {64, 128}) {
      for (int k : {32, 64}) {
        std::string tile = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
        std::string bytecode = ReadFile(kernels_folder + "/matmul." + tile + ".tileir");
        for (int occupancy : {1, 2}) {
          CompileJob job;
          job.alternatives = {{KernelSource::TileIr(bytecode, "matmul"), Hints(HintValues{{"occupancy", occupancy}})}};
          jobs.push_back(job);
        }
      }
    }
  }
  return jobs;
}

/// Compiles all; returns the longest single one's seconds, or a negative number after an error. `*sum_s` (may be null):
/// of all of them together.
double CompileAll(const std::shared_ptr<RecordStore>& cache, int workers, int* used_workers, double* sum_s = nullptr) {
  CompileOptions options;
  options.cache = cache;
  options.num_workers = workers;
  CompileSlots slots(workers);
  CompilePool pool(slots, Runtime::Default()->toolchains(), Sm90(), MatmulJobs(), options);
  *used_workers = pool.num_workers();
  double longest = 0;
  while (std::optional<CompiledJob> result = pool.Next()) {
    if (!result->artifact.ok()) {
      std::fprintf(stderr, "%s\n", result->artifact.status().message().c_str());
      return -1;
    }
    longest = std::max(longest, result->artifact->seconds);
    if (sum_s != nullptr) *sum_s += result->artifact->seconds;
  }
  return longest;
}

/// 16 matmul candidates, cold; workers: 1 (one after the other), or 0 (as many as the pool takes by itself).
void BM_CompileMatmulSpace(benchmark::State& state) {
  int workers = 0;
  double longest = 0;
  double sum = 0;
  for (auto _ : state) {
    sum = 0;
    longest = CompileAll(MakeMemoryStore(), static_cast<int>(state.range(0)), &workers, &sum);
    if (longest < 0) return state.SkipWithError("a candidate did not compile");
  }
  state.counters["workers"] = workers;
  state.counters["longest_single_s"] = longest;
  // All together: each takes longer when others run beside it, which no pool can help.
  state.counters["sum_of_singles_s"] = sum;
}
BENCHMARK(BM_CompileMatmulSpace)->Arg(1)->Arg(2)->Arg(4)->Arg(8)->Arg(0)->UseRealTime()->Unit(benchmark::kMillisecond);

/// The same through a store on disk (--store=PATH): in the first process that uses it cold, in the second warm.
void BM_CompileMatmulSpaceStored(benchmark::State& state) {
  if (store_path.empty()) return state.SkipWithError("give --store=PATH");
  SqliteStoreOptions options;
  options.path = store_path;
  int workers = 0;
  for (auto _ : state) {
    Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
    if (!store.ok()) return state.SkipWithError(store.status().message().c_str());
    if (CompileAll(*store, 0, &workers) < 0) return state.SkipWithError("a candidate did not compile");
  }
}
BENCHMARK(BM_CompileMatmulSpaceStored)->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);

/// The same from a warm cache in memory.
void BM_CompileMatmulSpaceCached(benchmark::State& state) {
  const std::shared_ptr<RecordStore> cache = MakeMemoryStore();
  int workers = 0;
  if (CompileAll(cache, 0, &workers) < 0) return state.SkipWithError("a candidate did not compile");
  for (auto _ : state) CompileAll(cache, 0, &workers);
}
BENCHMARK(BM_CompileMatmulSpaceCached)->UseRealTime()->Unit(benchmark::kMillisecond);

/// One patch of a file of about 2 KB. The number of allocations per patch stays the same however often it is patched.
void BM_PatchHints(benchmark::State& state) {
  std::string bytecode = ReadFile(kernels_folder + "/rope.4x64.tileir");
  Hints hints(HintValues{{"occupancy", 2}, {"num_ctas", 2}});
  std::string patched = *PatchTileIrHints(bytecode, hints);
  std::int64_t first = num_allocations;
  patched = *PatchTileIrHints(patched, hints);
  std::int64_t allocations_once = num_allocations - first;
  first = num_allocations;
  std::int64_t patches = 0;
  for (auto _ : state) {
    patched = *PatchTileIrHints(patched, hints);
    ++patches;
  }
  state.counters["bytes"] = static_cast<double>(bytecode.size());
  state.counters["allocations_first"] = static_cast<double>(allocations_once);
  state.counters["allocations_mean"] = static_cast<double>(num_allocations - first) / static_cast<double>(patches);
}
BENCHMARK(BM_PatchHints);

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.rfind("--kernels=", 0) == 0) {
      tuneonce::kernels_folder = argument.substr(10);
    } else if (argument.rfind("--store=", 0) == 0) {
      tuneonce::store_path = argument.substr(8);
    } else {
      argv[kept++] = argv[i];
    }
  }
  benchmark::Initialize(&kept, argv);
  benchmark::RunSpecifiedBenchmarks();
}
