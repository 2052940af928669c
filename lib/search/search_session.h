#ifndef TUNEONCE_LIB_SEARCH_SEARCH_SESSION_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_SESSION_H_

#include <memory>
#include <optional>
#include <utility>

#include "search/candidate_source.h"
#include "search/search_engine.h"
#include "search/search_plan.h"
#include "search/search_runner.h"
#include "tuneonce/search_options.h"
#include "tuneonce/stream.h"

namespace tuneonce {
inline namespace v0 {

/// What a search has of the device while it goes on: a stream, the runner of its trials with their memory, the engine.
/// It is opened for a whole search, or for as many parts of one as there are: copies of inputs, code that is loaded and
/// a worker serve all of them. Closing it waits for what the stream still does with the caller's tensors. Thread rule:
/// one thread.
class SearchSession {
 public:
  /// REQUIRES: `options` and what the plan points to outlive it. Errors: those of TrialTensors::CheckSizes and
  /// SearchRunner::Create.
  static Result<std::unique_ptr<SearchSession>> Open(SearchPlan plan, StreamView stream, const SearchOptions& options,
                                                     TrialMemory memory);
  ~SearchSession();
  SearchSession(const SearchSession&) = delete;
  SearchSession& operator=(const SearchSession&) = delete;

  /// SearchEngine::Run, once. REQUIRES: no part was run.
  Result<SearchOutcome> Run();
  /// SearchEngine::RunPart.
  Result<TuningResult> RunPart(CandidateSource& source, const SearchEngine::PartOptions& part);

 private:
  SearchSession(SearchPlan plan, TrialMemory memory, Stream stream)
      : plan_(std::move(plan)), memory_(std::move(memory)), stream_(std::move(stream)) {}
  /// What `run` returns. What others wrote is caught where it is called: what is left is ours, a lack of memory or
  /// threads.
  template <typename Function>
  auto Guarded(const Function& run) -> decltype(run());

  SearchPlan plan_;
  TrialMemory memory_;
  Stream stream_;
  std::unique_ptr<SearchRunner> runner_;
  std::optional<FinalistChecks> checks_;
  std::unique_ptr<SearchEngine> engine_;
  bool has_parts_ = false;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_SESSION_H_
