// tuneonce space show; and a bundle that names a family's space, through tune, records, bundle check and compile.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/temporary_folder.h"
#include "run_cli.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

const std::string kNamedSpace = TUNEONCE_TEST_DATA "/bundles/named_space";

nlohmann::json JsonOf(const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return nlohmann::json::parse(result.output, nullptr, /*allow_exceptions=*/false);
}

TEST(SpaceShowTest, OneTargetIsShownInFullWithItsBaselineFiltersAndGuards) {
  ProcessResult shown = RunCli({"space", "show", "persistent_matmul", "--target", "sm_100"});
  EXPECT_EQ(shown.exit_code, 0);
  for (const char* part :
       {"persistent_matmul: c = a b, blocks that stay\n",
        "sm_100: 12 configs, baseline {TILE_M=128, TILE_N=128, TILE_K=64, occupancy=1, num_ctas=1}\n",
        "\n  * TILE_M=128, TILE_N=128, TILE_K=64, occupancy=1, num_ctas=1\n",
        "\n    TILE_M=256, TILE_N=256, TILE_K=128, occupancy=1, num_ctas=2\n",
        "\ncondition 'num_ctas > 1 needs clusters: sm_90 and newer, not sm_12x' (num_ctas <= 1 || ",
        "\ncondition 'more than half of TILE_M lies within M' (TILE_M <= 64 || TILE_M / 2 < M)\n"}) {
    EXPECT_NE(shown.output.find(part), std::string::npos) << part << shown.output;
  }
}

TEST(SpaceShowTest, WithoutATargetEachHasALine) {
  ProcessResult shown = RunCli({"space", "show", "fp8_matmul"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_NE(
      shown.output.find("\nsm_80: no configs: the search space is empty on sm_80: condition 'fp8_matmul needs sm_89'"),
      std::string::npos)
      << shown.output;
  EXPECT_NE(shown.output.find("\nsm_89: 12 configs, baseline {TILE_M=128,"), std::string::npos) << shown.output;
  EXPECT_EQ(shown.output.find("  * "), std::string::npos) << "not in full";
}

TEST(SpaceShowTest, AShapeLeavesOutWhatDoesNotFitAndJsonSaysTheSame) {
  auto json = JsonOf(RunCli({"space", "show", "dense_matmul", "--target", "sm_100", "--shape", "M=1", "--json"}));
  ASSERT_EQ(json["targets"].size(), 1u);
  const auto& on = json["targets"][0];
  EXPECT_EQ(on["target"], "sm_100");
  EXPECT_EQ(on["baseline"],
            (nlohmann::json{{"TILE_M", 64}, {"TILE_N", 64}, {"TILE_K", 64}, {"occupancy", 1}, {"num_ctas", 1}}));
  bool has_baseline = false;
  for (const auto& config : on["configs"]) {
    EXPECT_EQ(config["TILE_M"], 64) << config;
    has_baseline = has_baseline || config == on["baseline"];
  }
  EXPECT_TRUE(has_baseline);
  EXPECT_EQ(json["hints"], (nlohmann::json{"occupancy", "num_ctas"}));
  EXPECT_EQ(json["dims"], (nlohmann::json{"M", "N", "K"}));
  auto all = JsonOf(RunCli({"space", "show", "norm_like", "--json"}));
  EXPECT_EQ(all["targets"].back()["target"], "cpu");
}

TEST(SpaceShowTest, AMistakeIsOneLine) {
  ExpectOneLineError({"space", "show", "matmul"},
                     "unknown family of kernels 'matmul'; choose one of: fp8_matmul, dense_matmul");
  ExpectOneLineError({"space", "show", "attention", "--target", "90"},
                     "target '90' is unknown: use a name such as sm_90, or cpu");
  ExpectOneLineError({"space", "show", "attention", "--shape", "K=1"},
                     "the family attention has no dim 'K'; its dims are: M, N, D");
  ExpectOneLineError({"space", "show", "attention", "--shape", "M=x"}, "'M=x' is not an extent: write NAME=NUMBER");
  for (const char* extent : {"0", "-1"}) {
    ExpectOneLineError({"space", "show", "attention", "--shape", std::string("M=") + extent},
                       std::string("the extent of M is ") + extent + ", but must be at least 1");
  }
  ExpectOneLineError({"space", "show", "attention", "--where", "TILE_M = 64"},
                     "invalid condition 'TILE_M = 64': expected '==' for a comparison, got '=' at position 8");
  ExpectOneLineError({"space", "show", "attention", "--where", "TILE_K == 64"}, "unknown dim 'TILE_K'");
}

TEST(SpaceShowTest, FurtherConditionsNarrowTheSpace) {
  auto json = JsonOf(RunCli({"space", "show", "dense_matmul", "--target", "sm_90", "--where", "TILE_M == 64", "--where",
                             "occupancy == 1 || num_ctas == 2", "--json"}));
  const auto& on = json["targets"][0];
  ASSERT_FALSE(on["configs"].empty());
  for (const auto& config : on["configs"]) EXPECT_EQ(config["TILE_M"], 64) << config;
  bool is_shown = false;
  for (const auto& each : json["where"]) {
    is_shown = is_shown || each.value("condition", "") == "occupancy == 1 || num_ctas == 2";
  }
  EXPECT_TRUE(is_shown) << json["where"];
}

/// How many candidates of a result of `tune --json` have one of these outcomes.
int OutcomesOf(const nlohmann::json& result, const std::set<std::string>& outcomes) {
  int count = 0;
  for (const auto& candidate : result["records"][0]["candidates"]) count += outcomes.count(candidate["outcome"]) > 0;
  return count;
}

TEST(NamedSpaceTest, ItIsTunedRecordedAndCompiledAhead) {
  TemporaryFolder folder = *testing::MakeFolder();
  const std::string store = folder.path() + "/store.db", ahead = folder.path() + "/ahead";
  auto tuned = JsonOf(RunCli({"tune", kNamedSpace, "--device", "cpu", "--store", store, "--quiet", "--json"}));
  EXPECT_EQ(OutcomesOf(tuned, {"measured", "duplicate"}), 8) << tuned.dump();
  EXPECT_EQ(tuned["records"][0]["candidates"].size(), 8u);

  auto records = JsonOf(RunCli({"records", "list", "--json", "--store", store}));
  ASSERT_EQ(records["records"].size(), 1u);
  EXPECT_EQ(records["records"][0]["kernel"], "named_space");

  ProcessResult compiled =
      RunCli({"bundle", "compile", kNamedSpace, "--target", "cpu", "--selections", store, "-o", ahead});
  EXPECT_EQ(compiled.exit_code, 0) << compiled.output;
  EXPECT_NE(compiled.output.find("cpu: 8 configs, 8 ways to build them compiled"), std::string::npos)
      << compiled.output;
  EXPECT_NE(compiled.output.find("1 selections"), std::string::npos) << compiled.output;
  EXPECT_EQ(RunCli({"bundle", "check", ahead, "--target", "cpu"}).exit_code, 0);
  auto again = JsonOf(RunCli({"tune", ahead, "--device", "cpu", "--store", folder.path() + "/again.db", "--quiet",
                              "--json", "--shape", "M=5", "--shape", "N=64", "--shape", "depth=3"},
                             "TUNEONCE_CXX=/nowhere/c++"));
  EXPECT_EQ(OutcomesOf(again, {"measured", "duplicate"}), 2) << "without a compiler: " << again.dump();
}

TEST(NamedSpaceTest, OnlyWhatIsDecidedAndEveryBaselineTravels) {
  TemporaryFolder folder = *testing::MakeFolder();
  const std::string store = folder.path() + "/store.db", ahead = folder.path() + "/ahead";
  EXPECT_EQ(RunCli({"tune", kNamedSpace, "--device", "cpu", "--store", store, "--quiet"}).exit_code, 0);
  ProcessResult compiled = RunCli(
      {"bundle", "compile", kNamedSpace, "--target", "cpu", "--selections", store, "--only-decided", "-o", ahead});
  EXPECT_EQ(compiled.exit_code, 0) << compiled.output;
  EXPECT_EQ(compiled.output.find("8 ways"), std::string::npos) << compiled.output;
  // No large tile fits this shape, whose baseline is the small one: it is there, too.
  auto tuned = JsonOf(RunCli({"tune", ahead, "--device", "cpu", "--store", folder.path() + "/again.db", "--quiet",
                              "--json", "--shape", "M=5", "--shape", "N=64", "--shape", "depth=3"},
                             "TUNEONCE_CXX=/nowhere/c++"));
  for (const auto& setting : tuned["records"][0]["baseline"]["config"]) {
    if (setting["axis"] == "TILE_M") {
      EXPECT_EQ(setting["value"], 64) << tuned.dump();
    }
  }
}

}  // namespace
}  // namespace tuneonce
