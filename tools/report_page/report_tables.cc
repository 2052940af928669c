#include "report_tables.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/number_text.h"

namespace tuneonce {
inline namespace v0 {
namespace report {
namespace {

/// Returns a failure's message for Markdown, as one line of a table.
constexpr std::size_t kMostMessage = 160;

/// Quoted where it must be. A spreadsheet takes what begins with these for a formula.
std::string CsvCell(std::string text) {
  if (!text.empty() && std::string("=+-@\t\r").find(text.front()) != std::string::npos) text.insert(0, "'");
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string CsvLine(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = CsvCell(std::move(cell));
  return absl::StrJoin(cells, ",") + "\n";
}

std::string NumberText(const std::optional<double>& number) {
  return number ? RealText(*number, 'g', 6) : std::string();
}

std::string DriverText(int version) {
  return version == 0 ? "" : absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

/// Nothing in a cell is markup.
std::string MarkdownCell(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  if (line.size() > kMostMessage) line = line.substr(0, kMostMessage) + "...";
  return absl::StrReplaceAll(line, {{"\\", "\\\\"},
                                    {"|", "\\|"},
                                    {"<", "&lt;"},
                                    {"&", "&amp;"},
                                    {"*", "\\*"},
                                    {"_", "\\_"},
                                    {"`", "\\`"},
                                    {"[", "\\["}});
}

std::string MarkdownRow(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = MarkdownCell(cell);
  return absl::StrCat("| ", absl::StrJoin(cells, " | "), " |\n");
}

std::string TimeText(const ReportEntry& entry) {
  if (!entry.mean_us) return "not measured";
  std::string text = absl::StrFormat("%.4g us", *entry.mean_us);
  if (entry.error_margin_us) absl::StrAppendFormat(&text, " +- %.2g", *entry.error_margin_us);
  return text;
}

std::string FailuresMarkdown(const ReportData& data) {
  // A failure that many searches share is one line.
  std::map<std::vector<std::string>, int> times;
  for (const ReportEntry& entry : data.entries()) {
    for (const ReportCandidate& candidate : entry.candidates) {
      if (candidate.outcome == "measured" || candidate.outcome == "duplicate" || candidate.outcome == "not_measured") {
        continue;
      }
      ++times[{entry.kernel, "{" + data.configs()[candidate.config].text + "}", candidate.outcome, candidate.message}];
    }
  }
  if (times.empty()) return "";
  std::string text = "\n| kernel | config | failure | message | searches |\n|---|---|---|---|---|\n";
  for (const auto& [failure, count] : times) {
    std::vector<std::string> cells = failure;
    cells.push_back(std::to_string(count));
    text += MarkdownRow(std::move(cells));
  }
  return text;
}

}  // namespace

std::string ReportCsv(const ReportData& data) {
  std::string text = CsvLine({"input",
                              "kernel",
                              "key",
                              "shape",
                              "device",
                              "driver",
                              "source",
                              "config",
                              "outcome",
                              "is_selected",
                              "is_baseline",
                              "variant",
                              "mean_us",
                              "error_margin_us",
                              "num_samples",
                              "message",
                              "same_as",
                              "why",
                              "speedup_over_baseline",
                              "is_conclusive",
                              "unix_seconds"});
  for (const ReportEntry& entry : data.entries()) {
    auto line = [&](const std::string& config, bool is_selected, bool is_baseline, const ReportCandidate& of) {
      return CsvLine({data.inputs()[entry.input].name,
                      entry.kernel,
                      entry.key,
                      entry.shape,
                      entry.device,
                      DriverText(entry.driver_version),
                      entry.fingerprint,
                      config,
                      of.outcome,
                      is_selected ? "true" : "false",
                      is_baseline ? "true" : "false",
                      of.variant,
                      NumberText(of.mean_us),
                      NumberText(of.error_margin_us),
                      std::to_string(of.num_samples),
                      of.message,
                      of.same_as ? data.configs()[*of.same_as].text : "",
                      is_selected ? entry.why : "",
                      is_selected ? NumberText(entry.speedup_over_baseline) : "",
                      entry.is_conclusive ? "true" : "false",
                      std::to_string(entry.unix_seconds)});
    };
    for (const ReportCandidate& each : entry.candidates) {
      text += line(data.configs()[each.config].text, entry.config == each.config, entry.baseline == each.config, each);
    }
    if (!entry.candidates.empty()) continue;
    ReportCandidate own;  // Pinned, imported: nothing was tried.
    own.outcome = entry.mean_us ? "measured" : "not_measured";
    own.variant = entry.variant;
    own.mean_us = entry.mean_us;
    own.error_margin_us = entry.error_margin_us;
    own.num_samples = entry.num_samples;
    text += line(entry.config ? data.configs()[*entry.config].text : data.SelectionText(entry), true, false, own);
  }
  return text;
}

std::string ReportMarkdown(const ReportData& data) {
  std::string text = "| kernel | key | device | driver | selection | time | over the baseline | why |\n";
  text += "|---|---|---|---|---|---|---|---|\n";
  for (const ReportEntry& entry : data.entries()) {
    const std::string speedup =
        entry.speedup_over_baseline ? absl::StrFormat("%.2fx", *entry.speedup_over_baseline) : "";
    std::string why = entry.why;
    if (!entry.is_conclusive) why += ", not conclusive";
    if (!entry.is_complete) absl::StrAppend(&why, ", ", entry.num_not_measured, " not measured");
    text += MarkdownRow({entry.kernel, entry.key, entry.device, DriverText(entry.driver_version),
                         data.SelectionText(entry), TimeText(entry), speedup, why});
  }
  text += FailuresMarkdown(data);
  for (const ReportInput& input : data.inputs()) {
    for (const std::string& problem : input.problems) {
      absl::StrAppend(&text, "\nNot read of ", MarkdownCell(input.name), ": ", MarkdownCell(problem), "\n");
    }
  }
  return text;
}

}  // namespace report
}  // namespace v0
}  // namespace tuneonce
