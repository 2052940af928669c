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
#include "shared/compile_pool.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Candidates with the same code and geometry: they share one trial.
struct CandidateGroup {
  Candidate candidate;               ///< The first of them that was compiled: the one that runs.
  std::vector<std::size_t> members;  ///< Places in the list of planned configs.
  std::optional<PreparedTrial> prepared;
  bool is_loaded = false;  ///< Its trial can run.
  std::vector<double> samples_us;
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
  void Plan(std::vector<PlannedConfig> planned, std::vector<Dims> dims);
  std::size_t num_planned() const { return planned_.size(); }
  const Config& config(std::size_t index) const { return planned_[index].config; }

  /// Returns the jobs to compile, and sets `index_of` to each job's index in the list of planned configs. Takes
  /// candidates that need no compiling. All jobs but one end at `deadline`.
  std::vector<CompileJob> JobsToCompile(std::chrono::steady_clock::time_point deadline,
                                        std::vector<std::size_t>* index_of);
  /// Adds a compiled candidate to a group, or to the failures.
  void Take(CompiledJob compiled, std::size_t index);
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
  /// Fills the record's candidates. The baseline represents its group, or else the earliest candidate does.
  void Collect(TuningRecord* record);
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
  std::size_t Representative(const CandidateGroup& group) const;

  const std::string kernel_;
  const std::optional<Config> baseline_;
  const Runtime& runtime_;
  std::vector<PlannedConfig> planned_;  // In the space's order.
  std::vector<Dims> dims_;
  std::list<CandidateGroup> groups_;
  std::map<std::size_t, CandidateOutcome> failures_;
  std::set<std::size_t> not_measured_;
  std::string why_not_tried_;
  std::map<std::size_t, std::string> built_by_;  // The variant that built each planned config, if one did.
  std::vector<std::string> notes_;
  int num_compiled_ = 0;
  double compile_seconds_ = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CANDIDATE_GROUPS_H_
