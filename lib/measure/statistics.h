#ifndef TUNEONCE_LIB_MEASURE_STATISTICS_H_
#define TUNEONCE_LIB_MEASURE_STATISTICS_H_

#include <vector>

#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// The 97.5 % quantile of the standard normal distribution.
inline constexpr double kNormal975 = 1.959964;

/// Returns the 97.5 % quantile of Student's t with `degrees_of_freedom` (>= 1): the tabulated values up to 30, and
/// above the expansion of Abramowitz & Stegun 26.7.5 to its second term, which is exact to 0.001 there.
double StudentT975(int degrees_of_freedom);

/// The prior for a kernel's samples: their standard deviation as a fraction of the mean. Recorded samples spread by 1
/// to 10 %.
inline constexpr double kPriorSpread = 0.04;
/// How much that counts, in degrees of freedom.
inline constexpr double kPriorFreedom = 2;

/// The log-ratios of samples in microseconds that were taken in pairs, so that a slowdown of both cancels: one for each
/// pair, of as many as the shorter list has.
struct LogRatios {
  int count = 0;
  double mean = 0;     ///< 0 without a pair.
  double squares = 0;  ///< The sum of squared deviations from the mean.

  /// Returns the log-ratios of `numerator_us` to `denominator_us`. REQUIRES: all samples are positive.
  static LogRatios Of(const std::vector<double>& numerator_us, const std::vector<double>& denominator_us);
};
/// The prior variance of a log-ratio: that of a difference of two values that each have the prior's spread.
inline constexpr double kLogRatioPrior = 2 * kPriorSpread * kPriorSpread;

/// The variance of other lists of samples, which counts as `freedom` degrees of freedom.
struct PooledVariance {
  double variance = 0;
  double freedom = 0;
};

/// Returns the standard deviation of a sample, times the square root of `factor`, from `num_samples` samples whose
/// squared deviations from their mean add up to `squares`. Few samples contain little information: the variance is
/// moderated by its expected value `prior` and by `pooled` (the moderated t of Smyth 2004,
/// doi:10.2202/1544-6115.1027). It is widened by Student's t over the normal quantile, so that limits in standard
/// errors mean the same as for a normal distribution.
double ModeratedError(int num_samples, double squares, double prior, double factor, const PooledVariance& pooled = {});

/// Returns whether a timer's value is a time: finite and positive.
bool IsTime(double us);

/// Returns half of the 95 % confidence interval of a mean whose number of samples was decided during sampling. It is a
/// confidence sequence, which is valid whenever sampling stops. `std` is the sample standard deviation, whose unit the
/// result has, and `prior` is its expected value.
///
/// It is s * sqrt((n + r) / n^2 * ln((n + r) / (r * 0.05^2))), the normal mixture of Robbins 1970
/// (doi:10.1214/aoms/1177696786) with r = 2, which is narrowest near n = 20. s is moderated and widened as
/// ModeratedError states. REQUIRES: `num_samples` >= 2.
double StoppedEarlyMargin(int num_samples, double std, double prior);

/// Mean of samples in microseconds, whose number was decided while they were taken, and StoppedEarlyMargin with the
/// prior above. No outlier is dropped. Empty with one sample. REQUIRES: `samples_us` is not empty.
Measurement SummarizeStoppedEarly(const std::vector<double>& samples_us);

/// Mean and 95 % confidence interval (Student t) of a fixed number of independent samples in microseconds. No outlier
/// is dropped. REQUIRES: `samples_us` is not empty.
Measurement Summarize(const std::vector<double>& samples_us);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_STATISTICS_H_
