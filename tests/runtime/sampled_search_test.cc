// Searches of a TunedKernel that try a part of the configs: records, the next process, changed lists, portfolios.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/expect_status.h"
#include "testing/runtimes.h"
#include "testing/tuned_scale_test.h"
#include "testing/watched_toolchain.h"
#include "testing/work_timer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

/// A kernel of four configs, of which a search tries as many as `max_trials` says.
class SampledSearchTest : public testing::TunedScaleTest {
 protected:
  SampledSearchTest() {
    RuntimeOptions options;
    options.toolchains = std::make_shared<const ToolchainSet>(std::vector<std::shared_ptr<const Toolchain>>{compiler_});
    policy_.search.runtime = testing::MakeRuntime(std::move(options));
  }
  TuningRecord OnlyRecord() {
    const std::vector<TuningRecord> records = *policy_.store->List();
    EXPECT_EQ(records.size(), 1u);
    return records.empty() ? TuningRecord() : records.front();
  }
  /// Tunes in a new kernel, as another process would. Returns the sources that it compiled.
  std::vector<std::string> CompiledByLaunch(const KernelDefinition& definition, std::size_t n = 1000) {
    const std::size_t before = compiler_->compiled().size();
    TunedKernel kernel = Create(definition);
    Launch(kernel, n);
    tunes_ = kernel.counters().tunes;
    std::vector<std::string> compiled = compiler_->compiled();
    compiled.erase(compiled.begin(), compiled.begin() + static_cast<std::ptrdiff_t>(before));
    return compiled;
  }
  KernelDefinition Guided() {
    KernelDefinition definition = scale_.Definition();
    SearchSpace space = scale_.space;
    definition.Space(space.MaxConfigs(1));
    return definition;
  }

  /// The kernel with these configs of TILE and WORK. Its source is data: that of a function would be another one with
  /// another list.
  KernelDefinition Listed(const std::vector<std::pair<int, int>>& configs) {
    SearchSpace space = scale_.space;
    std::vector<std::vector<AxisAssignment>> list;
    for (const auto& [tile, work] : configs) list.push_back({{scale_.tile, tile}, {scale_.work, work}});
    space.SetConfigs(list);
    return testing::ScaleIn(space, scale_.tile);
  }

  std::shared_ptr<testing::WatchedToolchain> compiler_ = std::make_shared<testing::WatchedToolchain>();
  std::int64_t tunes_ = 0;
};

TEST_F(SampledSearchTest, ASearchThatWasCutShortServesAtOnceAndIsContinuedByTunePending) {
  policy_.search.budgets.trials = 2;
  EXPECT_EQ(CompiledByLaunch(Guided()).size(), 2u);
  EXPECT_EQ(OnlyRecord().SearchedText(), "searched 2 of 4");
  EXPECT_FALSE(OnlyRecord().is_complete);
  EXPECT_FALSE(OnlyRecord().is_conclusive);
  for (const AutotunePolicy::Mode mode : {AutotunePolicy::Mode::kTuneOnMiss, AutotunePolicy::Mode::kTuneDeferred}) {
    policy_.mode = mode;
    EXPECT_TRUE(CompiledByLaunch(Guided()).empty()) << "the record serves";
    EXPECT_EQ(tunes_, 0);
  }
  TunedKernel kernel = Create(Guided());
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}}));
  EXPECT_EQ(kernel.counters().tunes, 0) << "a warm-up continues no search";
  EXPECT_EQ(kernel.counters().now.pending_keys, 1);
  const std::size_t before = compiler_->compiled().size();
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(compiler_->compiled().size() - before, 2u) << "the two that the first search did not try";
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().now.pending_keys, 0);
  Launch(kernel, 1000);
  EXPECT_EQ(kernel.counters().hits, 1);
  EXPECT_EQ(OnlyRecord().SearchedText(), "searched all 4");
  EXPECT_TRUE(OnlyRecord().is_complete);
  EXPECT_TRUE(CompiledByLaunch(Guided()).empty());
  EXPECT_EQ(tunes_, 0) << "now the record serves";
}

TEST_F(SampledSearchTest, ASearchIsContinuedOnceInAProcessAndNeitherAfterFreezeNorWhereNothingIsSearched) {
  policy_.search.budgets.trials = 1;
  CompiledByLaunch(Guided());
  auto tunes_after = [&](const std::function<void(TunedKernel&)>& use) {
    TunedKernel kernel = Create(Guided());
    Launch(kernel, 1000);
    use(kernel);
    EXPECT_OK(kernel.TunePending(stream_->get()));
    EXPECT_OK(kernel.TunePending(stream_->get()));
    Launch(kernel, 1000);
    EXPECT_EQ(kernel.counters().stored_hits, 1);
    EXPECT_EQ(kernel.counters().now.pending_keys, 0);
    return kernel.counters().tunes;
  };
  EXPECT_EQ(tunes_after([](TunedKernel& kernel) { kernel.Freeze(); }), 0);
  policy_.mode = AutotunePolicy::Mode::kStoredOnly;
  EXPECT_EQ(tunes_after([](TunedKernel&) {}), 0);
  policy_.mode = AutotunePolicy::Mode::kTuneOnMiss;
  EXPECT_EQ(tunes_after([](TunedKernel&) {}), 1) << "by the first of two calls";
}

TEST_F(SampledSearchTest, ACompleteRecordOfAnotherProcessIsTakenInPlaceOfContinuingTheSearch) {
  policy_.search.budgets.trials = 2;
  CompiledByLaunch(Guided());
  TunedKernel kernel = Create(Guided());
  Launch(kernel, 1000);
  TuningRecord complete = OnlyRecord();
  complete.is_complete = true;
  complete.num_not_measured = 0;
  ASSERT_OK(policy_.store->Put(complete));
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(kernel.counters().tunes, 0);
  EXPECT_EQ(kernel.counters().now.pending_keys, 0);
}

TEST_F(SampledSearchTest, AChangedListKeepsTheTimesOfItsConfigsAndTriesTheNewOnes) {
  const auto listed = [&](bool with_new) {
    std::vector<std::pair<int, int>> configs = {{64, 100}, {64, 1}, {256, 100}};
    if (with_new) configs.emplace_back(256, 1);
    return Listed(configs);
  };
  testing::WorkTimer timer;
  policy_.search.timer = &timer;
  EXPECT_EQ(CompiledByLaunch(listed(false)).size(), 3u);
  TuningRecord before = OnlyRecord();
  ASSERT_EQ(before.candidates.size(), 3u);
  for (CandidateOutcome& outcome : before.candidates) {
    if (outcome.config.ToString() == "TILE=256, WORK=100") outcome.measurement.mean_us += 7;  // To recognize it.
  }
  ASSERT_OK(policy_.store->Put(before));
  EXPECT_EQ(CompiledByLaunch(listed(true)).size(), 1u) << "one compile, and one short race";
  const TuningRecord after = OnlyRecord();
  EXPECT_EQ(after.SearchedText(), "searched all 4");
  ASSERT_EQ(after.candidates.size(), 4u);
  for (const CandidateOutcome& kept : before.candidates) {
    const bool is_raced_again = kept.config.IsSame(before.best.config) || kept.config.IsSame(before.baseline->config);
    const auto now = std::find_if(after.candidates.begin(), after.candidates.end(),
                                  [&](const CandidateOutcome& each) { return each.config.IsSame(kept.config); });
    ASSERT_NE(now, after.candidates.end());
    if (!is_raced_again) {
      EXPECT_EQ(now->measurement.mean_us, kept.measurement.mean_us) << kept.config.ToString();
    }
  }
}

TEST_F(SampledSearchTest, TimesOfASearchThatVerifiedLessAreNotKept) {
  constexpr double kMarkUs = 77;
  policy_.search.verify = Verify::kOff;
  policy_.search.budgets.trials = 3;
  CompiledByLaunch(Guided());
  TuningRecord unverified = OnlyRecord();
  for (CandidateOutcome& outcome : unverified.candidates) outcome.measurement.mean_us = kMarkUs;
  ASSERT_OK(policy_.store->Put(unverified));
  policy_.search.verify = Verify::kAgainstBaseline;
  policy_.search.budgets.trials = 0;
  CompiledByLaunch(Guided());
  EXPECT_EQ(tunes_, 1);
  EXPECT_EQ(OnlyRecord().SearchedText(), "searched all 4");
  for (const CandidateOutcome& outcome : OnlyRecord().candidates) {
    EXPECT_NE(outcome.measurement.mean_us, kMarkUs) << outcome.config.ToString();
  }
}

TEST_F(SampledSearchTest, ConfigsThatEndedTheirProcessCostAContinuedSearchNoTrial) {
  policy_.search.budgets.trials = 2;
  CompiledByLaunch(Guided());
  TuningRecord cut = OnlyRecord();
  ASSERT_EQ(cut.candidates.size(), 2u);
  for (CandidateOutcome& outcome : cut.candidates) {
    if (outcome.config.IsSame(cut.baseline->config)) continue;
    cut.fatal.push_back({outcome.config, "it crashed"});
    outcome = CandidateOutcome::Failed(outcome.config, OutcomeKind::kCrash, "it crashed");
  }
  cut.best = *cut.baseline;
  ASSERT_OK(policy_.store->Put(cut));
  policy_.search.budgets.trials = 1;
  TunedKernel kernel = Create(Guided());
  Launch(kernel, 1000);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(OnlyRecord().SearchedText(), "searched 3 of 4");
}

TEST_F(SampledSearchTest, WhereAChangedListDropsTheWinnerTheFastestThatStaysIsRacedAndSelected) {
  testing::WorkTimer timer;
  policy_.search.timer = &timer;
  EXPECT_EQ(CompiledByLaunch(Listed({{64, 100}, {64, 1}, {256, 1}})).size(), 3u);
  EXPECT_EQ(OnlyRecord().best.config.ToString(), "TILE=256, WORK=1");
  EXPECT_TRUE(CompiledByLaunch(Listed({{64, 100}, {64, 1}})).empty()) << "its code is stored";
  EXPECT_EQ(tunes_, 1);
  EXPECT_EQ(OnlyRecord().best.config.ToString(), "TILE=64, WORK=1");
  EXPECT_EQ(OnlyRecord().reason, SelectionReason::kFastest);
}

TEST_F(SampledSearchTest, TimesOfAnotherShapeAreNotKept) {
  constexpr double kMarkUs = 77;
  policy_.search.budgets.trials = 3;
  CompiledByLaunch(Guided());
  TuningRecord elsewhere = OnlyRecord();
  for (CandidateOutcome& outcome : elsewhere.candidates) outcome.measurement.mean_us = kMarkUs;
  elsewhere.tuned_at = "N=500";
  ASSERT_OK(policy_.store->Put(elsewhere));
  policy_.search.budgets.trials = 0;
  TunedKernel kernel = Create(Guided());
  Launch(kernel, 1000);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  for (const CandidateOutcome& outcome : OnlyRecord().candidates) {
    EXPECT_NE(outcome.measurement.mean_us, kMarkUs) << outcome.config.ToString();
  }
}

TEST_F(SampledSearchTest, TheSearchOfAGroupIsNotContinuedByOneOfItsKernels) {
  policy_.selection_group = "g";
  policy_.search.budgets.trials = 2;
  CompiledByLaunch(Guided());
  TunedKernel kernel = Create(Guided());
  Launch(kernel, 1000);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(kernel.counters().tunes, 0);
  EXPECT_EQ(OnlyRecord().SearchedText(), "searched 2 of 4");
}

TEST_F(SampledSearchTest, AContinuationThatTheHostStoppedIsMadeLater) {
  policy_.search.budgets.trials = 2;
  CompiledByLaunch(Guided());
  std::atomic<bool> stopped{false};
  policy_.search.stop = &stopped;
  TunedKernel kernel = Create(Guided());
  Launch(kernel, 1000);
  stopped = true;
  EXPECT_ERROR(kernel.TunePending(stream_->get()), StatusCode::kCancelled, "cancelled");
  stopped = false;
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(OnlyRecord().SearchedText(), "searched all 4");
}

TEST_F(SampledSearchTest, ASearchIsContinuedThoughItsConfigIsVerifiedAtAnotherExtentFirst) {
  const auto by_any_extent = [&] {
    KernelDefinition definition = Guided();
    definition.Key({DTypeOf("x")});
    return definition;
  };
  policy_.search.budgets.trials = 2;
  CompiledByLaunch(by_any_extent(), 64);
  TuningRecord cut = OnlyRecord();
  EXPECT_EQ(cut.SearchedText(), "searched 2 of 4");
  ASSERT_EQ(cut.verification.extents.size(), 1u);
  cut.verification.extents[0].classes.clear();  // It was verified at no extent.
  ASSERT_OK(policy_.store->Put(cut));
  TunedKernel kernel = Create(by_any_extent());
  Launch(kernel, 64);
  EXPECT_EQ(kernel.counters().now.pending_keys, 1);
}

TEST_F(SampledSearchTest, WhatWonForAnotherKeyIsTriedFirst) {
  CompiledByLaunch(scale_.Definition());
  TuningRecord other = OnlyRecord();
  // For the other key, let the last config of the space be the fastest by far.
  for (CandidateOutcome& outcome : other.candidates) {
    const bool is_last = outcome.config.ToString() == "TILE=256, WORK=1";
    outcome.kind = OutcomeKind::kMeasured;
    outcome.measurement.mean_us = is_last ? 1 : 100;
    outcome.measurement.num_samples = 1;
  }
  ASSERT_OK(policy_.store->Put(other));
  policy_.search.budgets.trials = 2;
  policy_.search.compile.cache = MakeMemoryStore();
  const std::vector<std::string> compiled = CompiledByLaunch(Guided(), 2000);
  ASSERT_EQ(compiled.size(), 2u) << "the baseline, and the portfolio's first";
  const bool has_portfolio = std::any_of(compiled.begin(), compiled.end(), [](const std::string& defines) {
    return defines.find("TILE=256") != std::string::npos && defines.find("WORK=1 ") != std::string::npos;
  });
  EXPECT_TRUE(has_portfolio) << compiled[0] << "; " << compiled[1];
}

TEST_F(SampledSearchTest, ASourceFunctionIsNotCalledForAllConfigsOfALargeSpace) {
  SearchSpace space;
  std::vector<std::int64_t> tiles(4000);
  for (std::size_t i = 0; i < tiles.size(); ++i) tiles[i] = static_cast<std::int64_t>(i + 1);
  const IntAxis tile = space.AddAxis("TILE", tiles);
  space.SetBaseline({{tile, 64}});
  int num_calls = 0;
  KernelDefinition definition("scale");
  definition
      .Parameters(
          {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
      .Space(space)
      .AddVariant(
          Variant([&num_calls, tile](const Config& config, const Problem&) {
            ++num_calls;
            return KernelSource::CpuCpp(testing::kScaleSource, "scale").Define("TILE", config[tile]).Define("WORK", 1);
          }).Grid(Grid::OneD({"N", tile})));
  policy_.search.budgets.trials = 2;
  EXPECT_EQ(CompiledByLaunch(definition).size(), 2u);
  EXPECT_LT(num_calls, 1000);

  num_calls = 0;
  policy_.store = MakeMemoryStore();
  policy_.search.strategy = Strategy::kExhaustive;
  policy_.search.budgets.trials = 0;
  TunedKernel kernel = Create(definition);
  WarmupAllOptions warmup;
  warmup.deadline = std::chrono::milliseconds(500);
  ASSERT_OK(WarmupAll(stream_->get(), {{&kernel, {{{"N", 1000}}}}}, warmup));
  EXPECT_LT(num_calls, 2000) << "nor are all compiled ahead of the search";
}

TEST_F(SampledSearchTest, AfterADriverUpdateOnlyWhatWasFastIsRacedIfItAgrees) {
  SearchSpace space;
  const IntAxis tile = space.AddAxis("TILE", {64, 128, 192, 256});
  const IntAxis work = space.AddAxis("WORK", {100, 1000, 1});
  space.SetBaseline({{tile, 64}, {work, 100}});
  const KernelDefinition definition = testing::ScaleIn(space, tile);
  CompiledByLaunch(definition, 1 << 16);
  const TuningRecord measured = OnlyRecord();
  ASSERT_EQ(measured.candidates.size(), 12u);
  for (const char* selected : {"TILE=128, WORK=1", "TILE=128, WORK=1000"}) {
    const bool agrees = selected == std::string("TILE=128, WORK=1");
    TuningRecord old = measured;
    --old.key.driver_version;
    for (CandidateOutcome& outcome : old.candidates) {
      outcome.ties_with_fastest = outcome.config.ToString() == selected;
      if (outcome.ties_with_fastest) outcome.measurement.mean_us = 0.001;
      if (outcome.ties_with_fastest) old.best = outcome;
    }
    policy_.store = MakeMemoryStore();
    ASSERT_OK(policy_.store->Put(old));
    CompiledByLaunch(definition, 1 << 16);
    EXPECT_EQ(tunes_, 1);
    const std::vector<TuningRecord> records = *policy_.store->List();
    ASSERT_EQ(records.size(), 2u);
    const TuningRecord& fresh = records.back();
    EXPECT_EQ(fresh.key.driver_version, measured.key.driver_version);
    EXPECT_TRUE(fresh.is_complete);
    EXPECT_EQ(fresh.num_not_measured > 0, agrees) << fresh.SearchedText();
    EXPECT_TRUE(!agrees || !fresh.is_conclusive);
  }
}

TEST_F(SampledSearchTest, TheRecordOfALoadedKeyStatesWhatWasSearched) {
  policy_.search.budgets.trials = 2;
  TunedKernel searched = Create(Guided());
  Launch(searched, 1000);
  TunedKernel served = Create(Guided());
  Launch(served, 1000);
  for (TunedKernel* kernel : {&searched, &served}) {
    Result<LaunchPlan> plan = kernel->Explain(stream_->get(), {{"N", 1000}, {"factor", 2.0}});
    ASSERT_OK(plan);
    ASSERT_NE(plan->record, nullptr);
    EXPECT_TRUE(plan->record->candidates.empty());
    EXPECT_EQ(plan->record->SearchedText(), "searched 2 of 4");
  }
}

TEST_F(SampledSearchTest, ANoteStatesThatASpaceWasSampled) {
  std::vector<std::int64_t> values(1100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i + 1);
  SearchSpace space;
  const IntAxis tile = space.AddAxis("TILE", values);
  const IntAxis work = space.AddAxis("WORK", values);
  space.SetBaseline({{tile, 64}, {work, 1}});
  policy_.search.budgets.trials = 1;
  CompiledByLaunch(testing::ScaleIn(space, tile));
  const std::vector<std::string> notes = OnlyRecord().notes;
  const auto is_of_sample = [](const std::string& note) {
    return note.find("the space has 1210000 configs, of which the search could try a random sample of 10000") == 0;
  };
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), is_of_sample));
}

TEST_F(SampledSearchTest, AWarmUpDoesNotCompileConfigsThatTheSearchDoesNotTry) {
  policy_.search.budgets.trials = 2;
  TunedKernel kernel = Create(Guided());
  ASSERT_OK(WarmupAll(stream_->get(), {{&kernel, {{{"N", 1000}}}}}, {}));
  EXPECT_EQ(compiler_->compiled().size(), 2u);
  kernel.Freeze();
  Launch(kernel, 1000);
  EXPECT_EQ(kernel.counters().hits, 1);
  EXPECT_TRUE(kernel.frozen_misses().empty());
}

}  // namespace
}  // namespace tuneonce
