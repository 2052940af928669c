// A bundle that is embedded in a program (tuneonce_add_bundle) and has all that a manifest can say beside tensors: a
// workspace, derived values, scalars in terms, guards and key, a tensor map, artifacts by config, baselines and filters
// by target. It runs as the same bundle does from its folder.
#include <memory>
#include <numeric>
#include <vector>

#include "runtime/tuned_kernel_on.h"
#include "scaled_rows_bundle.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/bundle.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

class EmbeddedBundleTest : public testing::CpuDeviceTest, public ::testing::WithParamInterface<bool> {
 protected:
  EmbeddedBundleTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.max_rounds = 1;
  }
  static Result<Bundle> Load(bool embedded) {
    return embedded ? Bundle::Load(scaled_rows_bundle) : Bundle::Load(TUNEONCE_TEST_DATA "/bundles/scaled_rows");
  }
  TunedKernel Create(bool embedded) {
    Result<Bundle> bundle = Load(embedded);
    EXPECT_OK(bundle);
    Result<TunedKernel> kernel = TunedKernelOn::FromBundle(*device_, *bundle, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// On x[i] = i, `offset` elements into the memory.
  void ExpectScaled(TunedKernel& kernel, std::int64_t m, std::int64_t n, int count, std::int64_t offset = 0) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + ", " + std::to_string(count) + " rows");
    std::vector<float> values(static_cast<std::size_t>(m * n + offset));
    std::iota(values.begin(), values.end(), -static_cast<float>(offset));
    DeviceBuffer x = Floats(values), y = Floats(std::vector<float>(static_cast<std::size_t>(m * n), -1));
    TensorView in = TensorView::Contiguous(static_cast<float*>(x.data()) + offset, DType::kFloat32, {m, n});
    ASSERT_OK(kernel.Launch(stream_->get(), in, TensorView::Contiguous(y.data(), DType::kFloat32, {m, n}), count));
    std::vector<float> expected(static_cast<std::size_t>(m * n), 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count * n); ++i) expected[i] = 2 * static_cast<float>(i);
    EXPECT_EQ(Read(y), expected);
  }

  AutotunePolicy policy_;
};

TEST_P(EmbeddedBundleTest, OneThatWasReadServesSeveralKernels) {
  Result<Bundle> bundle = Load(GetParam());
  ASSERT_OK(bundle);
  for (int i = 0; i < 2; ++i) {
    Result<TunedKernel> kernel = TunedKernel::FromBundle(*bundle, policy_);
    ASSERT_OK(kernel);
    ExpectScaled(*kernel, 10, 8, 4);
    EXPECT_EQ(kernel->counters().tunes, i == 0 ? 1 : 0);
  }
}

TEST_P(EmbeddedBundleTest, EveryFieldOfItsManifestCounts) {
  TunedKernel kernel = Create(GetParam());
  ExpectScaled(kernel, 10, 8, 4);
  ExpectScaled(kernel, 10, 8, 4);
  ExpectScaled(kernel, 13, 8, 4);
  EXPECT_EQ(kernel.counters().tunes, 1) << "one bucket of rows";
  ExpectScaled(kernel, 10, 8, 6);
  EXPECT_EQ(kernel.counters().tunes, 2) << "the scalar is part of the key";
  ExpectScaled(kernel, 10, 8, 4, 1);  // There is no map of it: by the variant that takes pointers.
  ExpectScaled(kernel, 10, 7, 6);     // Nor of rows of 28 bytes.
}

TEST_P(EmbeddedBundleTest, AShapeThatNoGuardLetsThroughIsRefusedInWords) {
  TunedKernel kernel = Create(GetParam());
  DeviceBuffer x = Floats(std::vector<float>(80, 1));
  TensorView all = TensorView::Contiguous(x.data(), DType::kFloat32, {10, 8});
  EXPECT_ERROR(kernel.Launch(stream_->get(), all, all, 3), StatusCode::kFailedPrecondition, "count");
}

INSTANTIATE_TEST_SUITE_P(All, EmbeddedBundleTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Embedded" : "FromItsFolder"; });

TEST_F(EmbeddedBundleTest, WhatTheFolderTunedTheEmbeddedOneHasInItsStore) {
  TunedKernel from_folder = Create(false);
  ExpectScaled(from_folder, 10, 8, 4);
  TunedKernel embedded = Create(true);
  ExpectScaled(embedded, 10, 8, 4);
  EXPECT_EQ(from_folder.counters().tunes, 1);
  EXPECT_EQ(embedded.counters().tunes, 0) << "the same kernel, from the store";
}

TEST_F(EmbeddedBundleTest, BaselinesAndFiltersAreByTarget) {
  for (bool embedded : {false, true}) {
    Result<Bundle> bundle = Load(embedded);
    ASSERT_OK(bundle);
    const SearchSpace& space = bundle->definition().space();
    Target gpu, cpu;
    gpu.capability_major = 9;
    cpu.is_cpu_device = true;
    EXPECT_EQ(space.BaselineOn(gpu)->ToString(), "ROWS=2, tiles_per_call=1");
    EXPECT_EQ(space.BaselineOn(cpu)->ToString(), "ROWS=4, tiles_per_call=1");
    EXPECT_EQ(space.Enumerate(gpu)->size(), 1u);
    EXPECT_EQ(space.Enumerate(cpu)->size(), 2u);
  }
}

}  // namespace
}  // namespace tuneonce
