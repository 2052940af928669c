// A bundle whose manifest names a family's space ("space": "dense_matmul") and adds an axis: from its folder, and
// embedded. That it is compiled ahead and recorded is tested with the command (tests/cli/space_test.cc).
#include <memory>
#include <string>
#include <vector>

#include "named_space_bundle.h"
#include "runtime/tuned_kernel_on.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/bundle.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/search_space.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

struct LastResult : AutotuneObserver {
  void OnTuned(const std::string&, const std::string&, const TuningRecord& tuned) override { result = tuned; }
  TuningRecord result;
};

class NamedSpaceTest : public testing::CpuDeviceTest, public ::testing::WithParamInterface<bool> {
 protected:
  NamedSpaceTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.observer = observer_;
    policy_.search.max_rounds = 1;
  }
  static Result<Bundle> Load(bool embedded) {
    return embedded ? Bundle::Load(named_space_bundle) : Bundle::Load(TUNEONCE_TEST_DATA "/bundles/named_space");
  }
  TunedKernel Create(bool embedded) {
    Result<Bundle> bundle = Load(embedded);
    EXPECT_OK(bundle);
    Result<TunedKernel> kernel = TunedKernelOn::FromBundle(*device_, *bundle, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// Of a[i][k] = i + k and b = 1: each element of row i is depth * i + 0 + 1 + ... + (depth - 1).
  void ExpectProduct(TunedKernel& kernel, std::int64_t m, std::int64_t n, std::int64_t depth) {
    std::vector<float> a, expected;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t k = 0; k < depth; ++k) a.push_back(static_cast<float>(i + k));
      expected.insert(expected.end(), static_cast<std::size_t>(n),
                      static_cast<float>(depth * i + depth * (depth - 1) / 2));
    }
    DeviceBuffer left = Floats(a), right = Floats(std::vector<float>(static_cast<std::size_t>(depth * n), 1));
    DeviceBuffer out = Floats(std::vector<float>(static_cast<std::size_t>(m * n), -1));
    auto view = [](const DeviceBuffer& buffer, std::int64_t rows, std::int64_t columns) {
      return TensorView::Contiguous(buffer.data(), DType::kFloat32, {rows, columns});
    };
    ASSERT_OK(kernel.Launch(stream_->get(), view(left, m, depth), view(right, depth, n), view(out, m, n)));
    EXPECT_EQ(Read(out), expected);
  }

  std::shared_ptr<LastResult> observer_ = std::make_shared<LastResult>();
  AutotunePolicy policy_;
};

TEST_P(NamedSpaceTest, ItTunesOverTheFamilysConfigsOfThisDeviceTimesTheAddedAxis) {
  TunedKernel kernel = Create(GetParam());
  ExpectProduct(kernel, 130, 70, 33);
  const TuningRecord& result = observer_->result;
  EXPECT_EQ(result.successes().size() + result.failures().size() + result.duplicates().size(), 8u)
      << "four tiles, two orders";
  EXPECT_TRUE(result.failures().empty());
  ASSERT_TRUE(result.baseline.has_value());
  EXPECT_EQ(result.baseline->config.ToString(), "TILE_M=128, TILE_N=128, TILE_K=64, occupancy=1, num_ctas=1, ORDER=0");
  ExpectProduct(kernel, 130, 70, 33);
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_P(NamedSpaceTest, AShapeThatFillsNoLargeTileIsTunedOverTheSmallOnes) {
  TunedKernel kernel = Create(GetParam());
  ExpectProduct(kernel, 5, 64, 33);
  EXPECT_EQ(observer_->result.successes().size() + observer_->result.duplicates().size(), 2u);
  EXPECT_EQ(observer_->result.baseline->config.ToString(),
            "TILE_M=64, TILE_N=64, TILE_K=64, occupancy=1, num_ctas=1, ORDER=0");
}

INSTANTIATE_TEST_SUITE_P(All, NamedSpaceTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Embedded" : "FromItsFolder"; });

TEST_F(NamedSpaceTest, WhatTheFolderTunedTheEmbeddedOneHasInItsStore) {
  TunedKernel from_folder = Create(false);
  ExpectProduct(from_folder, 130, 70, 33);
  TunedKernel embedded = Create(true);
  ExpectProduct(embedded, 130, 70, 33);
  EXPECT_EQ(embedded.counters().tunes, 0) << "the same kernel, from the store";
}

TEST_F(NamedSpaceTest, TheFamilysFunctionMakesTheSameSpace) {
  SearchSpace space = families::DenseMatmul(std::nullopt, {"M", "N", "depth"});
  space.AddAxis("ORDER", {0, 1});
  space.MaxConfigs(60);
  Result<Bundle> bundle = Load(/*embedded=*/false);
  ASSERT_OK(bundle);
  for (const char* target : {"sm_80", "sm_90", "sm_100", "sm_120", "cpu"}) {
    auto names = [&](const SearchSpace& each) {
      std::vector<std::string> list;
      const std::vector<Config> configs = *each.Enumerate(*Target::Named(target));
      for (const Config& config : configs) list.push_back(config.ToString());
      return list;
    };
    EXPECT_EQ(names(bundle->definition().space()), names(space)) << target;
  }
}

}  // namespace
}  // namespace tuneonce
