#ifndef TUNEONCE_LIB_SEARCH_SEARCH_RUNNER_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_RUNNER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/guarded_timer.h"
#include "search/in_process_runner.h"
#include "search/isolated_runner.h"
#include "search/search_call.h"
#include "tuneonce/search_options.h"

namespace tuneonce {
inline namespace v0 {

/// The runner of one search: in a worker or in this process, by SearchOptions::isolation and what is possible. Neither
/// copyable nor movable. Thread rule: one thread.
class SearchRunner {
 public:
  /// REQUIRES: `options`, `memory` and what `planned` points to outlive it; `stream` is private to the search. Errors:
  /// FailedPrecondition, ResourceExhausted or Unavailable, why it cannot be isolated if that is required.
  static Result<std::unique_ptr<SearchRunner>> Create(const std::vector<PlannedConfig>& planned, StreamView stream,
                                                      const SearchOptions& options, TrialMemory& memory,
                                                      bool has_baseline);
  SearchRunner(const SearchRunner&) = delete;
  SearchRunner& operator=(const SearchRunner&) = delete;

  CandidateRunner& get() { return *runner_; }
  /// After the search. An error says, too, which of the caller's tensors were damaged.
  Result<SearchOutcome> Finish(Result<SearchOutcome> outcome);

 private:
  explicit SearchRunner(const SearchOptions& options);

  SearchOptions options_;  // With a timer that is guarded.
  std::optional<GuardedTimer> timer_;
  std::unique_ptr<CandidateRunner> runner_;
  InProcessRunner* in_process_ = nullptr;  // What `runner_` is: one of them.
  IsolatedRunner* isolated_ = nullptr;
  std::string note_;  // What the user should know of where candidates ran. Empty: nothing.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_RUNNER_H_
