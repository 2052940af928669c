// The CUDA Tile C++ of the bundles that are shipped, on a GPU: each of its configs against the other variants and the
// formula, at shapes that fit the tiles, that no tile fits, and that are tiny. For this the bundles are copied and
// their Tile C++ becomes a back end of its own, with the configs of the Tile IR, so that both race. Needs tileiras and
// NVRTC 13.3 or newer, or bundles that were compiled ahead (TUNEONCE_BUNDLES).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "store/memory_store.h"
#include "testing/bundle_formulas.h"
#include "testing/device_test.h"
#include "testing/tools.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

constexpr char kBackEnd[] = "tile_cpp";

struct KeepResult : AutotuneObserver {
  void OnTuned(const std::string&, const std::string&, const TuningRecord& result) override { tuned = result; }
  TuningRecord tuned;
};

/// Extents are multiples of 16 where the code assumes it.
std::vector<testing::FormulaCase> Cases() {
  constexpr double kHalf = 2e-3;
  std::vector<testing::FormulaCase> cases;
  for (std::int64_t n : {1, 1001, 65536, 1000003}) {
    cases.push_back({"vector_add", {{"N", n}}, testing::VectorAddFormula, 1e-6, {}});
  }
  for (const auto& [m, n] : {std::pair(64, 1024), {37, 304}, {1, 16}, {700, 4000}, {2, 16384}, {3, 40016}}) {
    cases.push_back({"softmax", {{"M", m}, {"N", n}}, testing::SoftmaxFormula, 1e-6, {}});
    cases.push_back({"rms_norm", {{"M", m}, {"N", n}}, testing::RmsNormFormula, kHalf, {testing::kEpsilon}});
    cases.push_back(testing::InBFloat16(cases.back()));
  }
  const std::vector<testing::Extents> products = {{{"M", 128}, {"N", 192}, {"K", 64}},
                                                  {{"M", 100}, {"N", 144}, {"K", 80}},
                                                  {{"M", 1}, {"N", 16}, {"K", 16}},
                                                  {{"M", 17}, {"N", 4000}, {"K", 4016}},
                                                  {{"M", 300}, {"N", 304}, {"K", 176}}};
  for (const testing::Extents& dims : products) {
    cases.push_back({"matmul", dims, testing::MatmulFormula, 2 * kHalf, {}});
    cases.push_back(testing::InBFloat16(cases.back()));
  }
  for (bool is_causal : {true, false}) {
    for (const std::array<std::int64_t, 6>& extents : {std::array<std::int64_t, 6>{1, 2, 1, 128, 128, 64},
                                                       {1, 2, 2, 128, 256, 128},
                                                       {2, 6, 2, 37, 61, 64},
                                                       {1, 4, 1, 1, 301, 128},
                                                       {1, 2, 1, 130, 70, 256},
                                                       {3, 4, 2, 65, 129, 128}}) {
      cases.push_back(testing::Attention(extents, is_causal));
      cases.push_back(testing::InBFloat16(cases.back()));
    }
  }
  return cases;
}

/// The manifest with its CUDA Tile C++ as a back end of its own.
nlohmann::ordered_json WithBackEndOfItsOwn(nlohmann::ordered_json manifest) {
  for (nlohmann::ordered_json& variant : manifest["variants"]) {
    if (variant["source"] == "tile_cpp") variant["backend"] = kBackEnd;
  }
  for (nlohmann::ordered_json& axis : manifest["axes"]) {
    if (axis["name"] == "backend") axis["values"].push_back(kBackEnd);
  }
  const nlohmann::ordered_json configs = manifest["configs"];
  for (nlohmann::ordered_json config : configs) {
    if (config["backend"] != "tile") continue;
    config["backend"] = kBackEnd;
    manifest["configs"].push_back(config);
  }
  manifest["max_configs"] = 100;
  return manifest;
}

class TileCppGpuTest : public testing::GpuTest, public ::testing::WithParamInterface<testing::FormulaCase> {
 protected:
  static void SetUpTestSuite() {
    const char* copied = std::getenv("TUNEONCE_BUNDLES");
    const std::string bundles = copied != nullptr ? copied : TUNEONCE_BUNDLE_FOLDER;
    folder_ = new TemporaryFolder(*testing::MakeFolder());
    for (const char* name : {"attention", "matmul", "rms_norm", "softmax", "vector_add"}) {
      const std::string from = bundles + "/" + name, to = folder_->path() + "/" + name;
      std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
      const auto manifest = nlohmann::ordered_json::parse(*ReadFile(from + "/manifest.json"));
      std::filesystem::remove(to + "/manifest.json");
      std::ofstream(to + "/manifest.json") << WithBackEndOfItsOwn(manifest).dump(1);
    }
    setenv("TUNEONCE_BUNDLES", folder_->path().c_str(), 1);  // ExpectItComputesItsFormula.
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

 private:
  static TemporaryFolder* folder_;
};
TemporaryFolder* TileCppGpuTest::folder_ = nullptr;

bool IsTileCpp(const Config& config) { return *config.Find("backend") == AxisValue(std::string(kBackEnd)); }

TEST_P(TileCppGpuTest, EveryConfigComputesWhatTheOtherVariantsAndTheFormulaDo) {
  static const std::shared_ptr<RecordStore> artifacts =
      MakeMemoryStore();  // What one test compiled the others have, too.
  auto kept = std::make_shared<KeepResult>();
  AutotunePolicy policy;
  policy.search.compile.cache = artifacts;
  policy.search.max_rounds = 1;
  policy.search.budgets.gpu = Budgets::Milliseconds(60000);  // Each config is measured.
  policy.store = std::make_shared<MemoryStore>();
  policy.observer = kept;
  testing::ExpectItComputesItsFormula(GetParam(), *device_, stream_->view(), policy);
  double fastest = HUGE_VAL, fastest_of_others = HUGE_VAL;
  int num_right = 0, num_failed = 0;
  std::string first_failure;
  for (const CandidateOutcome& success : kept->tuned.successes()) {
    double& least = IsTileCpp(success.config) ? fastest : fastest_of_others;
    least = std::min(least, success.measurement.mean_us);
    num_right += IsTileCpp(success.config) ? 1 : 0;
  }
  for (const CandidateOutcome& failure : kept->tuned.failures()) {
    if (!IsTileCpp(failure.config)) continue;
    if (num_failed++ == 0) first_failure = "{" + failure.config.ToString() + "}: " + failure.message;
  }
  if (num_right == 0 && first_failure.find("CUDA Tile C++ needs") != std::string::npos) GTEST_SKIP() << first_failure;
  EXPECT_EQ(num_failed, 0) << first_failure;
  EXPECT_GT(num_right, 0);
  EXPECT_TRUE(kept->tuned.not_measured().empty());
  std::cout << "TILE_CPP " << testing::CaseName(GetParam()) << ": " << num_right << " configs; the fastest takes "
            << fastest << " us, of the other back ends " << fastest_of_others << " us" << std::endl;
}

INSTANTIATE_TEST_SUITE_P(All, TileCppGpuTest, ::testing::ValuesIn(Cases()), [](const auto& param) {
  return testing::CaseName(param.param) + "_" + std::to_string(param.index);
});

}  // namespace
}  // namespace tuneonce
