// What ranks that agree meet in the rest of the library: captures, eviction, warm-ups on arguments and under a
// deadline, kept inputs, pins and imports in a store, kinds, an interrupt.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/callback.h"
#include "ranks/rank_turn.h"
#include "testing/expect_status.h"
#include "testing/rank_threads.h"
#include "testing/work_timer.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::testing {
namespace {

TEST(AgreedCrossingTest, ACaptureBeforeTheAgreementHoldsTheFallbackAndOneAfterItTheSelection) {
  RankThreads ranks(2);
  ranks.Run([&](RankThread& rank) {
    DeviceBuffer x = *DeviceBuffer::Allocate(rank.stream->view(), kScaleN * sizeof(float));
    DeviceBuffer y = *DeviceBuffer::Allocate(rank.stream->view(), kScaleN * sizeof(float));
    auto capture = [&] {
      return GraphExec::Capture(rank.stream->view(),
                                [&](CUstream into) { return rank.kernel->Launch(into, View(x), View(y), 2.0f); });
    };
    EXPECT_ERROR(capture(), StatusCode::kFailedPrecondition, "no code is loaded for this key");
    EXPECT_OK(rank.Launch(kScaleN));
    const std::int64_t fallbacks = rank.kernel->counters().fallbacks;
    EXPECT_OK(capture());
    EXPECT_EQ(rank.kernel->counters().fallbacks, fallbacks + 1);
    EXPECT_EQ(rank.kernel->counters().tunes, 0);
    EXPECT_OK(rank.kernel->TunePending(rank.cu_stream()));
    EXPECT_OK(capture());
    EXPECT_EQ(rank.kernel->counters().fallbacks, fallbacks + 1) << "this one runs the selection";
  });
}

TEST(AgreedCrossingTest, WhatWasAgreedOnIsNotDropped) {
  RankThreads ranks(2);
  for (AutotunePolicy& policy : ranks.policies) policy.max_ready_keys = 1;
  ranks.Run([&](RankThread& rank) {
    EXPECT_OK(rank.kernel->Warmup(rank.cu_stream(), {{{"N", 100}}, {{"N", 200}}, {{"N", 300}}}));
    for (std::int64_t n : {100, 200, 300}) EXPECT_EQ(rank.Explain(n).reason, LaunchPlan::Reason::kReady) << n;
  });
}

TEST(AgreedCrossingTest, ATryThatMustNotWaitMissesOnceAndTheLaunchQueuesTheKey) {
  RankThreads ranks(1);
  ranks.Run([&](RankThread& rank) {
    DeviceBuffer x = *DeviceBuffer::Allocate(rank.stream->view(), kScaleN * sizeof(float));
    DeviceBuffer y = *DeviceBuffer::Allocate(rank.stream->view(), kScaleN * sizeof(float));
    const TensorView in = View(x), out = View(y);
    const float factor = 2;
    const std::array<Argument, 3> arguments = {in, out, factor};
    bool missed = false;
    EXPECT_OK(rank.kernel->Launch(rank.cu_stream(), arguments, &missed));
    EXPECT_TRUE(missed);
    EXPECT_OK(rank.kernel->Launch(rank.cu_stream(), arguments));
    EXPECT_OK(rank.kernel->Launch(rank.cu_stream(), arguments, &missed));
    EXPECT_FALSE(missed) << "the fallback is known";
    EXPECT_EQ(rank.kernel->counters().now.pending_keys, 1);
  });
}

TEST(AgreedCrossingTest, AWarmUpOnArgumentsAgreesAndAWaitingKeyIsTunedOnWhatItsLaunchRead) {
  RankThreads ranks(2);
  ranks.Run([&](RankThread& rank) {
    DeviceBuffer x = *DeviceBuffer::Allocate(rank.stream->view(), kScaleN * sizeof(float));
    DeviceBuffer y = *DeviceBuffer::Allocate(rank.stream->view(), kScaleN * sizeof(float));
    EXPECT_OK(rank.Launch(2 * kScaleN));
    EXPECT_OK(rank.kernel->Warmup(rank.cu_stream(), View(x), View(y), 2.0f));
    for (std::int64_t n : {kScaleN, 2 * kScaleN}) {  // A warm-up tunes what is pending, too.
      const LaunchPlan plan = rank.Explain(n);
      EXPECT_EQ(plan.reason, LaunchPlan::Reason::kReady);
      EXPECT_EQ(plan.record == nullptr ? TunedInputs::kUnknown : plan.record->inputs, TunedInputs::kCaller) << n;
    }
  });
}

TEST(AgreedCrossingTest, AtADeadlineThatIsOverNothingIsSearchedAndTheFallbacksRun) {
  RankThreads ranks(2);
  ranks.Run([&](RankThread& rank) {
    EXPECT_OK(rank.Launch(kScaleN));  // So that the fallback's code is there.
    WarmupAllOptions options;
    options.deadline = std::chrono::milliseconds(0);
    Result<std::vector<WarmedKey>> warmed = WarmupAll(rank.cu_stream(), {{&*rank.kernel, {{{"N", kScaleN}}}}}, options);
    ASSERT_OK(warmed);
    EXPECT_OK(warmed->front().status);
    EXPECT_EQ(warmed->front().state, WarmedKey::State::kFallback);
    EXPECT_EQ(rank.kernel->counters().tunes, 0);
    EXPECT_OK(rank.Warmup(kScaleN));
    EXPECT_EQ(rank.Explain(kScaleN).reason, LaunchPlan::Reason::kReady);
  });
}

TEST(AgreedCrossingTest, APinInOneRanksStoreDecidesForAll) {
  RankThreads ranks(3);
  RankThreads alone(1);
  alone.policies[0].ranks = RankPolicy();
  alone.policies[0].store = ranks.policies[2].store;
  alone.Run([&](RankThread& only) {
    EXPECT_OK(only.kernel->Pin({{"N", kScaleN}}, {{"TILE", 64}, {"WORK", 1}}, TunedKernel::PinFor::kStore));
  });
  RankThreads tuned(1);  // The lowest rank has a record, which a person's word goes before.
  tuned.policies[0].ranks = RankPolicy();
  tuned.policies[0].store = ranks.policies[0].store;
  tuned.Run([&](RankThread& only) { EXPECT_OK(only.Warmup(kScaleN)); });
  ranks.Run([&](RankThread& rank) {
    EXPECT_OK(rank.Warmup(kScaleN));
    EXPECT_EQ(rank.Runs(kScaleN), "TILE=64, WORK=1");
  });
}

TEST(AgreedCrossingTest, AnImportedDecisionIsComparedByOneRankAndRunsInAll) {
  WorkTimer timer;  // A decision that is slower than the baseline is not used.
  RankThreads tuned(1);
  tuned.policies[0].ranks = RankPolicy();
  tuned.policies[0].search.timer = &timer;
  tuned.Run([&](RankThread& only) { EXPECT_OK(only.Warmup(kScaleN)); });
  TuningRecord imported = tuned.policies[0].store->List()->front();
  imported.reason = SelectionReason::kImported;
  imported.key.driver_version = 0;  // It did not run here yet.
  imported.best.artifact = Fingerprint();
  RankThreads ranks(2);
  for (AutotunePolicy& policy : ranks.policies) {
    policy.search.timer = &timer;
    EXPECT_OK(policy.store->Put(imported));
  }
  std::atomic<std::int64_t> searches{0};
  std::vector<std::string> runs(2);
  ranks.Run([&](RankThread& rank) {
    EXPECT_OK(rank.Warmup(kScaleN));
    runs[static_cast<std::size_t>(rank.rank)] = rank.Runs(kScaleN);
    searches += rank.kernel->counters().tunes;
  });
  EXPECT_EQ(runs[0], imported.best.config.ToString());
  EXPECT_EQ(runs[1], runs[0]);
  EXPECT_EQ(searches, 0);
}

TEST(AgreedCrossingTest, AnInterruptEndsAWaitAndTheOthersHearOfIt) {
  RankThreads ranks(2);
  std::atomic<bool> is_waiting{false};
  ranks.policies[1].search.stop = StopToken([&] { return is_waiting.load(); });
  ranks.policies[0].search.on_progress = [&](const SearchProgress&) { is_waiting = true; };
  ranks.Run([&](RankThread& rank) {
    const Status warmed = rank.Warmup(kScaleN);
    EXPECT_FALSE(warmed.ok());
    EXPECT_NE(warmed.message().find("rank 1 was interrupted"), std::string::npos) << warmed.ToString();
  });
}

TEST(AgreedCrossingTest, ASearchOfAPartOfTheConfigsIsMadeByOneRankAndServesTheNextProgram) {
  RankThreads ranks(2);
  ScaleKernel scale;
  scale.space.MaxConfigs(1);
  ranks.definitions.assign(2, scale.Definition());
  for (AutotunePolicy& policy : ranks.policies) policy.search.budgets.trials = 2;
  for (int program = 0; program < 2; ++program) {
    std::atomic<std::int64_t> searches{0};
    std::vector<std::string> runs(2);
    ranks.Run([&](RankThread& rank) {
      EXPECT_OK(rank.Warmup(kScaleN));
      runs[static_cast<std::size_t>(rank.rank)] = rank.Runs(kScaleN);
      searches += rank.kernel->counters().tunes;
    });
    EXPECT_EQ(searches, program == 0 ? 1 : 0);
    EXPECT_EQ(runs[0], runs[1]);
    bool is_stored = false;
    for (const AutotunePolicy& policy : ranks.policies) {
      const std::vector<TuningRecord> stored = *policy.store->List();
      for (const TuningRecord& record : stored) is_stored |= record.SearchedText() == "searched 2 of 4";
    }
    EXPECT_TRUE(is_stored);
    ranks.groups = MakeThreadRanks(2);
    for (std::size_t i = 0; i < 2; ++i) ranks.policies[i].ranks.group = ranks.groups[i];
  }
}

TEST(AgreedCrossingTest, KernelsThatShareASelectionShareItInAllRanks) {
  RankThreads ranks(2);
  std::atomic<std::int64_t> searches{0};
  for (AutotunePolicy& policy : ranks.policies) {
    policy.selection_group = "both";
    // However noisy the times are, what one kernel chose is not slower in the other.
    policy.search.baseline_margin = 100;
  }
  ranks.Run([&](RankThread& rank) {
    const auto place = static_cast<std::size_t>(rank.rank);
    Result<TunedKernel> other = TunedKernel::Create(ScaleKernel().Definition("other"), ranks.policies[place]);
    ASSERT_OK(other);
    Result<std::vector<WarmedKey>> warmed =
        WarmupAll(rank.cu_stream(), {{&*rank.kernel, {{{"N", kScaleN}}}}, {&*other, {{{"N", kScaleN}}}}});
    ASSERT_OK(warmed);
    for (const WarmedKey& key : *warmed) EXPECT_OK(key.status);
    Result<LaunchPlan> plan = other->Explain(rank.cu_stream(), {{"N", kScaleN}});
    ASSERT_OK(plan);
    EXPECT_EQ(plan->config->ToString(), rank.Runs(kScaleN));
    searches += rank.kernel->counters().tunes + other->counters().tunes;
  });
  EXPECT_EQ(searches, 1);
}

TEST(AgreedCrossingTest, ARankThatCapturesStillTakesItsTurn) {
  RankThreads ranks(2);
  ranks.Run([&](RankThread& rank) {
    if (rank.rank == 0) {
      EXPECT_ERROR(rank.Warmup(kScaleN), StatusCode::kFailedPrecondition, "rank 1 does not have this key in its list");
    } else {
      Status warmed;
      (void)GraphExec::Capture(rank.stream->view(), [&](CUstream) { return warmed = rank.Warmup(kScaleN); });
      EXPECT_ERROR(warmed, StatusCode::kFailedPrecondition, "the stream is capturing");
    }
    EXPECT_OK(rank.Warmup(kScaleN));
  });
}

TEST(AgreedCrossingTest, ALauncherThatASearchForAllRanksTriesTakesNoTurn) {
  RankThreads ranks(1);
  ranks.Run([&](RankThread& rank) {
    EXPECT_OK(rank.Warmup(kScaleN));
    const RankTurn turn(*ranks.groups[0]);  // As while this thread searches for all.
    const TrialScope trial;
    const char* const words = "was called by a launcher that another kernel's search is timing";
    EXPECT_ERROR(rank.Warmup(2 * kScaleN), StatusCode::kFailedPrecondition, words);
    EXPECT_ERROR(rank.kernel->TunePending(rank.cu_stream()), StatusCode::kFailedPrecondition, words);
    EXPECT_OK(rank.Launch(kScaleN));
  });
}

}  // namespace
}  // namespace tuneonce::testing
