#include "report_data.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "base/short_list.h"
#include "record_entry.h"
#include "report/damaged_code.h"
#include "report/records_json.h"
#include "result_entry.h"
#include "store/default_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/sqlite_store.h"

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

/// A value of JSON as an axis can have it.
Json Plain(const Json& value) {
  if (value.is_string()) return Printable(value.get<std::string>());
  if (value.is_number() || value.is_boolean()) return value;
  return Printable(value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::string ValueText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? ShortestText(value.get<double>()) : value.dump();
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
  // Records begin with their format, as RecordsToJson writes them.
  if (absl::StrContains(text.substr(0, 200), "\"tuneonce-records\"")) {
    Result<std::vector<TuningRecord>> records = RecordsFromJson(text);
    if (!records.ok()) return records.status().WithPrefix(path);
    Add(path, "records", *records, {});
    return Status();
  }
  return AddResult(path, text);
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
  Add(options.path, "store", records, std::move(verified.problems));
  return Status();
}

Status ReportData::AddResult(const std::string& name, const std::string& json) {
  Result<ReportEntry> entry = ResultEntry(json, this);
  if (!entry.ok()) return entry.status().WithPrefix(name);
  entry->input = inputs_.size();
  entries_.push_back(*std::move(entry));
  inputs_.push_back({Printable(name), "result", {}});
  return Status();
}

void ReportData::Add(std::string name, std::string kind, const std::vector<TuningRecord>& records,
                     std::vector<std::string> problems) {
  for (const TuningRecord& record : records) {
    entries_.push_back(RecordEntry(record, this));
    entries_.back().input = inputs_.size();
  }
  for (std::string& problem : problems) problem = Printable(problem);
  inputs_.push_back({Printable(name), std::move(kind), std::move(problems)});
}

Status ReportData::KeepKernel(const std::string& kernel) {
  std::set<std::string> kernels;
  for (const ReportEntry& entry : entries_) kernels.insert(entry.kernel);
  if (kernels.count(kernel) == 0) {
    return NotFoundError("no record or result is for kernel '" + kernel +
                         "'; the kernels are: " + ShortList({kernels.begin(), kernels.end()}, kernel));
  }
  auto is_other = [&](const ReportEntry& entry) { return entry.kernel != kernel; };
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(), is_other), entries_.end());
  return Status();
}

std::string ReportData::SelectionText(const ReportEntry& entry) const {
  if (entry.more.contains("nearest_dim")) return "a table by " + entry.more["nearest_dim"].get<std::string>();
  return entry.config ? "{" + configs_[*entry.config].text + "}" : "-";
}

ConfigId ReportData::Intern(const Config& config) {
  auto [found, is_new] = ids_of_records_.emplace(config.Canonical(), 0);
  if (!is_new) return found->second;
  Json axes = Json::object();
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    axes[Printable(config.AxisName(i))] = ValueJson(config.values()[i]);
  }
  return found->second = Intern(axes);
}

ConfigId ReportData::Intern(const Json& axes) {
  ReportConfig config;
  config.axes = Json::object();
  for (const auto& [name, value] : axes.items()) config.axes[Printable(name)] = Plain(value);
  config.text = ConfigText(config.axes);
  auto [found, is_new] = ids_.emplace(config.axes.dump(), configs_.size());
  if (is_new) configs_.push_back(std::move(config));
  return found->second;
}

}  // namespace report
}  // namespace v0
}  // namespace tuneonce
