#ifndef TUNEONCE_LIB_SEARCH_SEARCH_LEDGER_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "search/finals_selection.h"
#include "search/search_answer.h"

namespace tuneonce {
inline namespace v0 {

/// A candidate whose share of the baseline's time is above the best's by more than this does not race again. Shares are
/// a few rounds each, which know a time to about 3 % (samples spread by 4 %), the baseline's likewise.
inline constexpr double kFinalsMargin = 0.10;

/// What the leader of a search that is shared out knows of it: what became of each candidate, whose word that is, and
/// what follows. A value, which knows no clock, device and engine. Thread rule: one thread.
///
/// Shares were measured on different GPUs, so their times are compared as shares of the baseline's, which each rank
/// measures with its share; without a baseline as they are.
class TUNEONCE_API SearchLedger {
 public:
  /// `baseline`: its place, if there is one.
  SearchLedger(std::size_t num_candidates, std::optional<std::uint64_t> baseline);

  /// A rank's share. Of a candidate that two ranks tried, the first word counts, but one that says nothing gives way.
  void Take(int rank, SearchAnswer answer);
  /// Returns the candidates of which nothing is known yet, without the baseline, which each rank tries.
  std::vector<std::uint64_t> Open() const;

  /// Those that may be the best, as far as the shares tell, the baseline first, then in the order of the list. Empty:
  /// no candidate ran.
  std::vector<std::uint64_t> Finalists() const;
  /// What the finalists of a rank's own `share` are: whose code the others may need.
  static std::vector<std::uint64_t> FinalistsOf(const SearchAnswer& share, std::optional<std::uint64_t> baseline);

  /// A rank's final race.
  void TakeFinals(int rank, SearchAnswer answer);
  /// Of `finalists`. Empty: each failed on some rank.
  std::optional<std::uint64_t> Selected(const std::vector<std::uint64_t>& finalists,
                                        const FinalsOptions& options) const;

  /// What is known of a candidate: of a finalist its final race, on the rank where it took longest; null: nothing.
  const TriedCandidate* Find(std::uint64_t place) const;
  /// A finalist's time that counts; empty if it failed on some rank.
  std::optional<double> TimeOf(std::uint64_t place, RankPolicy::Minimize minimize) const;
  bool is_conclusive() const;
  /// Returns the costs of all shares and races together.
  TuningCost cost() const;
  /// Ranks that tried at least one candidate, or raced.
  int num_ranks() const { return static_cast<int>(ranks_.size()); }

 private:
  struct Share {
    int rank;
    SearchAnswer answer;
  };
  /// Returns the times of a finalist by rank, or an empty list if it failed on some rank.
  std::vector<double> TimesOf(std::uint64_t place) const;

  const std::size_t num_candidates_;
  const std::optional<std::uint64_t> baseline_;
  std::map<std::uint64_t, TriedCandidate> tried_;
  std::map<std::uint64_t, double> scores_;  // The scores of the measured candidates.
  std::vector<Share> finals_;
  std::set<int> ranks_;
  TuningCost cost_;
  bool is_certain_ = true;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_LEDGER_H_
