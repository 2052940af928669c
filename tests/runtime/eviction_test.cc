// How many keys stay ready, and what becomes of the code of those that do not.
#include <malloc.h>

#include <memory>
#include <optional>

#include "testing/tuned_scale_test.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;

class EvictionTest : public testing::TunedScaleTest {
 protected:
  EvictionTest() { policy_.max_ready_keys = 3; }
  bool IsTuned(TunedKernel& kernel, std::size_t n) {
    DeviceBuffer x = Floats(std::vector<float>(n, 3));
    return *kernel.IsReady({View(x), View(x), 2.0f});
  }
};

TEST_F(EvictionTest, LaunchesDropNothingAndAWarmUpDropsTheKeysThatCameFirst) {
  TunedKernel kernel = Create(scale_.Definition());
  for (std::size_t n = 1; n <= 5; ++n) Launch(kernel, n);
  EXPECT_EQ(kernel.counters().now.ready_entries, 10) << "a launch is no TunePending";
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 6}}}));
  EXPECT_EQ(kernel.counters().now.ready_entries, 6);
  for (std::size_t n = 1; n <= 6; ++n) EXPECT_EQ(IsTuned(kernel, n), n >= 4) << n;
  DeviceBuffer x = Floats(std::vector<float>(7, 3));
  ASSERT_OK(
      kernel.Warmup(stream_->get(), View(x), View(x), 2.0f));  // The other form is a call that tunes pending keys, too.
  EXPECT_FALSE(IsTuned(kernel, 4));
  // What was dropped is a miss, which the store serves.
  std::int64_t tunes = kernel.counters().tunes;
  Launch(kernel, 1);
  EXPECT_EQ(kernel.counters().tunes, tunes);
  EXPECT_EQ(kernel.counters().stored_hits, 1);
  EXPECT_TRUE(IsTuned(kernel, 1));
}

TEST_F(EvictionTest, AKeyThatTheStoreServesCountsAsOneTooThoughItHasNoFallbackConfig) {
  {
    TunedKernel kernel = Create(scale_.Definition());
    for (std::size_t n = 1; n <= 6; ++n) Launch(kernel, n);
  }
  TunedKernel kernel = Create(scale_.Definition());
  for (std::size_t n = 1; n <= 6; ++n) Launch(kernel, n);
  EXPECT_EQ(kernel.counters().stored_hits, 6);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  for (std::size_t n = 1; n <= 6; ++n) EXPECT_EQ(IsTuned(kernel, n), n >= 4) << n;
}

TEST_F(EvictionTest, ManyKeysAreBoundedWhateverTheirNumber) {
  policy_.max_ready_keys = 10;
  policy_.mode =
      AutotunePolicy::Mode::kFallbackOnly;  // One entry for each key: the bound is of selection and fallback together.
  TunedKernel kernel = Create(scale_.Definition());
  for (std::int64_t n = 1; n <= 300; ++n) ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", n}}}));
  EXPECT_LE(kernel.counters().now.ready_entries, 11);
}

TEST_F(EvictionTest, KeysThatWereDroppedLeaveNoMemoryBehind) {
  policy_.max_ready_keys = 10;
  scale_.space = SearchSpace();
  const KernelDefinition one_config = testing::ScaleOfOneConfig();
  DeviceBuffer x = Floats({3}), y = Floats({0});
  policy_.search.compile.cache = MakeMemoryStore();
  ASSERT_OK(Create(one_config).Warmup(stream_->get(), View(x), View(y), 2.0f));  // Compiles.
  using Mode = AutotunePolicy::Mode;
  for (Mode mode : {Mode::kFallbackOnly, Mode::kStoredOnly}) {
    SCOPED_TRACE(mode == Mode::kFallbackOnly ? "kFallbackOnly" : "kStoredOnly");
    policy_.store = std::make_shared<MemoryStore>();
    policy_.mode = mode;
    TunedKernel kernel = Create(one_config);
    auto warm_up = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n <= last; ++n) ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", n}}}));
    };
    warm_up(1, 500);  // It has grown as far as it will.
    const std::size_t before = mallinfo2().uordblks;
    if (before == 0) GTEST_SKIP() << "a sanitizer's allocator does not count";
    warm_up(501, 2500);
    const std::size_t after = mallinfo2().uordblks;
    EXPECT_LE(kernel.counters().now.ready_entries, 21);
    EXPECT_LT(after, before + (64 << 10)) << "a table of ten keys, made anew a few times";
  }
}

TEST_F(EvictionTest, CodeThatRetiredServesItsGraphsUntilItIsReleased) {
  policy_.max_ready_keys = 1;
  KernelDefinition definition = scale_.Definition();
  // The config is decided by N: each of two keys runs code of its own.
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {64, 256});
  space.Where("by N", [=](const Config& c, const Dims& dims) { return (c[tile] == 64) == (dims[Dim{0}] < 1000); });
  KernelDefinition by_n("by_n");
  by_n.DimsInOrder({"N"})
      .Parameters(definition.parameters())
      .Space(space)
      .AddVariant(
          Variant([=](const Config& c, const Problem&) {
            return KernelSource::CpuCpp(testing::kScaleSource, "scale").Define("TILE", c[tile]).Define("WORK", 1);
          }).Grid(Grid::OneD({"N", tile})));
  TunedKernel kernel = Create(by_n);
  DeviceBuffer x = Floats(std::vector<float>(100, 3));
  DeviceBuffer y = Floats(std::vector<float>(100, 0));
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 100}}}));
  Result<GraphExec> captured = GraphExec::Capture(
      stream_->view(), [&](CUstream stream) { return kernel.Launch(stream, View(x), View(y), 2.0f); });
  ASSERT_OK(captured);
  std::optional<GraphExec> graph(*std::move(captured));
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}}));
  EXPECT_FALSE(IsTuned(kernel, 100));
  const std::int64_t loaded = kernel.counters().now.loaded_kernels;
  EXPECT_EQ(loaded, 4) << "selection and fallback of both keys";
  ASSERT_OK(graph->Launch(stream_->get()));
  EXPECT_EQ(Read(y), std::vector<float>(100, 6));
  graph.reset();
  kernel.ReleaseRetired();
  EXPECT_EQ(kernel.counters().now.loaded_kernels, 2);
  EXPECT_TRUE(IsTuned(kernel, 1000));
  Launch(kernel, 1000);
  Launch(kernel, 100);
  EXPECT_EQ(kernel.counters().now.loaded_kernels, 3) << "the fallback is loaded when it is needed";
}

TEST_F(EvictionTest, WhatComesBackBeforeItsReleaseIsNotLoadedTwice) {
  policy_.max_ready_keys = 1;
  TunedKernel kernel = Create(scale_.Definition());
  for (std::int64_t n : {100, 200, 100, 200, 100}) ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", n}}}));
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_LE(kernel.counters().now.loaded_kernels, 4);
  kernel.ReleaseRetired();
  Launch(kernel, 100);
  EXPECT_EQ(kernel.counters().hits, 1);
}

}  // namespace
}  // namespace tuneonce
