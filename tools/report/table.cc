#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "tuneonce/config.h"
#include "tuneonce/report.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Failures are listed up to this many; the first line has their number.
constexpr std::size_t kMostFailures = 5;

/// The text of a search's configs: of each only the axes that differ between what was measured or failed, and of all
/// together, the others.
class ConfigTexts {
 public:
  explicit ConfigTexts(const TuningRecord& record) {
    for (const CandidateOutcome& candidate : record.candidates) {
      if (candidate.kind == OutcomeKind::kMeasured || candidate.failed()) Add(candidate.config);
    }
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

std::string Row(const TuningRecord& record, const CandidateOutcome& success, const std::string& config) {
  bool is_best = success.config == record.best.config;
  bool is_baseline = record.baseline && success.config == record.baseline->config;
  const Measurement& m = success.measurement;
  std::string margin = m.error_margin_us ? absl::StrFormat("%9.3f", *m.error_margin_us) : "        -";
  double ratio = record.best.measurement.mean_us > 0 ? m.mean_us / record.best.measurement.mean_us : 1.0;
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
std::string Substitutions(const TuningRecord& record) {
  std::map<std::string, int> configs_by_line;
  for (const CandidateOutcome& candidate : record.candidates) {
    if (candidate.variant.empty()) continue;
    for (const PassedOver& passed_over : candidate.passed_over) {
      std::string reason = passed_over.reason.substr(0, passed_over.reason.find('\n'));
      ++configs_by_line[Printable(
          absl::StrCat("built by '", candidate.variant, "' instead of '", passed_over.variant, "': ", reason))];
    }
  }
  std::string text;
  for (const auto& [line, count] : configs_by_line) {
    absl::StrAppend(&text, "  ", count, count == 1 ? " config " : " configs ", line, "\n");
  }
  return text;
}

/// One line each, of the first few: tools' messages can be pages, and a broken kernel fails in every config.
std::string Failures(const TuningRecord& record, const ConfigTexts& configs) {
  std::string text;
  const std::vector<CandidateOutcome> failures = record.failures();
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (i == kMostFailures) {
      absl::StrAppend(&text, "  ... ", failures.size() - i, " more failed\n");
      break;
    }
    const CandidateOutcome& failure = failures[i];
    absl::StrAppend(&text, "  failed (", std::string(OutcomeName(failure.kind)), "): {", configs.Of(failure.config),
                    "}: ", Printable(failure.message.substr(0, failure.message.find('\n'))), "\n");
    for (const std::string& remark : failure.remarks) {
      if (remark.rfind("failed: ", 0) == 0)
        absl::StrAppend(&text, "    the compiler remarks: ", Printable(remark), "\n");
    }
  }
  return text;
}

/// One line for each remark, however many configs it is about, in the order of a config's remarks.
std::string Remarks(const TuningRecord& record) {
  std::vector<std::pair<std::string, int>> counts;
  for (const CandidateOutcome& candidate : record.candidates) {
    for (const std::string& remark : candidate.remarks) {
      auto known = std::find_if(counts.begin(), counts.end(), [&](const auto& each) { return each.first == remark; });
      if (known == counts.end()) known = counts.insert(known, {remark, 0});
      ++known->second;
    }
  }
  std::string text;
  for (const auto& [remark, count] : counts) {
    const std::vector<std::string>& of_best = record.best.remarks;
    const bool is_of_best = std::find(of_best.begin(), of_best.end(), remark) != of_best.end();
    absl::StrAppend(&text, is_of_best ? "* " : "  ", "the compiler remarks for ", count,
                    count == 1 ? " config: " : " configs: ", Printable(remark), "\n");
  }
  return text;
}

std::string Rows(const TuningRecord& record, const TableOptions& options, const ConfigTexts& configs) {
  std::string text = "       mean us  +- 95% us  samples    best   config";
  if (std::string all = configs.OfAll(); !all.empty()) absl::StrAppend(&text, " (of all: ", all, ")");
  text += "\n";
  const std::vector<CandidateOutcome> successes = record.successes();
  auto total = static_cast<int>(successes.size());
  int top = std::min(total, options.top);
  int bottom = std::min(total - top, options.bottom);
  for (int i = 0; i < total; ++i) {
    const CandidateOutcome& success = successes[static_cast<std::size_t>(i)];
    if (i == top && total - top - bottom > 0) absl::StrAppend(&text, "  ... ", total - top - bottom, " more\n");
    if (i < top || i >= total - bottom) absl::StrAppend(&text, Row(record, success, configs.Of(success.config)));
  }
  return text;
}

std::string CostLine(const TuningRecord& record) {
  std::string line = absl::StrFormat(
      "cost: %.2f s wall, %.2f s compiling %d artifacts, %.4f s on the device in %d rounds timed by %s%s, "
      "%d launches, %.1f MiB of device memory at most",
      record.cost.wall_seconds, record.cost.compile_seconds, record.cost.num_compiled, record.cost.gpu_seconds,
      record.cost.num_rounds, Printable(record.timer), record.is_isolated ? " in a worker process" : "",
      record.cost.num_launches, static_cast<double>(record.cost.peak_bytes) / (1 << 20));
  if (record.cost.workers_replaced > 0) absl::StrAppend(&line, ", workers replaced: ", record.cost.workers_replaced);
  return line + "\n";
}

}  // namespace

std::string SummaryTable(const TuningRecord& record, const TableOptions& options) {
  std::string text = absl::StrFormat("%s: %d measured, %d failed, %d duplicates", Printable(record.key.kernel),
                                     record.successes().size(), record.failures().size(), record.duplicates().size());
  if (record.num_not_measured > 0) absl::StrAppend(&text, ", ", record.num_not_measured, " not measured");
  if (!record.is_complete) text += ": the search was cut short";
  text += "\n";
  const ConfigTexts configs(record);
  absl::StrAppend(&text, Rows(record, options, configs), Failures(record, configs));
  absl::StrAppend(&text, Substitutions(record));
  if (options.with_remarks) absl::StrAppend(&text, Remarks(record));
  if (record.speedup_over_baseline) {
    absl::StrAppendFormat(&text, "best is %.2fx as fast as the baseline, round by round\n",
                          *record.speedup_over_baseline);
  }
  if (record.best.roofline) absl::StrAppend(&text, RooflineLine(*record.best.roofline));
  if (record.best.largest_difference) absl::StrAppend(&text, DifferenceLine(*record.best.largest_difference));
  if (!record.is_conclusive) {
    absl::StrAppend(&text,
                    "not conclusive: the rounds or the budget ended before the candidates could be told apart\n");
  }
  for (const std::string& note : record.notes) absl::StrAppend(&text, "note: ", Printable(note), "\n");
  absl::StrAppend(&text, CostLine(record));
  return text;
}

}  // namespace v0
}  // namespace tuneonce
