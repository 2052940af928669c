#include "search/portfolio.h"

#include <algorithm>

namespace tuneonce {
inline namespace v0 {
std::vector<std::size_t> CoverElsewheres(const std::vector<std::vector<double>>& relative_speed, std::size_t most) {
  const std::size_t num_configs = relative_speed.empty() ? 0 : relative_speed.front().size();
  std::vector<std::size_t> portfolio;
  std::vector<double> covered(relative_speed.size(), 0);
  std::size_t earlier_covers = 0;  // Size of the portfolio without the cover that is being made.
  while (portfolio.size() < most) {
    std::size_t best = num_configs;
    double most_gain = 0;
    for (std::size_t config = 0; config < num_configs; ++config) {
      double gain = 0;
      for (std::size_t e = 0; e < covered.size(); ++e) gain += std::max(0.0, relative_speed[e][config] - covered[e]);
      if (gain <= most_gain || std::count(portfolio.begin(), portfolio.end(), config) > 0) continue;
      most_gain = gain;
      best = config;
    }
    if (best == num_configs) {
      if (earlier_covers == portfolio.size()) return portfolio;
      earlier_covers = portfolio.size();
      std::fill(covered.begin(), covered.end(), 0);
      continue;
    }
    portfolio.push_back(best);
    for (std::size_t e = 0; e < covered.size(); ++e) covered[e] = std::max(covered[e], relative_speed[e][best]);
  }
  return portfolio;
}

}  // namespace v0
}  // namespace tuneonce
