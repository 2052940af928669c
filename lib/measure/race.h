#ifndef TUNEONCE_LIB_MEASURE_RACE_H_
#define TUNEONCE_LIB_MEASURE_RACE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

struct RaceOptions {
  /// Entrants within this share of the fastest one cannot be told apart: the most preferred of them wins, so that noise
  /// does not pick another winner on each run. Default 1 %.
  double tie = 0.01;
  /// The same for entrant 0: it wins unless another is faster by more than this. Default 1 %; a search with a baseline
  /// puts it first and sets its margin here.
  double first_tie = 0.01;
  /// The variance of what is decided by, as a share of that of this race's own rounds: below 1 where others race the same
  /// entrants at the same time, and all their rounds decide together. Default 1: it decides alone.
  double share_of_variance = 1;
  /// Rounds after the warm-up at most. Default 300: entrants whose samples spread by 4 % are then known to 0.3 % of
  /// each other.
  int max_rounds = 300;
  /// No round is begun once the samples add up to this. Default 500 ms.
  double budget_ms = 500;
  /// Decides the order within rounds. The same seed and samples give the same race. Default 1.
  std::uint64_t seed = 1;
};

/// Decides which candidate runs next, and when the fastest is known: the stopping rule of a search.
///
/// Entrants run in rounds, each once per round in random order, so that drift hits all alike, and are compared with the
/// leader by the log-ratios of samples of the same round. The first round warms up and is not counted. Entrants leave
/// once they are slower beyond doubt; the race ends when no further round is likely to change the choice.
///
/// A pure function of its input: no clock, no device. Thread rule: one thread.
class TUNEONCE_API Race {
 public:
  /// Entrants are 0 to num_entrants - 1, the most preferred first.
  explicit Race(std::size_t num_entrants, const RaceOptions& options = {});

  /// Instead of the first round: what one run of each entrant took, in microseconds, where all have run already.
  /// REQUIRES: no round was drawn; one positive value per entrant.
  void RecordWarmup(const std::vector<double>& samples_us);
  /// The entrants to run now, in this order; empty once the race is over.
  std::vector<std::size_t> NextRound();
  /// What the round just drawn gave, in its order, in microseconds. A value that is not positive and finite (a timer
  /// that failed, an entrant that crashed) disqualifies its entrant. REQUIRES: as many values as the round had
  /// entrants.
  void Record(const std::vector<double>& samples_us);

  /// Ends the race as it stands: somebody's time ran out.
  void Stop() { over_ = true; }

  /// The most preferred entrant within its tie of the fastest. Empty if all were disqualified.
  std::optional<std::size_t> Choice() const;
  /// True if the race ended because the choice was certain; false while it goes on, or if rounds or budget ran out.
  bool certain() const { return certain_; }
  /// False once the entrant left, as slower beyond doubt, or was disqualified: it does not run again.
  bool IsRacing(std::size_t entrant) const { return entrants_[entrant].racing; }
  /// False if the entrant is surely slower than the fastest by more than `tie`, or was disqualified. Two entrants that
  /// are the same are told apart in less than 1 % of races if samples spread by 8 % or less (race_test,
  /// replay_selection).
  bool Ties(std::size_t entrant) const;

  /// The entrant's samples in microseconds, without the warm-up.
  const std::vector<double>& samples_us(std::size_t entrant) const { return entrants_[entrant].samples_us; }
  /// Rounds recorded, without the warm-up.
  int num_rounds() const { return num_rounds_; }
  /// How much slower (above 0) or faster `entrant` was than `other`, as the mean log-ratio of the rounds that both ran;
  /// 0 if there is none.
  double LogRatio(std::size_t entrant, std::size_t other) const;
  /// All samples together, warm-up included.
  double spent_ms() const { return spent_ms_; }

 private:
  struct Entrant {
    double warmup_us = 0;
    std::vector<double> samples_us;  // Of every round until it left.
    bool racing = true;
    bool surely_slower = false;  // Known when it left.
  };
  /// How much slower than the leader an entrant is, as a log-ratio.
  struct Gap {
    double mean = 0;
    double standard_error = 0;

    /// By how many standard errors the gap is above `limit`.
    double Above(double limit) const { return (mean - limit) / standard_error; }
  };
  /// Those still racing, the leader's place among them, and everybody's gap to it.
  struct Standing {
    std::vector<std::size_t> racing;
    std::size_t leader = 0;
    std::vector<Gap> gaps;
  };

  std::vector<std::size_t> Racing() const;
  double TieOf(std::size_t entrant) const { return entrant == 0 ? options_.first_tie : options_.tie; }
  Standing CurrentStanding() const;
  std::vector<Gap> Gaps(const Standing& standing) const;
  /// Place of the choice in `standing.racing`.
  std::size_t ChoiceOf(const Standing& standing) const;
  bool IsCertain(const Standing& standing) const;
  void DropAfterFirstRound(const Standing& standing);
  void Judge();

  RaceOptions options_;
  std::mt19937_64 random_;
  std::vector<Entrant> entrants_;
  std::vector<std::size_t> round_;
  int num_rounds_ = -1;  // The first one warms up.
  double spent_ms_ = 0;
  bool over_ = false;
  bool certain_ = false;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_RACE_H_
