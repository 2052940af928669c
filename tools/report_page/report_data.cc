#include "report_data.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "base/short_list.h"
#include "report/records_json.h"
#include "store/default_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace report {
namespace {

using Json = nlohmann::ordered_json;

/// The first 16 bytes of SQLite's files (https://sqlite.org/fileformat.html, 1.3.1).
constexpr char kSqliteMagic[] = "SQLite format 3";
/// Adds a file of records or a result.
constexpr std::size_t kMostBytes = std::size_t{512} << 20;
/// How long a report waits for others that hold the store.
constexpr int kPatienceMs = 5000;

Json ValueJson(const AxisValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Printable(*text);
  if (const auto* real = std::get_if<double>(&value)) {
    return std::isfinite(*real) ? Json(*real) : Json(AxisValueString(value));
  }
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  return std::get<std::int64_t>(value);
}

std::string ValueText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? ShortestText(value.get<double>()) : value.dump();
}

/// Returns a copy of the JSON in which every text, names included, is Printable.
Json Shown(const Json& json) {
  if (json.is_string()) return PrintableLines(json.get<std::string>());
  if (!json.is_structured()) return json;
  Json shown = json.is_array() ? Json::array() : Json::object();
  for (const auto& [name, value] : json.items()) {
    if (json.is_array()) {
      shown.push_back(Shown(value));
    } else {
      shown[Printable(name)] = Shown(value);
    }
  }
  return shown;
}

std::string ConfigText(const Json& axes) {
  std::string text;
  for (const auto& [name, value] : axes.items()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, "=", ValueText(value));
  }
  return text;
}

}  // namespace

bool IsSqliteFile(const std::string& path) {
  char magic[sizeof(kSqliteMagic)] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof(magic));
  return std::string(magic, sizeof(magic)) == std::string(kSqliteMagic, sizeof(kSqliteMagic));
}

Status ReportData::AddFile(const std::string& path) {
  if (IsSqliteFile(path)) return AddStore(path);
  TUNEONCE_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kMostBytes));
  return AddJson(path, text);
}

Status ReportData::AddStore(const std::string& path) {
  SqliteStoreOptions options;
  options.path = path;
  options.read_only = true;
  options.busy_timeout_ms = kPatienceMs;
  if (path.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(options.path, DefaultStorePath(Runtime::Default()->environment()));
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, SqliteStore::Open(options));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, store->List());
  TUNEONCE_ASSIGN_OR_RETURN(StoreReport verified, store->Verify());
  if (verified.are_records_whole && !verified.problems.empty()) verified.problems = {kDamagedCode};
  Add(options.path, "store", std::move(records), std::move(verified.problems));
  return Status();
}

Status ReportData::AddJson(const std::string& name, const std::string& json) {
  Result<std::vector<TuningRecord>> records = RecordsFromJson(json);
  if (!records.ok()) return records.status().WithPrefix(name);
  const std::size_t num_records = records->size();
  Add(name, "records", *std::move(records), {});
  const Json whole = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (num_records == 1 && whole.contains("timeline")) entries_.back().timeline = Shown(whole["timeline"]);
  return Status();
}

void ReportData::Add(std::string name, std::string kind, std::vector<TuningRecord> records,
                     std::vector<std::string> problems) {
  for (TuningRecord& record : records) {
    Intern(record.best.config);
    if (record.baseline) Intern(record.baseline->config);
    for (const CandidateOutcome& candidate : record.candidates) {
      Intern(candidate.config);
      if (candidate.same_as) Intern(*candidate.same_as);
    }
    for (const FatalCandidate& fatal : record.fatal) Intern(fatal.config);
    for (const ImportedRow& row : record.rows) Intern(row.config);
    entries_.push_back({inputs_.size(), std::move(record), {}});
  }
  for (std::string& problem : problems) problem = Printable(problem);
  inputs_.push_back({Printable(name), std::move(kind), std::move(problems)});
}

Status ReportData::KeepKernel(const std::string& kernel) {
  std::set<std::string> kernels;
  for (const ReportEntry& entry : entries_) kernels.insert(Printable(entry.record.key.kernel));
  if (kernels.count(kernel) == 0) {
    return NotFoundError("no record or result is for kernel '" + kernel +
                         "'; the kernels are: " + ShortList({kernels.begin(), kernels.end()}, kernel));
  }
  auto is_other = [&](const ReportEntry& entry) { return Printable(entry.record.key.kernel) != kernel; };
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(), is_other), entries_.end());
  return Status();
}

std::string ReportData::SelectionText(const ReportEntry& entry) const {
  if (!entry.record.nearest_dim.empty()) return "a table by " + Printable(entry.record.nearest_dim);
  return "{" + configs_[IdOf(entry.record.best.config)].text + "}";
}

void ReportData::Intern(const Config& config) {
  if (!ids_.emplace(config.Canonical(), configs_.size()).second) return;
  ReportConfig& added = configs_.emplace_back();
  added.axes = Json::object();
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    added.axes[Printable(config.AxisName(i))] = ValueJson(config.values()[i]);
  }
  added.text = ConfigText(added.axes);
}

std::string WhyText(const TuningRecord& record) {
  if (record.is_pinned) return "it was pinned";
  switch (record.reason) {
    case SelectionReason::kFastest:
      return "the fastest";
    case SelectionReason::kTieBaseline:
      return "as fast as the fastest, and the baseline";
    case SelectionReason::kTieEarliest:
      return "as fast as the fastest, and the first of these in the space";
    case SelectionReason::kBaselineByMargin:
      return "the baseline: something was faster, but not by the margin";
    case SelectionReason::kImported:
      return record.best.measurement.num_samples > 0
                 ? "imported, and compared with the baseline"
                 : "imported; it is compared with the baseline before its first launch";
    default:
      return "not known";
  }
}

}  // namespace report
}  // namespace v0
}  // namespace tuneonce
