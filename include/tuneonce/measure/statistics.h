#ifndef TUNEONCE_MEASURE_STATISTICS_H_
#define TUNEONCE_MEASURE_STATISTICS_H_

#include <vector>

#include "tuneonce/base/api.h"
#include "tuneonce/measure/measurement.h"

namespace tuneonce {

/// The 97.5 % quantile of Student's t with `degrees_of_freedom` (>= 1). Up to 30: the tabulated values; above: the
/// expansion of Abramowitz & Stegun 26.7.5 to its second term, exact to 0.001 there.
TUNEONCE_API double StudentT975(int degrees_of_freedom);

/// Mean and 95 % confidence interval (Student t) of independent samples in microseconds. No outlier is dropped.
/// REQUIRES: `samples_us` is not empty.
TUNEONCE_API Measurement Summarize(const std::vector<double>& samples_us);

}  // namespace tuneonce

#endif  // TUNEONCE_MEASURE_STATISTICS_H_
