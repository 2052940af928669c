#ifndef TUNEONCE_MEASUREMENT_H_
#define TUNEONCE_MEASUREMENT_H_

#include <optional>

namespace tuneonce {

/// How long a candidate takes, as measured.
struct Measurement {
  double mean_us = 0;
  /// Half of the 95 % confidence interval of the mean. Empty with one sample, which has no spread.
  std::optional<double> error_margin_us;
  int num_samples = 0;
  double std_us = 0;  ///< Sample standard deviation; 0 with one sample.
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;

  /// Standard deviation as a share of the mean.
  double rel_std() const { return mean_us > 0 ? std_us / mean_us : 0; }
};

}  // namespace tuneonce

#endif  // TUNEONCE_MEASUREMENT_H_
