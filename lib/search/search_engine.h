#ifndef TUNEONCE_LIB_SEARCH_SEARCH_ENGINE_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_ENGINE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "measure/race.h"
#include "search/candidate_groups.h"
#include "search/candidate_runner.h"
#include "search/config_places.h"
#include "search/config_planner.h"
#include "search/finalist_checks.h"
#include "search/search_call.h"
#include "search/search_progress.h"
#include "search/strategy_run.h"
#include "shared/compile_pool.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// The search itself, after the candidates are known.
///
/// 1. The strategy proposes a batch of configs, which are planned and compiled. An exhaustive search has one batch, or
///    under a budget several of at most 256 configs. Candidates with the same code and launch form a group, of which
///    one is tried.
/// 2. A group is loaded, run and verified. On a GPU this begins as soon as one of the group is compiled; on the CPU
///    device, whose cores the compilers need, after the batch's last compile. The strategy learns the outcomes, and
///    proposes the next batch, until it expects too little or a budget is used up.
/// 3. The correct groups race (Race). The race begins when all candidates have compiled or failed, so that its result
///    does not depend on how long compilers took. Of a search that is not exhaustive, the fastest groups race. Groups
///    that are eliminated are unloaded.
/// 4. The finalists are verified again. If one fails, the others race again.
///
/// A launcher of the host's takes the same steps without compiling, and equals no other candidate. The engine does not
/// know the definition's callbacks and streams. Thread rule: one thread.
class SearchEngine {
 public:
  /// `key`: for which shape, in progress reports. `baseline`: the config that is to be beaten. `measuring_lock`: the
  /// device's (DriverApi::measuring_lock), held for one round or one preparation at a time, so that searches that share
  /// a device do not time each other's kernels. All references outlive the engine.
  SearchEngine(std::string kernel, std::string key, const Target& target, std::optional<Config> baseline,
               const SearchOptions& options, TrialPlace& place, Mutex& measuring_lock);

  /// Verifies finalists where launches may differ from the call that is measured; null (default): they are verified on
  /// that call alone. Outlives the engine. Before Run.
  void VerifyBy(FinalistChecks* checks) { checks_ = checks; }
  /// Sets the candidates that are not tried, before Run.
  void LeaveOut(std::vector<KnownFatal> fatal) { fatal_ = std::move(fatal); }
  /// What a search starts from besides its configs.
  struct Start {
    /// When the search began, from when on Budgets::wall counts. Default: Run.
    std::optional<std::chrono::steady_clock::time_point> began = {};
    /// Up to how many configs Strategy::kAutomatic tries all. Default: any number.
    std::size_t max_configs = std::numeric_limits<std::size_t>::max();
    /// Outcomes of an earlier search for the same key. Their configs are not tried again.
    std::vector<CandidateOutcome> known = {};
    /// Configs that are tried and race in any case, although their outcome may be known: what the earlier search
    /// selected, and the baselines of other problems, which finalists are compared with at other extents.
    std::vector<Config> required = {};
    /// Configs that were fast elsewhere, the best one first.
    std::vector<Config> portfolio = {};
  };
  /// Errors: every candidate failed (listing why), or the context was lost; FailedPrecondition if none of the configs
  /// is a candidate; those of the planner.
  Result<SearchOutcome> Run(ConfigPlanner planner, Start start);
  Result<SearchOutcome> Run(ConfigPlanner planner) { return Run(std::move(planner), Start()); }

 private:
  using Clock = std::chrono::steady_clock;

  void Begin(ConfigPlanner planner, Start start);
  /// Keeps what an earlier search measured for the record, and returns it for the strategy.
  std::vector<StrategyTrial> Remember(const ConfigPlaces& places, const Start& start);
  /// Does everything but loading the selected config's code.
  Status Search();
  /// Tries batches of configs until the strategy or a budget ends it.
  Status TryBatches();
  /// Returns the next configs to try. Empty: none, for the strategy or a budget ends it.
  std::vector<std::size_t> NextBatch();
  /// Plans the batch, and removes excluded configs and those for which no time is left.
  Status PlanBatch(std::vector<std::size_t>* batch);
  /// Compiles the batch's candidates and prepares them as they are compiled.
  Status CompileAndPrepare(const std::vector<std::size_t>& batch);
  /// Tells the strategy what became of the batch. Returns false if some of it was not measured, or if it is certain
  /// that every config would fail: the search ends.
  bool TellStrategy(const std::vector<std::size_t>& batch);
  /// Samples a prepared group for the strategy. Errors: the context was lost.
  Status SampleTrial(CandidateGroup& group);
  /// Sets `most_racing_us_` by the groups that have not failed.
  void LimitRace();
  /// Unloads groups that are too slow to race, so that memory does not grow with the search.
  void UnloadSlow();
  /// Returns whether a group that was tried races: in an exhaustive search each, else the fastest.
  bool MayRace(const CandidateGroup& group) const;
  bool IsRequired(const CandidateGroup& group) const;
  std::optional<CompiledJob> NextOf(CompilePool& pool) const;
  /// What is left of CompileOptions::total_timeout after the batches so far. It may be negative.
  std::chrono::milliseconds CompilingTimeLeft() const;
  CompileOptions OptionsToCompile() const;
  /// Prepares every group that can be by now: the baseline's first, if the runner wants it so.
  Status PrepareGroups(bool all_compiled);
  Status Prepare(CandidateGroup& group);
  /// True if it is not to be tried: its failure is known.
  bool IsFatal(CandidateGroup& group);
  /// Prepares the first trial of a group and reports it.
  Status PrepareFirst(CandidateGroup& group);
  bool IsSampled() const { return !run_->is_exhaustive(); }
  /// True if the group is not to be tried any more, for the budget has ended; one is in any case.
  bool IsTooLateFor(const CandidateGroup& group) const;
  /// Races until what wins is found right again.
  Status Decide();
  /// Fills `racing_` in order of preference, and loads unloaded code again.
  Status EnterRace();
  /// Fills the groups' samples and selects the winner. Returns false if times were lost and must be measured again by
  /// another timer.
  Result<bool> RunRace();
  Race MakeRace() const;
  /// Unloads those that left, but for the baseline, which may be needed yet.
  void UnloadLosers(const Race& race);
  void Unload(CandidateGroup& group);
  /// True if all finalists, and the baseline, still compute the same.
  Result<bool> FinalistsAreRight();
  /// True if the winner and the baseline are correct in all runs of FinalistChecks; the runner-up too, or it has
  /// failed.
  Result<bool> FinalistsAreVerified();
  /// Returns the fastest group of the race besides the winner and the baseline, or null.
  CandidateGroup* RunnerUp() const;
  /// Takes what FinalistChecks found. True if it concerns the winner or the baseline.
  bool TakeFailures(const FinalistChecks::Failures& failures);
  /// A sample of each, in this order, the device locked.
  Result<std::vector<double>> Sample(const std::vector<std::size_t>& entrants);
  /// Lays what the samples took side by side into the trace, from when they began on.
  void TraceSamples(const std::vector<std::size_t>& entrants, const std::vector<double>& samples_us,
                    std::chrono::steady_clock::time_point began) const;
  /// Takes one sample of each entrant, which is 0 for an entrant that failed.
  Result<std::vector<double>> SampleRound(const std::vector<std::size_t>& entrants);
  /// Winner against baseline alone: true if the winner kept its margin.
  Result<bool> WinnerKeepsMargin(std::size_t winner);
  bool RaceIsOverdue() const;
  /// Measures the energy of a launch of each finalist, if the options ask for it.
  Status MeasureEnergy();
  /// The energy of a launch in millijoules, from the device's counter before and after a burst. Empty if it is unknown,
  /// or the burst failed. Errors: the context was lost; Cancelled.
  Result<std::optional<double>> EnergyOf(const CandidateGroup& group);
  Status CheckCancelled() const;
  void Conclude(const Race& race, std::size_t selection);
  void Choose();
  /// What decided for the selected config.
  SelectionReason Reason() const;
  /// The device's state after the race, with the throttle reasons of before it.
  static DeviceConditions ConditionsOf(const std::optional<DeviceReading>& before,
                                       const std::optional<DeviceReading>& after);
  void AddCosts();
  Status AllFailed() const;
  /// Notes option axes whose values no candidate's compiler can tell apart.
  void NoteOptionsWithoutEffect();
  /// That candidates agree with each other and not with the reference: it may be incorrect. Empty: nothing of the kind.
  std::string LonelyReference() const;
  static double SecondsSince(Clock::time_point start);
  /// The device as it is now, into the trace too.
  std::optional<DeviceReading> ReadDevice();
  /// Reads the device's state during the race, if the last reading is old enough.
  void WatchDevice();

  const Target target_;
  const SearchOptions& options_;
  const Runtime& runtime_;
  TrialPlace& place_;
  Mutex& measuring_lock_;
  SearchProgressReports progress_;
  CandidateGroups groups_;
  std::optional<StrategyRun> run_;
  std::optional<std::size_t> baseline_index_;
  std::set<std::size_t> required_;       // Start::required.
  std::set<std::size_t> begun_;          // The baseline and the required ones, as far as they were in the first batch.
  std::set<std::size_t> known_;          // Configs whose outcomes an earlier search left.
  std::set<std::size_t> repeated_;       // The baseline and required configs that an earlier search tried.
  std::size_t num_trials_ = 0;           // Configs that this search compiled or ran, without the repeated ones.
  std::set<std::string> failure_texts_;  // While nothing else came of a trial: the messages of failures.
  bool has_success_ = false;             // Some candidate was measured.
  bool was_cut_short_ = false;           // A budget ended the trials, not the strategy.
  double trial_gpu_ms_ = 0;
  Clock::duration compiling_took_{0};  // While batches were compiled, and measured as far as that goes on meanwhile.
  double most_racing_us_ = 0;          // In a search that is not exhaustive: a slower trial does not race.
  FinalistChecks* checks_ = nullptr;
  std::vector<KnownFatal> fatal_;
  std::vector<CandidateGroup*> racing_;  // Entrants of the race, the baseline first, then in the space's order.
  bool is_open_ = false;                 // The runner is.
  CandidateGroup* winner_ = nullptr;
  Clock::time_point stage_began_;  // Compiling.
  Clock::time_point race_began_;
  Clock::time_point compiling_ends_ = Clock::time_point::max();  // But for one candidate.
  Clock::time_point ends_ = Clock::time_point::max();
  bool has_begun_ = false;  // The first batch was proposed.
  int num_prepared_ = 0;
  int num_compiled_ = 0;
  Clock::time_point device_read_;
  std::vector<double> race_clocks_mhz_;  // The SM clock of each reading of the race.
  TuningRecord record_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_ENGINE_H_
