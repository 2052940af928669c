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
    kMeasure,  ///< Each candidate runs once, is timed, and its outputs are compared. On a GPU others compile meanwhile.
    kRace,     ///< The correct candidates are timed, round by round.
    kDone,     ///< The search is over. No further step follows.
  };

  Stage stage = Stage::kCompile;
  int done = 0;   ///< Candidates finished in this stage. In kRace, those that were eliminated.
  int total = 0;  ///< Number of candidates of this stage.
  /// The definition's name.
  std::string kernel;
  std::string key;     ///< The key that is tuned: "M<=64, x:float16". Empty in a search without dims.
  std::string config;  ///< The candidate that was just finished. Empty in kRace.
  /// Number of worker processes that candidates ended so far (TuningCost::workers_replaced).
  int workers_replaced = 0;
  /// Estimate for the rest of this stage, from its finished candidates. For kRace it is what its budgets allow at most,
  /// because the race ends earlier when the result is conclusive. Never beyond SearchOptions::wall_budget_ms. Empty:
  /// unknown.
  std::optional<double> seconds_left;
};

/// Receives the steps of a search, on the thread that searches.
using ProgressCallback = std::function<void(const SearchProgress&)>;

/// Prints a step as one line for a terminal: "kernel key: compiled 3/12, 4 s left  {config}".
TUNEONCE_API std::string ProgressLine(const SearchProgress& progress);

/// Returns a callback that draws a progress line on stderr, or null if stderr is not a terminal. `before` is called at
/// each step and returns the beginning of the line, for example "3/40 " in a program that makes many searches. Default:
/// none.
TUNEONCE_API ProgressCallback TerminalProgress(std::function<std::string()> before = nullptr);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PROGRESS_H_
