// Budgets::wall where a TunedKernel searches: records, waiting threads, Freeze, the next search.
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "testing/expect_status.h"
#include "testing/runtimes.h"
#include "testing/tuned_scale_test.h"
#include "testing/watched_toolchain.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

class WallBudgetTest : public testing::TunedScaleTest {
 protected:
  WallBudgetTest() {
    RuntimeOptions options;
    options.toolchains = std::make_shared<const ToolchainSet>(std::vector<std::shared_ptr<const Toolchain>>{compiler_});
    policy_.search.runtime = testing::MakeRuntime(std::move(options));
    compiler_->hangs_at = "TILE=256";  // Two of four configs; the baseline is none of them.
    policy_.search.budgets.wall = Budgets::Milliseconds(200);
  }
  TuningRecord OnlyRecord() {
    const std::vector<TuningRecord> records = *policy_.store->List();
    EXPECT_EQ(records.size(), 1u);
    return records.empty() ? TuningRecord() : records.front();
  }

  std::shared_ptr<testing::WatchedToolchain> compiler_ = std::make_shared<testing::WatchedToolchain>();
};

TEST_F(WallBudgetTest, TheRecordOfASearchThatItEndedIsNotCompleteAndTheNextSearchReplacesIt) {
  TunedKernel kernel = Create();
  Launch(kernel, 1000);
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().failed_tunes, 0);
  const TuningRecord cut = OnlyRecord();
  EXPECT_FALSE(cut.is_complete);
  EXPECT_GE(cut.num_not_measured, 2);
  ASSERT_TRUE(cut.baseline) << "compiled and measured whatever the budget says";
  policy_.search.budgets.wall = Budgets::Milliseconds(0);
  compiler_->hangs_at = "";
  TunedKernel again = Create();
  Launch(again, 1000);
  EXPECT_EQ(again.counters().stored_hits, 1);
  ASSERT_OK(again.TunePending(stream_->get()));
  EXPECT_EQ(again.counters().tunes, 1);
  EXPECT_TRUE(OnlyRecord().is_complete);
}

TEST_F(WallBudgetTest, TheTimeOfEnumeratingTheSpaceCounts) {
  SearchSpace space;
  const IntAxis tile = space.AddAxis("TILE", {64, 128});
  const IntAxis work = space.AddAxis("WORK", {1});
  space.SetBaseline({{tile, 64}, {work, 1}});
  space.Where("slow", [](const Config&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    return true;
  });
  policy_.search.budgets.wall = Budgets::Milliseconds(500);
  TunedKernel kernel = Create(testing::ScaleIn(space, tile));
  Launch(kernel, 1000);
  EXPECT_EQ(OnlyRecord().SearchedText(), "searched 1 of 2");
  EXPECT_GE(OnlyRecord().cost.wall_seconds, 0.5);
}

TEST_F(WallBudgetTest, ABudgetThatIsNoTimeIsRefused) {
  policy_.search.budgets.wall = Budgets::Milliseconds(std::nan(""));
  EXPECT_ERROR(TunedKernel::Create(scale_.Definition(), policy_), StatusCode::kInvalidArgument,
               "kernel 'scale': AutotunePolicy::search.budgets.wall is 'nan': give a number from 0 to 2147483647");
}

TEST_F(WallBudgetTest, ThreadsThatWaitForTheKeyGetWhatOneSearchChose) {
  TunedKernel kernel = Create();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      ScopedContext current(context_->view());
      Launch(kernel, 1000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_FALSE(OnlyRecord().is_complete);
}

TEST_F(WallBudgetTest, WhatAWarmUpCutShortChoseIsAHitAfterFreeze) {
  TunedKernel kernel = Create();
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}}));
  kernel.Freeze();
  Launch(kernel, 1000);
  EXPECT_EQ(kernel.counters().hits, 1);
  EXPECT_TRUE(kernel.frozen_misses().empty());
}

TEST_F(WallBudgetTest, ManyKeysHaveEachItsOwnBudgetUnlessTheirDeadlineLeavesLess) {
  policy_.search.budgets.wall = Budgets::Milliseconds(1e9);
  TunedKernel kernel = Create();
  WarmupAllOptions options;
  options.deadline = std::chrono::milliseconds(3000);
  Result<std::vector<WarmedKey>> warmed = WarmupAll(stream_->get(), {{&kernel, {{{"N", 100}}, {{"N", 200}}}}}, options);
  ASSERT_OK(warmed);
  for (const WarmedKey& key : *warmed) {
    EXPECT_EQ(key.state, WarmedKey::State::kTuned) << key.key << ": " << key.status.ToString();
    EXPECT_FALSE(key.is_complete);
  }
}

TEST_F(WallBudgetTest, ManyKeysWithoutADeadlineKeepToTheirBudgetsWhereAllIsCompiledBefore) {
  policy_.search.budgets.wall = Budgets::Milliseconds(1000);
  TunedKernel kernel = Create();
  Result<std::vector<WarmedKey>> warmed = WarmupAll(stream_->get(), {{&kernel, {{{"N", 100}}, {{"N", 200}}}}}, {});
  ASSERT_OK(warmed);
  for (const WarmedKey& key : *warmed) EXPECT_EQ(key.state, WarmedKey::State::kTuned) << key.status.ToString();
  EXPECT_EQ(compiler_->num_given_up(), compiler_->num_hung()) << "none hung for its two minutes";
}

TEST_F(WallBudgetTest, ASearchAtABucketsBoundIsBoundedToo) {
  // Long enough for a busy machine to verify on generated data too, without which nothing is stored.
  policy_.search.budgets.wall = Budgets::Milliseconds(2000);
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N").NextPow2());
  TunedKernel kernel = Create(definition);
  Launch(kernel, 1000);
  EXPECT_FALSE(OnlyRecord().is_complete);
  EXPECT_EQ(OnlyRecord().tuned_at, "N=1024");
}

}  // namespace
}  // namespace tuneonce
