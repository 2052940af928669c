// Searches that do not try all configs: what a strategy and the budgets let them try, and what their records say.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "search/config_planner.h"
#include "search/search_engine.h"
#include "testing/runtimes.h"
#include "testing/scripted_search.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/search_strategy.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
namespace {

using testing::FakeToolchain;
using testing::ScriptedRunner;

constexpr int kValues = 8;

/// 512 configs of three axes. The fastest is a=5, b=2, c=6, at 100 us; each step away from it costs a tenth.
class GuidedSearchTest : public ::testing::Test {
 protected:
  GuidedSearchTest() {
    SearchSpace space;
    std::vector<std::int64_t> values;
    for (int i = 0; i < kValues; ++i) values.push_back(i);
    for (const char* name : {"a", "b", "c"}) space.AddAxis(name, values);
    configs_ = *space.Enumerate(Target());
    options_.quiet = true;
    options_.compile.num_workers = 1;
    start_.max_configs = 30;
  }
  static std::int64_t At(const Config& config, const char* axis) { return std::get<std::int64_t>(*config.Find(axis)); }
  static double TimeOf(const Config& config) {
    return 100 * (1 + 0.1 * static_cast<double>(std::abs(At(config, "a") - 5) + std::abs(At(config, "b") - 2) +
                                                std::abs(At(config, "c") - 6)));
  }
  Result<PlannedConfig> Plan(const Config& config) {
    ++num_planned_;
    PlannedConfig planned;
    planned.config = config;
    planned.is_excluded = is_excluded_ && is_excluded_(config);
    Candidate candidate;
    candidate.config = config;
    candidate.definition = definition_;
    const std::string content = content_of_ ? content_of_(config) : config.ToString();
    candidate.source = KernelSource::CpuCpp(content, "k");
    runner_.times[content] = content == faulty_ ? 10 : TimeOf(config);
    planned.alternatives.push_back(std::move(candidate));
    return planned;
  }
  Result<TuningRecord> Search() {
    runner_.ran.clear();
    options_.runtime = testing::RuntimeWith(std::make_shared<FakeToolchain>());
    options_.compile.cache = MakeMemoryStore();
    std::optional<Config> baseline;
    if (has_baseline_) baseline = configs_[kBaseline];
    SearchEngine engine("k", "M=64", Target(), baseline, options_, runner_, measuring_lock_);
    TUNEONCE_ASSIGN_OR_RETURN(
        SearchOutcome outcome,
        engine.Run(ConfigPlanner(configs_, [this](const Config& config) { return Plan(config); }), start_));
    return std::move(*outcome.record);
  }

  static constexpr std::size_t kBaseline = 77;

  std::vector<Config> configs_;
  std::shared_ptr<const KernelDefinition> definition_ = std::make_shared<const KernelDefinition>("k");
  std::function<bool(const Config&)> is_excluded_;
  std::function<std::string(const Config&)> content_of_;
  std::string faulty_;
  bool has_baseline_ = true;
  int num_planned_ = 0;
  ScriptedRunner runner_;
  Mutex measuring_lock_;
  SearchOptions options_;
  SearchEngine::Start start_;
};

TEST_F(GuidedSearchTest, ASpaceAboveMaxConfigsIsSampledUntilNothingMoreIsExpected) {
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_EQ(runner_.ran.front(), configs_[kBaseline].ToString());
  EXPECT_LE(TimeOf(record->best.config), 110) << "at most one step from the fastest of 512";
  EXPECT_TRUE(record->is_complete) << "the strategy ended it";
  EXPECT_FALSE(record->is_conclusive) << "never for a whole space that was sampled";
  const std::size_t num_tried = record->candidates.size();
  EXPECT_LT(num_tried, configs_.size() / 2);
  EXPECT_EQ(record->num_not_measured, static_cast<int>(configs_.size() - num_tried));
  EXPECT_EQ(record->SearchedText(), "searched " + std::to_string(num_tried) + " of 512");
  EXPECT_EQ(num_planned_, static_cast<int>(num_tried)) << "nothing else was planned";
}

TEST_F(GuidedSearchTest, SmallSpacesAndExhaustiveSearchesTryAll) {
  options_.strategy = Strategy::kExhaustive;
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_EQ(record->candidates.size(), configs_.size());
  EXPECT_EQ(record->best.config.ToString(), "a=5, b=2, c=6");
  EXPECT_EQ(record->SearchedText(), "searched all 512");
  options_.strategy = Strategy::kAutomatic;
  configs_.resize(90);
  start_.max_configs = 90;
  record = Search();
  ASSERT_OK(record);
  EXPECT_EQ(record->num_not_measured, 0);
  EXPECT_TRUE(record->is_conclusive);
}

TEST_F(GuidedSearchTest, ASearchOfSoManyTrialsIsCutShortAndContinued) {
  options_.budgets.trials = 40;
  Result<TuningRecord> first = Search();
  ASSERT_OK(first);
  EXPECT_FALSE(first->is_complete);
  EXPECT_EQ(first->SearchedText(), "searched 40 of 512");
  std::set<std::string> tried(runner_.ran.begin(), runner_.ran.end());
  EXPECT_EQ(tried.size(), 40u);

  start_.known = first->candidates;
  start_.required = {first->best.config};
  Result<TuningRecord> second = Search();
  ASSERT_OK(second);
  EXPECT_EQ(second->SearchedText(), "searched 80 of 512");
  for (const std::string& config : runner_.ran) {
    const bool is_repeated = config == configs_[kBaseline].ToString() || config == first->best.config.ToString();
    EXPECT_TRUE(is_repeated || tried.count(config) == 0) << config << " was tried by the first search";
  }
  EXPECT_LE(TimeOf(second->best.config), TimeOf(first->best.config));
}

TEST_F(GuidedSearchTest, ABudgetLetsAnExhaustiveSearchMeasureAFairSample) {
  options_.strategy = Strategy::kExhaustive;
  options_.budgets.trials = 128;
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_FALSE(record->is_complete);
  EXPECT_EQ(record->num_not_measured, 512 - 128);
  EXPECT_EQ(record->not_measured().size(), 512u - 128u) << "an exhaustive search lists what it lacks";
  for (const char* axis : {"a", "b", "c"}) {
    std::map<std::int64_t, int> counts;
    for (const CandidateOutcome& outcome : record->successes()) ++counts[At(outcome.config, axis)];
    for (int value = 0; value < kValues; ++value) {
      EXPECT_GE(counts[value], 5) << axis << "=" << value << " of 16 that are expected";
      EXPECT_LE(counts[value], 32) << axis << "=" << value;
    }
  }
}

TEST_F(GuidedSearchTest, ABudgetOfTrialsCountsNoConfigThatIsExcluded) {
  options_.strategy = Strategy::kExhaustive;
  options_.budgets.trials = 100;
  is_excluded_ = [&](const Config& config) { return At(config, "a") % 2 == 0; };
  start_.required = {configs_[80], configs_[100], configs_[500]};
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_EQ(runner_.ran.size(), 100u);
  EXPECT_EQ(std::set<std::string>(runner_.ran.begin(), runner_.ran.end()).size(), 100u) << "none twice";
  for (std::size_t place : {std::size_t{kBaseline}, std::size_t{80}, std::size_t{100}, std::size_t{500}}) {
    if (At(configs_[place], "a") % 2 == 0) continue;
    EXPECT_EQ(std::count(runner_.ran.begin(), runner_.ran.end(), configs_[place].ToString()), 1) << place;
  }
}

TEST_F(GuidedSearchTest, TheDeviceTimeOfTrialsDoesNotEndAnExhaustiveSearch) {
  options_.strategy = Strategy::kExhaustive;
  options_.budgets.wall = Budgets::Milliseconds(1e9);
  options_.budgets.gpu = Budgets::Milliseconds(0);
  int most = 0;
  options_.on_progress = [&](const SearchProgress& progress) {
    if (progress.stage != SearchProgress::Stage::kMeasure) return;
    EXPECT_EQ(progress.total, 512);
    most = std::max(most, progress.done);
  };
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_EQ(record->SearchedText(), "searched all 512");
  EXPECT_EQ(most, 512);
}

TEST_F(GuidedSearchTest, UnderABudgetAnExhaustiveSearchTriesWhatItPlannedBeforeItPlansMore) {
  options_.strategy = Strategy::kExhaustive;
  options_.budgets.wall = Budgets::Milliseconds(1e9);
  start_.required = {configs_[3], configs_[300], configs_[500]};
  int planned_before_a_trial = 0;
  options_.on_progress = [&](const SearchProgress& progress) {
    const bool is_first = progress.stage == SearchProgress::Stage::kMeasure && planned_before_a_trial == 0;
    if (is_first) planned_before_a_trial = num_planned_;
  };
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_GT(planned_before_a_trial, 0);
  EXPECT_LT(planned_before_a_trial, 300);
  EXPECT_EQ(record->SearchedText(), "searched all 512");
  EXPECT_TRUE(record->is_complete);
  EXPECT_EQ(num_planned_, 512);
  EXPECT_EQ(std::set<std::string>(runner_.ran.begin(), runner_.ran.end()).size(), runner_.ran.size()) << "each once";
}

TEST_F(GuidedSearchTest, ALongerExhaustiveSearchTriesWhatAShorterOneTriesAndMore) {
  options_.strategy = Strategy::kExhaustive;
  std::vector<std::string> before;
  for (int trials : {100, 300, 511}) {
    options_.budgets.trials = trials;
    Result<TuningRecord> record = Search();
    ASSERT_OK(record);
    EXPECT_EQ(record->SearchedText(), "searched " + std::to_string(trials) + " of 512");
    ASSERT_EQ(runner_.ran.size(), static_cast<std::size_t>(trials));
    EXPECT_TRUE(std::equal(before.begin(), before.end(), runner_.ran.begin()));
    before = runner_.ran;
  }
}

TEST_F(GuidedSearchTest, OfManyConfigsThatWereNotTriedOnlyTheNumberIsInTheRecord) {
  SearchSpace space;
  for (const char* name : {"a", "b", "c"}) space.AddAxis(name, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  configs_ = *space.Enumerate(Target());
  options_.strategy = Strategy::kExhaustive;
  options_.budgets.trials = 20;
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_EQ(record->SearchedText(), "searched 20 of 1,331");
  EXPECT_EQ(record->candidates.size(), 20u);
  EXPECT_FALSE(record->is_complete);
}

TEST_F(GuidedSearchTest, PlanningEndsWithTheTimeForCompiling) {
  options_.strategy = Strategy::kExhaustive;
  options_.budgets.wall = Budgets::Milliseconds(200);
  is_excluded_ = [](const Config&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return false;
  };
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_LT(num_planned_, 512 / 2) << "all would take 2.5 s";
  EXPECT_FALSE(record->is_complete);
}

TEST_F(GuidedSearchTest, DeviceTimeBoundsTheTrials) {
  options_.budgets.gpu =
      Budgets::Milliseconds(1);  // A trial takes 0.3 to 0.8 ms; ten times as much as the race may take is for trials.
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_FALSE(record->is_complete);
  EXPECT_LT(record->candidates.size(), 60u);
  EXPECT_GT(record->candidates.size(), 8u);
}

TEST_F(GuidedSearchTest, AFailureOfEveryConfigEndsTheSearchWithOneMessage) {
  content_of_ = [](const Config&) { return std::string("error"); };
  Result<TuningRecord> record = Search();
  ASSERT_FALSE(record.ok());
  const std::string& message = record.status().message();
  EXPECT_NE(message.find("all 16 candidates failed: compile: line 1: error ({a="), std::string::npos) << message;
  EXPECT_NE(message.find(" and 15 more)"), std::string::npos) << message;
}

TEST_F(GuidedSearchTest, FailuresDoNotEndASearchThatContinuesOneWithSuccesses) {
  has_baseline_ = false;
  runner_.wants_baseline = false;
  options_.budgets.trials = 20;
  Result<TuningRecord> first = Search();
  ASSERT_OK(first);
  start_.known = first->candidates;
  start_.required = {first->best.config};
  std::set<std::string> known;
  for (const CandidateOutcome& outcome : first->candidates) known.insert(outcome.config.ToString());
  content_of_ = [&](const Config& config) {
    return known.count(config.ToString()) > 0 ? config.ToString() : std::string("error");
  };
  options_.budgets.trials = 40;
  Result<TuningRecord> second = Search();
  ASSERT_OK(second);
  EXPECT_EQ(second->SearchedText(), "searched 60 of 512") << "40 new ones";
  EXPECT_FALSE(second->is_complete);
}

TEST_F(GuidedSearchTest, WithoutABaselineToCompareWithNothingMoreIsTried) {
  runner_.baseline_fails = true;
  Result<TuningRecord> record = Search();
  ASSERT_FALSE(record.ok());
  EXPECT_LE(num_planned_, 16) << "a batch, of 512";
  EXPECT_NE(record.status().message().find("not verified"), std::string::npos) << record.status().message();
}

TEST_F(GuidedSearchTest, TheTimeForCompilingIsThatOfAllBatches) {
  runner_.prepare_ms = 10;  // While others compile.
  options_.compile.total_timeout = std::chrono::milliseconds(200);
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_FALSE(record->is_complete);
  EXPECT_LT(record->candidates.size(), 60u);
}

TEST_F(GuidedSearchTest, FailuresThatDependOnTheConfigDoNotEndIt) {
  content_of_ = [](const Config& config) { return At(config, "a") < 4 ? "error" : config.ToString(); };
  start_.max_configs = 1;
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_LE(TimeOf(record->best.config), 120);
  EXPECT_LT(record->failures().size(), record->successes().size()) << "half of the space fails";
}

TEST_F(GuidedSearchTest, IfTheFastestFailsAfterTheRaceThoseThatWereTooSlowToRaceDo) {
  // One config is ten times as fast as the fastest correct one, and incorrect.
  content_of_ = [](const Config& config) { return config.ToString(); };
  faulty_ = configs_[500].ToString();
  start_.portfolio = {configs_[500]};
  runner_.wrong_later[faulty_] = 1;
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_LE(TimeOf(record->best.config), 120) << record->best.config.ToString();
  EXPECT_EQ(record->failures().size(), 1u);
}

TEST_F(GuidedSearchTest, ExcludedConfigsAreNoCandidates) {
  is_excluded_ = [](const Config& config) { return At(config, "c") == 6; };
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  for (const CandidateOutcome& outcome : record->candidates) EXPECT_NE(At(outcome.config, "c"), 6);
}

TEST_F(GuidedSearchTest, ThePortfolioIsInTheFirstBatch) {
  start_.portfolio = {configs_[500], configs_[3]};
  options_.budgets.trials = 8;
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  for (std::size_t config : {kBaseline, std::size_t{500}, std::size_t{3}}) {
    EXPECT_EQ(std::count(runner_.ran.begin(), runner_.ran.end(), configs_[config].ToString()), 1);
  }
}

/// Proposes the configs of a list, whatever was measured.
class ListedStrategy : public SearchStrategy {
 public:
  explicit ListedStrategy(std::vector<std::size_t> list) : list_(std::move(list)) {}
  Proposal Propose(const SearchHistory& history) const override {
    Proposal proposal;
    if (history.trials.empty()) proposal.configs = list_;
    proposal.expected_gain = 0.25;
    return proposal;
  }

 private:
  const std::vector<std::size_t> list_;
};

TEST_F(GuidedSearchTest, AHostsStrategyDecidesAndTheBaselineIsMeasuredAllTheSame) {
  options_.make_strategy = [](const StrategySpace& space) {
    EXPECT_EQ(space.num_configs(), 512u);
    EXPECT_EQ(space.axes.size(), 3u);
    return std::make_unique<ListedStrategy>(std::vector<std::size_t>{400, 401, 401, 99999});
  };
  std::string line;
  options_.on_progress = [&](const SearchProgress& progress) {
    if (progress.stage == SearchProgress::Stage::kMeasure) line = ProgressLine(progress);
  };
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_NE(line.find("tried 3/512, 25.0 % gain expected"), std::string::npos) << line;
  EXPECT_EQ(
      std::set<std::string>(runner_.ran.begin(), runner_.ran.end()),
      (std::set<std::string>{configs_[kBaseline].ToString(), configs_[400].ToString(), configs_[401].ToString()}));
  EXPECT_EQ(record->SearchedText(), "searched 3 of 512");
  EXPECT_EQ(
      std::count(record->notes.begin(), record->notes.end(),
                 "the strategy proposed 2 configs that do not exist or were proposed before: they were not tried"),
      1);
}

TEST_F(GuidedSearchTest, ASearchWhoseStrategyProposesNothingSaysSo) {
  std::vector<std::size_t> proposed;
  options_.make_strategy = [&](const StrategySpace&) { return std::make_unique<ListedStrategy>(proposed); };
  EXPECT_OK(Search());  // The baseline is measured.
  has_baseline_ = false;
  EXPECT_ERROR(Search(), StatusCode::kInternal,
               "no config was tried: the space has no baseline, and of its configs the search strategy proposed none");
  proposed = {512, 99999};
  EXPECT_ERROR(Search(), StatusCode::kInternal,
               "the search strategy proposed only configs that do not exist or were proposed before (2)");
}

TEST_F(GuidedSearchTest, AHostsStrategyThatProposesMoreThanABatchKeepsToTheTrials) {
  class Greedy final : public SearchStrategy {
   public:
    Proposal Propose(const SearchHistory& history) const override {
      Proposal proposal;
      for (std::size_t i = 0; i < 15; ++i) proposal.configs.push_back(100 + history.trials.size() + i);
      return proposal;
    }
  };
  options_.make_strategy = [](const StrategySpace&) { return std::make_unique<Greedy>(); };
  options_.budgets.trials = 20;
  Result<TuningRecord> record = Search();
  ASSERT_OK(record);
  EXPECT_EQ(record->SearchedText(), "searched 20 of 512");
}

TEST_F(GuidedSearchTest, KnownTimesAreKeptWhereTheListChangesAndOnlyNewConfigsAreTried) {
  const std::vector<Config> all = configs_;
  configs_.resize(90);
  start_.max_configs = 90;
  Result<TuningRecord> first = Search();
  ASSERT_OK(first);
  configs_.assign(all.begin() + 10, all.begin() + 92);  // Ten are gone, and two are new.
  configs_.insert(configs_.begin(), all[kBaseline]);
  configs_.erase(configs_.begin() + 1 + kBaseline - 10);
  std::vector<Config> with_baseline_at_its_index(configs_.begin() + 1, configs_.begin() + 1 + kBaseline);
  with_baseline_at_its_index.push_back(configs_.front());
  with_baseline_at_its_index.insert(with_baseline_at_its_index.end(), configs_.begin() + 1 + kBaseline, configs_.end());
  configs_ = with_baseline_at_its_index;
  ASSERT_EQ(configs_[kBaseline], all[kBaseline]);
  start_.known = first->candidates;
  start_.required = {first->best.config};
  Result<TuningRecord> second = Search();
  ASSERT_OK(second);
  EXPECT_EQ(std::set<std::string>(runner_.ran.begin(), runner_.ran.end()),
            (std::set<std::string>{all[kBaseline].ToString(), first->best.config.ToString(), all[90].ToString(),
                                   all[91].ToString()}));
  EXPECT_EQ(second->candidates.size(), 82u);
  EXPECT_EQ(second->SearchedText(), "searched all 82");
  EXPECT_TRUE(second->is_complete);
}

}  // namespace
}  // namespace tuneonce
