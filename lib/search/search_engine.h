#ifndef TUNEONCE_LIB_SEARCH_SEARCH_ENGINE_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_ENGINE_H_

#include <optional>
#include <string>
#include <vector>

#include "tuneonce/search/candidate_runner.h"
#include "tuneonce/search/exhaustive_search.h"

namespace tuneonce {

/// The search itself, once the candidates are known: compiles them, groups those with the same code, runs one of each
/// group, and chooses. It knows neither definitions' callbacks nor streams. Used on one thread.
class SearchEngine {
 public:
  /// `baseline`: the config that is to be beaten. All references outlive the engine.
  SearchEngine(std::string kernel, const Target& target, std::optional<Config> baseline, const SearchOptions& options,
               CandidateRunner& runner);

  /// Errors: every candidate failed (listing why), or the context was lost.
  Result<TuningResult> Run(std::vector<Candidate> candidates);

 private:
  void CompileAll(std::vector<Candidate>& candidates);
  /// Takes out of `candidates` those whose code and geometry another one has. The baseline represents its group.
  void TakeDuplicates(std::vector<Candidate>& candidates);
  Status MeasureAll(const std::vector<Candidate>& candidates);
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
  TuningResult result_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_ENGINE_H_
