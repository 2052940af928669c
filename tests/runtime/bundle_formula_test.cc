// The shipped bundles compute what their formulas say, on the CPU device. On a GPU: tests/gpu/bundle_gpu_test.cc.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/memory_store.h"
#include "testing/bundle_formulas.h"
#include "testing/device_test.h"

namespace tuneonce {
namespace {

/// As on a GPU, but for rows that are there to be more than it has multiprocessors.
std::vector<testing::FormulaCase> Cases() {
  std::vector<testing::FormulaCase> cases = testing::FormulaCases();
  for (const testing::FormulaCase& of : testing::BFloat16Cases()) cases.push_back(of);
  for (testing::FormulaCase& of : cases) {
    if (auto rows = of.dims.find("M"); rows != of.dims.end()) rows->second = std::min<std::int64_t>(rows->second, 128);
  }
  return cases;
}

class BundleFormulaTest : public testing::CpuDeviceTest, public ::testing::WithParamInterface<testing::FormulaCase> {};

using SplitKeysTest = testing::CpuDeviceTest;

TEST_P(BundleFormulaTest, TheTunedBundleComputesIt) {
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  testing::ExpectItComputesItsFormula(GetParam(), *device_, stream_->view(), policy);
}

INSTANTIATE_TEST_SUITE_P(All, BundleFormulaTest, ::testing::ValuesIn(Cases()),
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
