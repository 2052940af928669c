#include "report_page/report_tables.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "report_page/record_words.h"
#include "report_page_html.h"

namespace tuneonce {
inline namespace v0 {

namespace report {
namespace {

// Where the data goes in page/page.html.
constexpr std::string_view kOverviewPlace = "@OVERVIEW@";
constexpr std::string_view kDetailsPlace = "@DETAILS@";

}  // namespace

std::string ReportPage(const ReportData& data) {
  const std::string_view html(kReportPageHtml, sizeof(kReportPageHtml) - 1);
  const std::size_t overview = html.find(kOverviewPlace), details = html.rfind(kDetailsPlace);
  std::string page(html.substr(0, overview));
  page += PageOverview(data);
  const std::size_t behind = overview + kOverviewPlace.size();
  page += html.substr(behind, details - behind);
  const std::string_view end = html.substr(details + kDetailsPlace.size());
  const std::size_t taken = page.size() + end.size();
  page += PageDetails(data, kMostPageBytes - std::min(kMostPageBytes, taken));
  page += end;
  return page;
}

}  // namespace report

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

std::string TimeText(const CandidateOutcome& best) {
  const Measurement& measured = best.measurement;
  if (measured.num_samples == 0) return "not measured";
  std::string text = absl::StrFormat("%.4g us", measured.mean_us);
  if (measured.error_margin_us) absl::StrAppendFormat(&text, " +- %.2g", *measured.error_margin_us);
  return text;
}

std::string FailuresMarkdown(const ReportData& data) {
  // A failure that many searches share is one line.
  std::map<std::vector<std::string>, int> times;
  for (const ReportEntry& entry : data.entries()) {
    for (const CandidateOutcome& candidate : entry.record.candidates) {
      if (!candidate.failed()) continue;
      ++times[{Printable(entry.record.key.kernel), "{" + data.configs()[data.IdOf(candidate.config)].text + "}",
               WordOf(candidate.kind), PrintableLines(candidate.message)}];
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
    const TuningRecord& record = entry.record;
    auto line = [&](const std::string& config, bool is_selected, bool is_baseline, const CandidateOutcome& of) {
      const Measurement& measured = of.measurement;
      const bool is_measured = measured.num_samples > 0;
      return CsvLine({data.inputs()[entry.input].name,
                      Printable(record.key.kernel),
                      Printable(record.key.key_text),
                      Printable(record.tuned_at),
                      Printable(record.key.device_name),
                      DriverText(record.key.driver_version),
                      record.key.kernel_fingerprint.ToString(),
                      config,
                      WordOf(of.kind),
                      is_selected ? "true" : "false",
                      is_baseline ? "true" : "false",
                      Printable(of.variant),
                      is_measured ? NumberText(measured.mean_us) : "",
                      NumberText(measured.error_margin_us),
                      std::to_string(measured.num_samples),
                      PrintableLines(of.message),
                      of.same_as ? data.configs()[data.IdOf(*of.same_as)].text : "",
                      is_selected ? WhyText(record) : "",
                      is_selected ? NumberText(record.speedup_over_baseline) : "",
                      record.is_conclusive ? "true" : "false",
                      std::to_string(record.unix_seconds)});
    };
    for (const CandidateOutcome& each : record.candidates) {
      const bool is_selected = record.nearest_dim.empty() && each.config.IsSame(record.best.config);
      const bool is_baseline = record.baseline && each.config.IsSame(record.baseline->config);
      text += line(data.configs()[data.IdOf(each.config)].text, is_selected, is_baseline, each);
    }
    if (!record.candidates.empty()) continue;
    // Pinned, imported: nothing was tried.
    const bool is_table = !record.nearest_dim.empty();
    text += line(is_table ? data.SelectionText(entry) : data.configs()[data.IdOf(record.best.config)].text, true, false,
                 record.best);
  }
  return text;
}

std::string ReportMarkdown(const ReportData& data) {
  std::string text = "| kernel | key | device | driver | selection | time | over the baseline | why |\n";
  text += "|---|---|---|---|---|---|---|---|\n";
  for (const ReportEntry& entry : data.entries()) {
    const TuningRecord& record = entry.record;
    const std::string speedup =
        record.speedup_over_baseline ? absl::StrFormat("%.2fx", *record.speedup_over_baseline) : "";
    std::string why = WhyText(record);
    if (!record.is_conclusive) why += ", not conclusive";
    if (record.num_not_measured > 0) why += ", " + record.SearchedText();
    text += MarkdownRow({Printable(record.key.kernel), Printable(record.key.key_text),
                         Printable(record.key.device_name), DriverText(record.key.driver_version),
                         data.SelectionText(entry), TimeText(record.best), speedup, why});
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
