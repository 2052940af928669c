#ifndef TUNEONCE_LIB_SEARCH_CANDIDATE_GROUPS_H_
#define TUNEONCE_LIB_SEARCH_CANDIDATE_GROUPS_H_

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "search/candidate_runner.h"
#include "search/config_planner.h"
#include "shared/compile_pool.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Candidates with the same code and geometry: they share one trial.
struct CandidateGroup {
  Candidate candidate;               ///< The first of them that was compiled: the one that runs.
  std::vector<std::size_t> members;  ///< Indices of configs.
  std::optional<PreparedTrial> prepared;
  bool is_loaded = false;  ///< Its trial can run.
  /// The first samples, of which a strategy learns. Empty in an exhaustive search, where every group races.
  std::vector<double> trial_us;
  std::vector<double> samples_us;  ///< Samples of the race.
  bool ties = true;
  bool is_finalist = false;  ///< It was not eliminated from the race.
  std::optional<double> energy_mj;
  /// Why its trial could not be timed.
  std::optional<CandidateOutcome> timing_failure;
};

/// The configs of a search and what became of each: from planned configs to compiled candidates, grouped by equal code
/// and launch, and to the outcomes of a record. Thread rule: one thread.
class CandidateGroups {
 public:
  /// `kernel`: its name, for messages. `baseline`: the config that is to be beaten. `runtime` outlives the object.
  CandidateGroups(std::string kernel, std::optional<Config> baseline, const Runtime& runtime)
      : kernel_(std::move(kernel)), baseline_(std::move(baseline)), runtime_(runtime) {}

  /// `dims`: at which else candidates of one group must launch alike.
  void Begin(ConfigPlanner planner, std::vector<Dims> dims);
  /// Plans a config. Returns whether it is a candidate. Errors: those of ConfigPlanner::Plan.
  Result<bool> Plan(std::size_t index) { return planner_.Plan(index); }
  const std::vector<Config>& configs() const { return planner_.configs(); }
  const Config& config(std::size_t index) const { return planner_.configs()[index]; }
  std::size_t num_planned() const { return planner_.planned().size(); }
  bool IsExcluded(std::size_t index) const { return planner_.IsExcluded(index); }
  /// ConfigPlanner::refusal.
  const std::string& refusal() const { return planner_.refusal(); }
  /// Keeps the outcome that an earlier search had for a config, unless this search tries it.
  void Keep(std::size_t index, CandidateOutcome outcome) { kept_.insert_or_assign(index, std::move(outcome)); }

  /// Returns the jobs to compile for these configs, which are planned, in their order, and sets `index_of` to each
  /// job's config. Takes candidates that need no compiling. All jobs end at `deadline`, except that of the baseline, or
  /// without one the first job of a search that has no candidate to measure.
  std::vector<CompileJob> JobsToCompile(const std::vector<std::size_t>& batch,
                                        std::chrono::steady_clock::time_point deadline,
                                        std::vector<std::size_t>* index_of);
  /// Adds a compiled candidate to a group, or to the failures.
  void Take(CompiledJob compiled, std::size_t index);
  /// Notes that these configs could not be tried any more.
  void LeaveOut(const std::vector<std::size_t>& configs) { not_measured_.insert(configs.begin(), configs.end()); }
  void SortByPlace();
  /// Removes the groups that were not prepared or not tried: their configs were not measured.
  void LeaveOutUnprepared();

  /// Addresses stay, because trials refer to their candidates.
  std::list<CandidateGroup>& groups() { return groups_; }
  const std::list<CandidateGroup>& groups() const { return groups_; }
  const std::optional<Config>& baseline() const { return baseline_; }
  bool IsBaseline(const Config& config) const { return baseline_ && config == *baseline_; }
  bool HasBaseline(const CandidateGroup& group) const;

  /// The outcome of a group that was measured.
  CandidateOutcome OutcomeOf(const CandidateGroup& group) const;
  /// What became of a config: its failure, or that it was not measured yet, or its group's first samples.
  struct Trial {
    OutcomeKind kind = OutcomeKind::kNotMeasured;
    double time_us = 0;  ///< The least sample. Valid if `kind` is kMeasured.
    double compile_ms = 0;
    std::string failure;  ///< The message of a failure.
  };
  Trial TrialOf(std::size_t index) const;
  /// Fills the record's candidates. The baseline represents its group, or else the earliest candidate does.
  /// `lists_untried`: whether the configs that were not tried are among them, unless there are many.
  void Collect(bool lists_untried, TuningRecord* record);
  /// Returns notes about the declared parameters, one line each.
  const std::vector<std::string>& notes() const { return notes_; }
  std::size_t num_not_measured() const { return not_measured_.size(); }
  /// Returns why the runner did not try one of the candidates. Empty if it tried all of them.
  const std::string& why_not_tried() const { return why_not_tried_; }
  int num_compiled() const { return num_compiled_; }
  double compile_seconds() const { return compile_seconds_; }

 private:
  /// Adds the candidate that a planned config came to to a group.
  void Take(std::size_t index, std::size_t alternative);
  /// Notes and logs once where the names of a C++ kernel's parameters suggest that it was declared with others.
  void WarnOfNames(const Candidate& candidate);
  void Fail(std::size_t index, OutcomeKind kind, std::string message, bool is_transient = false);
  /// Adds the outcome of a planned config to the record's candidates.
  void AddOutcome(std::size_t index, CandidateOutcome outcome, TuningRecord* record) const;
  /// Adds the earlier outcomes of configs that this search did not try.
  void AddKept(OutcomeKind first, OutcomeKind last, TuningRecord* record) const;
  bool WasTried(std::size_t index) const {
    return not_measured_.count(index) == 0 && (failures_.count(index) > 0 || built_by_.count(index) > 0);
  }
  std::size_t Representative(const CandidateGroup& group) const;

  const std::string kernel_;
  const std::optional<Config> baseline_;
  const Runtime& runtime_;
  ConfigPlanner planner_;
  std::vector<Dims> dims_;
  std::list<CandidateGroup> groups_;
  std::map<std::size_t, CandidateOutcome> failures_;
  std::set<std::size_t> not_measured_;
  std::map<std::size_t, CandidateOutcome> kept_;
  std::string why_not_tried_;
  std::map<std::size_t, std::string> built_by_;  // The variant that built each planned config, if one did.
  std::vector<std::string> notes_;
  int num_compiled_ = 0;
  double compile_seconds_ = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CANDIDATE_GROUPS_H_
