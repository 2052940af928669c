#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "tuneonce/report.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string Row(const TuningResult& result, const Success& success) {
  bool is_best = success.config == result.best.config;
  bool is_baseline = result.baseline && success.config == result.baseline->config;
  const Measurement& m = success.measurement;
  std::string margin = m.error_margin_us ? absl::StrFormat("%9.3f", *m.error_margin_us) : "        -";
  double ratio = result.best.measurement.mean_us > 0 ? m.mean_us / result.best.measurement.mean_us : 1.0;
  return absl::StrFormat("%s %12.3f %s %8d %7.2fx%s %s%s\n", is_best ? "*" : " ", m.mean_us, margin, m.num_samples,
                         ratio, success.ties_with_fastest ? "=" : " ", Printable(success.config.ToString()),
                         is_baseline ? "  (baseline)" : "");
}

std::string RooflineLine(const Roofline& roofline) {
  std::string line = "the best";
  if (roofline.gb_per_s > 0) absl::StrAppendFormat(&line, " moves %.0f GB/s", roofline.gb_per_s);
  if (roofline.tflop_per_s > 0) {
    absl::StrAppendFormat(&line, "%s computes %.2f TFLOP/s", roofline.gb_per_s > 0 ? "," : "", roofline.tflop_per_s);
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

/// One line for each config that was measured for others, too: the first of these, and how many more.
std::string SameCode(const TuningResult& result) {
  std::map<std::string, std::vector<std::string>> others_of;
  for (const Duplicate& duplicate : result.duplicates) {
    others_of[duplicate.same_as.ToString()].push_back(duplicate.config.ToString());
  }
  std::string text;
  for (const auto& [measured, others] : others_of) {
    absl::StrAppend(&text, "  same code: {", Printable(others.front()), "}");
    if (others.size() > 1) absl::StrAppend(&text, " and ", others.size() - 1, " more");
    absl::StrAppend(&text, " as {", Printable(measured), "}\n");
  }
  return text;
}

}  // namespace

std::string SummaryTable(const TuningResult& result, const TableOptions& options) {
  std::string text = absl::StrFormat("%s: %d measured, %d failed, %d duplicates", Printable(result.kernel),
                                     result.successes.size(), result.failures.size(), result.duplicates.size());
  if (!result.not_measured.empty()) absl::StrAppend(&text, ", ", result.not_measured.size(), " not measured");
  text += "\n";
  absl::StrAppend(&text, "       mean us  +- 95% us  samples    best   config\n");
  auto total = static_cast<int>(result.successes.size());
  int top = std::min(total, options.top);
  int bottom = std::min(total - top, options.bottom);
  for (int i = 0; i < total; ++i) {
    if (i == top && total - top - bottom > 0) {
      absl::StrAppend(&text, "  ... ", total - top - bottom, " more\n");
    }
    if (i < top || i >= total - bottom)
      absl::StrAppend(&text, Row(result, result.successes[static_cast<std::size_t>(i)]));
  }
  for (const Failure& failure : result.failures) {
    // One line each: tools' messages can be pages.
    std::string reason = failure.message.substr(0, failure.message.find('\n'));
    absl::StrAppend(&text, "  failed (", std::string(FailureKindName(failure.kind)), "): {",
                    Printable(failure.config.ToString()), "}: ", Printable(reason), "\n");
  }
  absl::StrAppend(&text, SameCode(result));
  for (const Config& config : result.not_measured) {
    absl::StrAppend(&text, "  not measured, the search was cut short: {", Printable(config.ToString()), "}\n");
  }
  absl::StrAppend(&text, Substitutions(result));
  if (result.speedup_over_baseline) {
    absl::StrAppendFormat(&text, "best is %.2fx as fast as the baseline, round by round\n",
                          *result.speedup_over_baseline);
  }
  if (result.best.roofline) absl::StrAppend(&text, RooflineLine(*result.best.roofline));
  if (result.best.largest_difference) absl::StrAppend(&text, DifferenceLine(*result.best.largest_difference));
  if (!result.is_certain) {
    absl::StrAppend(&text, "not certain: the rounds or the budget ended before the candidates could be told apart\n");
  }
  for (const std::string& note : result.notes) absl::StrAppend(&text, "note: ", Printable(note), "\n");
  absl::StrAppendFormat(
      &text,
      "cost: %.2f s wall, %.2f s compiling %d artifacts, %.4f s on the device in %d rounds timed by %s, "
      "%d launches, %.1f MiB of device memory at most\n",
      result.cost.wall_seconds, result.cost.compile_seconds, result.cost.num_compiled, result.cost.gpu_seconds,
      result.cost.num_rounds, Printable(result.timer), result.cost.num_launches,
      static_cast<double>(result.cost.peak_bytes) / (1 << 20));
  if (result.is_isolated) {
    absl::StrAppend(&text, "candidates ran in a worker process, workers replaced: ", result.cost.workers_replaced,
                    "\n");
  }
  return text;
}

}  // namespace v0
}  // namespace tuneonce
