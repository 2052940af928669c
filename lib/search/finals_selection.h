#ifndef TUNEONCE_LIB_SEARCH_FINALS_SELECTION_H_
#define TUNEONCE_LIB_SEARCH_FINALS_SELECTION_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "tuneonce/api.h"
#include "tuneonce/rank_group.h"

namespace tuneonce {
inline namespace v0 {

struct FinalsOptions {
  /// What counts of a finalist's times on all ranks.
  RankPolicy::Minimize minimize = RankPolicy::Minimize::kWorst;
  double tie = 0.01;        ///< As RaceOptions::tie.
  double first_tie = 0.01;  ///< As RaceOptions::first_tie.
};

/// The variance of what counts of a finalist's times on `num_ranks` ranks, as a share of that of its time on one of
/// them, where these are alike but for noise: of a mean 1 / N; of the greatest of N normal values as tabulated in
/// Teichroew 1956 (doi:10.1214/aoms/1177728266). REQUIRES: num_ranks >= 1.
TUNEONCE_API double ShareOfVariance(int num_ranks, RankPolicy::Minimize minimize);

/// What of a finalist's times, in microseconds, one for each rank, counts. REQUIRES: at least one.
TUNEONCE_API double CountingTime(const std::vector<double>& times_us, RankPolicy::Minimize minimize);

/// The most preferred finalist within its tie of the best, as Race::Selected, over the times of all ranks: by
/// finalist, the most preferred first, then by rank. A finalist without times is out: it failed somewhere. Empty: all
/// are. A pure function.
TUNEONCE_API std::optional<std::size_t> ChooseForAll(const std::vector<std::vector<double>>& times_us,
                                                     const FinalsOptions& options);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_FINALS_SELECTION_H_
