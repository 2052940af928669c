#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "compare/compare_run.h"
#include "console/output.h"
#include "report/config_json.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

ComparedSide SideOf(const ComparedRun& run) {
  ComparedSide side{ConfigJson(run.config), run.variant, std::nullopt, run.memory_bytes};
  if (run.measurement.num_samples > 0) side.measurement = run.measurement;
  return side;
}

/// "1.052 times as fast (1.049 to 1.055)".
std::string SpeedupText(const Speedup& speedup) {
  return absl::StrFormat("%.3f times as fast (%.3f to %.3f)", speedup.ratio, speedup.low, speedup.high);
}

std::string VerdictText(Verdict verdict, bool is_conclusive) {
  return std::string(VerdictName(verdict)) + (is_conclusive ? "" : ", not conclusive");
}

/// "12.34 us by {TILE=64}, cuda".
std::string SideText(const ComparedSide& side) {
  std::string text = side.measurement ? absl::StrFormat("%.3f us by ", side.measurement->mean_us) : "";
  return text + "{" + SettingsText(side.config) + "}" + (side.variant.empty() ? "" : ", " + side.variant);
}

/// Returns the label of a line: the shape, with its kernel if several are compared.
std::string LabelOf(const ComparedShape& shape, const CompareReport& report) {
  const bool has_others = std::any_of(report.shapes.begin(), report.shapes.end(),
                                      [&](const ComparedShape& each) { return each.kernel != shape.kernel; });
  if (shape.shape.empty()) return shape.kernel;
  return has_others ? shape.kernel + ", " + shape.shape : shape.shape;
}

void PrintShape(const ComparedShape& shape, const std::string& label) {
  if (!shape.status.ok()) {
    return PrintLine("%s: not compared: %s", label.c_str(), shape.status.message().c_str());
  }
  const std::string verdict = VerdictText(shape.verdict, shape.is_conclusive);
  if (!shape.failure.empty()) {
    const std::string first_line = shape.failure.substr(0, shape.failure.find('\n'));
    PrintLine("%s: %s: B failed: %s", label.c_str(), verdict.c_str(), first_line.c_str());
  } else {
    const std::string same = shape.is_same_code ? ", the same code" : "";
    PrintLine("%s: B is %s: %s%s", label.c_str(), SpeedupText(*shape.speedup).c_str(), verdict.c_str(), same.c_str());
  }
  PrintLine("  A: %s", SideText(shape.a).c_str());
  if (shape.failure.empty()) PrintLine("  B: %s", SideText(shape.b).c_str());
}

Json SpeedupJson(const std::optional<Speedup>& speedup) {
  if (!speedup) return nullptr;
  return {{"ratio", speedup->ratio}, {"low", speedup->low}, {"high", speedup->high}};
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json SideJson(const ComparedSide& side) {
  Json json = {{"config", side.config}, {"variant", side.variant}};
  const std::optional<Measurement>& m = side.measurement;
  json["mean_us"] = m ? Json(m->mean_us) : Json(nullptr);
  json["error_margin_us"] = m ? OrNull(m->error_margin_us) : Json(nullptr);
  json["num_samples"] = m ? m->num_samples : 0;
  json["memory_bytes"] = OrNull(side.memory_bytes);
  return json;
}

Json ComparedJson(const ComparedShape& shape) {
  Json json = {{"kernel", shape.kernel}};
  const bool is_compared = shape.status.ok();  // Otherwise its label may be that of a line or a key.
  json["shape"] = is_compared ? ShapeJson(shape.shape) : Json(nullptr);
  const std::string label = shape.shape.empty() ? "" : shape.shape + ": ";
  json["error"] = is_compared ? Json(nullptr) : Json(label + shape.status.ToString());
  if (!is_compared) return json;
  json["verdict"] = std::string(VerdictName(shape.verdict));
  json["is_conclusive"] = shape.is_conclusive;
  json["speedup"] = SpeedupJson(shape.speedup);
  json["a"] = SideJson(shape.a);
  json["b"] = shape.failure.empty() ? SideJson(shape.b) : Json(nullptr);
  json["correctness"] = shape.correctness;
  json["failure"] = shape.failure.empty() ? Json(nullptr) : Json(shape.failure);
  json["largest_difference"] = nullptr;
  if (const auto& largest = shape.largest_difference) {
    json["largest_difference"] = {{"output", largest->output},
                                  {"absolute", largest->absolute},
                                  {"share_of_tolerance", largest->share_of_tolerance}};
  }
  json["is_same_code"] = shape.is_same_code;
  json["num_pairs"] = shape.num_pairs;
  json["timer"] = shape.timer;
  json["is_isolated"] = shape.is_isolated;
  json["notes"] = shape.notes;
  return json;
}

Json ReportJson(const CompareReport& report, const CompareSummary& summary, const std::optional<LedgerEnd>& ledger) {
  Json json = {{"a", report.a}, {"b", report.b}, {"device", report.device}, {"shapes", Json::array()}};
  for (const ComparedShape& shape : report.shapes) json["shapes"].push_back(ComparedJson(shape));
  Json& all = json["summary"];
  all["verdict"] = std::string(VerdictName(summary.verdict));
  all["is_conclusive"] = summary.is_conclusive;
  all["speedup"] = SpeedupJson(summary.speedup);
  all["latency_ms"] = OrNull(summary.latency_ms);
  all["memory_bytes"] = OrNull(summary.memory_bytes);
  all["correctness"] = summary.correctness;
  all["accept"] = summary.accept;
  all["minor"] = summary.minor;
  all["no_change"] = summary.no_change;
  all["revert"] = summary.revert;
  all["crash"] = summary.crash;
  all["not_compared"] = summary.not_compared;
  if (ledger) {
    json["ledger"] = {{"file", ledger->path}, {"iteration", ledger->iteration}};
    json["ledger"]["stop"] = ledger->stop.empty() ? Json(nullptr) : Json(ledger->stop);
  }
  return json;
}

/// Prints each note once, for any number of shapes.
void PrintNotes(const CompareReport& report) {
  std::set<std::string> said;
  for (const ComparedShape& shape : report.shapes) {
    for (const std::string& note : shape.notes) {
      if (said.insert(note).second) PrintLine("note: %s", note.c_str());
    }
  }
}

void PrintSummary(const CompareReport& report, const CompareSummary& summary) {
  if (report.shapes.size() < 2) return;
  if (summary.speedup) {
    PrintLine("geometric mean: B is %s", SpeedupText(*summary.speedup).c_str());
  }
  PrintLine("%d accept, %d minor, %d no change, %d revert, %d crash, %d not compared: %s", summary.accept,
            summary.minor, summary.no_change, summary.revert, summary.crash, summary.not_compared,
            VerdictText(summary.verdict, summary.is_conclusive).c_str());
}

int& CountOf(Verdict verdict, CompareSummary* summary) {
  switch (verdict) {
    case Verdict::kAccept:
      return summary->accept;
    case Verdict::kMinor:
      return summary->minor;
    case Verdict::kRevert:
      return summary->revert;
    case Verdict::kCrash:
      return summary->crash;
    case Verdict::kNoChange:
      break;
  }
  return summary->no_change;
}

}  // namespace

ComparedShape ComparedShape::Of(const KernelComparison& comparison) {
  ComparedShape shape;
  shape.a = SideOf(comparison.a);
  if (comparison.b) shape.b = SideOf(*comparison.b);
  shape.speedup = comparison.speedup;
  shape.verdict = comparison.verdict;
  shape.is_conclusive = comparison.is_conclusive;
  shape.is_same_code = comparison.is_same_code;
  shape.failure = comparison.failure;
  shape.correctness = !comparison.failure.empty() ? "fail" : comparison.largest_difference ? "pass" : "not_compared";
  shape.largest_difference = comparison.largest_difference;
  shape.num_pairs = comparison.num_pairs;
  shape.timer = comparison.timer;
  shape.is_isolated = comparison.is_isolated;
  shape.notes = comparison.notes;
  return shape;
}

CompareSummary SummaryOf(const CompareReport& report) {
  CompareSummary summary;
  std::vector<Speedup> speedups;
  bool has_sure_revert = false;
  bool b_ran_everywhere = true;
  double log_us = 0;
  std::map<std::string, int> by_correctness;
  for (const ComparedShape& shape : report.shapes) {
    if (!shape.status.ok()) {
      ++summary.not_compared;
      continue;
    }
    ++CountOf(shape.verdict, &summary);
    ++by_correctness[shape.correctness];
    has_sure_revert |= shape.verdict == Verdict::kRevert && shape.is_conclusive;
    b_ran_everywhere &= shape.b.measurement.has_value();
    if (shape.b.measurement) log_us += std::log(shape.b.measurement->mean_us);
    if (shape.speedup) speedups.push_back(shape.is_same_code ? Speedup() : *shape.speedup);
    if (shape.b.memory_bytes) summary.memory_bytes = std::max(*shape.b.memory_bytes, summary.memory_bytes.value_or(0));
  }
  if (!speedups.empty()) {
    summary.speedup = GeometricMean(speedups);
    summary.verdict = VerdictOf(*summary.speedup);
    summary.is_conclusive = IsConclusive(*summary.speedup);
    if (b_ran_everywhere) {
      summary.latency_ms = std::exp(log_us / static_cast<double>(speedups.size())) / 1000;
    }
  }
  if (summary.crash > 0) {
    summary.verdict = Verdict::kCrash;
    summary.is_conclusive = true;
  } else if (summary.revert > 0) {
    summary.verdict = Verdict::kRevert;
    summary.is_conclusive = has_sure_revert;
  }
  const bool is_whole = by_correctness.size() == 1;
  summary.correctness = by_correctness.count("fail") > 0 ? "fail"
                        : is_whole                       ? by_correctness.begin()->first
                                                         : "not_compared";
  return summary;
}

void PrintReport(const CompareReport& report, const CompareSummary& summary, const std::optional<LedgerEnd>& ledger,
                 bool json) {
  if (json) return PrintJson(ReportJson(report, summary, ledger));
  const std::string where = report.device.empty() ? "" : ", on " + report.device;
  PrintLine("B, %s, compared with A, %s%s", report.b.c_str(), report.a.c_str(), where.c_str());
  for (const ComparedShape& shape : report.shapes) PrintShape(shape, LabelOf(shape, report));
  PrintSummary(report, summary);
  PrintNotes(report);
  if (!ledger) return;
  PrintLine("row %lld of %s", static_cast<long long>(ledger->iteration), ledger->path.c_str());
  if (!ledger->stop.empty()) PrintLine("stop: %s", ledger->stop.c_str());
}

}  // namespace v0
}  // namespace tuneonce
