#ifndef TUNEONCE_PROGRESS_H_
#define TUNEONCE_PROGRESS_H_

#include <functional>
#include <string>

#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

/// One step of a search, for a host's own display.
struct SearchProgress {
  enum class Stage { kCompile, kMeasure, kDone };

  Stage stage = Stage::kCompile;
  int done = 0;   ///< Candidates finished in this stage.
  int total = 0;  ///< Candidates of this stage.
  std::string kernel;
  std::string config;  ///< The candidate just finished.
};

using ProgressCallback = std::function<void(const SearchProgress&)>;

/// A progress line on stderr that redraws itself if stderr is a terminal; null if it is none.
TUNEONCE_API ProgressCallback TerminalProgress();

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PROGRESS_H_
