#include "search/search_progress.h"

#include <algorithm>
#include <utility>

#include "base/callback.h"

namespace tuneonce {
inline namespace v0 {
namespace {

double SecondsSince(SearchProgressReports::Clock::time_point start) {
  return std::chrono::duration<double>(SearchProgressReports::Clock::now() - start).count();
}

}  // namespace

SearchProgressReports::SearchProgressReports(std::string kernel, std::string key, const SearchOptions& options,
                                             const TrialPlace& place)
    : kernel_(std::move(kernel)),
      key_(std::move(key)),
      options_(options),
      place_(place),
      progress_(options.on_progress) {
  if (!progress_ && !options.quiet) progress_ = TerminalProgress();
}

void SearchProgressReports::Begin(SearchProgress::Stage stage) {
  const Clock::time_point now = Clock::now();
  if (stage == SearchProgress::Stage::kCompile) compiling_began_ = preparing_began_ = race_began_ = now;
  if (stage == SearchProgress::Stage::kMeasure) preparing_began_ = now;
  if (stage == SearchProgress::Stage::kRace) race_began_ = now;
}

void SearchProgressReports::Tell(const SearchProgress& progress) const {
  CallbackScope scope;
  try {
    progress_(progress);
  } catch (...) {  // A display must not end a search.
  }
}

std::optional<double> SearchProgressReports::SecondsLeft(Clock::time_point began, double done, double total) const {
  if (done <= 0) return std::nullopt;
  double left = SecondsSince(began) / done * std::max(0.0, total - done);
  if (ends_ != Clock::time_point::max()) left = std::min(left, std::max(0.0, -SecondsSince(ends_)));
  return left;
}

SearchProgress SearchProgressReports::Make(SearchProgress::Stage stage, int done, std::size_t total) const {
  SearchProgress progress;
  progress.stage = stage;
  progress.done = done;
  progress.total = static_cast<int>(total);
  progress.kernel = kernel_;
  progress.key = key_;
  progress.workers_replaced = place_.Report().workers_replaced;
  return progress;
}

void SearchProgressReports::Report(SearchProgress::Stage stage, int done, std::size_t total,
                                   const Config* config) const {
  if (!progress_) return;
  SearchProgress progress = Make(stage, done, total);
  if (config != nullptr) progress.config = config->ToString();
  const bool compiles = stage == SearchProgress::Stage::kCompile;
  if (stage != SearchProgress::Stage::kDone) {
    progress.seconds_left =
        SecondsLeft(compiles ? compiling_began_ : preparing_began_, done, static_cast<double>(total));
  }
  Tell(progress);
}

void SearchProgressReports::ReportRound(const Race& race, std::size_t entrants, double gpu_seconds) const {
  if (!progress_) return;
  SearchProgress progress = Make(SearchProgress::Stage::kRace, 0, entrants);
  for (std::size_t i = 0; i < entrants; ++i) progress.done += race.IsRacing(i) ? 0 : 1;
  // The limit that it reaches first, unless it is conclusive before.
  const std::optional<double> limits[] = {
      SecondsLeft(race_began_, race.num_rounds(), options_.max_rounds),
      SecondsLeft(race_began_, race.spent_ms(), options_.gpu_budget_ms - gpu_seconds * 1000),
      std::max(0.0, options_.race_budget_ms / 1000 - SecondsSince(race_began_)),
  };
  for (const std::optional<double>& limit : limits) {
    if (limit) progress.seconds_left = std::min(progress.seconds_left.value_or(*limit), *limit);
  }
  Tell(progress);
}

}  // namespace v0
}  // namespace tuneonce
