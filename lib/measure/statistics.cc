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
  constexpr double kZ = 1.959964;
  double n = degrees_of_freedom;
  double z3 = kZ * kZ * kZ;
  return kZ + (z3 + kZ) / (4 * n) + (5 * z3 * kZ * kZ + 16 * z3 + 3 * kZ) / (96 * n * n);
}

Measurement Summarize(const std::vector<double>& samples_us) {
  Measurement measurement;
  auto n = static_cast<double>(samples_us.size());
  measurement.num_samples = static_cast<int>(samples_us.size());
  measurement.mean_us = std::accumulate(samples_us.begin(), samples_us.end(), 0.0) / n;
  if (samples_us.size() < 2) return measurement;
  double squares = 0;
  for (double sample : samples_us) squares += (sample - measurement.mean_us) * (sample - measurement.mean_us);
  double standard_error = std::sqrt(squares / (n - 1) / n);
  measurement.error_margin_us = StudentT975(measurement.num_samples - 1) * standard_error;
  return measurement;
}

}  // namespace tuneonce
