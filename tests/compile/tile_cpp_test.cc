// CUDA Tile C++: NVRTC 13.5 and tileiras from PyPI (scripts/install_dependencies --tests), which need no GPU.
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "compile/compile_slots.h"
#include "compile/nvrtc_source.h"
#include "compile/tile_cpp_toolchain.h"
#include "shared/compile_cached.h"
#include "shared/compile_pool.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/in_child.h"
#include "testing/sampling.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace tuneonce {
namespace {

using testing::Sm;

/// out[i] = factor * x[i], any length.
constexpr char kScale[] = R"(
#include "cuda_tile.h"
template <int TILE>
__tile_global__ void scale(const float* __restrict__ x, float* __restrict__ out, float factor, int n) {
  static_assert(TILE != 512, "not of this size");
  namespace tiles = ::cuda::tiles;
  auto xs = tiles::partition_view{tiles::tensor_span{x, tiles::extents{n}}, tiles::shape<TILE>{}};
  auto outs = tiles::partition_view{tiles::tensor_span{out, tiles::extents{n}}, tiles::shape<TILE>{}};
  outs.store_masked(xs.load_masked(tiles::bid().x) * factor, tiles::bid().x);
}
)";

/// c = a b, for any extents.
constexpr char kMatmul[] = R"(
#include "cuda_tile.h"
#include "cuda_fp16.h"
template <int TM, int TN, int TK>
__tile_global__ void matmul(const __half* __restrict__ a, const __half* __restrict__ b, float* __restrict__ c, int m,
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
  cs.store_masked(sum, row, col);
}
)";

/// The same as `scale`, with the type as a parameter of the template, a helper without a word of where it runs, and
/// hints of its own.
constexpr char kHinted[] = R"(
#include "cuda_tile.h"
namespace ns {
int twice(int n) { return 2 * n; }
template <typename T, int TILE>
[[cutile::hint(0, occupancy=2, num_worker_warps_per_cta=4), cutile::hint(900, occupancy=4)]]
__tile_global__ void fill(T* out, int n) {
  namespace tiles = ::cuda::tiles;
  auto outs = tiles::partition_view{tiles::tensor_span{out, tiles::extents{n}}, tiles::shape<TILE>{}};
  outs.store_masked(tiles::full<tiles::tile<T, tiles::shape<TILE>>>(static_cast<T>(twice(VALUE))), tiles::bid().x);
}
}
)";

/// c = a b, with the hints of its loads as parameters of the template.
constexpr char kHintedLoads[] = R"(
#include "cuda_tile.h"
#include "cuda_fp16.h"
template <int LATENCY, bool TMA>
__tile_global__ void matmul(const __half* __restrict__ a, const __half* __restrict__ b, float* __restrict__ c, int m,
                            int n, int k) {
  namespace tiles = ::cuda::tiles;
  constexpr int T = 64;
  a = tiles::assume_aligned<16>(a), b = tiles::assume_aligned<16>(b);
  k = tiles::assume_divisible<8>(k), n = tiles::assume_divisible<8>(n);
  auto as = tiles::partition_view{tiles::tensor_span{a, tiles::extents{m, k}}, tiles::shape<T, T>{}};
  auto bs = tiles::partition_view{tiles::tensor_span{b, tiles::extents{k, n}}, tiles::shape<T, T>{}};
  auto cs = tiles::partition_view{tiles::tensor_span{c, tiles::extents{m, n}}, tiles::shape<T, T>{}};
  const int row = tiles::bid().x, col = tiles::bid().y;
  auto sum = tiles::full<tiles::tile<float, tiles::shape<T, T>>>(0.0f);
  for (auto i : tiles::irange(0, (k + T - 1) / T)) {
    tiles::tile<__half, tiles::shape<T, T>> x, y;
    [[cutile::hint(0, latency=LATENCY, allow_tma=TMA)]] x = as.load_masked(row, i);
    [[cutile::hint(0, latency=LATENCY, allow_tma=TMA)]] y = bs.load_masked(i, col);
    sum = tiles::mma(x, y, sum);
  }
  cs.store_masked(sum, row, col);
}
)";

KernelSource Scale(int tile) {
  KernelSource source = KernelSource::TileCpp(kScale, "scale<TILE>");
  source.Define("TILE", tile);
  return source;
}

Hints Merged(HintValues values) { return Hints(std::move(values)).Set(Hints::Update::kMerge); }

Environment With(void (*change)(Environment*)) {
  Environment environment = Environment::Read();
  change(&environment);
  return environment;
}

/// Compiles what each test needs anew: a toolchain keeps what it lowered.
class TileCppTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::string> version = TileCppToolchain(testing::Tools()).Version();
    if (!version.ok()) GTEST_SKIP() << "NOT INSTALLED: " << version.status().message();
  }
  Result<Artifact> Compile(const KernelSource& source, const Hints& hints = Hints()) {
    return toolchain_.Compile(source, hints, Sm(90));
  }
  std::shared_ptr<void> Announce(const std::vector<KernelSource>& sources) {
    std::vector<const KernelSource*> pointers;
    for (const KernelSource& each : sources) pointers.push_back(&each);
    return toolchain_.Announce(pointers, Sm(90));
  }

  TileCppToolchain toolchain_{testing::Tools(), /*most_run_seconds=*/1e9};  // Whatever a busy machine takes.
};

/// Compiles four instances with two hints each, with a toolchain and a cache of this folder. Returns the runs of NVRTC.
std::int64_t RunsOfPool(const std::string& folder, int first_tile = 64) {
  TileCppToolchain toolchain(testing::Tools());
  ToolchainSet toolchains({std::shared_ptr<const Toolchain>(&toolchain, [](const Toolchain*) {})});
  CompileSlots slots(2);
  std::shared_ptr<SqliteStore> store = *SqliteStore::Open({folder + "/store.db"});
  CompileOptions options;
  options.cache = store;
  std::vector<CompileJob> jobs;
  for (int tile = first_tile; tile < 32 * first_tile; tile *= 2) {
    if (tile == 512) continue;  // It does not compile.
    for (int occupancy : {1, 4}) {
      jobs.emplace_back();
      jobs.back().alternatives.push_back({Scale(tile), Merged({{"occupancy", occupancy}})});
    }
  }
  CompilePool pool(slots, toolchains, Sm(90), jobs, options);
  while (std::optional<CompiledJob> job = pool.Next()) EXPECT_OK(job->artifact);
  return toolchain.num_front_end_runs();
}

TEST_F(TileCppTest, ASecondProcessRunsNoFrontEnd) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_OK(folder);
  EXPECT_GT(RunsOfPool(folder->path()), 0);
  EXPECT_EQ(testing::InChild([&] { EXPECT_EQ(RunsOfPool(folder->path()), 0); }), 0);
  // Two instances are new: neither run has any of the others, which would be compiled in vain.
  EXPECT_LE(RunsOfPool(folder->path(), 256), 2);
}

TEST_F(TileCppTest, AnInstanceIsCompiledForEachTargetAndNamesItsSymbolAndParameters) {
  for (int capability : {80, 90, 100, 120}) {
    Result<Artifact> artifact = toolchain_.Compile(Scale(256), Hints(), Sm(capability));
    ASSERT_OK(artifact);
    EXPECT_EQ(artifact->symbol, "_Z5scaleILi256EEvPKfPffi");
    EXPECT_EQ(artifact->kernels, std::vector<std::string>{artifact->symbol});
    EXPECT_EQ(artifact->parameters,
              (std::vector<std::string>{"tile<ptr<f32>>", "tile<ptr<f32>>", "tile<f32>", "tile<i32>"}));
    EXPECT_TRUE(artifact->cacheable);
    EXPECT_TRUE(artifact->dependencies.empty()) << "NVRTC has cuda_tile.h within itself";
    EXPECT_NE(artifact->toolchain.find("nvrtc 13."), std::string::npos) << artifact->toolchain;
    EXPECT_NE(artifact->toolchain.find("tileiras"), std::string::npos) << artifact->toolchain;
    EXPECT_GT(artifact->resources.registers, 0);
  }
}

TEST_F(TileCppTest, WhatTheCodeAssumesComesAlongWithTheArtifact) {
  std::string text = kScale;
  const std::string begin = "namespace tiles = ::cuda::tiles;";
  text.insert(
      text.find(begin) + begin.size(),
      "n = tiles::assume_divisible<16>(n); x = tiles::assume_aligned<32>(x); n = tiles::assume_bounded_below<8>(n);");
  Result<Artifact> artifact = Compile(KernelSource::TileCpp(text, "scale<64>"));
  ASSERT_OK(artifact);
  Result<Artifact> kept = DecodeArtifact(EncodeArtifact(*artifact));
  ASSERT_OK(kept);
  for (const Artifact& each : {*artifact, *kept}) {
    std::vector<std::string> assumed;
    for (const CodeAssumption& of_code : each.assumptions) {
      assumed.push_back(std::to_string(of_code.parameter) + " " + CodeAssumptionName(of_code.kind) + " " +
                        std::to_string(of_code.value));
    }
    std::sort(assumed.begin(), assumed.end());
    EXPECT_EQ(assumed, (std::vector<std::string>{"0 divisible_by 32", "3 at_least 8", "3 divisible_by 16"}));
    EXPECT_EQ(each.parameters.size(), 4u);
  }
  Result<Artifact> plain = Compile(Scale(64));
  ASSERT_OK(plain);
  EXPECT_TRUE(plain->assumptions.empty());
}

TEST_F(TileCppTest, TypesMacrosHelpersAndPlainNamesAreThoseOfCudaCpp) {
  KernelSource source = KernelSource::TileCpp(kHinted, "ns::fill<T, TILE>");
  source.DefineType("T", kInt32).Define("TILE", 128).Define("VALUE", 3);
  Result<Artifact> artifact = Compile(source);
  ASSERT_OK(artifact);
  EXPECT_EQ(artifact->symbol, "_ZN2ns4fillIiLi128EEEvPT_i");
  const std::string text = std::string("#include \"cuda_tile.h\"\n#include \"my/value.h\"\n") +
                           "__tile_global__ void one(int* out) {\n"
                           "  namespace tiles = ::cuda::tiles;\n"
                           "  auto outs = tiles::partition_view{tiles::tensor_span{out, tiles::extents{16}}, "
                           "tiles::shape<16>{}};\n"
                           "  outs.store(tiles::full<tiles::tile<int, tiles::shape<16>>>(VALUE), tiles::bid().x);\n}\n";
  for (const char* symbol : {"one", ""}) {
    KernelSource plain = KernelSource::TileCpp(text, symbol);
    plain.Header("my/value.h", "#define VALUE 4");
    Result<Artifact> made = Compile(plain);
    ASSERT_OK(made);
    EXPECT_EQ(made->symbol, "_Z3onePi");
    EXPECT_TRUE(made->cacheable);
  }
}

TEST_F(TileCppTest, HintsAndTheOptimizationLevelCostNoFurtherRunOfNvrtc) {
  std::vector<Fingerprint> code;
  std::vector<Fingerprint> keys;
  const KernelSource source = KernelSource::TileCpp(kMatmul, "matmul<64, 32, 32>");
  for (int occupancy : {1, 2, 8}) {
    const Hints hints = Merged({{"occupancy", occupancy}});
    Result<Artifact> artifact = Compile(source, hints);
    ASSERT_OK(artifact);
    code.push_back(artifact->code_fingerprint);
    keys.push_back(*toolchain_.ArtifactKey(source, hints, Sm(90)));
  }
  EXPECT_NE(code.front(), code.back());
  EXPECT_NE(keys.front(), keys.back());
  KernelSource other_level = source;
  other_level.options.push_back("--opt-level=1");
  ASSERT_OK(Compile(other_level));
  EXPECT_EQ(toolchain_.num_front_end_runs(), 1);
  EXPECT_NE(*toolchain_.ArtifactKey(other_level, Hints(), Sm(90)), *toolchain_.ArtifactKey(source, Hints(), Sm(90)));
  KernelSource other_standard = source;
  other_standard.options.push_back("--std=c++23");
  ASSERT_OK(Compile(other_standard));
  EXPECT_EQ(toolchain_.num_front_end_runs(), 2);
}

TEST_F(TileCppTest, MathOptionsArePatchedWithoutAFurtherRunOfNvrtc) {
  const KernelSource exact = Scale(256);
  KernelSource flushed = exact;
  flushed.options.push_back("--ftz");
  Result<Artifact> by_exact = Compile(exact);
  ASSERT_OK(by_exact);
  Result<Artifact> by_flushed = Compile(flushed);
  ASSERT_OK(by_flushed);
  EXPECT_NE(by_exact->code_fingerprint, by_flushed->code_fingerprint) << "the product flushes subnormal numbers";
  EXPECT_NE(*toolchain_.ArtifactKey(exact, Hints(), Sm(90)), *toolchain_.ArtifactKey(flushed, Hints(), Sm(90)));
  EXPECT_EQ(toolchain_.num_front_end_runs(), 1);
}

TEST_F(TileCppTest, HintsOfTheTextAreDefaultsThatGivenOnesReplace) {
  KernelSource source = KernelSource::TileCpp(kHinted, "ns::fill<float, 256>");
  source.Define("VALUE", 1);
  Result<Artifact> own = Compile(source);
  ASSERT_OK(own);
  EXPECT_NE(own->log.find("already has hints: default: num_worker_warps_per_cta=4, occupancy=2; sm_90: occupancy=4"),
            std::string::npos)
      << own->log;
  Result<Artifact> given = Compile(source, Merged({{"occupancy", 8}}));
  ASSERT_OK(given);
  EXPECT_EQ(given->log, "") << "nothing of the text wins over it";
  Result<Artifact> for_both = Compile(
      source, Hints(ByTarget<HintValues>({{"default", {{"occupancy", 8}, {"num_worker_warps", 4}}}})));  // Replaces.
  ASSERT_OK(for_both);
  EXPECT_EQ(given->code_fingerprint, for_both->code_fingerprint) << "the worker warps of the text stayed";
  EXPECT_ERROR(Compile(source, Merged({{"occupancy", 99}})), StatusCode::kInvalidArgument, "occupancy=99");
}

TEST_F(TileCppTest, LatencyAndTmaOfLoadsAreAxesByTemplateParameters) {
  SearchSpace space;
  space.AddAxis("LATENCY", {1, 8});
  space.AddAxis("TMA", {1, 0});
  const Variant variant = TileCpp(kHintedLoads, "matmul<LATENCY, TMA>");
  for (int capability : {90, 100}) {
    const Target target = Sm(capability);
    const std::vector<Config> configs = *space.Enumerate(target);
    ASSERT_EQ(configs.size(), 4u);
    std::set<std::string> codes;
    for (const Config& config : configs) {
      const KernelSource source = variant.source(config, Problem());
      Result<Artifact> artifact = toolchain_.Compile(source, Hints(), target);
      ASSERT_OK(artifact);
      codes.insert(artifact->code_fingerprint.ToString());
      const bool allows_tma = std::get<std::int64_t>(*config.Find("TMA")) == 1;
      const std::string load = absl::StrCat("passed: Load instruction selected: ",
                                            allows_tma ? "TMA Load instruction" : "Global-memory load instruction");
      const auto is_load = [&](const std::string& remark) { return remark.rfind(load, 0) == 0; };
      EXPECT_EQ(std::count_if(artifact->remarks.begin(), artifact->remarks.end(), is_load), 2)
          << source.symbol << ": " << absl::StrJoin(artifact->remarks, "\n");
    }
    EXPECT_EQ(codes.size(), 4u) << "each of the four hints gives other code on " << target.name();
  }
}

TEST_F(TileCppTest, AnnouncedInstancesShareRunsAndHaveTheCodeThatTheyHaveAlone) {
  std::vector<KernelSource> sources;
  for (int tile : {64, 128, 256, 1024, 2048, 4096}) sources.push_back(Scale(tile));
  for (int n : {16, 32, 64}) {
    for (int k : {16, 32, 64}) {
      if (n != k && !testing::AreTestsWhole()) continue;
      sources.push_back(
          KernelSource::TileCpp(kMatmul, "matmul<64, " + std::to_string(n) + ", " + std::to_string(k) + ">"));
    }
  }
  for (const char* symbol : {"ns::fill<float, 64>", "ns::fill<int, 64>", "ns::fill<int, 128>", "ns::fill<long, 64>",
                             "ns::fill<signed char, 256>"}) {
    sources.push_back(KernelSource::TileCpp(kHinted, symbol));
    sources.back().Define("VALUE", 7);
  }
  ASSERT_EQ(sources.size(), testing::AreTestsWhole() ? 20u : 14u);
  std::shared_ptr<void> announcement = Announce(sources);
  for (const KernelSource& source : sources) {
    Result<Artifact> shared = Compile(source);
    ASSERT_OK(shared);
    TileCppToolchain alone(testing::Tools());
    Result<Artifact> single = alone.Compile(source, Hints(), Sm(90));
    ASSERT_OK(single);
    EXPECT_TRUE(shared->image == single->image) << source.symbol;
    EXPECT_EQ(shared->symbol, single->symbol);
    EXPECT_EQ(shared->parameters, single->parameters);
    EXPECT_EQ(alone.num_front_end_runs(), 1);
  }
  EXPECT_EQ(toolchain_.num_front_end_runs(), 6) << "of each of three texts, one instance, and then the others";
}

TEST_F(TileCppTest, OneBadInstanceFailsAloneAndTheOthersAreCompiled) {
  std::vector<KernelSource> sources;
  for (int tile : {256, 512, 1024, 100}) sources.push_back(Scale(tile));
  std::shared_ptr<void> announcement = Announce(sources);
  ASSERT_OK(Compile(sources[0]));
  EXPECT_EQ(toolchain_.num_front_end_runs(), 1);
  ASSERT_OK(Compile(sources[2]));
  EXPECT_EQ(toolchain_.num_front_end_runs(), 3) << "all three others, which fails, and this one";
  for (int hint : {1, 2}) {
    EXPECT_ERROR(Compile(sources[1], Merged({{"occupancy", hint}})), StatusCode::kInvalidArgument, "not of this size");
    EXPECT_ERROR(Compile(sources[3], Merged({{"occupancy", hint}})), StatusCode::kInvalidArgument, "with TILE=100");
  }
  EXPECT_EQ(toolchain_.num_front_end_runs(), 5) << "each of the two once";
  announcement.reset();
  EXPECT_ERROR(Compile(sources[1]), StatusCode::kInvalidArgument, "not of this size");
  EXPECT_EQ(toolchain_.num_front_end_runs(), 6) << "a failure is remembered while it is announced";
}

TEST_F(TileCppTest, ARunTakesNoMoreInstancesThanItsTimeAllows) {
  TileCppToolchain toolchain(testing::Tools(), /*most_run_seconds=*/1e-9);
  const std::vector<KernelSource> sources = {Scale(64), Scale(128), Scale(256)};
  std::shared_ptr<void> announcement = toolchain.Announce({&sources[0], &sources[1], &sources[2]}, Sm(90));
  for (const KernelSource& source : sources) ASSERT_OK(toolchain.Compile(source, Hints(), Sm(90)));
  EXPECT_EQ(toolchain.num_front_end_runs(), 3);
}

TEST_F(TileCppTest, WhatIsWithdrawnIsInNoRun) {
  Announce({Scale(64), Scale(128), Scale(512)}).reset();
  for (int tile : {64, 128, 256}) ASSERT_OK(Compile(Scale(tile)));
  EXPECT_EQ(toolchain_.num_front_end_runs(), 3);
}

TEST_F(TileCppTest, BadInputIsOneErrorThatNamesIt) {
  const std::string global = "template <int N> __global__ void k(float* x) { *x = N; }";
  KernelSource with_option = Scale(64);
  with_option.options.push_back("--no-such-option");
  const std::vector<std::pair<KernelSource, std::string>> cases = {
      {KernelSource::TileCpp(std::string("#include \"my/none.h\"\n") + kScale, "scale<64>"),
       "scale.cu(1): the header \"my/none.h\" was not found"},
      {KernelSource::TileCpp(kScale, "scale<float>"), "the kernel's name 'scale<float>': error: "},
      {KernelSource::TileCpp(kScale, "scale<100>"), "no instance of constructor"},
      {KernelSource::TileCpp(kScale, "scales<64>"), "identifier \"scales\" is undefined"},
      {KernelSource::TileCpp(kScale, "scale"), "the kernel's name 'scale': error: "},
      {KernelSource::TileCpp(kScale, ""), "the source has no tile kernel other than templates; name one"},
      {KernelSource::TileCpp(global, "k<3>"), "'k<3>' is not a tile kernel: its function is __global__"},
      {KernelSource::TileCpp(std::string(kScale) + global, "k<3>"), "'k<3>' is not a tile kernel"},
      {KernelSource::TileCpp(std::string("#include \"cuda_tile.h\"\n") + "template <int N> __tile__ void k() {}",
                             "k<3>"),
       "the kernel's name 'k<3>': error: "},
      {KernelSource::TileCpp("no C++", "k"), "error"},
      {with_option, "--no-such-option"}};
  for (const auto& [source, message] : cases) {
    EXPECT_ERROR(Compile(source), StatusCode::kInvalidArgument, message);
  }
  EXPECT_ERROR(toolchain_.Compile(Scale(64), Hints(), Sm(75)), StatusCode::kInvalidArgument, "sm_75");
  EXPECT_ERROR(toolchain_.Compile(Scale(64), Hints(), *Target::Named("cpu")), StatusCode::kInvalidArgument,
               "CPU device");
}

TEST_F(TileCppTest, AHeaderThatChangesInvalidatesWhatWasMadeOfIt) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_OK(folder);
  const std::string header = *folder->WriteFile("value.h", "#define VALUE 1\n");
  auto age = [&] {  // What was written in the same tick of the clock as the compile is not kept.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  age();
  KernelSource source = KernelSource::TileCpp(std::string("#include \"value.h\"\n") + kHinted, "ns::fill<int, 64>");
  source.Include(folder->path());
  MemoryStore cache;
  bool from_cache = false;
  auto compile = [&] { return CompileCached(toolchain_, cache, source, Hints(), Sm(90), WaitLimits(), &from_cache); };
  Result<Artifact> first = compile();
  ASSERT_OK(first);
  EXPECT_EQ(first->dependencies.size(), 1u);
  ASSERT_OK(compile());
  EXPECT_TRUE(from_cache);
  ASSERT_OK(folder->WriteFile("value.h", "#define VALUE 2\n"));
  age();
  Result<Artifact> second = compile();
  ASSERT_OK(second);
  EXPECT_FALSE(from_cache);
  EXPECT_EQ(toolchain_.num_front_end_runs(), 2) << "nor is the Tile IR in memory served";
  EXPECT_NE(first->code_fingerprint, second->code_fingerprint);
}

TEST_F(TileCppTest, HeadersOfAnOlderToolkitAreNotMixedIn) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_OK(folder);
  ASSERT_OK(folder->WriteFile("cuda_fp16.h", "#error this is of an older toolkit\n"));
  Environment environment = Environment::Read();
  environment.cuda_include = folder->path();
  TileCppToolchain toolchain(testing::ToolsOf(environment));
  const KernelSource source = KernelSource::TileCpp(kMatmul, "matmul<16, 16, 16>");
  EXPECT_OK(toolchain.Compile(source, Hints(), Sm(90)));
  ASSERT_OK(folder->WriteFile("cuda_tile.h", "// Of 13.3.\n"));
  EXPECT_ERROR(toolchain.Compile(KernelSource::TileCpp(kMatmul, "matmul<16, 32, 16>"), Hints(), Sm(90)),
               StatusCode::kInvalidArgument, "this is of an older toolkit");
}

TEST_F(TileCppTest, CudaCppKeepsItsOwnNvrtc) {
  const NvrtcToolchain nvrtc(testing::Tools());
  const std::string before = nvrtc.Description();
  ASSERT_OK(Compile(Scale(128)));
  EXPECT_EQ(nvrtc.Description(), before);
  EXPECT_NE(nvrtc.Description(), toolchain_.Description());
}

TEST_F(TileCppTest, ARunIsCancelledAndEndsAtItsDeadlineBehindTheFrontEnd) {
  WaitLimits limits;
  limits.timeout = std::chrono::milliseconds(1);
  EXPECT_ERROR(toolchain_.Compile(Scale(128), Hints(), Sm(90), limits), StatusCode::kDeadlineExceeded, "1 ms");
  const std::atomic<bool> cancelled{true};
  limits = WaitLimits();
  limits.stop = &cancelled;
  EXPECT_ERROR(toolchain_.Compile(Scale(128), Hints(), Sm(90), limits), StatusCode::kCancelled, "cancelled");
  EXPECT_OK(Compile(Scale(128)));
}

TEST_F(TileCppTest, APoolAnnouncesItsJobsAndPassesOverOneThatFails) {
  ToolchainSet toolchains({std::shared_ptr<const Toolchain>(&toolchain_, [](const Toolchain*) {})});
  CompileSlots slots(2);
  CompileOptions options;
  options.cache = MakeMemoryStore();
  std::vector<CompileJob> jobs;
  for (int tile : {64, 128, 256, 512, 1024, 2048}) {
    for (int occupancy : {1, 4}) {
      jobs.emplace_back();
      jobs.back().alternatives.push_back({Scale(tile), Merged({{"occupancy", occupancy}})});
    }
  }
  CompilePool pool(slots, toolchains, Sm(90), jobs, options);
  int num_failed = 0;
  while (std::optional<CompiledJob> job = pool.Next()) {
    const bool is_bad = job->job == 6 || job->job == 7;
    EXPECT_EQ(job->artifact.ok(), !is_bad) << job->artifact.status().ToString();
    num_failed += job->artifact.ok() ? 0 : 1;
  }
  EXPECT_EQ(num_failed, 2);
  EXPECT_LT(toolchain_.num_front_end_runs(), 12) << "hints and instances share runs";
}

TEST_F(TileCppTest, BadCandidatesFailOneByOneAndTheOthersAreCompiled) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_OK(folder);
  // It hangs where the file has scale<128>, and is the real one elsewhere. That kernel has a text of its own, so that
  // no other's file has it, too: instances of one text may be lowered together.
  const std::string script =
      absl::StrCat("#!/bin/sh\nfor word; do if grep -aqs -e Li128E -- \"$word\"; then exec sleep 1000; fi; done\nexec ",
                   Environment::Read().tileiras, " \"$@\"\n");
  Result<std::string> tileiras = folder->WriteFile("tileiras", script);
  ASSERT_OK(tileiras);
  chmod(tileiras->c_str(), 0700);
  Environment environment = Environment::Read();
  const std::string description = toolchain_.Description();
  environment.tile_nvrtc = description.substr(0, description.find(' '));
  environment.tileiras = *tileiras;
  ToolchainSet toolchains({std::make_shared<TileCppToolchain>(testing::ToolsOf(environment))});
  CompileSlots slots(2);
  CompileOptions options;
  options.cache = MakeMemoryStore();
  const std::vector<std::pair<KernelSource, std::string>> cases = {
      {Scale(64), ""},
      {KernelSource::TileCpp(std::string("#include \"my/none.h\"\n") + kScale, "scale<64>"),
       "the header \"my/none.h\" was not found"},
      {KernelSource::TileCpp(kScale, "scale<float>"), "the kernel's name 'scale<float>'"},
      {Scale(512), "not of this size"},
      {KernelSource::TileCpp(std::string(kScale) + "// of its own\n", "scale<128>"), "it hangs"},
      {Scale(256), ""},
  };
  std::vector<CompileJob> jobs;
  for (const auto& [source, message] : cases) {
    jobs.emplace_back();
    jobs.back().alternatives.push_back({source, Hints()});
  }
  jobs[4].deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  CompilePool pool(slots, toolchains, Sm(90), jobs, options);
  std::size_t num_done = 0;
  for (; std::optional<CompiledJob> job = pool.Next(); ++num_done) {
    const std::string& message = cases[job->job].second;
    const Status& status = job->artifact.status();
    EXPECT_EQ(status.ok(), message.empty()) << job->job << ": " << status.ToString();
    EXPECT_NE(status.message().find(job->job == 4 ? "" : message), std::string::npos) << status.ToString();
    if (job->job == 4) {
      EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
    }
  }
  EXPECT_EQ(num_done, cases.size());
}

/// Counts what is announced, and has what it compiles from the cache.
class AnnouncedToolchain final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kTileCpp; }
  Result<std::string> Version() const override { return std::string("announced"); }
  std::string Description() const override { return "announced"; }
  std::shared_ptr<void> Announce(const std::vector<const KernelSource*>& sources, const Target&) const override {
    for (const KernelSource* source : sources) announced_.push_back(source->symbol);
    return nullptr;
  }
  const std::vector<std::string>& announced() const { return announced_; }

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints&, const Target&,
                             const WaitLimits&) const override {
    Artifact artifact;
    artifact.image = artifact.symbol = source.symbol;
    return artifact;
  }

  mutable std::vector<std::string> announced_;
};

TEST(TileCppToolsTest, APoolAnnouncesOnlyWhatTheCacheLacks) {
  auto toolchain = std::make_shared<AnnouncedToolchain>();
  ToolchainSet toolchains({toolchain});
  CompileSlots slots(1);
  CompileOptions options;
  options.cache = MakeMemoryStore();
  auto compile = [&](const std::vector<std::string>& symbols) {
    std::vector<CompileJob> jobs;
    for (const std::string& symbol : symbols) {
      jobs.emplace_back();
      jobs.back().alternatives.push_back({KernelSource::TileCpp("text of k", symbol), Hints()});
    }
    CompilePool pool(slots, toolchains, Sm(90), jobs, options);
    while (std::optional<CompiledJob> job = pool.Next()) EXPECT_OK(job->artifact);
  };
  compile({"k<1>", "k<2>"});
  EXPECT_EQ(toolchain->announced(), (std::vector<std::string>{"k<1>", "k<2>"}));
  compile({"k<1>", "k<2>", "k<3>"});
  EXPECT_EQ(toolchain->announced(), (std::vector<std::string>{"k<1>", "k<2>", "k<3>"}));
}

TEST(TileCppToolsTest, AnAlternativeThatIsNotAcceptedIsPassedOver) {
  ToolchainSet toolchains({std::make_shared<AnnouncedToolchain>()});
  CompileSlots slots(1);
  CompileOptions options;
  options.cache = MakeMemoryStore();
  auto refuse = [](const Artifact& artifact) { return InvalidArgumentError(artifact.symbol + " does not suit"); };
  for (bool has_second : {true, false}) {
    CompileJob job;
    job.alternatives.push_back({KernelSource::TileCpp("text of k", "k<1>"), Hints(), refuse});
    if (has_second) job.alternatives.push_back({KernelSource::TileCpp("text of k", "k<2>"), Hints()});
    CompilePool pool(slots, toolchains, Sm(90), {job}, options);
    const CompiledJob compiled = *pool.Next();
    EXPECT_EQ(compiled.artifact.ok(), has_second);
    const Status& refused = has_second ? compiled.passed_over.at(0) : compiled.artifact.status();
    EXPECT_ERROR(refused, StatusCode::kInvalidArgument, "k<1> does not suit");
  }
}

/// What is missing, which needs no NVRTC of 13.3.
TEST(TileCppToolsTest, WhatIsMissingIsOneLineThatStatesWhatToInstallAndTheNextVariantIsUsed) {
  const Environment no_nvrtc = With([](Environment* e) { e->tile_nvrtc = "/nowhere/libnvrtc.so.13"; });
  const Environment old_nvrtc =
      With([](Environment* e) { e->tile_nvrtc = TUNEONCE_CACHING_NVRTC; });  // It has no functions for Tile IR.
  for (const auto& [environment, message] :
       {std::pair(no_nvrtc, "/nowhere/libnvrtc.so.13 is not NVRTC; pip install nvidia-cuda-tileiras nvidia-cuda-nvrtc"),
        std::pair(old_nvrtc, "needs NVRTC 13.3 or newer, but " TUNEONCE_CACHING_NVRTC " is 13.0; pip install")}) {
    const TileCppToolchain toolchain(testing::ToolsOf(environment));
    EXPECT_ERROR(toolchain.Version(), StatusCode::kUnavailable, message);
    EXPECT_ERROR(toolchain.ArtifactKey(Scale(64), Hints(), Sm(90)), StatusCode::kUnavailable, message);
    EXPECT_EQ(toolchain.Description().find('\n'), std::string::npos);
    EXPECT_NE(toolchain.Description().find(message), std::string::npos) << toolchain.Description();
  }
}

TEST_F(TileCppTest, AMissingOrOlderTileirasIsNamed) {
  const Environment none = With([](Environment* e) {
    e->tileiras = "/nowhere/tileiras";
    Result<TemporaryFolder> unused = testing::MakeFolder();
  });
  Environment with_nvrtc = none;
  const std::string description = toolchain_.Description();
  with_nvrtc.tile_nvrtc = description.substr(0, description.find(' '));
  EXPECT_ERROR(TileCppToolchain(testing::ToolsOf(with_nvrtc)).Version(), StatusCode::kUnavailable,
               "CUDA Tile C++ needs tileiras: tileiras was not found at /nowhere/tileiras; pip install");
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_OK(folder);
  Result<std::string> old =
      folder->WriteFile("tileiras", "#!/bin/sh\necho 'Cuda compilation tools, release 13.1, V13.1.2'\n");
  ASSERT_OK(old);
  chmod(old->c_str(), 0700);
  with_nvrtc.tileiras = *old;
  EXPECT_ERROR(TileCppToolchain(testing::ToolsOf(with_nvrtc)).Version(), StatusCode::kUnavailable,
               "needs a tileiras that reads the Tile IR of NVRTC 13.");
}

TEST_F(TileCppTest, APoolUsesTheNextVariantWhereTheFrontEndIsMissing) {
  const auto tools = testing::ToolsOf(With([](Environment* e) { e->tile_nvrtc = "/nowhere/libnvrtc.so.13"; }));
  ToolchainSet toolchains({std::make_shared<TileCppToolchain>(tools), std::make_shared<NvrtcToolchain>(tools)});
  if (!NvrtcToolchain(tools).Version().ok()) GTEST_SKIP() << "NVRTC IS NOT INSTALLED";
  CompileSlots slots(1);
  CompileOptions options;
  options.cache = MakeMemoryStore();
  std::vector<CompileJob> jobs(1);
  jobs[0].alternatives.push_back({Scale(64), Hints()});
  jobs[0].alternatives.push_back(
      {KernelSource::CudaCpp("extern \"C\" __global__ void k(int* x) { *x = 1; }", "k"), Hints()});
  CompilePool pool(slots, toolchains, Sm(90), jobs, options);
  std::optional<CompiledJob> job = pool.Next();
  ASSERT_TRUE(job.has_value());
  ASSERT_OK(job->artifact);
  EXPECT_EQ(job->alternative, 1u);
  ASSERT_EQ(job->passed_over.size(), 1u);
  EXPECT_EQ(job->passed_over[0].message().find('\n'), std::string::npos) << job->passed_over[0].message();
  EXPECT_NE(job->passed_over[0].message().find("CUDA Tile C++ needs NVRTC 13.3"), std::string::npos);
}

}  // namespace
}  // namespace tuneonce
