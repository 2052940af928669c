// Kernels of several ranks, each a thread with a store of its own, that run the same config of each key, or say why
// not.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "testing/expect_status.h"
#include "testing/rank_threads.h"
#include "testing/runtimes.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::testing {
namespace {

/// What came of each rank.
struct Came {
  Status status;
  std::string runs;
  LaunchPlan plan;
  Counters counters;
};

std::vector<Came> WarmupAllRanks(RankThreads& ranks) {
  std::vector<Came> came(ranks.policies.size());
  ranks.Run([&](RankThread& rank) {
    Came& mine = came[static_cast<std::size_t>(rank.rank)];
    mine.status = rank.Warmup(kScaleN);
    EXPECT_OK(rank.Launch(kScaleN));
    mine.plan = rank.Explain(kScaleN);
    mine.runs = mine.plan.config ? mine.plan.config->ToString() : "";
    mine.counters = rank.kernel->counters();
  });
  return came;
}

std::set<std::string> Configs(const std::vector<Came>& came) {
  std::set<std::string> configs;
  for (const Came& each : came) configs.insert(each.runs);
  return configs;
}

std::int64_t Searches(const std::vector<Came>& came) {
  std::int64_t searches = 0;
  for (const Came& each : came) searches += each.counters.tunes;
  return searches;
}

/// What a search of a process without ranks leaves in its store.
TuningRecord RecordOfASearch() {
  RankThreads alone(1);
  alone.policies[0].ranks = RankPolicy();
  alone.Run([&](RankThread& only) { EXPECT_OK(only.Warmup(kScaleN)); });
  return alone.policies[0].store->List()->front();
}

/// The same record of another config, whose code is not stored.
TuningRecord With(TuningRecord record, std::int64_t tile, std::int64_t work) {
  ScaleKernel scale;
  Result<std::vector<Config>> configs = scale.space.Enumerate(Target());
  EXPECT_OK(configs);
  for (const Config& config : *configs) {
    if (config[scale.tile] == tile && config[scale.work] == work) record.best.config = config;
  }
  record.best.artifact = Fingerprint();
  for (const CandidateOutcome& candidate : record.candidates) {
    if (candidate.config.IsSame(record.best.config)) record.best.identity = candidate.identity;
  }
  return record;
}

TEST(AgreedKernelTest, OneRankSearchesForAllWhereNobodyHasARecord) {
  RankThreads ranks(3);
  const std::vector<Came> came = WarmupAllRanks(ranks);
  for (const Came& each : came) EXPECT_OK(each.status);
  EXPECT_EQ(Configs(came).size(), 1u);
  EXPECT_EQ(Searches(came), 1);
  EXPECT_EQ(came[0].plan.origin, LaunchPlan::Origin::kSearch);
  EXPECT_EQ(came[1].plan.origin, LaunchPlan::Origin::kRanks);
  for (const AutotunePolicy& policy : ranks.policies) EXPECT_EQ(policy.store->List()->size(), 1u) << "the next start";
  RankThreads again(3);
  for (std::size_t i = 0; i < 3; ++i) again.policies[i].store = ranks.policies[i].store;
  const std::vector<Came> warm = WarmupAllRanks(again);
  EXPECT_EQ(Configs(warm), Configs(came));
  EXPECT_EQ(Searches(warm), 0);
  for (const Came& each : warm) EXPECT_EQ(each.plan.origin, LaunchPlan::Origin::kStore);
}

TEST(AgreedKernelTest, ALaunchRunsTheFallbackAndItsKeyWaitsForTunePendingInAllRanks) {
  RankThreads ranks(2);
  std::vector<Came> came(2);
  ranks.Run([&](RankThread& rank) {
    Came& mine = came[static_cast<std::size_t>(rank.rank)];
    EXPECT_EQ(rank.Explain(kScaleN).reason, LaunchPlan::Reason::kNotAgreed);
    EXPECT_OK(rank.Launch(kScaleN));
    EXPECT_OK(rank.Launch(kScaleN));
    EXPECT_EQ(rank.kernel->counters().tunes, 0);
    EXPECT_EQ(rank.kernel->counters().fallbacks, 2);
    EXPECT_EQ(rank.kernel->counters().now.pending_keys, 1);
    EXPECT_EQ(rank.Explain(kScaleN).reason, LaunchPlan::Reason::kPending);
    mine.status = rank.kernel->TunePending(rank.cu_stream());
    EXPECT_OK(rank.Launch(kScaleN));
    mine.runs = rank.Runs(kScaleN);
    mine.counters = rank.kernel->counters();
    EXPECT_EQ(mine.counters.fallbacks, 2) << "the third ran the selection";
    EXPECT_EQ(mine.counters.now.pending_keys, 0);
  });
  for (const Came& each : came) EXPECT_OK(each.status);
  EXPECT_EQ(Configs(came).size(), 1u);
  EXPECT_EQ(Searches(came), 1);
}

TEST(AgreedKernelTest, AKeyThatOneRankDidNotMeetWaitsOnAndIsNoError) {
  RankThreads ranks(3);
  std::vector<Came> came(3);
  ranks.Run([&](RankThread& rank) {
    Came& mine = came[static_cast<std::size_t>(rank.rank)];
    if (rank.rank != 1) {
      EXPECT_OK(rank.Launch(kScaleN));
    }
    EXPECT_OK(rank.kernel->TunePending(rank.cu_stream()));
    EXPECT_EQ(rank.kernel->counters().now.pending_keys, rank.rank == 1 ? 0 : 1);
    EXPECT_EQ(rank.Runs(kScaleN), kScaleBaseline);
    if (rank.rank == 1) EXPECT_OK(rank.Launch(kScaleN));
    mine.status = rank.kernel->TunePending(rank.cu_stream());
    mine.runs = rank.Runs(kScaleN);
    mine.counters = rank.kernel->counters();
    EXPECT_EQ(mine.counters.now.pending_keys, 0);
  });
  for (const Came& each : came) EXPECT_OK(each.status);
  EXPECT_EQ(Configs(came).size(), 1u);
  EXPECT_EQ(Searches(came), 1);
}

TEST(AgreedKernelTest, AWarmUpOfAKeyThatOneRankIsNotAskedForIsAnErrorThatNamesIt) {
  RankThreads ranks(2);
  ranks.Run([&](RankThread& rank) {
    Status warmed = rank.Warmup(rank.rank == 0 ? kScaleN : 2 * kScaleN);
    EXPECT_ERROR(
        warmed, StatusCode::kFailedPrecondition,
        rank.rank == 0 ? "rank 1 does not have this key in its list" : "rank 0 does not have this key in its list");
    EXPECT_OK(rank.Warmup(3 * kScaleN));  // The next list is another turn.
  });
}

TEST(AgreedKernelTest, TheLowestRankThatHasARecordDecidesWhereTheyDiffer) {
  const TuningRecord record = RecordOfASearch();
  const TuningRecord x = With(record, 64, 1), y = With(record, 256, 1);
  struct Case {
    const char* name;
    std::vector<const TuningRecord*> stored;
    const char* runs;
    std::vector<LaunchPlan::Origin> from;
  };
  using Origin = LaunchPlan::Origin;
  const Case cases[] = {
      {"the same", {&x, &x, &x}, "TILE=64, WORK=1", {Origin::kStore, Origin::kStore, Origin::kStore}},
      {"differing", {&y, &x, &x}, "TILE=256, WORK=1", {Origin::kStore, Origin::kRanks, Origin::kRanks}},
      {"one cold among warm", {nullptr, &x, &x}, "TILE=64, WORK=1", {Origin::kRanks, Origin::kStore, Origin::kStore}},
      {"one warm among cold",
       {nullptr, nullptr, &y},
       "TILE=256, WORK=1",
       {Origin::kRanks, Origin::kRanks, Origin::kStore}},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    RankThreads ranks(3);
    for (std::size_t i = 0; i < 3; ++i) {
      if (each.stored[i] != nullptr) EXPECT_OK(ranks.policies[i].store->Put(*each.stored[i]));
    }
    const std::vector<Came> came = WarmupAllRanks(ranks);
    EXPECT_EQ(Configs(came), std::set<std::string>{each.runs});
    EXPECT_EQ(Searches(came), 0);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_OK(came[i].status);
      EXPECT_EQ(came[i].plan.origin, each.from[i]) << i;
      EXPECT_EQ(ranks.policies[i].store->List()->front().best.config.ToString(), each.runs) << "the next start";
    }
  }
}

TEST(AgreedKernelTest, ARankThatMayNotTuneIsNamedOrAllRunTheBaseline) {
  using Mode = AutotunePolicy::Mode;
  struct Case {
    std::vector<Mode> modes;
    std::string words;  // Empty: it is no error.
    std::string runs;
    std::int64_t searches;
  };
  const std::string fallback_only = "rank 1 runs its fallback only";
  const Case cases[] = {
      {{Mode::kTuneOnMiss, Mode::kFallbackOnly}, fallback_only, kScaleBaseline, 0},
      {{Mode::kFallbackOnly, Mode::kFallbackOnly}, "", kScaleBaseline, 0},
      {{Mode::kStoredOnly, Mode::kStoredOnly}, "", kScaleBaseline, 0},
      {{Mode::kStoredOnly, Mode::kFallbackOnly}, "", kScaleBaseline, 0},
      {{Mode::kTuneDeferred, Mode::kTuneOnMiss}, "", "", 1},
  };
  for (const Case& each : cases) {
    RankThreads ranks(2);
    auto code = MakeMemoryStore();  // That kStoredOnly has the baseline's.
    for (std::size_t i = 0; i < 2; ++i) ranks.policies[i].mode = each.modes[i];
    for (AutotunePolicy& policy : ranks.policies) policy.search.compile.cache = code;
    RankThreads alone(1);
    alone.policies[0].ranks = RankPolicy();
    alone.policies[0].search.compile.cache = code;
    alone.Run([&](RankThread& only) { EXPECT_OK(only.Warmup(kScaleN)); });
    const std::vector<Came> came = WarmupAllRanks(ranks);
    for (const Came& one : came) {
      if (each.words.empty()) EXPECT_OK(one.status);
      if (!each.words.empty()) EXPECT_ERROR(one.status, StatusCode::kFailedPrecondition, each.words);
    }
    EXPECT_EQ(Configs(came).size(), 1u);
    EXPECT_EQ(came[0].runs, each.runs.empty() ? came[1].runs : each.runs);
    EXPECT_EQ(Searches(came), each.searches);
  }
}

TEST(AgreedKernelTest, ARankThatCompilesNothingDoesNotCompileForItsVoteEither) {
  RankThreads alone(1);
  alone.policies[0].ranks = RankPolicy();
  alone.Run([&](RankThread& only) { EXPECT_OK(only.Warmup(kScaleN)); });
  // The baseline's code is there, but that of the record's config is not.
  auto code = MakeMemoryStore();
  RankThreads baseline(1);
  baseline.policies[0].ranks = RankPolicy();
  baseline.policies[0].mode = AutotunePolicy::Mode::kFallbackOnly;
  baseline.policies[0].search.compile.cache = code;
  baseline.Run([&](RankThread& only) { EXPECT_OK(only.Warmup(kScaleN)); });
  RankThreads ranks(1);
  ranks.policies[0].mode = AutotunePolicy::Mode::kStoredOnly;
  ranks.policies[0].search.compile.cache = code;
  TuningRecord record = alone.policies[0].store->List()->front();
  ASSERT_NE(record.best.config.ToString(), kScaleBaseline);
  record.best.artifact = Fingerprint();
  ASSERT_OK(ranks.policies[0].store->Put(record));
  const std::vector<Came> came = WarmupAllRanks(ranks);
  EXPECT_ERROR(came[0].status, StatusCode::kUnavailable, "kStoredOnly compiles nothing");
}

TEST(AgreedKernelTest, ARankInWhichAutotuningIsDisabledIsNamed) {
  RankThreads ranks(2);
  ranks.policies[1].search.runtime = RuntimeIn({{"DISABLE_AUTOTUNE", "1"}, {"TUNEONCE_STORE", "memory"}});
  for (const Came& came : WarmupAllRanks(ranks)) {
    EXPECT_ERROR(came.status, StatusCode::kFailedPrecondition, "DISABLE_AUTOTUNE");
    EXPECT_EQ(came.runs, kScaleBaseline);
  }
}

TEST(AgreedKernelTest, WhatOneRankPinnedAllRunAndTwoPinsThatDifferAreAnError) {
  RankThreads ranks(2);
  const TunedKernel::NamedConfig x = {{"TILE", 64}, {"WORK", 1}}, y = {{"TILE", 256}, {"WORK", 1}};
  ranks.Run([&](RankThread& rank) {
    if (rank.rank == 1) EXPECT_OK(rank.kernel->Pin({{"N", kScaleN}}, x));
    EXPECT_OK(rank.Warmup(kScaleN));
    EXPECT_EQ(rank.Runs(kScaleN), "TILE=64, WORK=1");
    EXPECT_EQ(rank.kernel->counters().tunes, 0);
    // Later: the host's word counts at once, here alone, and the next warm-up says so.
    if (rank.rank == 0) EXPECT_OK(rank.kernel->Pin({{"N", kScaleN}}, y));
    EXPECT_ERROR(rank.Warmup(kScaleN), StatusCode::kFailedPrecondition, "ranks 0 and 1 already run different");
    if (rank.rank == 1) EXPECT_OK(rank.kernel->Pin({{"N", kScaleN}}, y));
    EXPECT_OK(rank.Warmup(kScaleN));
    EXPECT_EQ(rank.Runs(kScaleN), "TILE=256, WORK=1");
  });
}

TEST(AgreedKernelTest, RetuneIsRefusedInAGroup) {
  RankThreads ranks(1);
  ranks.Run([&](RankThread& rank) {
    EXPECT_OK(rank.Warmup(kScaleN));
    EXPECT_ERROR(rank.kernel->Retune(rank.cu_stream(), {{"N", kScaleN}}), StatusCode::kFailedPrecondition, "one rank");
  });
}

TEST(AgreedKernelTest, AfterFreezeWhatWasAgreedOnRunsAndAFrozenRankIsNamed) {
  RankThreads ranks(2);
  ranks.Run([&](RankThread& rank) {
    EXPECT_OK(rank.Warmup(kScaleN));
    const std::string runs = rank.Runs(kScaleN);
    if (rank.rank == 0) rank.kernel->Freeze();
    EXPECT_OK(rank.Warmup(kScaleN));
    EXPECT_EQ(rank.Runs(kScaleN), runs);
    EXPECT_ERROR(rank.Warmup(2 * kScaleN), StatusCode::kFailedPrecondition, "rank 0 runs its fallback only");
    rank.kernel->Freeze();
    EXPECT_OK(rank.Warmup(3 * kScaleN));
    EXPECT_EQ(rank.Runs(3 * kScaleN), kScaleBaseline);
  });
}

TEST(AgreedKernelTest, ARankThatNeverComesIsWaitedForOnceInAWarmUp) {
  constexpr std::chrono::milliseconds kSilence(1500);
  for (bool may_differ : {false, true}) {
    RankThreads ranks(3);
    for (AutotunePolicy& policy : ranks.policies) {
      policy.ranks.silence = kSilence;
      policy.ranks.may_differ = may_differ;
    }
    ranks.Run([&](RankThread& rank) {
      if (rank.rank == 1) return;
      const auto begin = std::chrono::steady_clock::now();
      const Status warmed = rank.Warmup(kScaleN);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, 2 * kSilence);
      if (may_differ) EXPECT_OK(warmed);
      if (!may_differ) EXPECT_ERROR(warmed, StatusCode::kDeadlineExceeded, "rank 1 sent nothing for 1500 ms");
      EXPECT_EQ(rank.Runs(kScaleN), kScaleBaseline);
    });
  }
}

TEST(AgreedKernelTest, ARankWithOtherSourcesIsNamedAndWithMayDifferEachRunsItsFallback) {
  for (bool may_differ : {false, true}) {
    RankThreads ranks(2);
    ranks.definitions[1].Version("2");
    std::vector<WarmedKey> warmed(2);
    for (AutotunePolicy& policy : ranks.policies) policy.ranks.may_differ = may_differ;
    ranks.Run([&](RankThread& rank) {
      Result<std::vector<WarmedKey>> all = WarmupAll(rank.cu_stream(), {{&*rank.kernel, {{{"N", kScaleN}}}}});
      ASSERT_OK(all);
      const WarmedKey& key = all->front();
      EXPECT_EQ(key.state, may_differ ? WarmedKey::State::kFallback : WarmedKey::State::kFailed);
      if (may_differ) EXPECT_OK(key.status);
      if (!may_differ) EXPECT_ERROR(key.status, StatusCode::kFailedPrecondition, "with other sources");
      EXPECT_OK(rank.Launch(kScaleN));
      EXPECT_EQ(rank.Runs(kScaleN), kScaleBaseline);
    });
  }
}

TEST(AgreedKernelTest, ARankWithAnotherBaselineRunsNothingThatWasComparedWithTheOthers) {
  RankThreads ranks(2);
  ScaleKernel other;
  other.space.SetBaseline({{other.tile, 256}, {other.work, 100}});
  ranks.definitions[1] = other.Definition();
  ranks.Run([&](RankThread& rank) {
    EXPECT_ERROR(rank.Warmup(kScaleN), StatusCode::kFailedPrecondition, "with other sources or configs");
    EXPECT_OK(rank.Launch(kScaleN));
    EXPECT_EQ(rank.Runs(kScaleN), rank.rank == 0 ? kScaleBaseline : "TILE=256, WORK=100");
  });
}

TEST(AgreedKernelTest, RanksWithOtherListsOfConfigsDoNotAgree) {
  RankThreads ranks(2);
  ScaleKernel other;
  other.space.Where("tiles of 64", [tile = other.tile](const Config& c) { return c[tile] == 64; });
  ranks.definitions[1] = other.Definition();
  ranks.Run([&](RankThread& rank) {
    EXPECT_ERROR(rank.Warmup(kScaleN), StatusCode::kFailedPrecondition, "with other sources or configs");
    EXPECT_EQ(rank.Runs(kScaleN), kScaleBaseline);
  });
}

TEST(AgreedKernelTest, ARankThatCannotWarmUpDoesNotKeepTheOthersNorLoseCount) {
  RankThreads ranks(2);
  ranks.Run([&](RankThread& rank) {
    if (rank.rank == 0) {
      EXPECT_ERROR(rank.Warmup(kScaleN), StatusCode::kFailedPrecondition, "rank 1 does not have this key");
    } else {
      EXPECT_ERROR(rank.kernel->Warmup(rank.cu_stream(), {{{"wrong", kScaleN}}}), StatusCode::kInvalidArgument,
                   "wrong");
    }
    EXPECT_OK(rank.Warmup(kScaleN));
  });
}

TEST(AgreedKernelTest, AShapeThatCannotBeLaunchedIsAnErrorAndItsKeyIsAgreedOnAtAnother) {
  RankThreads ranks(2);
  ScaleKernel scale;
  for (KernelDefinition& definition : ranks.definitions) {
    definition = KernelDefinition("rows");
    definition
        .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2),
                     DimValue("N"), Scalar<std::int32_t>("rows")})
        .Space(scale.space)
        .AddVariant(Variant(scale.Source()).KernelArgs({"x", "y", "factor", "N"}).Grid(Grid::Fixed(Term("rows"))));
  }
  ranks.Run([&](RankThread& rank) {
    auto warmup = [&](int rows) { return rank.kernel->Warmup(rank.cu_stream(), {{{"N", kScaleN}, {"rows", rows}}}); };
    EXPECT_ERROR(warmup(0), StatusCode::kInvalidArgument, "grid (0, 1, 1)");
    EXPECT_EQ(rank.kernel->counters().failed_tunes, 0);
    EXPECT_OK(warmup(16));
    Result<LaunchPlan> plan = rank.kernel->Explain(rank.cu_stream(), {{"N", kScaleN}, {"rows", 16}});
    ASSERT_OK(plan);
    EXPECT_EQ(plan->reason, LaunchPlan::Reason::kReady);
  });
}

}  // namespace
}  // namespace tuneonce::testing
