#ifndef TUNEONCE_LIB_SEARCH_SEARCH_PROGRESS_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_PROGRESS_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "measure/race.h"
#include "search/candidate_runner.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

/// Reports how far a search is: by SearchOptions::on_progress, or else on a terminal. Thread rule: one thread.
class SearchProgressReports {
 public:
  using Clock = std::chrono::steady_clock;

  /// `key`: for which shape. REQUIRES: `options` and `place` outlive the object.
  SearchProgressReports(std::string kernel, std::string key, const SearchOptions& options, const TrialPlace& place);

  /// The search ends at this time.
  void EndAt(Clock::time_point end) { ends_ = end; }
  /// The search tries an unknown part of this many configs.
  void SampleFrom(std::size_t num_configs) { num_configs_ = num_configs; }
  /// Sets SearchProgress::expected_gain of the next reports.
  void Expect(std::optional<double> gain) { expected_gain_ = gain; }
  /// A stage begins now. Its remaining time is estimated from its finished parts.
  void Begin(SearchProgress::Stage stage);
  void Report(SearchProgress::Stage stage, int done, std::size_t total, const Config* config) const;
  /// Reports a round of a race of `entrants`. `gpu_seconds`: what the search spent on the device before this race.
  void ReportRound(const Race& race, std::size_t entrants, double gpu_seconds) const;

 private:
  /// Estimates the rest of a stage that began at `began` from its finished parts.
  std::optional<double> SecondsLeft(Clock::time_point began, double done, double total) const;
  SearchProgress Make(SearchProgress::Stage stage, int done, std::size_t total) const;
  /// Calls the callback, whose exceptions are dropped.
  void Tell(const SearchProgress& progress) const;

  const std::string kernel_, key_;
  const SearchOptions& options_;
  const TrialPlace& place_;
  ProgressCallback progress_;
  Clock::time_point compiling_began_ = Clock::now(), preparing_began_ = compiling_began_,
                    race_began_ = compiling_began_;
  Clock::time_point ends_ = Clock::time_point::max();
  std::size_t num_configs_ = 0;  // 0: all are tried.
  std::optional<double> expected_gain_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_PROGRESS_H_
