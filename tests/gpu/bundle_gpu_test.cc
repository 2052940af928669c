// The shipped bundles that the command finds by name, on a GPU: by what suits best, and by CUDA C++ alone, as where
// there is no tileiras; at shapes and addresses that no tile fits, too.
#include <memory>
#include <string>
#include <tuple>

#include "store/memory_store.h"
#include "testing/bundle_formulas.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "tuneonce/autotune_observer.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
namespace {

struct KeepVariant : AutotuneObserver {
  void OnTuned(const std::string&, const std::string&, const TuningResult& result) override {
    variant = result.best.variant;
  }
  std::string variant;
};

class BundleGpuTest : public testing::GpuTest,
                      public ::testing::WithParamInterface<std::tuple<bool, testing::FormulaCase>> {
 protected:
  BundleGpuTest() {
    policy_.search.runtime = testing::RuntimeIn({{"ENABLE_TILE", std::get<0>(GetParam()) ? "1" : "0"}});
    policy_.store = std::make_shared<MemoryStore>();
    policy_.observer = kept_;
  }

  const std::shared_ptr<KeepVariant> kept_ = std::make_shared<KeepVariant>();
  AutotunePolicy policy_;
};

TEST_P(BundleGpuTest, TheTunedBundleComputesItsFormula) {
  const auto& [with_tile, of] = GetParam();
  testing::ExpectItComputesItsFormula(of, *device_, stream_->view(), policy_);
  if (!with_tile) {
    EXPECT_EQ(kept_->variant, "cuda");
  }
}

TEST_P(BundleGpuTest, AtAnyAddressItIsCudaThatComputesIt) {
  testing::ExpectItComputesItsFormula(std::get<1>(GetParam()), *device_, stream_->view(), policy_, /*offset=*/1);
  EXPECT_EQ(kept_->variant, "cuda") << "Tile IR is for tensors aligned to 16 bytes";
}

INSTANTIATE_TEST_SUITE_P(All, BundleGpuTest,
                         ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(testing::FormulaCases())),
                         [](const auto& param) {
                           return std::string(std::get<0>(param.param) ? "WithTileIr_" : "CudaAlone_") +
                                  testing::CaseName(std::get<1>(param.param));
                         });

}  // namespace
}  // namespace tuneonce
