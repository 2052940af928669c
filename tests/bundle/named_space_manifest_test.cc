// "space" in a manifest: a family's name in place of axes, configs, baseline and conditions.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "testing/expect_status.h"
#include "testing/tools.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
namespace {

class NamedSpaceManifestTest : public ::testing::Test {
 protected:
  /// A bundle with these fields beside what every bundle has, and more fields of its variant.
  Result<Bundle> Load(const std::string& fields, const std::string& of_variant = "") {
    std::ofstream(folder_.path() + "/k.cc")
        << "static void k(const tuneonce_block&, const float*, const float*, float*) {}\nTUNEONCE_CPU_KERNEL(k);\n";
    std::ofstream(folder_.path() + "/manifest.json") << R"({"tuneonce_bundle": 1, "name": "k", "version": "1",
"dims": ["M", "N", "K"], "parameters": [
 {"name": "a", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["M", "K"]},
 {"name": "b", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["K", "N"]},
 {"name": "c", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["M", "N"]}],
)" << fields << R"(,
"variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "k", )"
                                                     << of_variant << R"(
 "grid": {"pattern": "fixed", "blocks": ["occupancy"]}, "artifacts": [{"file": "k.cc"}]}]})";
    return Bundle::Load(folder_.path());
  }
  static std::size_t CountOn(const Bundle& bundle, const char* target) {
    Result<std::vector<Config>> configs = bundle.definition().space().Enumerate(*Target::Named(target));
    EXPECT_OK(configs);
    return configs.ok() ? configs->size() : 0;
  }
  static std::vector<std::string> GuardsOf(const Bundle& bundle) {
    std::vector<std::string> names;
    for (const NamedCondition& each : bundle.definition().space().conditions()) {
      if (each.condition.reads().problem()) names.push_back(each.name);
    }
    return names;
  }

  TemporaryFolder folder_ = *testing::MakeFolder();
};

TEST_F(NamedSpaceManifestTest, ANameStandsForAWholeSpace) {
  Result<Bundle> bundle = Load(R"("space": "dense_matmul")");
  ASSERT_OK(bundle);
  const SearchSpace& space = bundle->definition().space();
  EXPECT_EQ(CountOn(*bundle, "sm_80"), 24u);
  EXPECT_GT(CountOn(*bundle, "sm_100"), 0u);
  EXPECT_EQ(space.BaselineOn(*Target::Named("sm_120"))->ToString(),
            "TILE_M=128, TILE_N=64, TILE_K=64, occupancy=1, num_ctas=1");
  EXPECT_EQ(GuardsOf(*bundle).size(), 3u);
  EXPECT_EQ(space.max_configs(), SearchSpace::kDefaultMaxConfigs);
}

TEST_F(NamedSpaceManifestTest, AxesConditionsAndDimsMayBeAdded) {
  Result<Bundle> bundle = Load(R"("space": {"family": "norm_like", "dims": {"N": "K"}},
    "axes": [{"name": "LOOP", "values": [0, 1]}],
    "where": ["LOOP != 1 || device.capability >= 90", {"name": "enough rows", "condition": "M >= LOOP"}])");
  ASSERT_OK(bundle);
  EXPECT_EQ(CountOn(*bundle, "sm_80"), 10u);
  EXPECT_EQ(CountOn(*bundle, "sm_90"), 20u);
  EXPECT_EQ(GuardsOf(*bundle), (std::vector<std::string>{"more than half of TILE_N lies within K", "enough rows"}));
  bundle = Load(R"("space": {"family": "norm_like", "dims": {"N": ""}})");
  ASSERT_OK(bundle);
  EXPECT_TRUE(GuardsOf(*bundle).empty());
}

TEST_F(NamedSpaceManifestTest, AMistakeIsOneLineThatNamesIt) {
  struct Case {
    const char* fields;
    const char* message;
  };
  const Case cases[] = {
      {R"("space": "matmul")", "space: unknown family of kernels 'matmul'; choose one of: fp8_matmul, dense_matmul"},
      {R"("space": {"family": "matmul"})", "space.family: unknown family of kernels 'matmul'"},
      {R"("space": {"famly": "dense_matmul"})", "space.famly: unknown field"},
      {R"("space": 3)", "space: expected a string"},
      {R"("space": "attention")",
       "space: the space attention needs a dim 'D', but the bundle has: M, N, K; write {\"family\": \"attention\", "
       "\"dims\": {\"D\": NAME}}, with \"\" for no dim"},
      {R"("space": {"family": "dense_matmul", "dims": {"Q": "M"}})",
       "space.dims.Q: the space dense_matmul has no dim 'Q'; it has: M, N, K"},
      {R"("space": {"family": "occupancy_only", "dims": {"N": "N"}})",
       "the space occupancy_only has no dim 'N'; it has: none"},
      {R"("space": "dense_matmul", "baseline": {"TILE_M": 64})",
       "baseline: a named space has its own configs, baseline and fallback: remove this field"},
      {R"("space": "dense_matmul", "configs": [])", "configs: a named space has its own configs"},
      {R"("space": "dense_matmul", "fallback": {})", "fallback: a named space has its own configs"},
      {R"("space": "dense_matmul", "axes": [{"name": "TILE_M", "values": [1]}])", "two axes are named 'TILE_M'"},
      {R"("space": "dense_matmul", "axes": [{"name": "ftz", "kind": "option", "values": [false, true]}], "tolerance":
         {"relative": 1}, "max_configs": 60)",
       "no variant's compiler takes the option 'ftz'"},
  };
  for (const Case& each : cases) {
    Status status = Load(each.fields).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << each.fields << status.ToString();
    EXPECT_NE(status.message().find(each.message), std::string::npos) << each.message << " | " << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
}

TEST_F(NamedSpaceManifestTest, OnlyTargetsThatAVariantRunsOnCount) {
  // 24 configs on sm_80, but 4 on the CPU device, where the one variant runs.
  EXPECT_OK(Load(R"("space": "dense_matmul", "axes": [{"name": "A", "values": [1, 2, 3]}])"));
}

TEST_F(NamedSpaceManifestTest, EachConfigOfTheVariantsTargetsNeedsAnArtifact) {
  const std::string space = R"("space": {"family": "elementwise", "dims": {"N": "N"}})";
  EXPECT_OK(Load(space, R"("defines": ["TILE"],)"));
  Status status = Load(space, R"("defines": ["TILES"],)").status();
  EXPECT_NE(status.message().find("unknown axis 'TILES'; the bundle has: TILE, occupancy"), std::string::npos)
      << status.ToString();
}

}  // namespace
}  // namespace tuneonce
