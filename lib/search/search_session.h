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

/// The device state of a search: a stream, the runner of its trials with their memory, and the engine. It lives for a
/// whole search or for all of its parts, which share copies of inputs, loaded code and a worker. The destructor waits
/// for work in the stream that uses the caller's tensors. Thread rule: one thread.
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
  /// Returns the result of `run`. User callbacks catch their own exceptions, so any other is from this library: a lack
  /// of memory or threads.
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
