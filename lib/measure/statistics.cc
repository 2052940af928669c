#include "tuneonce/measure/statistics.h"

#include <cmath>
#include <cstddef>
#include <numeric>

namespace tuneonce {

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

}  // namespace

Measurement Summarize(const std::vector<double>& samples_us) {
  Measurement measurement;
  auto n = static_cast<double>(samples_us.size());
  measurement.num_samples = static_cast<int>(samples_us.size());
  measurement.mean_us = Mean(samples_us);
  if (samples_us.size() < 2) return measurement;
  double standard_error = std::sqrt(Squares(samples_us, measurement.mean_us) / (n - 1) / n);
  measurement.error_margin_us = StudentT975(measurement.num_samples - 1) * standard_error;
  return measurement;
}

Measurement SummarizeStoppedEarly(const std::vector<double>& samples_us) {
  constexpr double kMixture = 2;
  constexpr double kAlpha = 0.05;
  Measurement measurement;
  auto n = static_cast<double>(samples_us.size());
  measurement.num_samples = static_cast<int>(samples_us.size());
  measurement.mean_us = Mean(samples_us);
  if (samples_us.size() < 2) return measurement;
  double prior = kPriorSpread * measurement.mean_us;
  double freedom = kPriorFreedom + n - 1;
  double variance = (kPriorFreedom * prior * prior + Squares(samples_us, measurement.mean_us)) / freedom;
  double widening = StudentT975(static_cast<int>(freedom)) / kNormal975;
  double mixture = (n + kMixture) / (n * n) * std::log((n + kMixture) / (kMixture * kAlpha * kAlpha));
  measurement.error_margin_us = std::sqrt(variance * mixture) * widening;
  return measurement;
}

}  // namespace tuneonce
