#include "compare_results.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "report/config_json.h"
#include "report/records_json.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

/// Returns the one record of a file.
Result<TuningRecord> ReadResult(const std::string& path) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string content, ReadFile(path, kMostBytes));
  Result<std::vector<TuningRecord>> records = RecordsFromJson(content);
  if (!records.ok()) return records.status().WithPrefix(path);
  if (records->size() != 1) {
    return InvalidArgumentError(absl::StrCat(path, " has ", records->size(),
                                             " records, where a result of tuneonce tune --json has one: compare two "
                                             "stores instead"));
  }
  const Measurement& measured = records->front().best.measurement;
  if (!(measured.mean_us > 0)) return InvalidArgumentError(path + " has no time of the selected config");
  if (!measured.error_margin_us || !(*measured.error_margin_us >= 0)) {
    return InvalidArgumentError(
        path + " has a time without an interval, since it comes from one sample: compare bundles instead");
  }
  return std::move(records->front());
}

ComparedSide SideOf(const TuningRecord& record) {
  ComparedSide side;
  side.config = ConfigJson(record.best.config);
  side.variant = record.best.variant;
  side.measurement = record.best.measurement;
  return side;
}

}  // namespace

Result<CompareReport> CompareResults(const std::string& a, const std::string& b) {
  TUNEONCE_ASSIGN_OR_RETURN(TuningRecord of_a, ReadResult(a));
  TUNEONCE_ASSIGN_OR_RETURN(TuningRecord of_b, ReadResult(b));
  if (of_a.key.device_name != of_b.key.device_name) {
    return InvalidArgumentError("A was measured on " + of_a.key.device_name + ", and B on " + of_b.key.device_name);
  }
  if (of_a.tuned_at != of_b.tuned_at) {
    return InvalidArgumentError("A has the shape " + of_a.tuned_at + ", and B has " + of_b.tuned_at);
  }
  ComparedShape shape;
  shape.kernel = of_b.key.kernel;
  shape.shape = of_b.tuned_at;
  shape.speedup = SpeedupOf(of_a.best.measurement, of_b.best.measurement);
  shape.verdict = VerdictOf(*shape.speedup);
  shape.is_conclusive = IsConclusive(*shape.speedup);
  shape.timer = of_b.timer;
  shape.a = SideOf(of_a);
  shape.b = SideOf(of_b);
  shape.notes.emplace_back(
      "nothing was run: the verdict uses the times in the two results, which may differ by more than their intervals; "
      "outputs were not compared");
  if (of_a.key.kernel != of_b.key.kernel) {
    shape.notes.push_back("A is '" + of_a.key.kernel + "', and B is '" + of_b.key.kernel + "'");
  }
  if (of_a.timer != of_b.timer) shape.notes.push_back("A was timed by " + of_a.timer + ", and B by " + of_b.timer);
  CompareReport report{a, b, of_b.key.device_name, {}};
  report.shapes.push_back(std::move(shape));
  return report;
}

}  // namespace tuneonce::cli
