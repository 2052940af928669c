// The CUDA Tile C++ of the bundles that are shipped: what it lowers to, and that tileiras compiles it for each target.
// Needs NVRTC 13.3 or newer and tileiras (scripts/install_dependencies --tests); no GPU. What it computes:
// tests/gpu/tile_cpp_gpu_test.cc.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compile/tile_cpp_toolchain.h"
#include "compile/tile_front_end.h"
#include "inspect/classification.h"
#include "launch/code_assumptions.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tile_ir/tile_ir.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
namespace {

using testing::Sm;

/// One way to build a config by CUDA Tile C++.
struct TileCppWay {
  const Variant* variant = nullptr;
  Config config;
  KernelSource source;
};

class ShippedTileCppTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<std::string> version = TileCppToolchain(testing::Tools()).Version();
    if (!version.ok()) GTEST_SKIP() << "NOT INSTALLED: " << version.status().message();
    Result<Bundle> bundle = Bundle::Load(std::string(TUNEONCE_BUNDLE_FOLDER) + "/" + GetParam());
    ASSERT_OK(bundle);
    bundle_.emplace(*std::move(bundle));
  }
  const KernelDefinition& definition() const { return bundle_->definition(); }

  /// All ways on the target, each source once, of each dtype that a variant takes.
  std::vector<TileCppWay> WaysOn(const Target& target) const {
    std::vector<TileCppWay> ways;
    std::set<Fingerprint> known;
    Result<std::vector<Config>> configs = definition().space().Enumerate(target);
    EXPECT_OK(configs);
    if (!configs.ok()) return ways;
    for (const Variant& variant : definition().variants()) {
      for (DType dtype : {kFloat16, kBFloat16}) {
        for (const Config& config : *configs) {
          if (!variant.IsBackendOf(config)) continue;
          KernelSource source = variant.MakeSource(config, ProblemOf(target, dtype));
          if (source.kind != SourceKind::kTileCpp || !known.insert(source.Fingerprint()).second) continue;
          ways.push_back({&variant, config, std::move(source)});
        }
      }
    }
    return ways;
  }
  Problem ProblemOf(const Target& target, DType dtype) const {
    Problem problem;
    problem.target = &target;
    problem.dtypes.fill(dtype);
    problem.dims = Dims(definition().dims().size());
    for (int i = 0; i < static_cast<int>(definition().dims().size()); ++i) problem.dims[Dim{i}] = 128;
    return problem;
  }

  std::optional<Bundle> bundle_;
};

/// So that tileiras pipelines its loops and selects TMA, and a launch that the code is not for is found.
TEST_P(ShippedTileCppTest, ItsLoopsAreStructuredItsStridesAreSeenAndItAssumesNothingThatIsNotDeclared) {
  const std::vector<TileCppWay> ways = WaysOn(Sm(90));
  ASSERT_FALSE(ways.empty());
  TileFrontEnd front_end(testing::Tools(), /*most_seconds=*/1e9);
  std::vector<const KernelSource*> sources;
  for (const TileCppWay& way : ways) sources.push_back(&way.source);
  const std::shared_ptr<void> announcement = front_end.Announce(sources, Sm(90));
  for (const TileCppWay& way : ways) {
    SCOPED_TRACE(way.source.symbol + " {" + way.config.ToString() + "}");
    Result<std::shared_ptr<const LoweredTileKernel>> lowered = front_end.Lower(way.source, Sm(90), WaitLimits());
    ASSERT_OK(lowered);
    const LoweredTileKernel& kernel = **lowered;
    Result<KernelEvidence> evidence = TileIrEvidence(kernel.bytecode, kernel.symbol);
    ASSERT_OK(evidence);
    EXPECT_EQ(evidence->num_products_in_plain_loops, 0);
    EXPECT_TRUE(evidence->unaligned_tensors.empty()) << "of parameter " << *evidence->unaligned_tensors.begin();
    EXPECT_TRUE(evidence->unordered_tensors.empty());
    const std::string name = GetParam();
    EXPECT_EQ(evidence->num_products > 0, name == "matmul" || name == "attention");
    EXPECT_EQ(evidence->num_loads > 0 && evidence->num_stores > 0, true);
    Result<ParameterLayout> layout =
        ParameterLayout::Create(definition(), way.variant->convention, way.variant->parameters);
    ASSERT_OK(layout);
    EXPECT_EQ(ReadTileIr(kernel.bytecode)->entries[0].parameters.size(), layout->num_declared());
    Result<AssumptionChecks> declared = AssumptionChecks::Create(definition(), *way.variant, *layout);
    ASSERT_OK(declared);
    EXPECT_OK(
        CheckAssumptionsOfCode(*declared, *layout, way.config, KernelSource::TileIr(kernel.bytecode, kernel.symbol)));
  }
}

TEST_P(ShippedTileCppTest, OneConfigCompilesForEachTarget) {
  const TileCppToolchain toolchain(testing::Tools());
  for (const Target& target : {Sm(80), Sm(90), Sm(100), Sm(120)}) {
    SCOPED_TRACE(target.name());
    const std::vector<TileCppWay> ways = WaysOn(target);
    ASSERT_FALSE(ways.empty());
    const TileCppWay& way = ways.front();
    Result<Artifact> artifact = toolchain.Compile(way.source, way.variant->hints(way.config), target);
    ASSERT_OK(artifact);
    EXPECT_GT(artifact->resources.registers, 0);
    EXPECT_TRUE(artifact->cacheable);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShippedTileCppTest,
                         ::testing::Values("attention", "matmul", "rms_norm", "softmax", "vector_add"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace tuneonce
