#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace tuneonce {
inline namespace v0 {

double StudentT975(int degrees_of_freedom) {
  static constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees_of_freedom <= 30) return kTable[degrees_of_freedom < 1 ? 0 : degrees_of_freedom - 1];
  double n = degrees_of_freedom;
  double z3 = kNormal975 * kNormal975 * kNormal975;
  return kNormal975 + (z3 + kNormal975) / (4 * n) +
         (5 * z3 * kNormal975 * kNormal975 + 16 * z3 + 3 * kNormal975) / (96 * n * n);
}

namespace {

double Mean(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

/// Sum of squared deviations from the mean.
double Squares(const std::vector<double>& samples, double mean) {
  double squares = 0;
  for (double sample : samples) squares += (sample - mean) * (sample - mean);
  return squares;
}

/// Everything but the interval.
Measurement Describe(const std::vector<double>& samples) {
  Measurement m;
  m.num_samples = static_cast<int>(samples.size());
  m.mean_us = Mean(samples);
  if (samples.size() > 1) {
    m.std_us = std::sqrt(Squares(samples, m.mean_us) / (static_cast<double>(samples.size()) - 1));
  }
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  m.min_us = sorted.front();
  m.max_us = sorted.back();
  m.median_us = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  return m;
}

}  // namespace

Measurement Summarize(const std::vector<double>& samples_us) {
  Measurement m = Describe(samples_us);
  if (samples_us.size() < 2) return m;
  m.error_margin_us = StudentT975(m.num_samples - 1) * m.std_us / std::sqrt(m.num_samples);
  return m;
}

LogRatios LogRatios::Of(const std::vector<double>& numerator_us, const std::vector<double>& denominator_us) {
  std::vector<double> ratios(std::min(numerator_us.size(), denominator_us.size()));
  if (ratios.empty()) return {};
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = std::log(numerator_us[i] / denominator_us[i]);
  const double mean = Mean(ratios);
  return {static_cast<int>(ratios.size()), mean, Squares(ratios, mean)};
}

double ModeratedError(int num_samples, double squares, double prior, double factor, const PooledVariance& pooled) {
  const double freedom = kPriorFreedom + pooled.freedom + num_samples - 1;
  const double variance = (kPriorFreedom * prior + pooled.freedom * pooled.variance + squares) / freedom;
  const double widening = StudentT975(static_cast<int>(freedom)) / kNormal975;
  return std::sqrt(variance * factor) * widening;
}

bool IsTime(double us) { return std::isfinite(us) && us > 0; }

double StoppedEarlyMargin(int num_samples, double std, double prior) {
  constexpr double kMixture = 2;
  constexpr double kAlpha = 0.05;
  auto n = static_cast<double>(num_samples);
  double mixture = (n + kMixture) / (n * n) * std::log((n + kMixture) / (kMixture * kAlpha * kAlpha));
  return ModeratedError(num_samples, (n - 1) * std * std, prior * prior, mixture);
}

Measurement SummarizeStoppedEarly(const std::vector<double>& samples_us) {
  Measurement m = Describe(samples_us);
  if (samples_us.size() < 2) return m;
  m.error_margin_us = StoppedEarlyMargin(m.num_samples, m.std_us, kPriorSpread * m.mean_us);
  return m;
}

}  // namespace v0
}  // namespace tuneonce
