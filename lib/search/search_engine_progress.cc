// The progress reports of a SearchEngine: stage, key, and remaining time.
#include <algorithm>
#include <chrono>

#include "base/callback.h"
#include "search/search_engine.h"
#include "tuneonce/search_options.h"

namespace tuneonce {
inline namespace v0 {

void SearchEngine::Tell(const SearchProgress& progress) const {
  CallbackScope scope;
  try {
    progress_(progress);
  } catch (...) {  // A display must not end a search.
  }
}

std::optional<double> SearchEngine::SecondsLeft(Clock::time_point began, double done, double total) const {
  if (done <= 0) return std::nullopt;
  double left = SecondsSince(began) / done * std::max(0.0, total - done);
  if (ends_ != Clock::time_point::max()) left = std::min(left, std::max(0.0, -SecondsSince(ends_)));
  return left;
}

void SearchEngine::Report(SearchProgress::Stage stage, int done, std::size_t total, const Config* config) const {
  if (!progress_) return;
  SearchProgress progress;
  progress.stage = stage;
  progress.done = done;
  progress.total = static_cast<int>(total);
  progress.kernel = result_.kernel;
  progress.key = key_;
  progress.workers_replaced = place_.Report().workers_replaced;
  if (config != nullptr) progress.config = config->ToString();
  const bool compiles = stage == SearchProgress::Stage::kCompile;
  if (stage != SearchProgress::Stage::kDone) {
    progress.seconds_left = SecondsLeft(compiles ? stage_began_ : preparing_began_, done, static_cast<double>(total));
  }
  Tell(progress);
}

void SearchEngine::ReportRound(const Race& race) const {
  if (!progress_) return;
  SearchProgress progress;
  progress.stage = SearchProgress::Stage::kRace;
  progress.total = static_cast<int>(racing_.size());
  for (std::size_t i = 0; i < racing_.size(); ++i) progress.done += race.IsRacing(i) ? 0 : 1;
  progress.kernel = result_.kernel;
  progress.key = key_;
  progress.workers_replaced = place_.Report().workers_replaced;
  // Whichever of its limits it comes to first, if it is not sure before.
  const double gpu_ms = result_.cost.gpu_seconds * 1000;
  const std::optional<double> limits[] = {
      SecondsLeft(race_began_, race.num_rounds(), options_.max_rounds),
      SecondsLeft(race_began_, race.spent_ms(), options_.gpu_budget_ms - gpu_ms),
      std::max(0.0, options_.race_budget_ms / 1000 - SecondsSince(race_began_)),
  };
  for (const std::optional<double>& limit : limits) {
    if (limit) progress.seconds_left = std::min(progress.seconds_left.value_or(*limit), *limit);
  }
  Tell(progress);
}

}  // namespace v0
}  // namespace tuneonce
