// The shipped bundles that the command finds by name, on a GPU: by what suits best, and by CUDA C++ alone, as where
// there is no tileiras; at shapes and addresses that no tile fits, too.
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "store/memory_store.h"
#include "testing/bundle_formulas.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "tuneonce/autotune_observer.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
namespace {

struct KeepResult : AutotuneObserver {
  void OnTuned(const std::string&, const std::string&, const TuningResult& result) override { tuned = result; }
  bool ByTileIr() const { return absl::StartsWith(tuned.best.variant, "tile"); }
  TuningResult tuned;
};

class BundleGpuTest : public testing::GpuTest,
                      public ::testing::WithParamInterface<std::tuple<bool, testing::FormulaCase>> {
 protected:
  BundleGpuTest() {
    policy_.search.runtime = testing::RuntimeIn({{"ENABLE_TILE", std::get<0>(GetParam()) ? "1" : "0"}});
    policy_.store = std::make_shared<MemoryStore>();
    policy_.observer = kept_;
  }

  const std::shared_ptr<KeepResult> kept_ = std::make_shared<KeepResult>();
  AutotunePolicy policy_;
};

TEST_P(BundleGpuTest, TheTunedBundleComputesItsFormula) {
  const auto& [with_tile, of] = GetParam();
  testing::ExpectItComputesItsFormula(of, *device_, stream_->view(), policy_);
  EXPECT_TRUE(with_tile || !kept_->ByTileIr()) << kept_->tuned.best.variant;
}

TEST_P(BundleGpuTest, AtAnyAddressItIsNotTileIrThatComputesIt) {
  testing::ExpectItComputesItsFormula(std::get<1>(GetParam()), *device_, stream_->view(), policy_, /*offset=*/1);
  EXPECT_FALSE(kept_->ByTileIr()) << "Tile IR is for tensors aligned to 16 bytes";
}

INSTANTIATE_TEST_SUITE_P(All, BundleGpuTest,
                         ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(testing::FormulaCases())),
                         [](const auto& param) {
                           return std::string(std::get<0>(param.param) ? "WithTileIr_" : "CudaAlone_") +
                                  testing::CaseName(std::get<1>(param.param));
                         });

/// At shapes that no guard of theirs excludes, and that fill the tiles.
std::vector<testing::FormulaCase> WholeSpaces() {
  std::vector<testing::FormulaCase> cases;
  for (const testing::FormulaCase& each : testing::FormulaCases()) {
    if (cases.empty() || cases.back().bundle != each.bundle) cases.push_back(each);  // The first fits its tiles.
  }
  return cases;
}

class BundleSpaceGpuTest : public testing::GpuTest, public ::testing::WithParamInterface<testing::FormulaCase> {};

TEST_P(BundleSpaceGpuTest, EveryConfigOfEveryBackEndRunsAndFewAreTheSame) {
  AutotunePolicy policy;
  policy.search.runtime = testing::RuntimeIn({});
  policy.store = std::make_shared<MemoryStore>();
  auto kept = std::make_shared<KeepResult>();
  policy.observer = kept;
  testing::ExpectItComputesItsFormula(GetParam(), *device_, stream_->view(), policy);
  const TuningResult& tuned = kept->tuned;
  for (const Failure& failure : tuned.failures) ADD_FAILURE() << failure.config.ToString() << ": " << failure.message;
  EXPECT_TRUE(tuned.not_measured.empty());
  EXPECT_LE(tuned.duplicates.size(), 2u) << "wasted candidates";
  std::set<std::string> sources;
  bool has_clusters = false;
  for (const Success& success : tuned.successes) {
    sources.insert(success.variant.substr(0, success.variant.find('_')));
    const AxisValue* ctas = success.config.Find("num_ctas");
    has_clusters |= ctas != nullptr && *ctas == AxisValue(std::int64_t{2});
  }
  EXPECT_EQ(sources.count("tile") + sources.count("cuda"), 2u);
  if (absl::StrContains(GetParam().bundle, "matmul") && Target::Of(*device_->Identity()).capability() == 90) {
    EXPECT_EQ(sources.count("triton"), 1u);
    EXPECT_TRUE(has_clusters) << "num_ctas = 2";
  }
}

INSTANTIATE_TEST_SUITE_P(All, BundleSpaceGpuTest, ::testing::ValuesIn(WholeSpaces()),
                         [](const auto& param) { return param.param.bundle; });

}  // namespace
}  // namespace tuneonce
