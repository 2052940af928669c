#include "search/finals_selection.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace tuneonce {
inline namespace v0 {

double ShareOfVariance(int num_ranks, RankPolicy::Minimize minimize) {
  if (minimize == RankPolicy::Minimize::kMean) return 1.0 / num_ranks;
  // The variances of the greatest of 1, 2, ... 8 values. Beyond 8 it hardly falls, and counts as constant.
  constexpr double kOfGreatest[] = {1, 0.6817, 0.5595, 0.4917, 0.4475, 0.4159, 0.3919, 0.3729};
  constexpr int kMost = static_cast<int>(std::size(kOfGreatest));
  return kOfGreatest[std::min(num_ranks, kMost) - 1];
}

double CountingTime(const std::vector<double>& times_us, RankPolicy::Minimize minimize) {
  if (minimize == RankPolicy::Minimize::kWorst) return *std::max_element(times_us.begin(), times_us.end());
  return std::accumulate(times_us.begin(), times_us.end(), 0.0) / static_cast<double>(times_us.size());
}

std::optional<std::size_t> ChooseForAll(const std::vector<std::vector<double>>& times_us,
                                        const FinalsOptions& options) {
  double best_us = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& of_ranks : times_us) {
    if (!of_ranks.empty()) best_us = std::min(best_us, CountingTime(of_ranks, options.minimize));
  }
  for (std::size_t i = 0; i < times_us.size(); ++i) {
    if (times_us[i].empty()) continue;
    const double gap = std::log(CountingTime(times_us[i], options.minimize) / best_us);
    if (gap <= (i == 0 ? options.first_tie : options.tie)) return i;
  }
  return std::nullopt;
}

}  // namespace v0
}  // namespace tuneonce
