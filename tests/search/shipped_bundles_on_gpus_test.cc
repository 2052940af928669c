// The shipped bundles for targets that are not here: every config is planned and fingerprinted, each by the variants of
// its back end alone.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "search/candidate.h"
#include "store/kernel_fingerprint.h"
#include "testing/expect_status.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
namespace {

class ShippedBundleTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ShippedBundleTest, EveryConfigIsPlannedAndFingerprintedForEachTarget) {
  Result<Bundle> bundle = Bundle::Load(std::string(TUNEONCE_BUNDLE_FOLDER) + "/" + GetParam());
  ASSERT_OK(bundle);
  auto definition = std::make_shared<const KernelDefinition>(bundle->definition());
  for (int major : {8, 9, 10, 12}) {
    Target target;
    target.capability_major = major;
    Result<std::vector<Config>> configs = definition->space().Enumerate(target);
    ASSERT_OK(configs);
    EXPECT_FALSE(configs->empty());
    Result<std::vector<const Variant*>> variants = definition->VariantsFor(target);
    ASSERT_OK(variants);
    Problem problem;
    problem.target = &target;
    problem.dtypes.fill(kFloat16);  // Variants may name the type that the key decides.
    EXPECT_OK(KernelFingerprint(*definition, problem));
    problem.dims.Reset(static_cast<int>(definition->dims().size()));
    for (const Config& config : *configs) {
      for (std::int64_t extent : {1, 48, 1000, 100000}) {
        for (int i = 0; i < problem.dims.count(); ++i) problem.dims[Dim{i}] = extent;
        bool hold = true;
        for (const Condition& guard : definition->space().GuardsFor(config)) hold &= guard.Holds(config, problem);
        EXPECT_EQ(hold, definition->space().GuardsHold(config, problem)) << config.ToString() << " at " << extent;
      }
      int sources = 0;
      for (const Variant* variant : *variants) {
        if (!variant->IsBackendOf(config)) continue;
        ++sources;
        EXPECT_NE(variant->MakeSource(config, problem).content, "") << config.ToString();
      }
      EXPECT_GT(sources, 0) << config.ToString() << " on sm_" << major << "0";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShippedBundleTest,
                         ::testing::Values("attention", "decode_attention", "dual_gemm", "elementwise",
                                           "fp8_block_matmul", "fp8_matmul", "grouped_gemm", "grouped_gemm_pointers",
                                           "layer_norm", "matmul", "paged_attention", "persistent_matmul", "rms_norm",
                                           "rope", "silu_and_mul", "softmax", "split_k_matmul", "varlen_attention",
                                           "vector_add"),
                         [](const auto& bundle) { return bundle.param; });

}  // namespace
}  // namespace tuneonce
