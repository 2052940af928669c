#ifndef TUNEONCE_LIB_SEARCH_SEARCH_ENGINE_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_ENGINE_H_

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuneonce/search/candidate_runner.h"
#include "tuneonce/search/exhaustive_search.h"

namespace tuneonce {

/// The search itself, once the candidates are known: compiles them all at once, groups those with the same code, runs
/// one of each group, and chooses. On a GPU a group runs as soon as one of it is compiled; on the CPU device, whose
/// cores the compilers need, after the last. It knows neither definitions' callbacks nor streams. Used on one thread.
class SearchEngine {
 public:
  /// `baseline`: the config that is to be beaten. All references outlive the engine.
  SearchEngine(std::string kernel, const Target& target, std::optional<Config> baseline, const SearchOptions& options,
               CandidateRunner& runner);

  /// Errors: every candidate failed (listing why), or the context was lost.
  Result<TuningResult> Run(std::vector<PlannedConfig> planned);

 private:
  /// Candidates with the same code and geometry: they share one trial.
  struct Group {
    Candidate candidate;               ///< The first of them that was compiled: the one that runs.
    std::vector<std::size_t> members;  ///< Places in `planned_`.
    std::optional<TrialResult> trial;
  };

  Status CompileAndMeasure();
  /// Adds a compiled candidate to a group, or to the failures. Returns the group if it is new, else null.
  Group* Take(CompiledJob compiled, std::size_t index);
  Status Measure(Group& group);
  Status CheckCancelled() const;
  void Fail(std::size_t index, FailureKind kind, std::string message);
  /// Turns groups into successes, failures and duplicates, in the space's order. The baseline represents its group,
  /// else the earliest does.
  void Collect();
  void Choose();
  Status AllFailed() const;
  bool IsBaseline(const Config& config) const { return baseline_ && config == *baseline_; }
  void Report(SearchProgress::Stage stage, int done, std::size_t total, const Config* config) const;

  Target target_;
  std::optional<Config> baseline_;
  const SearchOptions& options_;
  const ToolchainSet& toolchains_;
  CandidateRunner& runner_;
  ProgressCallback progress_;
  std::vector<PlannedConfig> planned_;  // In the space's order.
  std::deque<Group> groups_;            // Addresses stay.
  std::map<std::size_t, Failure> failures_;
  std::map<std::size_t, std::vector<VariantFallback>> fallbacks_;
  int num_measured_ = 0;
  TuningResult result_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_ENGINE_H_
