// What a miss costs and makes: how often it walks the space, and that a launch and a warm-up of a key make the same.
#include "store/memory_store.h"
#include "testing/tuned_scale_test.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;

class MissTest : public testing::TunedScaleTest {};

TEST_F(MissTest, WalksTheSpaceOnceWhateverItDoes) {
  int calls = 0;
  scale_.space.Where("counted", [&](const Config&) { return ++calls > 0; });
  // The configs, and the baseline before them: the source is a function, which makes sources of all configs for the
  // key.
  constexpr int kOneWalk = 4 + 1;
  constexpr int kFirst = 1 + 1;  // The first config, and the baseline before it.
  // Whether the space has the stored config, and its baseline if the compiler read files for that.
  constexpr int kStored = 2, kBaseline = 2;
  {
    TunedKernel kernel = Create(scale_.Definition());
    Launch(kernel, 1000);  // Store, lease, search, record.
    EXPECT_EQ(kernel.counters().tunes, 1);
    EXPECT_EQ(calls, kFirst + kOneWalk);
    Launch(kernel, 1001);
    ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1002}}}));
    EXPECT_EQ(kernel.counters().tunes, 3);
    EXPECT_EQ(calls, kFirst + kOneWalk) << "the space of a device stays the same";
  }
  calls = 0;
  TunedKernel served = Create(scale_.Definition());
  ASSERT_OK(served.Warmup(stream_->get(), {{{"N", 1000}}}));  // The selection and the fallback.
  EXPECT_EQ(served.counters().stored_hits, 1);
  EXPECT_GE(calls, kFirst + kOneWalk + kStored);
  EXPECT_LE(calls, kFirst + kOneWalk + kStored + kBaseline);
  calls = 0;
  TunedKernel frozen = Create(scale_.Definition());
  frozen.Freeze();
  Launch(frozen, 1000);
  EXPECT_EQ(calls, kOneWalk);
}

TEST_F(MissTest, AGuardIsAskedForTheShapeAtHandThoughTheSpaceIsWalkedOnce) {
  scale_.space.Where("no tile of 256 below 1000", [tile = scale_.tile](const Config& config, const Dims& dims) {
    return config[tile] == 64 || dims[Dim{0}] >= 1000;
  });
  TunedKernel kernel = Create(scale_.Definition());
  Launch(kernel, 1000);
  Launch(kernel, 999);
  std::vector<TuningRecord> records = *policy_.store->List();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].candidates.size(), 4u);
  EXPECT_EQ(records[1].candidates.size(), 2u);
}

TEST_F(MissTest, AShapeThatExcludesTheBaselineHasTheNextOneOrNone) {
  // TILE=64 from 1000 on, TILE=256 below; of N=77 nothing but WORK=1.
  scale_.space.Where("by N", [tile = scale_.tile, work = scale_.work](const Config& c, const Dims& dims) {
    std::int64_t n = dims[Dim{0}];
    return n == 77 ? c[work] == 1 : (c[tile] == 64) == (n >= 1000);
  });
  scale_.space.SetBaselines({{{{scale_.tile, 64}, {scale_.work, 100}}}, {{{scale_.tile, 256}, {scale_.work, 100}}}});
  TunedKernel kernel = Create(scale_.Definition());
  for (std::size_t n : {1000u, 999u, 77u}) Launch(kernel, n);
  std::vector<TuningRecord> records = *policy_.store->List();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].baseline->config.ToString(), "TILE=64, WORK=100");
  EXPECT_EQ(records[1].baseline->config.ToString(), "TILE=256, WORK=100");
  EXPECT_FALSE(records[2].baseline) << "no baseline suits it, and it is tuned all the same";
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  kernel.Freeze();
  for (std::size_t n : {2000u, 500u}) Launch(kernel, n);
  EXPECT_EQ(kernel.counters().fallbacks, 2);
}

TEST_F(MissTest, TheShapesOfABucketHaveTheFallbackThatSuitsEach) {
  scale_.space.Where("by N", [tile = scale_.tile](const Config& c, const Dims& dims) {
    return (c[tile] == 64) == (dims[Dim{0}] % 2 == 0);
  });
  scale_.space.SetBaselines({{{{scale_.tile, 64}, {scale_.work, 100}}}, {{{scale_.tile, 256}, {scale_.work, 100}}}});
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N").NextPow2());
  TunedKernel kernel = Create(definition);  // Tuned at 4096: TILE=64.
  for (int round = 0; round < 3; ++round) {
    for (std::size_t n : {4000u, 3999u, 3001u}) Launch(kernel, n);
  }
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().fallbacks, 6) << "of odd shapes, which the selection does not suit";
  EXPECT_EQ(kernel.counters().now.ready_entries, 3) << "one fallback for each kind of shape";
}

TEST_F(MissTest, WhichShapeOfABucketCameFirstDoesNotDecideWhatTheOthersRun) {
  // The first baseline is for even shapes; the second suits all.
  scale_.space.Where("even N", [tile = scale_.tile](const Config& c, const Dims& dims) {
    return c[tile] != 64 || dims[Dim{0}] % 2 == 0;
  });
  scale_.space.SetBaselines({{{{scale_.tile, 64}, {scale_.work, 100}}}, {{{scale_.tile, 256}, {scale_.work, 100}}}});
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N").NextPow2());
  policy_.mode = AutotunePolicy::Mode::kFallbackOnly;
  for (std::size_t first : {4000u, 3999u}) {
    TunedKernel kernel = Create(definition);
    for (std::size_t n : {first, std::size_t{7999} - first, first}) Launch(kernel, n);
    EXPECT_EQ(kernel.counters().now.loaded_kernels, 2) << "a baseline for each";
    EXPECT_EQ(kernel.counters().fallbacks, 3);
  }
}

TEST_F(MissTest, ALaunchAndAWarmUpOfABucketTuneAtTheSameDimsAndMakeTheSameKeyReady) {
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N").NextPow2());
  enum Way { kLaunch, kWarmupByShape, kWarmupOnArguments };
  for (bool at_bound : {true, false}) {
    for (Way way : {kLaunch, kWarmupByShape, kWarmupOnArguments}) {
      SCOPED_TRACE(std::to_string(way) + (at_bound ? " at the bound" : " at hand"));
      policy_.tune_at_bucket_bound = at_bound;
      policy_.store = std::make_shared<MemoryStore>();
      TunedKernel kernel = Create(definition);
      DeviceBuffer x = Floats(std::vector<float>(3000, 3));
      if (way == kLaunch) Launch(kernel, 3000);
      if (way == kWarmupByShape) ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 3000}}}));
      if (way == kWarmupOnArguments) ASSERT_OK(kernel.Warmup(stream_->get(), View(x), View(x), 2.0f));
      std::vector<TuningRecord> records = *policy_.store->List();
      ASSERT_EQ(records.size(), 1u);
      EXPECT_EQ(records[0].key.key_text, "N<=4096, x:float32, y:float32");
      EXPECT_EQ(records[0].tuned_at, at_bound ? "N=4096" : "N=3000");
      for (std::size_t n : {2049u, 3000u, 4096u}) Launch(kernel, n);
      EXPECT_EQ(kernel.counters().hits, 3) << "what was made ready is what a launch looks for";
      EXPECT_EQ(kernel.counters().tunes, 1);
    }
  }
}

}  // namespace
}  // namespace tuneonce
