#include "measure/race.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "measure/statistics.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// The constants below were chosen with benchmarks/internal/replay_selection on recorded H200 timings, where they give
// the cheapest searches that choose within 1 % of the best in 99 %, and twice the same in 95 %, of searches.

/// No decision before this many rounds.
constexpr int kMinRounds = 3;
/// In standard errors: an entrant slower than a tie by this much leaves.
constexpr double kLeaves = 2.75;
/// ... counts as no tie when the selection is made;
constexpr double kIsNoTie = 1.8;
/// and one within a tie by this much counts as one.
constexpr double kIsTie = 1.2;
/// An entrant slower than a tie by this much is reported as slower. More than it takes to leave: of the many that leave
/// a few leave by chance.
constexpr double kSurelySlower = 5;

/// The weight of the pairs' pooled variance in each pair's (ModeratedError), in degrees of freedom.
constexpr double kPooledFreedom = 4;

}  // namespace

Race::Race(std::size_t num_entrants, const RaceOptions& options)
    : options_(options), random_(options.seed), entrants_(num_entrants), over_(num_entrants == 0) {}

std::vector<std::size_t> Race::Racing() const {
  std::vector<std::size_t> racing;
  for (std::size_t i = 0; i < entrants_.size(); ++i) {
    if (entrants_[i].racing) racing.push_back(i);
  }
  return racing;
}

std::vector<std::size_t> Race::NextRound() {
  if (over_) return {};
  round_ = Racing();
  // Fisher-Yates by hand: std::shuffle's result differs between standard libraries.
  for (std::size_t i = round_.size(); i > 1; --i) std::swap(round_[i - 1], round_[random_() % i]);
  return round_;
}

void Race::RecordWarmup(const std::vector<double>& samples_us) {
  for (std::size_t i = 0; i < entrants_.size(); ++i) {
    entrants_[i].warmup_us = samples_us[i];
    spent_ms_ += samples_us[i] / 1000;
  }
  num_rounds_ = 0;
}

void Race::Record(const std::vector<double>& samples_us) {
  for (std::size_t i = 0; i < round_.size(); ++i) {
    Entrant& entrant = entrants_[round_[i]];
    double sample = samples_us[i];
    if (!IsTime(sample)) {
      entrant.racing = false;
      entrant.surely_slower = true;
      continue;
    }
    spent_ms_ += sample / 1000;
    if (num_rounds_ < 0) {
      entrant.warmup_us = sample;
    } else {
      entrant.samples_us.push_back(sample);
    }
  }
  ++num_rounds_;
  Judge();
}

Race::Standing Race::CurrentStanding() const {
  Standing standing;
  standing.racing = Racing();
  auto sum_of_logs = [&](std::size_t place) {
    const std::vector<double>& samples = entrants_[standing.racing[place]].samples_us;
    return std::accumulate(samples.begin(), samples.end(), 0.0,
                           [](double sum, double us) { return sum + std::log(us); });
  };
  double least = 0;
  for (std::size_t place = 0; place < standing.racing.size(); ++place) {
    double sum = sum_of_logs(place);  // All that race have a sample of every round.
    if (place > 0 && sum >= least) continue;
    least = sum;
    standing.fastest = place;
  }
  standing.gaps = Gaps(standing);
  return standing;
}

std::vector<Race::Gap> Race::Gaps(const Standing& standing) const {
  std::size_t count = standing.racing.size();
  std::vector<Gap> gaps(count);
  if (num_rounds_ < 1 || count < 2) return gaps;
  const std::vector<double>& fastest = entrants_[standing.racing[standing.fastest]].samples_us;
  auto n = static_cast<double>(num_rounds_);
  std::vector<double> squares(count);
  for (std::size_t place = 0; place < count; ++place) {
    const LogRatios ratios = LogRatios::Of(entrants_[standing.racing[place]].samples_us, fastest);
    gaps[place].mean = ratios.mean;
    squares[place] = ratios.squares;
  }
  double freedom = (n - 1) * static_cast<double>(count - 1);
  PooledVariance pooled{std::accumulate(squares.begin(), squares.end(), 0.0) / std::max(freedom, 1.0),
                        std::min(kPooledFreedom, freedom)};
  for (std::size_t place = 0; place < count; ++place) {
    gaps[place].standard_error = ModeratedError(num_rounds_, squares[place], kLogRatioPrior, 1 / n, pooled);
  }
  return gaps;
}

std::size_t Race::Selected(const Standing& standing) const {
  std::size_t selection = 0;
  while (standing.gaps[selection].mean > TieOf(standing.racing[selection]))
    ++selection;  // Ends at the fastest, whose gap is zero.
  return selection;
}

void Race::DropAfterFirstRound(const Standing& standing) {
  const Entrant& fastest = entrants_[standing.racing[standing.fastest]];
  double limit_us = kEliminated * std::max(fastest.warmup_us, fastest.samples_us.front());
  for (std::size_t i : standing.racing) {
    Entrant& entrant = entrants_[i];
    entrant.racing = std::min(entrant.warmup_us, entrant.samples_us.front()) <= limit_us;
    entrant.surely_slower = !entrant.racing;
  }
}

bool Race::IsConclusive(const Standing& standing) const {
  if (num_rounds_ < kMinRounds) return false;
  std::size_t selection = Selected(standing);
  for (std::size_t place = 0; place < standing.racing.size(); ++place) {
    if (place == standing.fastest) continue;
    const Gap& gap = standing.gaps[place];
    double above_tie = gap.Above(TieOf(standing.racing[place]));
    if (above_tie <= kLeaves && gap.standard_error > options_.tie) return false;  // The floor of rounds, by noise.
    if (place < selection && above_tie < kIsNoTie) return false;
    if (place == selection && above_tie > -kIsTie) return false;
    // The fastest is chosen before others that may be faster: it must tie with them.
    if (place > selection && selection == standing.fastest && gap.Above(-TieOf(standing.racing[selection])) < kIsTie)
      return false;
  }
  return true;
}

void Race::Judge() {
  if (num_rounds_ < 1) return;
  Standing standing = CurrentStanding();
  if (standing.racing.empty()) {
    over_ = true;
    return;
  }
  if (num_rounds_ == 1) {
    DropAfterFirstRound(standing);
    standing = CurrentStanding();
  } else {
    is_conclusive_ = IsConclusive(standing);
    for (std::size_t place = 0; place < standing.racing.size(); ++place) {
      if (place == standing.fastest) continue;
      double above = standing.gaps[place].Above(TieOf(standing.racing[place]));
      Entrant& entrant = entrants_[standing.racing[place]];
      entrant.racing = above <= kLeaves;
      entrant.surely_slower = above > kSurelySlower;
    }
  }
  is_conclusive_ = is_conclusive_ || Racing().size() == 1;
  over_ = is_conclusive_ || num_rounds_ >= options_.max_rounds || spent_ms_ >= options_.budget_ms;
}

std::optional<std::size_t> Race::Selected() const {
  Standing standing = CurrentStanding();
  if (standing.racing.empty()) return std::nullopt;
  return standing.racing[Selected(standing)];
}

double Race::LogRatio(std::size_t entrant, std::size_t other) const {
  return LogRatios::Of(entrants_[entrant].samples_us, entrants_[other].samples_us).mean;
}

bool Race::Ties(std::size_t entrant) const { return !entrants_[entrant].surely_slower; }

}  // namespace v0
}  // namespace tuneonce
