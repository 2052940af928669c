#ifndef TUNEONCE_LIB_MEASURE_RACE_H_
#define TUNEONCE_LIB_MEASURE_RACE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// An entrant leaves at once if each of its first two runs, warm-up included, is slower than either of the fastest's by
/// this much. So a config whose trials were slower by that need not enter. Chosen with the constants of race.cc.
inline constexpr double kEliminated = 1.3;

struct RaceOptions {
  /// Entrants within this fraction of the fastest one cannot be distinguished. The most preferred of them wins, so that
  /// noise does not select another winner in each run. Default 0.01.
  double tie = 0.01;
  /// The fraction for entrant 0, which wins unless another one is faster by more. Default 0.01. A search with a
  /// baseline enters it first and sets its margin here.
  double first_tie = 0.01;
  /// Rounds after the warm-up at most. Default 300: entrants whose samples spread by 4 % are then known to 0.3 % of
  /// each other.
  int max_rounds = 300;
  /// No round is begun once the samples add up to this. Default 500 ms.
  double budget_ms = 500;
  /// Decides the order within rounds. The same seed and samples give the same race. Default 1.
  std::uint64_t seed = 1;
};

/// Decides which candidates run next, and when the fastest is known: the stopping rule of a search.
///
/// Entrants run in rounds, each once per round in random order, so that drift of the device affects all of them
/// equally. The first round warms up and is not counted. After each round every entrant is compared with the fastest,
/// which is the fastest so far, by the mean log-ratio of their samples in the same rounds. Its standard error combines
/// the pair's own variance, the pooled variance of all pairs and a prior, because the first rounds contain little
/// information. An entrant is eliminated when it is slower than the tie margin by enough standard errors. Of the
/// entrants that tie with the fastest the most preferred wins, and entrant 0 wins unless another one is faster by its
/// own margin. The race ends when another round is unlikely to change the winner, or when the rounds or the budget are
/// used up.
///
/// A pure function of its input: no clock, no device. Thread rule: one thread.
class Race {
 public:
  /// Entrants are 0 to num_entrants - 1, the most preferred first.
  explicit Race(std::size_t num_entrants, const RaceOptions& options = {});

  /// Replaces the first round by one sample of each entrant, in microseconds, if all of them have run already.
  /// REQUIRES: no round was drawn; one positive value per entrant.
  void RecordWarmup(const std::vector<double>& samples_us);
  /// Returns the entrants to run now, in this order. Empty when the race is over.
  std::vector<std::size_t> NextRound();
  /// Records the samples of the round just drawn, in its order, in microseconds. A value that is not positive and
  /// finite (the timer failed, the entrant crashed) disqualifies its entrant. REQUIRES: one value for each entrant of
  /// the round.
  void Record(const std::vector<double>& samples_us);

  /// Ends the race with the samples so far, because the time is over.
  void Stop() { over_ = true; }

  /// The most preferred entrant within its tie of the fastest. Empty if all were disqualified.
  std::optional<std::size_t> Selected() const;
  /// Returns whether the race ended because the result is conclusive. False while it goes on, and if rounds or budget
  /// were used up.
  bool is_conclusive() const { return is_conclusive_; }
  /// False once the entrant left, as slower beyond doubt, or was disqualified: it does not run again.
  bool IsRacing(std::size_t entrant) const { return entrants_[entrant].racing; }
  /// Returns false if the entrant is certainly slower than the fastest by more than `tie`, or was disqualified. Equal
  /// entrants are distinguished in less than 1 % of races if samples spread by 8 % or less (race_test,
  /// replay_selection).
  bool Ties(std::size_t entrant) const;

  /// The entrant's samples in microseconds, without the warm-up.
  const std::vector<double>& samples_us(std::size_t entrant) const { return entrants_[entrant].samples_us; }
  /// Rounds recorded, without the warm-up.
  int num_rounds() const { return num_rounds_; }
  /// Returns how much slower (above 0) or faster `entrant` was than `other`: the mean log-ratio of the rounds that both
  /// ran, or 0 without such a round.
  double LogRatio(std::size_t entrant, std::size_t other) const;
  /// All samples together, warm-up included.
  double spent_ms() const { return spent_ms_; }

 private:
  struct Entrant {
    double warmup_us = 0;
    std::vector<double> samples_us;  // Of every round until it was eliminated.
    bool racing = true;
    bool surely_slower = false;  // Known when it left.
  };
  /// How much slower than the fastest an entrant is, as a log-ratio.
  struct Gap {
    double mean = 0;
    double standard_error = 0;

    /// Returns by how many standard errors the gap is above `limit`.
    double Above(double limit) const { return (mean - limit) / standard_error; }
  };
  /// The entrants that are still racing, the fastest's index among them, and their gaps to it.
  struct Standing {
    std::vector<std::size_t> racing;
    std::size_t fastest = 0;
    std::vector<Gap> gaps;
  };

  std::vector<std::size_t> Racing() const;
  double TieOf(std::size_t entrant) const { return entrant == 0 ? options_.first_tie : options_.tie; }
  Standing CurrentStanding() const;
  std::vector<Gap> Gaps(const Standing& standing) const;
  /// Place of the selection in `standing.racing`.
  std::size_t Selected(const Standing& standing) const;
  bool IsConclusive(const Standing& standing) const;
  void DropAfterFirstRound(const Standing& standing);
  void Judge();

  RaceOptions options_;
  std::mt19937_64 random_;
  std::vector<Entrant> entrants_;
  std::vector<std::size_t> round_;
  int num_rounds_ = -1;  // The first one warms up.
  double spent_ms_ = 0;
  bool over_ = false;
  bool is_conclusive_ = false;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_RACE_H_
