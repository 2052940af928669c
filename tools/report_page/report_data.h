#ifndef TUNEONCE_TOOLS_REPORT_PAGE_REPORT_DATA_H_
#define TUNEONCE_TOOLS_REPORT_PAGE_REPORT_DATA_H_

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/config.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {
namespace report {

/// A place in ReportData::configs.
using ConfigId = std::size_t;

/// A config, known by its axes and values. A value.
struct ReportConfig {
  nlohmann::ordered_json axes;  ///< {"TILE": 64, "backend": "tile"}
  std::string text;             ///< "TILE=64, backend=tile"
};

/// A file that a report is made from. A value.
struct ReportInput {
  std::string name;                   ///< The name that the caller gave.
  std::string kind;                   ///< "store" or "records".
  std::vector<std::string> problems;  ///< The problems of reading it, one line each.
};

/// A record and where it is from. A value.
struct ReportEntry {
  std::size_t input = 0;  ///< Which of ReportData::inputs it is from.
  TuningRecord record;
  nlohmann::ordered_json timeline;  ///< What the search did when (`tune --json --samples`). Null if unknown.
};

/// The content of a report: the records of all inputs. It does not depend on pages and tables. Thread rule: one thread
/// at a time.
class ReportData {
 public:
  /// Adds a store, or a file that `records export` or `tune --json` wrote. Errors, naming the file: those of opening a
  /// store; InvalidArgument for any other file.
  Status AddFile(const std::string& path);
  /// Adds the store of `path`; empty: the user's.
  Status AddStore(const std::string& path);
  /// Adds the text of a file of records (RecordsToJson, tune --json) as a file called `name`.
  Status AddJson(const std::string& name, const std::string& json);

  /// Forgets the entries of other kernels. Errors: NotFound, with the kernels that there are.
  Status KeepKernel(const std::string& kernel);

  const std::vector<ReportInput>& inputs() const { return inputs_; }
  const std::vector<ReportEntry>& entries() const { return entries_; }
  const std::vector<ReportConfig>& configs() const { return configs_; }
  /// Returns the place of a config of the entries.
  ConfigId IdOf(const Config& config) const { return ids_.at(config.Canonical()); }
  /// "{TILE=64}"; "a table by M" where an entry has no config of its own.
  std::string SelectionText(const ReportEntry& entry) const;

 private:
  void Add(std::string name, std::string kind, std::vector<TuningRecord> records, std::vector<std::string> problems);
  void Intern(const Config& config);

  std::vector<ReportInput> inputs_;
  std::vector<ReportEntry> entries_;
  std::vector<ReportConfig> configs_;
  std::map<std::string, ConfigId> ids_;  // By Config::Canonical.
};

/// Why a record's config is the selection: "the fastest", "it was pinned".
std::string WhyText(const TuningRecord& record);
/// Whether a file begins as SQLite's do.
bool IsSqliteFile(const std::string& path);

}  // namespace report
}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_PAGE_REPORT_DATA_H_
