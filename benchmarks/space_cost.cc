// Cost of building a search space, of enumerating it, by number of configs, and of loading a bundle of 32 configs.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tuneonce/bundle.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
namespace {

/// A space of n * 10 points of which the condition keeps n * 10 - n.
SearchSpace Build(std::int64_t n) {
  SearchSpace space;
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(i);
  IntAxis first = space.AddAxis("FIRST", values);
  IntAxis second = space.AddAxis("SECOND", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  space.Where("not the last", [=](const Config& c) { return c[first] >= 0 && c[second] < 9; });
  space.SetBaseline({{first, 0}, {second, 0}});
  space.MaxConfigs(static_cast<int>(10 * n));
  return space;
}

void BM_Construct(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Build(state.range(0)));
}
BENCHMARK(BM_Construct)->Arg(3)->Arg(100);

void BM_Enumerate(benchmark::State& state) {
  SearchSpace space = Build(state.range(0));
  std::size_t configs = 0;
  for (auto _ : state) configs = space.Enumerate(Target())->size();
  state.counters["configs"] = static_cast<double>(configs);
  state.counters["ns_per_config"] = benchmark::Counter(
      static_cast<double>(configs) * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Enumerate)->Arg(3)->Arg(100)->Arg(1000);

void BM_ReadAxis(benchmark::State& state) {
  SearchSpace space;
  IntAxis axis = space.AddAxis("A", {1, 2});
  Config config = space.Enumerate(Target())->front();
  for (auto _ : state) benchmark::DoNotOptimize(config[axis]);
}
BENCHMARK(BM_ReadAxis);

/// The example bundle matmul with four values of its hint: 32 configs, 17 files in three variants.
void BM_LoadBundle(benchmark::State& state) {
  namespace fs = std::filesystem;
  fs::path folder = fs::temp_directory_path() / ("tuneonce_bundle_" + std::to_string(getpid()));
  fs::copy(std::string(TUNEONCE_BUNDLES) + "/matmul", folder, fs::copy_options::recursive);
  std::stringstream text;
  text << std::ifstream(folder / "manifest.json").rdbuf();
  std::string manifest = text.str();
  std::string from = "\"kind\": \"hint\", \"values\": [1, 2]";
  std::size_t at = manifest.find(from);
  if (at == std::string::npos) return state.SkipWithError("the example's manifest has changed");
  manifest.replace(at, from.size(), "\"kind\": \"hint\", \"values\": [1, 2, 4, 8]");
  manifest.insert(manifest.find("\"baseline\""), "\"max_configs\": 32, ");
  std::ofstream(folder / "manifest.json") << manifest;
  std::size_t configs = 0;
  for (auto _ : state) {
    Result<Bundle> bundle = Bundle::Load(folder);
    if (!bundle.ok()) return state.SkipWithError(bundle.status().message().c_str());
    configs = bundle->definition().space().Enumerate(Target())->size();
  }
  state.counters["configs"] = static_cast<double>(configs);
  fs::remove_all(folder);
}
BENCHMARK(BM_LoadBundle);

}  // namespace
}  // namespace tuneonce

BENCHMARK_MAIN();
