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
  enum class Stage {
    kCompile,  ///< Candidates are compiled.
    kMeasure,  ///< Each is run once, timed, and its outputs compared; on a GPU while others compile.
    kRace,     ///< Those that are right are timed, round by round.
    kDone,     ///< The search is over; nothing else is said.
  };

  Stage stage = Stage::kCompile;
  int done = 0;   ///< Candidates finished in this stage; in kRace those that have left it.
  int total = 0;  ///< Candidates of this stage.
  std::string kernel;
  std::string key;     ///< For which shape: "M<=64, x:float16"; empty for a search without dims.
  std::string config;  ///< The candidate just finished; empty in kRace.
  /// Worker processes that candidates ended so far (TuningCost::workers_replaced).
  int workers_replaced = 0;
  /// Of this stage, as its candidates took that are done; of kRace what its budgets leave it at most, since it ends
  /// when it is sure. Never beyond SearchOptions::wall_budget_ms. Nothing: not known.
  std::optional<double> seconds_left;
};

using ProgressCallback = std::function<void(const SearchProgress&)>;

/// "kernel key: compiled 3/12, 4 s left  {config}": one line, fit for a terminal.
TUNEONCE_API std::string ProgressLine(const SearchProgress& progress);

/// A progress line on stderr that redraws itself if stderr is a terminal; null if it is none. `before`: what it says
/// first, asked at each step: "3/40 " of a caller that has many searches made. Default: nothing.
TUNEONCE_API ProgressCallback TerminalProgress(std::function<std::string()> before = nullptr);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PROGRESS_H_
