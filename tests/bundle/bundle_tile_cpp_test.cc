// Bundles whose source is CUDA Tile C++.
#include <fstream>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "compile/tile_cpp_toolchain.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
namespace {

using testing::Sm;

class BundleTileCppTest : public ::testing::Test {
 protected:
  BundleTileCppTest() {
    Write("k.cu", R"(
#include "cuda_tile.h"
#include "my/scale.h"
template <typename T, int TILE>
__tile_global__ void scale(const T* __restrict__ x, T* __restrict__ y, int n) {
  namespace tiles = ::cuda::tiles;
  auto xs = tiles::partition_view{tiles::tensor_span{x, tiles::extents{n}}, tiles::shape<TILE>{}};
  auto ys = tiles::partition_view{tiles::tensor_span{y, tiles::extents{n}}, tiles::shape<TILE>{}};
  ys.store_masked(xs.load_masked(tiles::bid().x) * static_cast<T>(SCALE), tiles::bid().x);
}
)");
    Write("scale.h", "#define SCALE 2\n");
  }
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_.path() + "/" + name) << text; }
  /// The good manifest with `from` replaced by `to`.
  Result<Bundle> LoadWith(const std::string& from = "", const std::string& to = "") {
    std::string manifest = kManifest;
    const std::size_t at = manifest.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    Write("manifest.json", manifest.replace(at, from.size(), to));
    return Bundle::Load(folder_.path());
  }

  static constexpr char kManifest[] = R"({
  "tuneonce_bundle": 1, "name": "k", "version": "1", "dims": ["N"],
  "parameters": [
    {"name": "x", "kind": "tensor", "access": "in", "dims": ["N"]},
    {"name": "y", "kind": "tensor", "access": "out", "same_dtype_as": "x", "dims": ["N"]},
    {"kind": "dim", "dim": "N"}],
  "axes": [{"name": "TILE", "values": [64, 128]}, {"name": "occupancy", "kind": "hint", "values": [1, 4]},
           {"name": "opt-level", "kind": "option", "values": [3]}],
  "variants": [
    {"name": "tile_cpp", "source": "tile_cpp", "symbol": "scale<T, TILE>", "defines": ["TILE"],
     "types": {"T": {"dtype_of": "x"}}, "headers": {"my/scale.h": "scale.h"}, "options": ["--std=c++20"],
     "grid": {"pattern": "one_d", "tiles": [["N", "TILE"]]}, "artifacts": [{"file": "k.cu"}]}
  ]
})";
  TemporaryFolder folder_ = *testing::MakeFolder();
};

TEST_F(BundleTileCppTest, ItsConfigsAreCompiledWithTheirHintsByOneRunPerInstance) {
  Result<Bundle> bundle = LoadWith();
  ASSERT_OK(bundle);
  const KernelDefinition& definition = bundle->definition();
  const Variant& variant = definition.variants()[0];
  EXPECT_EQ(variant.convention, CallingConvention::kPlain);
  EXPECT_FALSE(variant.runs_on.HoldsOn(testing::CpuTarget()));
  Problem problem;
  problem.dtypes.fill(DType::kFloat32);
  const TileCppToolchain toolchain(testing::Tools());
  const bool is_installed = toolchain.Version().ok();
  const std::vector<Config> configs = *definition.space().Enumerate(Sm(90));
  ASSERT_EQ(configs.size(), 4u);
  for (const Config& config : configs) {
    const KernelSource source = variant.MakeSource(config, problem);
    EXPECT_OK(source.Check());
    EXPECT_EQ(source.kind, SourceKind::kTileCpp);
    EXPECT_EQ(source.options, (std::vector<std::string>{"--std=c++20", "--opt-level=3"}));
    const Hints hints = variant.hints(config);
    EXPECT_EQ(hints.update(), Hints::Update::kMerge);
    EXPECT_EQ(hints.ToString(Sm(90)), "occupancy=" + AxisValueString(*config.Find("occupancy")));
    if (!is_installed) continue;
    Result<Artifact> artifact = toolchain.Compile(source, hints, Sm(90));
    ASSERT_OK(artifact);
    EXPECT_EQ(artifact->symbol, "_Z5scaleIfLi" + AxisValueString(*config.Find("TILE")) + "EEvPKT_PS0_i");
    EXPECT_TRUE(artifact->cacheable);
  }
  if (!is_installed) GTEST_SKIP() << "NOT INSTALLED: " << toolchain.Version().status().message();
  EXPECT_EQ(toolchain.num_front_end_runs(), 2);
}

TEST_F(BundleTileCppTest, ATemplateArgumentMayBeComputedFromAnAxis) {
  Result<Bundle> bundle = LoadWith("scale<T, TILE>", "scale<T, (2 * TILE - TILE % 2) / 2>");
  ASSERT_OK(bundle);
  Problem problem;
  problem.dtypes.fill(DType::kFloat32);
  const KernelDefinition& definition = bundle->definition();
  const Config config = definition.space().Enumerate(Sm(90))->front();
  const KernelSource source = definition.variants()[0].MakeSource(config, problem);
  EXPECT_OK(source.Check());
  const TileCppToolchain toolchain(testing::Tools());
  if (!toolchain.Version().ok()) GTEST_SKIP() << "NOT INSTALLED: " << toolchain.Version().status().message();
  Result<Artifact> artifact = toolchain.Compile(source, Hints(), Sm(90));
  ASSERT_OK(artifact);
  EXPECT_EQ(artifact->symbol, "_Z5scaleIfLi64EEvPKT_PS0_i");
}

TEST_F(BundleTileCppTest, WhatIsWrongIsNamedWithFileLineAndField) {
  const struct {
    const char* from;
    const char* to;
    const char* message;
  } kCases[] = {
      {"\"kind\": \"hint\", \"values\": [1, 4]", "\"kind\": \"hint\", \"values\": [1, 99]", "occupancy=99"},
      {"scale<T, TILE>", "<TILE>", ":10: variants[0].symbol: '<TILE>' is not a kernel's name"},
      {"--std=c++20", "--tile-only", "a bundle may not give the option '--tile-only'"},
      {"\"scale.h\"}", "\"../scale.h\"}", "lies outside the bundle"},
      {"\"source\": \"tile_cpp\"", "\"source\": \"tile_c\"", "expected tile_ir, tile_cpp, ptx"},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.to);
    EXPECT_ERROR(LoadWith(each.from, each.to), StatusCode::kInvalidArgument, each.message);
  }
}

TEST_F(BundleTileCppTest, ParametersInAnotherOrderThanDeclaredAreWarnedOf) {
  std::vector<std::string> warnings;
  Result<Bundle> bundle = LoadWith();
  ASSERT_OK(bundle);
  EXPECT_OK(bundle->CheckSources(&warnings));
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  Write("k.cu", "template <typename T, int TILE> __tile_global__ void scale(T* y, const T* x, int n) {}\n");
  bundle = LoadWith();
  ASSERT_OK(bundle);
  EXPECT_OK(bundle->CheckSources(&warnings));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("takes (y, x, n), but is declared with (x, y, N)"), std::string::npos) << warnings[0];
}

}  // namespace
}  // namespace tuneonce
