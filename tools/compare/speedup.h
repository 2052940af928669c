#ifndef TUNEONCE_TOOLS_COMPARE_SPEEDUP_H_
#define TUNEONCE_TOOLS_COMPARE_SPEEDUP_H_

#include <optional>
#include <string_view>
#include <vector>

#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// How much faster B is than A: A's time divided by B's, with its 95 % confidence interval. Above 1: B is faster. A
/// value.
struct Speedup {
  double ratio = 1;
  double low = 1;
  double high = 1;
};

/// Returns half of the interval, as a log-ratio.
TUNEONCE_API double LogMargin(const Speedup& speedup);

/// Returns the mean log-ratio of samples that were taken in pairs, in microseconds, so that a slowdown of both cancels.
/// The interval is valid whenever sampling stopped (StoppedEarlyMargin). Empty for less than two pairs. REQUIRES: both
/// lists have the same length, and all samples are positive.
std::optional<Speedup> PairedSpeedup(const std::vector<double>& a_us, const std::vector<double>& b_us);

/// Returns the speedup between two measurements at different times with independent errors. The squares of the relative
/// margins add up to that of the log-ratio (to first order). The interval does not cover differences between the two
/// times. Empty if one has no time or no margin.
std::optional<Speedup> SpeedupOf(const Measurement& a, const Measurement& b);

/// The geometric mean of ratios that are independent of each other. REQUIRES: there is one.
Speedup GeometricMean(const std::vector<Speedup>& speedups);

/// What to do about a change from A to B.
enum class Verdict {
  kAccept,    ///< B is faster by 5 % or more.
  kMinor,     ///< B is faster by 2 to 5 %: worth it if the change is simple.
  kNoChange,  ///< Neither is faster by 2 %, or they cannot be distinguished because the interval contains 1.
  kRevert,    ///< B is slower by 2 % or more, or wrong.
  kCrash,     ///< B did not run: it does not compile, was refused, crashed or hung.
};

/// "accept", "minor", "no_change", "revert", "crash".
std::string_view VerdictName(Verdict verdict);

/// Returns the verdict by time alone.
Verdict VerdictOf(const Speedup& speedup);
/// Returns whether the whole interval has the same verdict. If not, more samples may change it.
bool IsConclusive(const Speedup& speedup);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_COMPARE_SPEEDUP_H_
