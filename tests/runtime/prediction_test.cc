// Keys without a record whose config is predicted from records of other keys.
#include <memory>
#include <string>
#include <vector>

#include "testing/runtimes.h"
#include "testing/tuned_scale_test.h"
#include "testing/watched_toolchain.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

/// N = 1024 and N = 2048 are tuned. N = 1536 is of a class of extents at which the code was verified, and N = 1001 and
/// N = 4096 are not.
class PredictionTest : public testing::TunedScaleTest {
 protected:
  using Action = LaunchPlan::Action;
  using Origin = LaunchPlan::Origin;
  using Mode = AutotunePolicy::Mode;

  PredictionTest() {
    RuntimeOptions options;
    options.toolchains = std::make_shared<const ToolchainSet>(std::vector<std::shared_ptr<const Toolchain>>{compiler_});
    policy_.search.runtime = testing::MakeRuntime(std::move(options));
  }
  void SetUp() override {
    TunedScaleTest::SetUp();
    TunedKernel tuned = Create();
    for (std::size_t n : {1024, 2048}) Launch(tuned, n);
    policy_.on_new_key = AutotunePolicy::OnNewKey::kPredict;
  }
  LaunchPlan Explain(const TunedKernel& kernel, std::int64_t n) {
    Result<LaunchPlan> plan = kernel.Explain(stream_->get(), TunedKernel::Shape{{"N", n}, {"factor", 2.0}});
    EXPECT_OK(plan);
    return plan.ok() ? *plan : LaunchPlan();
  }
  std::size_t NumRecords() { return policy_.store->List()->size(); }

  std::shared_ptr<testing::WatchedToolchain> compiler_ = std::make_shared<testing::WatchedToolchain>();
};

TEST_F(PredictionTest, ACodeThatWasVerifiedAtExtentsOfTheClassRunsAtOnceAndIsTunedWhenIdle) {
  const std::size_t num_compiled = compiler_->compiled().size();
  for (const Mode mode : {Mode::kTuneOnMiss, Mode::kTuneDeferred, Mode::kStoredOnly}) {
    policy_.mode = mode;
    TunedKernel kernel = Create();
    const LaunchPlan before = Explain(kernel, 1536);
    EXPECT_EQ(before.action, Action::kSelected);
    EXPECT_EQ(before.reason, LaunchPlan::Reason::kNoRecord);
    EXPECT_EQ(before.origin, Origin::kPredicted);
    EXPECT_NE(before.detail.find("the nearest of 2 keys, N=2048"), std::string::npos) << before.detail;
    Launch(kernel, 1536);
    EXPECT_EQ(kernel.counters().predictions, 1);
    EXPECT_EQ(kernel.counters().stored_hits, 0);
    EXPECT_EQ(kernel.counters().fallbacks, 0);
    EXPECT_EQ(kernel.counters().tunes, 0);
    EXPECT_EQ(Explain(kernel, 1536).origin, Origin::kPredicted);
    EXPECT_EQ(NumRecords(), 2u) << "a prediction is not stored";
    EXPECT_EQ(compiler_->compiled().size(), num_compiled);
    Launch(kernel, 1536);
    EXPECT_EQ(kernel.counters().hits, 1);
    EXPECT_EQ(kernel.counters().now.pending_keys, mode == Mode::kStoredOnly ? 0 : 1);
  }
  policy_.mode = Mode::kTuneOnMiss;
  TunedKernel kernel = Create();
  Launch(kernel, 1536);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().now.pending_keys, 0);
  EXPECT_EQ(Explain(kernel, 1536).origin, Origin::kSearch);
  EXPECT_EQ(NumRecords(), 3u);
}

TEST_F(PredictionTest, WhatWasVerifiedRunsAtOnceAlsoWhileAnotherProcessTunesTheKey) {
  class LeasedStore final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<TuningLease> Lease(const TuningKey&, const WaitLimits&) override {
      ++asked;
      return DeadlineExceededError("another process has it");
    }
    int asked = 0;
  };
  const auto leased = std::make_shared<LeasedStore>(policy_.store);
  policy_.store = leased;
  TunedKernel kernel = Create();
  Launch(kernel, 1536);
  EXPECT_EQ(kernel.counters().predictions, 1);
  EXPECT_EQ(kernel.counters().misses_no_record, 1);
  EXPECT_EQ(leased->asked, 0);
  EXPECT_EQ(kernel.counters().now.pending_keys, 1);
}

TEST_F(PredictionTest, TheFirstChoiceIsComparedAlsoWhereASlowerConfigIsVerified) {
  std::vector<TuningRecord> records = *policy_.store->List();
  for (TuningRecord& record : records) {
    for (CandidateOutcome& outcome : record.candidates) {
      if (!outcome.config.IsSame(record.baseline->config)) outcome.artifact = Fingerprint{1, 2};
    }
    ASSERT_OK(policy_.store->Put(record));
  }
  TunedKernel kernel = Create();
  const LaunchPlan before = Explain(kernel, 1536);
  ASSERT_TRUE(before.config);
  Launch(kernel, 1536);
  EXPECT_EQ(kernel.counters().predictions, 1);
  const LaunchPlan after = Explain(kernel, 1536);
  EXPECT_EQ(after.origin, Origin::kPredicted);
  EXPECT_EQ(after.config->ToString(), before.config->ToString());
}

TEST_F(PredictionTest, AtOtherExtentsThePredictedConfigIsComparedWithTheBaselineFirst) {
  for (std::int64_t n : {1001, 4096}) {
    TunedKernel kernel = Create();
    const LaunchPlan before = Explain(kernel, n);
    EXPECT_EQ(before.action, Action::kSearch);
    EXPECT_EQ(before.origin, Origin::kPredicted);
    EXPECT_NE(before.detail.find("compares it with the baseline"), std::string::npos) << before.detail;
    Launch(kernel, static_cast<std::size_t>(n));
    EXPECT_EQ(kernel.counters().predictions, 1);
    EXPECT_EQ(kernel.counters().tunes, 0) << "two configs are no search";
    const LaunchPlan after = Explain(kernel, n);
    EXPECT_EQ(after.origin, Origin::kPredicted);
    ASSERT_NE(after.record, nullptr);
    EXPECT_EQ(after.record->reason, SelectionReason::kPredicted);
    EXPECT_EQ(NumRecords(), 2u);
  }
}

TEST_F(PredictionTest, WhereNothingMayBeComparedTheFallbackRuns) {
  for (const Mode mode : {Mode::kTuneDeferred, Mode::kStoredOnly}) {
    policy_.mode = mode;
    TunedKernel kernel = Create();
    EXPECT_EQ(Explain(kernel, 1001).action, Action::kFallback);
    Launch(kernel, 1001);
    EXPECT_EQ(kernel.counters().predictions, 0);
    EXPECT_EQ(kernel.counters().fallbacks, 1);
    EXPECT_EQ(kernel.counters().now.pending_keys, 1);
  }
  policy_.mode = Mode::kTuneDeferred;
  TunedKernel kernel = Create();
  Launch(kernel, 1001);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(kernel.counters().tunes, 1) << "an idle point is for searches";
  EXPECT_EQ(Explain(kernel, 1001).origin, Origin::kSearch);
}

TEST_F(PredictionTest, CodeThatWasNotTheVerifiedOneIsComparedWithTheBaseline) {
  std::vector<TuningRecord> records = *policy_.store->List();
  for (TuningRecord& record : records) {
    for (CandidateOutcome& outcome : record.candidates) outcome.artifact = Fingerprint{1, 2};
    ASSERT_OK(policy_.store->Put(record));
  }
  policy_.mode = Mode::kStoredOnly;
  TunedKernel stored_only = Create();
  Launch(stored_only, 1536);
  EXPECT_EQ(stored_only.counters().predictions, 0);
  EXPECT_EQ(stored_only.counters().fallbacks, 1);
  policy_.mode = Mode::kTuneOnMiss;
  TunedKernel kernel = Create();
  Launch(kernel, 1536);
  EXPECT_EQ(kernel.counters().predictions, 1);
  EXPECT_NE(Explain(kernel, 1536).record->baseline, std::nullopt) << "it was measured, too";
}

// A person's word about one key. No finalist, it was verified with the search's own scalars only.
TEST_F(PredictionTest, WhatIsPinnedForAKeyIsNeitherVerifiedNorFastForAnother) {
  const TunedKernel::NamedConfig pinned = {{"TILE", 256}, {"WORK", 100}};
  TunedKernel pinning = Create();
  for (std::int64_t n : {1024, 2048}) ASSERT_OK(pinning.Pin({{"N", n}}, pinned, TunedKernel::PinFor::kStore));
  policy_.mode = Mode::kStoredOnly;
  TunedKernel kernel = Create();
  Launch(kernel, 1024);
  EXPECT_EQ(Explain(kernel, 1024).origin, Origin::kPinned);
  Launch(kernel, 1536);
  const LaunchPlan plan = Explain(kernel, 1536);
  ASSERT_TRUE(plan.config);
  EXPECT_EQ((*plan.config)[scale_.work], 100) << "the baseline's, by prediction or as the fallback";
  EXPECT_NE((*plan.config)[scale_.tile], 256);
}

TEST_F(PredictionTest, WhatWasVerifiedAgainstAnotherBaselineIsComparedWithThisOne) {
  scale_.space.SetBaseline({{scale_.tile, 256}, {scale_.work, 100}});
  policy_.mode = Mode::kStoredOnly;
  TunedKernel stored_only = Create();
  EXPECT_EQ(Explain(stored_only, 1536).action, Action::kFallback);
  policy_.mode = Mode::kTuneOnMiss;
  TunedKernel kernel = Create();
  EXPECT_EQ(Explain(kernel, 1536).action, Action::kSearch);
  Launch(kernel, 1536);
  EXPECT_EQ(kernel.counters().predictions, 1);
  ASSERT_NE(Explain(kernel, 1536).record->baseline, std::nullopt) << "it was measured, too";
  EXPECT_EQ(Explain(kernel, 1536).record->baseline->config.ToString(), "TILE=256, WORK=100");
}

TEST_F(PredictionTest, NothingIsPredictedUnlessAskedForOrWithoutRecords) {
  policy_.on_new_key = AutotunePolicy::OnNewKey::kTune;
  TunedKernel tunes = Create();
  EXPECT_EQ(Explain(tunes, 1536).origin, Origin::kNone);
  policy_.on_new_key = AutotunePolicy::OnNewKey::kPredict;
  policy_.store = MakeMemoryStore();
  TunedKernel kernel = Create();
  EXPECT_EQ(Explain(kernel, 1536).origin, Origin::kNone);
  Launch(kernel, 1536);
  EXPECT_EQ(kernel.counters().predictions, 0);
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(PredictionTest, ABucketsPredictionIsComparedAndVerifiedAcrossTheBucket) {
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N").NextPow2());
  policy_.on_new_key = AutotunePolicy::OnNewKey::kTune;
  TunedKernel tuned = Create(definition);
  Launch(tuned, 1000);
  policy_.on_new_key = AutotunePolicy::OnNewKey::kPredict;
  TunedKernel kernel = Create(definition);
  Launch(kernel, 1999);
  EXPECT_EQ(kernel.counters().predictions, 1);
  for (std::size_t n : {1025, 1536, 2048}) Launch(kernel, n);
  EXPECT_EQ(kernel.counters().hits, 3);
  EXPECT_EQ(kernel.counters().fallbacks, 0);
}

TEST_F(PredictionTest, ASearchThatIsCutShortReplacesAPredictionToo) {
  policy_.search.budgets.trials = 2;
  for (std::int64_t n : {1536, 1001}) {
    TunedKernel kernel = Create();
    Launch(kernel, static_cast<std::size_t>(n));
    ASSERT_OK(kernel.TunePending(stream_->get()));
    EXPECT_EQ(Explain(kernel, n).origin, Origin::kSearch) << n;
  }
}

TEST_F(PredictionTest, WarmUpsPredictAndFreezeKeepsPredictions) {
  TunedKernel kernel = Create();
  Result<std::vector<WarmedKey>> warmed =
      WarmupAll(stream_->get(), {{&kernel, {{{"N", 1536}}, {{"N", 1001}}, {{"N", 1024}}}}}, {});
  ASSERT_OK(warmed);
  EXPECT_EQ((*warmed)[0].state, WarmedKey::State::kPredicted);
  EXPECT_EQ((*warmed)[1].state, WarmedKey::State::kPredicted);
  EXPECT_EQ((*warmed)[2].state, WarmedKey::State::kFromStore);
  kernel.Freeze();
  EXPECT_EQ(kernel.counters().now.pending_keys, 0);
  for (std::size_t n : {1536, 1001, 1024}) Launch(kernel, n);
  EXPECT_EQ(kernel.counters().hits, 3);
  EXPECT_TRUE(kernel.frozen_misses().empty());
}

}  // namespace
}  // namespace tuneonce
