// The shipped bundles compute what their formulas say, on the CPU device. On a GPU: tests/gpu/bundle_gpu_test.cc.
#include <memory>

#include "store/memory_store.h"
#include "testing/bundle_formulas.h"
#include "testing/device_test.h"

namespace tuneonce {
namespace {

class BundleFormulaTest : public testing::CpuDeviceTest, public ::testing::WithParamInterface<testing::FormulaCase> {};

using SplitKeysTest = testing::CpuDeviceTest;

TEST_P(BundleFormulaTest, TheTunedBundleComputesIt) {
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  testing::ExpectItComputesItsFormula(GetParam(), *device_, stream_->view(), policy);
}

INSTANTIATE_TEST_SUITE_P(All, BundleFormulaTest, ::testing::ValuesIn(testing::FormulaCases()),
                         [](const auto& param) { return testing::CaseName(param.param); });

/// By way of the workspaces, but for one split. How blocks find who is last is for a GPU to show.
TEST_F(SplitKeysTest, EveryNumberOfSplitsComputesTheSame) {
  for (std::int64_t splits : {1, 2, 4, 8, 16, 32}) {
    SCOPED_TRACE(splits);
    AutotunePolicy policy;
    policy.store = std::make_shared<MemoryStore>();
    testing::ExpectItComputesItsFormula(testing::DecodeAttentionInSplits(), *device_, stream_->view(), policy,
                                        /*offset=*/0, testing::SplitConfig("tile", splits));
  }
}

}  // namespace
}  // namespace tuneonce
