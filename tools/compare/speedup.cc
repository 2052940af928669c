#include "compare/speedup.h"

#include <cmath>
#include <cstddef>

#include "measure/statistics.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The limits of the verdicts, as ratios of times, which are those that people use who tune kernels by hand.
constexpr double kAcceptFrom = 1.05;
constexpr double kMinorFrom = 1.02;

Speedup FromLogs(double log_ratio, double margin) {
  return {std::exp(log_ratio), std::exp(log_ratio - margin), std::exp(log_ratio + margin)};
}

Verdict VerdictAt(double ratio) {
  if (ratio >= kAcceptFrom) return Verdict::kAccept;
  if (ratio >= kMinorFrom) return Verdict::kMinor;
  return ratio > 1 / kMinorFrom ? Verdict::kNoChange : Verdict::kRevert;
}

}  // namespace

double LogMargin(const Speedup& speedup) { return std::log(speedup.high / speedup.low) / 2; }

std::optional<Speedup> PairedSpeedup(const std::vector<double>& a_us, const std::vector<double>& b_us) {
  if (a_us.size() < 2) return std::nullopt;
  const LogRatios ratios = LogRatios::Of(a_us, b_us);
  const double std = std::sqrt(ratios.squares / (ratios.count - 1));
  return FromLogs(ratios.mean, StoppedEarlyMargin(ratios.count, std, std::sqrt(kLogRatioPrior)));
}

std::optional<Speedup> SpeedupOf(const Measurement& a, const Measurement& b) {
  if (!(a.mean_us > 0) || !(b.mean_us > 0) || !a.error_margin_us || !b.error_margin_us) return std::nullopt;
  return FromLogs(std::log(a.mean_us / b.mean_us),
                  std::hypot(*a.error_margin_us / a.mean_us, *b.error_margin_us / b.mean_us));
}

Speedup GeometricMean(const std::vector<Speedup>& speedups) {
  double sum = 0;
  double squares = 0;
  for (const Speedup& speedup : speedups) {
    sum += std::log(speedup.ratio);
    squares += LogMargin(speedup) * LogMargin(speedup);
  }
  const auto n = static_cast<double>(speedups.size());
  return FromLogs(sum / n, std::sqrt(squares) / n);
}

std::string_view VerdictName(Verdict verdict) {
  static constexpr std::string_view kNames[] = {"accept", "minor", "no_change", "revert", "crash"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Verdict VerdictOf(const Speedup& speedup) {
  const bool can_be_equal = speedup.low <= 1 && speedup.high >= 1;
  return can_be_equal ? Verdict::kNoChange : VerdictAt(speedup.ratio);
}

bool IsConclusive(const Speedup& speedup) {
  const Verdict verdict = VerdictOf(speedup);
  return VerdictAt(speedup.low) == verdict && VerdictAt(speedup.high) == verdict;
}

}  // namespace v0
}  // namespace tuneonce
