#include "search/portfolio.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

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

std::vector<Config> PortfolioOf(std::vector<TuningRecord> records, std::size_t most) {
  constexpr std::size_t kMostRecords = 256;  // More elsewheres hardly change what covers them.
  std::stable_sort(records.begin(), records.end(),
                   [](const TuningRecord& a, const TuningRecord& b) { return a.unix_seconds > b.unix_seconds; });
  std::map<std::string, std::size_t> column_of;
  std::vector<Config> configs;
  std::vector<std::vector<std::pair<std::size_t, double>>> rows;  // By record: columns and times.
  for (const TuningRecord& record : records) {
    if (rows.size() == kMostRecords) break;
    std::vector<std::pair<std::size_t, double>> row;
    for (const CandidateOutcome& candidate : record.candidates) {
      if (candidate.kind != OutcomeKind::kMeasured || candidate.measurement.mean_us <= 0) continue;
      auto [column, is_new] = column_of.emplace(candidate.config.Canonical(), configs.size());
      if (is_new) configs.push_back(candidate.config);
      row.emplace_back(column->second, candidate.measurement.mean_us);
    }
    if (!row.empty()) rows.push_back(std::move(row));
  }
  std::vector<std::vector<double>> relative_speed;
  for (const auto& row : rows) {
    double best_us = row.front().second;
    for (const auto& [column, time_us] : row) best_us = std::min(best_us, time_us);
    relative_speed.emplace_back(configs.size(), 0);
    for (const auto& [column, time_us] : row) relative_speed.back()[column] = best_us / time_us;
  }
  std::vector<Config> portfolio;
  for (std::size_t column : CoverElsewheres(relative_speed, most)) portfolio.push_back(configs[column]);
  return portfolio;
}

}  // namespace v0
}  // namespace tuneonce
