// Keys of kernels with tables of pointers that are tuned on tables of the library's own: at a bucket's bound, at a safe
// point, by shape.
#include <string>
#include <vector>

#include "testing/pointer_table_test.h"

namespace tuneonce {
namespace {

using testing::PointerTableTest;
using Mode = AutotunePolicy::Mode;

TEST_F(PointerTableTest, ABucketIsTunedAtItsBoundOnTensorsOfItsOwn) {
  KernelDefinition definition = Doubled();
  std::vector<Parameter> parameters = definition.parameters();
  parameters[2].may_be_partial = true;  // At the bound all tensors are as large as the largest may be.
  definition.Parameters(parameters).Key(KeyOf("G").NextPow2(), KeyOf("M").NextPow2(), KeyOf("N"));
  TunedKernel kernel = Create(definition);
  ExpectWorks(kernel, {5, 2, 7});
  ExpectWorks(kernel, {8, 1, 1, 3});
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ((*policy_.store->List())[0].tuned_at, "G=4, M=8, N=4");
}

TEST_F(PointerTableTest, InTheBackgroundItIsTunedOnWhatTheLaunchHad) {
  policy_.mode = Mode::kTuneDeferred;
  // Fast where the data say so: filled with other data the other config would win.
  TunedKernel kernel =
      Create(Doubled("for (volatile int i = 0; i < (x[g][0] == 3 ? 0 : 1000000) * KIND; i = i + 1) {}"));
  ExpectWorks(kernel, {5, 2, 7});  // Its tensors, and its tables, are gone by TunePending.
  EXPECT_EQ(kernel.counters().tunes, 0);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(kernel.counters().tunes, 1);
  std::vector<TuningRecord> records = *policy_.store->List();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].inputs, TunedInputs::kCaller);
  EXPECT_EQ(records[0].best.config.ToString(), "KIND=1");
  ExpectWorks(kernel, {5, 2, 7});
  EXPECT_EQ(kernel.counters().hits, 1);
}

TEST_F(PointerTableTest, AWarmUpByShapeMakesTablesOfItsOwn) {
  TunedKernel kernel = Create(Doubled());
  ASSERT_OK(kernel.Warmup(stream_->get(), {TunedKernel::Shape{{{"G", 3}, {"M", 7}, {"N", 4}}}}));
  EXPECT_EQ(kernel.counters().tunes, 1);
  kernel.Freeze();
  ExpectWorks(kernel, {5, 2, 7});
  EXPECT_EQ(kernel.counters().frozen_misses, 0);
  ExpectWorks(kernel, {5, 2});
  EXPECT_EQ(kernel.counters().frozen_misses, 1) << "the fallback";
}

TEST_F(PointerTableTest, WhatIsAskedByShapeKnowsItsTables) {
  TunedKernel kernel = Create(Doubled());
  const TunedKernel::Shape shape{{{"G", 3}, {"M", 7}, {"N", 4}}}, another{{{"G", 2}, {"M", 3}, {"N", 4}}};
  Result<std::vector<WarmedKey>> warmed = WarmupAll(stream_->get(), {{&kernel, {shape, another}}});
  ASSERT_OK(warmed);
  for (const WarmedKey& key : *warmed) EXPECT_OK(key.status);
  EXPECT_EQ(kernel.counters().tunes, 2);
  Result<LaunchPlan> plan = kernel.Explain(stream_->get(), shape);
  ASSERT_OK(plan);
  EXPECT_EQ(plan->config->ToString(), "KIND=1");
  ASSERT_OK(kernel.Retune(stream_->get(), shape));
  EXPECT_EQ(kernel.counters().tunes, 3);
  ASSERT_OK(kernel.Pin(another, {{"KIND", 0}}));
  ExpectWorks(kernel, {3, 1});
  ExpectWorks(kernel, {5, 2, 7});
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  EXPECT_EQ(kernel.counters().tunes, 3);
}

}  // namespace
}  // namespace tuneonce
