#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "tuneonce/config.h"
#include "tuneonce/report.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Failures are listed up to this many; the first line has their number.
constexpr std::size_t kMostFailures = 5;

/// The text of a search's configs: of each only the axes that differ between what was measured or failed, and of all
/// together, the others.
class ConfigTexts {
 public:
  explicit ConfigTexts(const TuningResult& result) {
    for (const Success& success : result.successes) Add(success.config);
    for (const Failure& failure : result.failures) Add(failure.config);
    if (std::find(differs_.begin(), differs_.end(), true) == differs_.end()) differs_.assign(differs_.size(), true);
  }

  std::string Of(const Config& config) const { return Text(config, /*differs=*/true); }
  std::string OfAll() const { return Text(first_, /*differs=*/false); }

 private:
  void Add(const Config& config) {
    if (differs_.empty()) {
      first_ = config;
      differs_.assign(config.values().size(), false);
    }
    for (std::size_t i = 0; i < std::min(differs_.size(), config.values().size()); ++i) {
      if (config.values()[i] != first_.values()[i]) differs_[i] = true;
    }
  }

  std::string Text(const Config& config, bool differs) const {
    if (differs && differs_.empty()) return Printable(config.ToString());
    std::string text;
    for (std::size_t i = 0; i < std::min(differs_.size(), config.values().size()); ++i) {
      if (differs_[i] != differs) continue;
      absl::StrAppend(&text, text.empty() ? "" : ", ", config.AxisName(i), "=", AxisValueString(config.values()[i]));
    }
    return Printable(text);
  }

  Config first_;
  std::vector<bool> differs_;  // By axis.
};

std::string Row(const TuningResult& result, const Success& success, const std::string& config) {
  bool is_best = success.config == result.best.config;
  bool is_baseline = result.baseline && success.config == result.baseline->config;
  const Measurement& m = success.measurement;
  std::string margin = m.error_margin_us ? absl::StrFormat("%9.3f", *m.error_margin_us) : "        -";
  double ratio = result.best.measurement.mean_us > 0 ? m.mean_us / result.best.measurement.mean_us : 1.0;
  return absl::StrFormat("%s %12.3f %s %8d %7.2fx%s %s%s\n", is_best ? "*" : " ", m.mean_us, margin, m.num_samples,
                         ratio, success.ties_with_fastest ? "=" : " ", config, is_baseline ? "  (baseline)" : "");
}

/// Two significant digits or all before the point.
std::string RateText(double rate) {
  if (rate < 1) return absl::StrFormat("%.2g", rate);
  return rate < 10 ? absl::StrFormat("%.1f", rate) : absl::StrFormat("%.0f", rate);
}

std::string RooflineLine(const Roofline& roofline) {
  std::string line = "the best";
  if (roofline.gb_per_s > 0) absl::StrAppend(&line, " moves ", RateText(roofline.gb_per_s), " GB/s");
  if (roofline.tflop_per_s > 0) {
    const bool is_slow = roofline.tflop_per_s < 0.1;  // As the CPU device is.
    absl::StrAppend(&line, roofline.gb_per_s > 0 ? ", computes " : " computes ",
                    RateText(roofline.tflop_per_s * (is_slow ? 1000 : 1)), is_slow ? " GFLOP/s" : " TFLOP/s");
  }
  if (roofline.percent_of_peak)
    absl::StrAppendFormat(&line, ", %.0f %% of the device's peak", *roofline.percent_of_peak);
  if (roofline.bound) {
    absl::StrAppendFormat(&line, " (%s, %.1f operations per byte)", std::string(BoundName(*roofline.bound)),
                          *roofline.intensity);
  }
  return line + "\n";
}

std::string DifferenceLine(const OutputDifference& largest) {
  return absl::StrFormat("the best differs from the reference by %s at most in '%s', %s %% of the tolerance\n",
                         RealText(largest.absolute, 'g', 3), Printable(largest.output),
                         RealText(100 * largest.share_of_tolerance, 'f', 0));
}

/// One line for each variant and reason, however many configs it is about.
std::string Substitutions(const TuningResult& result) {
  std::map<std::string, int> configs_by_line;
  for (const VariantSubstitution& substitution : result.substitutions) {
    std::string reason = substitution.instead_of.reason.substr(0, substitution.instead_of.reason.find('\n'));
    ++configs_by_line[Printable(absl::StrCat("built by '", substitution.variant, "' instead of '",
                                             substitution.instead_of.variant, "': ", reason))];
  }
  std::string text;
  for (const auto& [line, count] : configs_by_line) {
    absl::StrAppend(&text, "  ", count, count == 1 ? " config " : " configs ", line, "\n");
  }
  return text;
}

/// One line each, of the first few: tools' messages can be pages, and a broken kernel fails in every config.
std::string Failures(const TuningResult& result, const ConfigTexts& configs) {
  std::string text;
  for (std::size_t i = 0; i < result.failures.size(); ++i) {
    if (i == kMostFailures) {
      absl::StrAppend(&text, "  ... ", result.failures.size() - i, " more failed\n");
      break;
    }
    const Failure& failure = result.failures[i];
    absl::StrAppend(&text, "  failed (", std::string(FailureKindName(failure.kind)), "): {", configs.Of(failure.config),
                    "}: ", Printable(failure.message.substr(0, failure.message.find('\n'))), "\n");
  }
  return text;
}

std::string Rows(const TuningResult& result, const TableOptions& options, const ConfigTexts& configs) {
  std::string text = "       mean us  +- 95% us  samples    best   config";
  if (std::string all = configs.OfAll(); !all.empty()) absl::StrAppend(&text, " (of all: ", all, ")");
  text += "\n";
  auto total = static_cast<int>(result.successes.size());
  int top = std::min(total, options.top);
  int bottom = std::min(total - top, options.bottom);
  for (int i = 0; i < total; ++i) {
    const Success& success = result.successes[static_cast<std::size_t>(i)];
    if (i == top && total - top - bottom > 0) absl::StrAppend(&text, "  ... ", total - top - bottom, " more\n");
    if (i < top || i >= total - bottom) absl::StrAppend(&text, Row(result, success, configs.Of(success.config)));
  }
  return text;
}

std::string CostLine(const TuningResult& result) {
  std::string line = absl::StrFormat(
      "cost: %.2f s wall, %.2f s compiling %d artifacts, %.4f s on the device in %d rounds timed by %s%s, "
      "%d launches, %.1f MiB of device memory at most",
      result.cost.wall_seconds, result.cost.compile_seconds, result.cost.num_compiled, result.cost.gpu_seconds,
      result.cost.num_rounds, Printable(result.timer), result.is_isolated ? " in a worker process" : "",
      result.cost.num_launches, static_cast<double>(result.cost.peak_bytes) / (1 << 20));
  if (result.cost.workers_replaced > 0) absl::StrAppend(&line, ", workers replaced: ", result.cost.workers_replaced);
  return line + "\n";
}

}  // namespace

std::string SummaryTable(const TuningResult& result, const TableOptions& options) {
  std::string text = absl::StrFormat("%s: %d measured, %d failed, %d duplicates", Printable(result.kernel),
                                     result.successes.size(), result.failures.size(), result.duplicates.size());
  if (!result.not_measured.empty())
    absl::StrAppend(&text, ", ", result.not_measured.size(), " not measured: the search was cut short");
  text += "\n";
  const ConfigTexts configs(result);
  absl::StrAppend(&text, Rows(result, options, configs), Failures(result, configs));
  absl::StrAppend(&text, Substitutions(result));
  if (result.speedup_over_baseline) {
    absl::StrAppendFormat(&text, "best is %.2fx as fast as the baseline, round by round\n",
                          *result.speedup_over_baseline);
  }
  if (result.best.roofline) absl::StrAppend(&text, RooflineLine(*result.best.roofline));
  if (result.best.largest_difference) absl::StrAppend(&text, DifferenceLine(*result.best.largest_difference));
  if (!result.is_conclusive) {
    absl::StrAppend(&text,
                    "not conclusive: the rounds or the budget ended before the candidates could be told apart\n");
  }
  for (const std::string& note : result.notes) absl::StrAppend(&text, "note: ", Printable(note), "\n");
  absl::StrAppend(&text, CostLine(result));
  return text;
}

}  // namespace v0
}  // namespace tuneonce
