#ifndef TUNEONCE_MEASURE_MEASUREMENT_H_
#define TUNEONCE_MEASURE_MEASUREMENT_H_

#include <optional>

namespace tuneonce {

/// How long a candidate takes, as measured.
struct Measurement {
  double mean_us = 0;
  /// Half of the 95 % confidence interval of the mean. Empty with one sample, which has no spread.
  std::optional<double> error_margin_us;
  int num_samples = 0;
};

}  // namespace tuneonce

#endif  // TUNEONCE_MEASURE_MEASUREMENT_H_
