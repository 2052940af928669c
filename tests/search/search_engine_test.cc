// The selection, with scripted compilers and measurements: what wins, what is a duplicate, what is a failure.
#include "search/search_engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "base/mutex.h"
#include "search/candidate.h"
#include "search/search_call.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "testing/scripted_search.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::FakeToolchain;
using testing::PlannedOf;
using testing::ScriptedRunner;

class SearchEngineTest : public ::testing::Test {
 protected:
  /// One config per entry; {source, microseconds}. `baseline`: its index, or -1.
  Result<TuningRecord> Search(const std::vector<std::pair<std::string, double>>& script, int baseline,
                              double margin = 0.02) {
    std::vector<PlannedConfig> planned = PlannedOf(script, &runner_);
    auto toolchain = std::make_shared<FakeToolchain>();
    SearchOptions options;
    options.runtime = testing::RuntimeWith(toolchain);
    options.compile.cache = MakeMemoryStore();
    options.stop = cancelled_;
    options.compile.stop = &toolchain->cancelled;
    options.compile.total_timeout = std::chrono::milliseconds(total_timeout_ms_);
    options.compile.timeout = std::chrono::milliseconds(compile_timeout_ms_);
    options.compile.num_workers = 1;  // Candidates come in the space's order, the baseline first.
    options.quiet = true;
    options.budgets.gpu = Budgets::Milliseconds(gpu_budget_ms_);
    options.budgets.wall = Budgets::Milliseconds(wall_budget_ms_);
    options.final_rounds = final_rounds_;
    options.measure_energy = measure_energy_;
    options.baseline_margin = margin;
    options.on_progress = [&](const SearchProgress& p) {
      stages_.push_back(p.stage);
      steps_.push_back(p);
      throw 1;  // A display must not end a search.
    };
    std::optional<Config> baseline_config;
    if (baseline >= 0) baseline_config = planned[static_cast<std::size_t>(baseline)].config;
    TUNEONCE_ASSIGN_OR_RETURN(SearchOutcome outcome,
                              SearchEngine("k", "M=64", Target(), baseline_config, options, runner_, measuring_lock_)
                                  .Run(ConfigPlanner(std::move(planned))));
    return std::move(*outcome.record);
  }
  std::string Best(const Result<TuningRecord>& result) {
    EXPECT_OK(result);
    return result.ok() ? result->best.config.ToString() : "";
  }

  ScriptedRunner runner_;
  Mutex measuring_lock_;
  bool enable_tile_ = true;
  const std::atomic<bool>* cancelled_ = nullptr;
  double gpu_budget_ms_ = 500;
  double wall_budget_ms_ = 0;
  int total_timeout_ms_ = 0;
  int compile_timeout_ms_ = 120000;
  int final_rounds_ = 0;
  bool measure_energy_ = false;
  std::vector<SearchProgress::Stage> stages_;
  std::vector<SearchProgress> steps_;
};

TEST_F(SearchEngineTest, TheDeviceIsLookedAtBeforeTheRaceAndAfterIt) {
  Result<TuningRecord> unknown = Search({{"a", 30}, {"b", 10}}, 0);
  ASSERT_OK(unknown);
  EXPECT_FALSE(unknown->device_before || unknown->device_after || unknown->race_sm_clock_mhz);
  runner_.knows_device = true;
  const std::int64_t before = runner_.launches;
  Result<TuningRecord> result = Search({{"a", 30}, {"b", 10}}, 0);
  ASSERT_OK(result);
  ASSERT_TRUE(result->device_before && result->device_after);
  EXPECT_EQ(result->device_before->conditions.sm_clock_mhz, before + 2) << "both were prepared, none raced";
  EXPECT_EQ(result->device_after->conditions.sm_clock_mhz, runner_.launches);
  EXPECT_EQ(result->device_after->temperature_c, 41);
}

TEST_F(SearchEngineTest, TheClockOfTheRaceIsTheMeanOfWhatIsReadDuringIt) {
  runner_.knows_device = true;
  runner_.sample_ms = 60;  // Longer than the time between two readings.
  Result<TuningRecord> result = Search({{"a", 30}, {"b", 29.9}}, 0);
  ASSERT_OK(result);
  ASSERT_TRUE(result->race_sm_clock_mhz);
  EXPECT_GT(*result->race_sm_clock_mhz, static_cast<double>(*result->device_before->conditions.sm_clock_mhz));
  EXPECT_LT(*result->race_sm_clock_mhz, static_cast<double>(*result->device_after->conditions.sm_clock_mhz));
}

TEST_F(SearchEngineTest, TheEnergyOfFinalistsIsMeasuredWhereItIsAskedForAndKnown) {
  const std::vector<std::pair<std::string, double>> script = {{"base", 30}, {"fast", 10}, {"loser", 1000}};
  runner_.knows_device = true;
  EXPECT_FALSE(Search(script, 0)->best.energy_mj) << "by default it is not measured";
  EXPECT_TRUE(runner_.bursts.empty());
  measure_energy_ = true;
  Result<TuningRecord> result = Search(script, 0);
  ASSERT_OK(result);
  EXPECT_EQ(result->best.energy_mj, 2);
  EXPECT_EQ(result->baseline->energy_mj, 2);
  EXPECT_EQ(runner_.bursts, (std::set<std::string>{"base", "fast"})) << "the eliminated one is not a finalist";
  EXPECT_EQ(result->successes().back().energy_mj, std::nullopt);
  runner_.knows_device = false;
  EXPECT_FALSE(Search(script, 0)->best.energy_mj);
}

TEST_F(SearchEngineTest, TheFastestWinsAndListsAreSorted) {
  Result<TuningRecord> result = Search({{"a", 30}, {"b", 10}, {"c", 20}}, 0);
  EXPECT_EQ(Best(result), "i=1");
  ASSERT_EQ(result->successes().size(), 3u);
  EXPECT_EQ(result->successes()[0].config.ToString(), "i=1");
  EXPECT_EQ(result->successes()[2].config.ToString(), "i=0");
  EXPECT_EQ(result->baseline->config.ToString(), "i=0");
  EXPECT_DOUBLE_EQ(*result->speedup_over_baseline, 3.0);
  EXPECT_EQ(result->cost.num_launches, runner_.launches);
  EXPECT_EQ(result->timer, "scripted");
  EXPECT_TRUE(result->is_conclusive);
  EXPECT_EQ(runner_.ran, (std::vector<std::string>{"i=0", "i=1", "i=2"})) << "the space's order";
  // Of 3 candidates, and of each round; the end.
  EXPECT_EQ(stages_.size(), 7u + static_cast<std::size_t>(result->cost.num_rounds));
}

TEST_F(SearchEngineTest, CandidatesThatAreCheckedWhileOthersCompileStayWhereTheyAre) {
  Result<TuningRecord> result = Search({{"a", 30}, {"b", 10}, {"base", 20}}, 2);
  EXPECT_EQ(runner_.ran.front(), "i=2") << "the baseline compiles first, and is not the first of the space";
  EXPECT_EQ(Best(result), "i=1");
}

TEST_F(SearchEngineTest, TheBaselineStaysUnlessBeatenByTheMargin) {
  EXPECT_EQ(Best(Search({{"a", 98.1}, {"base", 100}}, 1)), "i=1");
  EXPECT_EQ(Best(Search({{"a", 97.9}, {"base", 100}}, 1)), "i=0");
  EXPECT_EQ(Best(Search({{"a", 99.9}, {"base", 100}}, 1, /*margin=*/0)), "i=0");
  Result<TuningRecord> stays = Search({{"a", 99}, {"base", 100}}, 1);
  EXPECT_EQ(*stays->speedup_over_baseline, 1.0);
}

TEST_F(SearchEngineTest, AmongEqualsTheEarliestWins) {
  EXPECT_EQ(Best(Search({{"a", 50}, {"b", 10.05}, {"c", 10.0}, {"d", 10.01}}, -1)), "i=1");
  EXPECT_EQ(Best(Search({{"a", 10.2}, {"b", 10.0}}, -1)), "i=1") << "2 % apart are no equals";
}

TEST_F(SearchEngineTest, TheSpeedupIsNeverBelowOne) {
  // The earliest of the equals would be slower than the baseline itself.
  Result<TuningRecord> result = Search({{"a", 10.05}, {"base", 10.0}, {"c", 9.99}}, 1, /*margin=*/0);
  EXPECT_GE(*result->speedup_over_baseline, 1.0);
}

TEST_F(SearchEngineTest, AClockThatSeesNothingIsAFailure) {
  EXPECT_ERROR(Search({{"a", 0}, {"base", 0}}, 1), StatusCode::kInternal,
               "run: the timer returned a time that is not a positive number");
  Result<TuningRecord> one = Search({{"c", 0}, {"d", 10}}, 0);
  EXPECT_EQ(Best(one), "i=1");
  ASSERT_EQ(one->failures().size(), 1u);
  EXPECT_FALSE(one->baseline.has_value());
}

TEST_F(SearchEngineTest, ACandidateThatCannotBeTimedFailsAloneAndTheOthersGoOn) {
  Result<TuningRecord> result = Search({{"a", 10}, {"b", ScriptedRunner::kRefused}, {"c", 20}}, 0);
  EXPECT_EQ(Best(result), "i=0");
  ASSERT_EQ(result->failures().size(), 1u);
  EXPECT_EQ(result->failures()[0].message, "launch refused");
  EXPECT_EQ(result->failures()[0].config.ToString(), "i=1");
}

TEST_F(SearchEngineTest, LostTimesAreTakenAnewInAnotherWay) {
  runner_.lost = UnavailableError("records lost");
  runner_.has_other_timer = true;
  Result<TuningRecord> result = Search({{"a", 10}, {"b", 10.1}, {"c", 10.2}}, -1);
  EXPECT_EQ(Best(result), "i=0");
  EXPECT_EQ(result->timer, "other");
  EXPECT_EQ(result->successes()[0].measurement.num_samples, result->cost.num_rounds);
  runner_.lost = UnavailableError("records lost");
  runner_.has_other_timer = false;
  EXPECT_ERROR(Search({{"a", 10}, {"b", 10.1}, {"c", 10.2}}, -1), StatusCode::kUnavailable, "records lost");
}

TEST_F(SearchEngineTest, TheBaselineIsPreparedFirstWhereOutputsAreCompared) {
  runner_.wants_baseline = true;
  EXPECT_EQ(Best(Search({{"a", 10}, {"b", 20}, {"base", 30}}, 2)), "i=0");
  EXPECT_EQ(runner_.ran, (std::vector<std::string>{"i=2", "i=0", "i=1"}));
  runner_.ran.clear();
  runner_.wants_baseline = true;
  EXPECT_EQ(Best(Search({{"a", 10}, {"b", 20}, {"error", 30}}, 2)), "i=0") << "the baseline does not compile";
  EXPECT_EQ(runner_.ran, (std::vector<std::string>{"i=0", "i=1"}));
}

TEST_F(SearchEngineTest, ASpentBudgetIsSaid) {
  gpu_budget_ms_ = 0.03;
  Result<TuningRecord> result = Search({{"a", 10}, {"b", 10.001}}, -1);
  EXPECT_EQ(Best(result), "i=0");
  EXPECT_FALSE(result->is_conclusive);
  EXPECT_EQ(result->cost.num_rounds, 1);
}

/// Twelve configs of which all from `first_cut` on are not compiled in time, or not before the compiles are cancelled.
std::vector<std::pair<std::string, double>> CutShortAt(std::size_t first_cut, const std::string& how) {
  std::vector<std::pair<std::string, double>> script = {{"a", 12}, {"b", 11}, {"error", 0}, {"a", 12},
                                                        {"c", 9},  {"d", 13}, {"fails", -1}};
  while (script.size() < 12) script.push_back({"e" + std::to_string(script.size()), 20});
  for (std::size_t i = first_cut; i < script.size(); ++i) script[i] = {how, 1};
  return script;
}

TEST_F(SearchEngineTest, ASearchThatWasCutShortIsNotCertainAndBlamesNobody) {
  total_timeout_ms_ = 200;
  Result<TuningRecord> result = Search(CutShortAt(7, "slow"), 0);
  EXPECT_EQ(Best(result), "i=4");
  EXPECT_FALSE(result->is_conclusive) << "5 of 12 were never measured";
  EXPECT_EQ(result->failures().size(), 2u) << "what was not compiled in time has not failed";
}

TEST_F(SearchEngineTest, TheWholeSpaceIsAccountedForWhereverASearchIsCutShort) {
  for (const char* how : {"slow", "cancel"}) {
    for (std::size_t first_cut = 0; first_cut <= 12; ++first_cut) {
      SCOPED_TRACE(how + std::to_string(first_cut));
      auto search = [&] {
        runner_ = ScriptedRunner();
        return Search(CutShortAt(first_cut, how), 0);
      };
      total_timeout_ms_ = std::string(how) == "slow" ? 60 : 0;
      Result<TuningRecord> result = search();
      while (!result.ok() && first_cut > 0 && 0 < total_timeout_ms_ && total_timeout_ms_ < 2000) {
        total_timeout_ms_ *= 2;  // A busy machine compiled none in time.
        result = search();
      }
      if (!result.ok()) {
        EXPECT_EQ(first_cut, 0u);
        EXPECT_EQ(result.status().code(), StatusCode::kDeadlineExceeded) << result.status().ToString();
        continue;
      }
      std::set<std::string> all;
      for (const CandidateOutcome& each : result->successes()) all.insert(each.config.ToString());
      for (const CandidateOutcome& each : result->failures()) all.insert(each.config.ToString());
      for (const CandidateOutcome& each : result->duplicates()) all.insert(each.config.ToString());
      for (const CandidateOutcome& each : result->not_measured()) all.insert(each.config.ToString());
      EXPECT_EQ(all.size(), 12u);
      EXPECT_EQ(result->successes().size() + result->failures().size() + result->duplicates().size() +
                    result->not_measured().size(),
                12u);
      EXPECT_GE(result->not_measured().size(), 12 - first_cut);
      EXPECT_EQ(result->is_conclusive, result->not_measured().empty());
    }
  }
}

TEST_F(SearchEngineTest, AWallBudgetEndsCompilingButTheBaselineIsCompiledAndMeasured) {
  wall_budget_ms_ = 60;  // A "slow" compile takes as long as it is let: two minutes.
  for (int baseline : {0, 11}) {
    std::vector<std::pair<std::string, double>> script(12, {"slow", 1});
    script[static_cast<std::size_t>(baseline)] = {"base", 10};
    Result<TuningRecord> result = Search(script, baseline);
    EXPECT_EQ(Best(result), "i=" + std::to_string(baseline));
    EXPECT_EQ(result->not_measured().size(), 11u);
    EXPECT_TRUE(result->failures().empty()) << "what was not compiled in time has not failed";
    EXPECT_FALSE(result->is_conclusive);
    EXPECT_EQ(*result->speedup_over_baseline, 1.0);
  }
  // One that takes longer than all the time there is.
  EXPECT_EQ(Best(Search({{"late", 10}, {"slow", 1}}, 0)), "i=0");
  compile_timeout_ms_ = 300;  // Longer than the budget, so that what ends it is known.
  EXPECT_ERROR(Search({{"slow", 1}, {"a", 2}}, 0), StatusCode::kDeadlineExceeded, "Budgets::wall");
}

TEST_F(SearchEngineTest, WithoutABaselineWhatABudgetLeavesIsOneCandidate) {
  wall_budget_ms_ = 1e-6;
  Result<TuningRecord> result = Search({{"a", 3}, {"b", 2}, {"c", 1}}, -1);
  ASSERT_OK(result);
  EXPECT_EQ(result->successes().size(), 1u);
  EXPECT_EQ(result->not_measured().size(), 2u);
  EXPECT_EQ(result->cost.num_rounds, 1);
}

TEST_F(SearchEngineTest, WhatIsCompiledWhenTheBudgetEndsIsNotTriedAnyMore) {
  wall_budget_ms_ = 40;
  runner_.prepare_ms = 50;
  Result<TuningRecord> result = Search({{"a", 3}, {"b", 2}, {"base", 5}, {"b", 2}}, 2);
  EXPECT_EQ(runner_.ran, std::vector<std::string>{"i=2"});
  EXPECT_EQ(Best(result), "i=2");
  EXPECT_EQ(result->not_measured().size(), 3u) << "a duplicate of what was not measured was not, either";
  EXPECT_TRUE(result->duplicates().empty());
}

TEST_F(SearchEngineTest, ProgressSaysForWhichKeyAndHowMuchTimeIsLeft) {
  using Stage = SearchProgress::Stage;
  ASSERT_OK(Search({{"a", 30}, {"b", 10}, {"c", 10.05}}, 0));
  for (const SearchProgress& step : steps_) {
    EXPECT_EQ(step.kernel, "k");
    EXPECT_EQ(step.key, "M=64");
    EXPECT_EQ(step.seconds_left.has_value(), step.stage != Stage::kDone);
    EXPECT_GE(step.seconds_left.value_or(0), 0);
    EXPECT_LE(step.done, step.total);
    const bool all_compiled = step.done == step.total && step.stage == Stage::kCompile;
    EXPECT_LE(step.seconds_left.value_or(0), all_compiled ? 0 : 1e9);
  }
  auto race = std::find(stages_.begin(), stages_.end(), Stage::kRace);
  ASSERT_NE(race, stages_.end());
  EXPECT_LE(steps_[static_cast<std::size_t>(race - stages_.begin())].seconds_left, 10) << "race_budget_ms";
  steps_.clear();
  wall_budget_ms_ = 1e-6;
  ASSERT_OK(Search({{"a", 30}, {"b", 10}}, 0));
  ASSERT_FALSE(steps_.empty());
  for (const SearchProgress& step : steps_) EXPECT_EQ(step.seconds_left.value_or(0), 0);
}

TEST(ProgressTest, ALineSaysAllThatIsKnownAndNothingThatActsOnATerminal) {
  SearchProgress progress;
  progress.kernel = "mat\x1bmul";
  progress.done = 3;
  progress.total = 12;
  EXPECT_EQ(ProgressLine(progress), "mat\\x1bmul: compiled 3/12");
  progress.key = "M<=64";
  progress.stage = SearchProgress::Stage::kMeasure;
  progress.seconds_left = 61.2;
  progress.config = "TILE=4";
  EXPECT_EQ(ProgressLine(progress), "mat\\x1bmul M<=64: tried 3/12, 1 min 2 s left  {TILE=4}");
  progress.stage = SearchProgress::Stage::kRace;
  progress.config.clear();
  progress.seconds_left = 1e300;
  EXPECT_EQ(ProgressLine(progress), "mat\\x1bmul M<=64: decided 3/12, 277777 h 46 min left at most");
}

TEST_F(SearchEngineTest, WithoutATimeForAllASlowCompileIsAFailureOfItsOwn) {
  compile_timeout_ms_ = 5;
  Result<TuningRecord> result = Search({{"a", 10}, {"slow", 0}}, 0);
  EXPECT_EQ(Best(result), "i=0");
  ASSERT_EQ(result->failures().size(), 1u);
  EXPECT_EQ(result->failures()[0].message, "it took too long");
  EXPECT_TRUE(result->is_conclusive);
  EXPECT_TRUE(result->not_measured().empty());
}

TEST_F(SearchEngineTest, AFinalRunAgainstTheBaselineMayOverruleTheRace) {
  final_rounds_ = 4;
  EXPECT_EQ(Best(Search({{"a", 10}, {"base", 20}}, 1)), "i=0");
  runner_.slow_from = 5;  // Preparation and one round take 4.
  runner_.launches = 0;
  EXPECT_EQ(Best(Search({{"a", 10}, {"base", 20}}, 1)), "i=1") << "the winner does not keep its margin";
}

TEST_F(SearchEngineTest, WhoLeavesTheRaceIsUnloadedButNotTheBaseline) {
  Result<TuningRecord> result = Search({{"base", 300}, {"a", 10}, {"b", 200}, {"c", 10.05}}, 0);
  EXPECT_EQ(Best(result), "i=1");
  EXPECT_EQ(runner_.released, std::vector<std::string>{"b"});
  EXPECT_EQ(runner_.checked_again, (std::vector<std::string>{"base", "a", "c"})) << "and it was not checked again";
  EXPECT_EQ(result->successes().size(), 4u);
}

TEST_F(SearchEngineTest, AWinnerThatIsWrongAfterTheRaceFailsAndTheOthersRaceAnew) {
  runner_.wrong_later = {{"a", 1}, {"b", 1}};
  // The next best was unloaded, and is loaded again.
  Result<TuningRecord> result = Search({{"base", 300}, {"a", 10}, {"a", 10}, {"b", 10.01}, {"c", 100}}, 0);
  EXPECT_EQ(Best(result), "i=4");
  EXPECT_DOUBLE_EQ(*result->speedup_over_baseline, 3.0);
  ASSERT_EQ(result->failures().size(), 2u);
  EXPECT_EQ(result->failures()[0].kind, OutcomeKind::kWrongResult);
  EXPECT_EQ(result->failures()[0].message, "wrong later");
  EXPECT_EQ(result->failures()[0].config.ToString(), "i=1");
  ASSERT_EQ(result->duplicates().size(), 1u) << "of the failed one";
  EXPECT_EQ(result->duplicates()[0].same_as->ToString(), "i=1");
  EXPECT_EQ(result->successes().size(), 2u);
  EXPECT_LT(result->successes()[0].measurement.num_samples, result->cost.num_rounds) << "rounds of both races count";
}

TEST_F(SearchEngineTest, ABaselineThatIsWrongAfterTheRaceIsNone) {
  runner_.wrong_later = {{"base", 1}};
  Result<TuningRecord> result = Search({{"a", 10}, {"base", 10.1}}, 1);  // Within the margin: the baseline stays.
  EXPECT_EQ(Best(result), "i=0");
  EXPECT_FALSE(result->baseline.has_value());
  EXPECT_FALSE(result->speedup_over_baseline.has_value());
  runner_.wrong_later = {{"a", 1}, {"base", 1}};
  EXPECT_ERROR(Search({{"a", 10}, {"base", 20}}, 1), StatusCode::kInternal, "wrong result: wrong later");
}

TEST_F(SearchEngineTest, AWinnerThatLosesTheFinalRoundsIsCheckedAsTheBaselineIs) {
  final_rounds_ = 4;
  runner_.slow_from = 5;
  runner_.wrong_later = {{"base", 1}};
  EXPECT_EQ(Best(Search({{"a", 10}, {"base", 20}}, 1)), "i=0") << "the baseline stayed, and was wrong";
}

TEST_F(SearchEngineTest, FailuresAreDataAndTheSpaceIsAccountedFor) {
  Result<TuningRecord> result = Search({{"error", 0}, {"a", 10}, {"fails", -1}, {"a", 10}}, 2);
  EXPECT_EQ(Best(result), "i=1");
  ASSERT_EQ(result->failures().size(), 2u);
  EXPECT_EQ(result->failures()[0].kind, OutcomeKind::kCompile);
  EXPECT_EQ(result->failures()[0].message, "line 1: error");
  EXPECT_EQ(result->failures()[1].kind, OutcomeKind::kRun);
  EXPECT_FALSE(result->baseline.has_value()) << "the baseline failed";
  EXPECT_FALSE(result->speedup_over_baseline.has_value());
  EXPECT_EQ(result->successes().size() + result->failures().size() + result->duplicates().size(), 4u);
}

TEST_F(SearchEngineTest, IdenticalCodeIsMeasuredOnceAndTheBaselineStandsForIt) {
  Result<TuningRecord> result = Search({{"a", 10}, {"a", 10}, {"a", 10}, {"b", 20}}, 1);
  EXPECT_EQ(runner_.ran.size(), 2u);
  EXPECT_EQ(Best(result), "i=1");
  ASSERT_EQ(result->duplicates().size(), 2u);
  EXPECT_EQ(result->duplicates()[0].config.ToString(), "i=0");
  EXPECT_EQ(result->duplicates()[0].same_as->ToString(), "i=1");
}

TEST_F(SearchEngineTest, WhenAllFailTheErrorListsWhy) {
  EXPECT_ERROR(
      Search({{"error", 0}, {"error", 0}, {"fails", -1}}, 0), StatusCode::kInternal,
      "kernel 'k': all 3 candidates failed: compile: line 1: error ({i=0} and 1 more); run: failed running ({i=2})");
}

TEST_F(SearchEngineTest, WhenAllFailAtMostFiveReasonsAreListed) {
  EXPECT_ERROR(
      Search({{"error1", 0}, {"error2", 0}, {"error3", 0}, {"error4", 0}, {"error5", 0}, {"error6", 0}, {"error7", 0}},
             0),
      StatusCode::kInternal, "compile: line 1: error5 ({i=4}); and 2 more reasons");
}

TEST_F(SearchEngineTest, ALostContextEndsTheSearch) {
  Result<TuningRecord> result = Search({{"a", 10}, {"crash", 0}, {"b", 5}}, -1);
  EXPECT_TRUE(result.status().sticky());
  EXPECT_EQ(runner_.ran.size(), 2u);
}

/// A definition with two variants of the same kind of target; "error" does not compile.
class VariantSubstitutionTest : public SearchEngineTest {
 protected:
  static std::shared_ptr<KernelDefinition> Define(const std::string& first, const std::string& second,
                                                  SourceKind first_kind = SourceKind::kCpuCpp) {
    auto definition = std::make_shared<KernelDefinition>("k");
    for (const auto& [name, text] : {std::pair("tile", first), std::pair("ptx", second)}) {
      Variant variant;
      variant.name = name;
      bool is_first = variant.name == "tile";
      variant.source = [text = text, kind = is_first ? first_kind : SourceKind::kCpuCpp](const Config&,
                                                                                         const Problem&) {
        KernelSource source = KernelSource::CpuCpp(text, "k");
        source.kind = kind;
        return source;
      };
      variant.geometry = Grid::Fixed(1);
      definition->AddVariant(variant);
    }
    EXPECT_OK(definition->Validate());
    return definition;
  }
  Result<TuningRecord> Search(const std::shared_ptr<const KernelDefinition>& definition,
                              const std::vector<Config>& configs) {
    std::vector<PlannedConfig> planned;
    for (const Config& config : configs) {
      TUNEONCE_ASSIGN_OR_RETURN(PlannedConfig each, PlanConfig(definition, config, BoundCall(), enable_tile_));
      planned.push_back(std::move(each));
    }
    SearchOptions options;
    options.runtime = testing::RuntimeWith(std::make_shared<FakeToolchain>());
    options.compile.cache = MakeMemoryStore();
    options.quiet = true;
    runner_.times = {{"a", 10}, {"b", 20}};
    TUNEONCE_ASSIGN_OR_RETURN(SearchOutcome outcome,
                              SearchEngine("k", "M=64", Target(), std::nullopt, options, runner_, measuring_lock_)
                                  .Run(ConfigPlanner(std::move(planned))));
    return std::move(*outcome.record);
  }
};

TEST_F(VariantSubstitutionTest, TheNextVariantIsUsedAndTheResultSaysSo) {
  Result<TuningRecord> result = Search(Define("error", "b"), {Config()});
  ASSERT_OK(result);
  EXPECT_EQ(result->best.variant, "ptx");
  ASSERT_EQ(result->best.passed_over.size(), 1u);
  EXPECT_EQ(result->best.passed_over[0].variant, "tile");
  EXPECT_EQ(result->best.passed_over[0].reason, "line 1: error");
  EXPECT_EQ(Search(Define("a", "b"), {Config()})->best.variant, "tile");
  EXPECT_TRUE(Search(Define("a", "b"), {Config()})->best.passed_over.empty());
  EXPECT_ERROR(Search(Define("error", "error"), {Config()}), StatusCode::kInternal,
               "variant 'tile': line 1: error; variant 'ptx': line 1: error");
}

TEST_F(VariantSubstitutionTest, EnableTile0LeavesTileIrOut) {
  enable_tile_ = false;
  for (SourceKind kind : {SourceKind::kTileIr, SourceKind::kTileCpp}) {
    Result<TuningRecord> result = Search(Define("a", "b", kind), {Config()});
    ASSERT_OK(result);
    EXPECT_EQ(result->best.variant, "ptx");
    ASSERT_EQ(result->best.passed_over.size(), 1u);
    EXPECT_EQ(result->best.passed_over[0].reason, "Tile IR is disabled (ENABLE_TILE=0)");
  }
}

TEST_F(VariantSubstitutionTest, ABackendAxisRacesTheVariants) {
  SearchSpace space;
  space.AddStringAxis("backend", {"ptx", "tile"});
  Result<TuningRecord> result = Search(Define("a", "b"), *space.Enumerate(Target()));
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config.ToString(), "backend=tile");
  EXPECT_EQ(result->best.variant, "tile");
  EXPECT_EQ(result->successes().size(), 2u);
  // A config that names a back end is built by no other.
  result = Search(Define("error", "b"), *space.Enumerate(Target()));
  EXPECT_EQ(result->best.variant, "ptx");
  ASSERT_EQ(result->failures().size(), 1u);
  EXPECT_EQ(result->failures()[0].config.ToString(), "backend=tile");
  SearchSpace unknown;
  unknown.AddStringAxis("backend", {"metal"});
  EXPECT_ERROR(Search(Define("a", "b"), *unknown.Enumerate(Target())), StatusCode::kInvalidArgument,
               "no variant for sm_0 has the back end 'metal'; the back ends are: tile, ptx");
}

TEST_F(VariantSubstitutionTest, VariantsOfOneBackEndStandInForEachOther) {
  SearchSpace space;
  space.AddStringAxis("backend", {"tile"});
  const std::shared_ptr<KernelDefinition> defined = Define("error", "b");
  KernelDefinition definition("k");
  for (Variant variant : defined->variants()) definition.AddVariant(std::move(variant.Backend("tile")));
  ASSERT_OK(definition.Validate());
  Result<TuningRecord> result = Search(std::make_shared<KernelDefinition>(definition), *space.Enumerate(Target()));
  ASSERT_OK(result);
  EXPECT_EQ(result->best.variant, "ptx");
}

TEST_F(VariantSubstitutionTest, ATileKernelsLaunchIsLeftToItsCubin) {
  for (const KernelSource& source : {KernelSource::TileIr("x", "k"), KernelSource::TileCpp("x", "k")}) {
    KernelDefinition definition("k");
    definition.AddVariant(
        Variant([=](const Config&, const Problem&) { return source; }).Grid(GeometryFn(Grid::Fixed(1)).Block(128)));
    ASSERT_OK(definition.Validate());
    EXPECT_ERROR(PlanConfig(std::make_shared<KernelDefinition>(definition), Config(), BoundCall(), true),
                 StatusCode::kInvalidArgument, "block (1, 1, 1)");
  }
}

TEST_F(SearchEngineTest, ACancelledSearchSaysSo) {
  std::atomic<bool> cancelled{true};
  cancelled_ = &cancelled;
  EXPECT_ERROR(Search({{"a", 10}, {"b", 5}}, -1), StatusCode::kCancelled, "kernel 'k': the search was cancelled");
}

}  // namespace
}  // namespace tuneonce
