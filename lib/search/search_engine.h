#ifndef TUNEONCE_LIB_SEARCH_SEARCH_ENGINE_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_ENGINE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "compile/compile_pool.h"
#include "measure/race.h"
#include "search/candidate_runner.h"
#include "search/candidate_source.h"
#include "search/finalist_checks.h"
#include "search/search_call.h"
#include "tuneonce/progress.h"
#include "tuneonce/runtime.h"
#include "tuneonce/search_options.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
inline namespace v0 {

/// The search itself, once the candidates are known: compiles them all at once, groups those with the same code, loads
/// and checks one of each group, lets these race, and chooses. On a GPU a group is loaded and checked as soon as one of
/// it is compiled; on the CPU device, whose cores the compilers need, after the last. The race begins when all have
/// compiled or failed, so that it does not depend on how long compilers took. Those that leave it are unloaded; those
/// that are left at its end are checked again, and if one fails there the others race anew. What the host launches
/// itself takes the same way, but is not compiled, and equals nothing else. It knows neither
/// definitions' callbacks nor streams. Used on one thread.
class SearchEngine {
 public:
  /// `key`: for which shape, in progress reports. `baseline`: the config that is to be beaten. `measuring_lock`: the
  /// device's (DriverApi::measuring_lock), held for one round or one preparation at a time, so that searches that share
  /// a device do not time each other's kernels. All references outlive the engine.
  SearchEngine(std::string kernel, std::string key, const Target& target, std::optional<Config> baseline,
               const SearchOptions& options, CandidateRunner& runner, Mutex& measuring_lock);

  /// Verifies finalists where launches may differ from the call that is measured; null (default): they are verified on
  /// that call alone. Outlives the engine. Before Run.
  void VerifyBy(FinalistChecks* checks) { checks_ = checks; }
  /// Those that are not to be tried. Before Run.
  void LeaveOut(std::vector<KnownLethal> lethal) { lethal_ = std::move(lethal); }
  /// Errors: every candidate failed (listing why), or the context was lost.
  Result<SearchOutcome> Run(std::vector<PlannedConfig> planned);

  /// Instead of Run: a search of which this engine does parts, of these candidates.
  void BeginParts(std::vector<PlannedConfig> planned);
  struct PartOptions {
    int max_rounds = 300;       ///< At most SearchOptions::max_rounds.
    bool checks_again = false;  ///< Finalists are checked again, as at the end of Run.
    /// Of the baseline and all others: RaceOptions::tie. Empty: SearchOptions' margin, and the usual tie.
    std::optional<double> tie;
    double share_of_variance = 1;  ///< RaceOptions::share_of_variance.
    /// Asked between rounds, after the first few: true ends the race as it stands. May be null.
    std::function<bool()> enough = nullptr;
  };
  /// The candidates that `source` gives, each tried as soon as it is compiled, raced against each other: what became of
  /// them. There may be no best. What an earlier part compiled, loaded and checked is not compiled, loaded or checked
  /// again, and what failed there has failed. Costs are this part's. REQUIRES: BeginParts. Errors: the context was
  /// lost; Cancelled, after which there may be another part.
  Result<TuningResult> RunPart(CandidateSource& source, const PartOptions& part);

 private:
  using Clock = std::chrono::steady_clock;

  /// Candidates with the same code and geometry: they share one trial.
  struct Group {
    Candidate candidate;               ///< The first of them that was compiled: the one that runs.
    std::vector<std::size_t> members;  ///< Places in `planned_`.
    std::optional<PreparedTrial> prepared;
    bool is_loaded = false;  ///< Its trial can run.
    std::vector<double> samples_us;
    bool ties = true;
    bool is_finalist = false;  ///< It did not leave the race.
  };

  /// Candidates that are compiled together.
  struct Batch {
    std::vector<std::size_t> index_of;  ///< By job, its place in `planned_`.
    std::unique_ptr<CompilePool> pool;
  };

  /// From now on SearchOptions::wall_budget_ms counts.
  void Begin(std::vector<PlannedConfig> planned);
  /// A part, or all: all but the choice's code.
  Status Search(CandidateSource& source);
  /// Of the candidates that the source of this part gave.
  bool IsInPart(const Group& group) const;
  /// What became of it is known, or it shares a trial that there is: of an earlier part.
  bool IsTaken(std::size_t index) const;
  Status CompileAndPrepare(CandidateSource& source);
  /// Begins to compile what the source gives next, if it gives anything.
  std::optional<Batch> NextBatch(CandidateSource& source);
  /// Takes what compiles, as it comes.
  Status TakeAll(Batch& batch, int* done);
  std::optional<CompiledJob> NextOf(CompilePool& pool) const;
  /// What of `places` is to be compiled, and `index_of`, by job, its place in `planned_`. Takes what is not.
  std::vector<CompileJob> JobsToCompile(const std::vector<std::size_t>& places, std::vector<std::size_t>* index_of);
  CompileOptions OptionsToCompile() const;
  /// Adds a compiled candidate to a group, or to the failures.
  void Take(CompiledJob compiled, std::size_t index);
  /// Notes and logs once where the names of a C++ kernel's parameters suggest that it was declared with others.
  void WarnOfNames(const Candidate& candidate);
  /// Adds the candidate that a planned config came to to a group.
  void Take(std::size_t index, std::size_t alternative);
  /// Prepares every group that can be by now: the baseline's first, if the runner wants it so.
  Status PrepareGroups(bool all_compiled);
  Status Prepare(Group& group);
  /// True if it is not to be tried: its failure is known.
  bool IsLethal(Group& group);
  /// The same, and reports it.
  Status PrepareFirst(Group& group);
  /// True if the group is not to be tried any more, for the budget has ended; one is in any case.
  bool IsTooLateFor(const Group& group) const;
  void LeaveOutUnprepared();
  /// Races until what wins is found right again.
  Status Decide();
  /// `racing_` gets those that take part, in order of preference; what was unloaded is loaded again.
  Status EnterRace();
  /// Fills the groups' samples and chooses. False if times were lost, and are to be taken anew in another way.
  Result<bool> RunRace();
  Race MakeRace() const;
  /// Unloads those that left, but for the baseline, which may be needed yet.
  void UnloadLosers(const Race& race);
  void Unload(Group& group);
  /// True if all finalists, and the baseline, still compute the same.
  Result<bool> FinalistsAreRight();
  /// True if the winner and the baseline are correct in all runs of FinalistChecks; the runner-up too, or it has
  /// failed.
  Result<bool> FinalistsAreVerified();
  /// The runner-up of the race; in a search of parts, where other ranks' times count too, all that raced. Neither the
  /// winner nor the baseline.
  std::vector<Group*> RunnersUp() const;
  /// Takes what FinalistChecks found. True if it concerns the winner or the baseline.
  bool TakeFailures(const FinalistChecks::Failures& failures);
  /// A sample of each, in this order, the device locked.
  Result<std::vector<double>> Sample(const std::vector<std::size_t>& entrants);
  /// Lays what the samples took side by side into the trace, from when they began on.
  void TraceSamples(const std::vector<std::size_t>& entrants, const std::vector<double>& samples_us,
                    std::chrono::steady_clock::time_point began) const;
  /// One round: a sample of each entrant, 0 for those that fail.
  Result<std::vector<double>> SampleRound(const std::vector<std::size_t>& entrants);
  /// Winner against baseline alone: true if the winner kept its margin.
  Result<bool> WinnerKeepsMargin(std::size_t winner);
  bool RaceIsOverdue() const;
  Status CheckCancelled() const;
  void Fail(std::size_t index, FailureKind kind, std::string message, bool is_transient = false);
  /// Turns groups into successes, failures, duplicates and what was not measured, in the space's order. The baseline
  /// represents its group, else the earliest does.
  void Collect();
  void Conclude(const Race& race, std::size_t choice);
  Success SuccessOf(const Group& group) const;
  std::size_t Representative(const Group& group) const;
  void Choose();
  void AddCosts();
  Status AllFailed() const;
  /// Notes option axes whose values no candidate's compiler can tell apart.
  void NoteOptionsWithoutEffect();
  /// That candidates agree with each other and not with the reference: it may be incorrect. Empty: nothing of the kind.
  std::string LonelyReference() const;
  static double SecondsSince(Clock::time_point start);
  bool IsBaseline(const Config& config) const { return baseline_ && config == *baseline_; }
  bool HasBaseline(const Group& group) const;
  void Report(SearchProgress::Stage stage, int done, std::size_t total, const Config* config) const;
  void ReportRound(const Race& race) const;
  /// The device as it is now, into the trace too.
  std::optional<DeviceReading> ReadDevice();
  /// The same for the trace alone, where it is on and the last time is a while ago.
  void TraceDevice();
  /// Of a stage that began then, as its parts took that are done.
  std::optional<double> SecondsLeft(Clock::time_point began, double done, double total) const;
  /// Hands it to the callback, whose exceptions are dropped.
  void Tell(const SearchProgress& progress) const;

  const std::string key_;
  Target target_;
  std::optional<Config> baseline_;
  const SearchOptions& options_;
  const Runtime& runtime_;
  CandidateRunner& runner_;
  Mutex& measuring_lock_;
  ProgressCallback progress_;
  FinalistChecks* checks_ = nullptr;
  std::vector<KnownLethal> lethal_;
  std::vector<PlannedConfig> planned_;  // In the space's order.
  std::list<Group> groups_;             // Addresses stay, also when it is sorted: trials refer to their candidates.
  std::vector<Group*> racing_;          // Entrants of the race, the baseline first, then in the space's order.
  bool is_open_ = false;                // The runner is.
  bool is_in_parts_ = false;            // What is compiled is tried at once, and others choose.
  PartOptions part_;
  std::set<std::size_t> in_part_;     // Places in `planned_` that this part is about.
  std::int64_t launches_before_ = 0;  // The runner's, of earlier parts.
  int workers_replaced_before_ = 0;
  Group* winner_ = nullptr;
  Clock::time_point stage_began_;  // Compiling.
  Clock::time_point preparing_began_;
  Clock::time_point race_began_;
  Clock::time_point compiling_ends_ = Clock::time_point::max();  // But for one candidate.
  Clock::time_point ends_ = Clock::time_point::max();
  std::map<std::size_t, Failure> failures_;
  std::set<std::size_t> not_measured_;
  std::string why_not_tried_;  // Of one of them that the runner did not try.
  std::map<std::size_t, std::vector<VariantSubstitution>> substitutions_;
  struct TimingFailure {
    FailureKind kind;
    std::string message;
  };
  std::map<const Group*, TimingFailure> timing_failures_;
  int num_prepared_ = 0;
  Clock::time_point device_read_;
  TuningResult result_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_ENGINE_H_
