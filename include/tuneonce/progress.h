#ifndef TUNEONCE_PROGRESS_H_
#define TUNEONCE_PROGRESS_H_

#include <functional>
#include <optional>
#include <string>

#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

/// One step of a search, for a host's own display.
struct SearchProgress {
  /// The stages of a search, in order.
  enum class Stage {
    kCompile,  ///< Candidates are compiled.
    /// Each candidate runs once, is timed, and its outputs are compared. On a GPU, other candidates are compiled
    /// meanwhile.
    kMeasure,
    kRace,  ///< The correct candidates are timed, round by round.
    kDone,  ///< The search is over. No further step follows.
  };

  Stage stage = Stage::kCompile;
  /// Number of candidates finished in this stage. In kRace, number of candidates that were eliminated.
  int done = 0;
  int total = 0;  ///< Number of candidates of this stage.
  /// The definition's name.
  std::string kernel;
  std::string key;     ///< The key that is tuned: "M<=64, x:float16". Empty in a search without dims.
  std::string config;  ///< The candidate that was just finished. Empty in kRace.
  /// Number of worker processes that the search has lost so far (TuningCost::workers_replaced).
  int workers_replaced = 0;
  /// Estimated time until this stage ends, in seconds, from its finished candidates. For kRace it is the most that the
  /// budgets of the race allow, because the race ends earlier when the result is conclusive. Never beyond
  /// SearchOptions::wall_budget_ms. Empty: unknown.
  std::optional<double> seconds_left;
};

/// Receives the steps of a search, on the thread that searches.
using ProgressCallback = std::function<void(const SearchProgress&)>;

/// Returns a step as one line of text for a terminal: "kernel key: compiled 3/12, 4 s left  {config}".
TUNEONCE_API std::string ProgressLine(const SearchProgress& progress);

/// Returns a callback that draws a progress line on stderr, or null if stderr is not a terminal. `before` is called at
/// each step and returns the beginning of the line, for example "3/40 " in a program that makes many searches. Null
/// (default): the line has no such beginning.
TUNEONCE_API ProgressCallback TerminalProgress(std::function<std::string()> before = nullptr);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PROGRESS_H_
