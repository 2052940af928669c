// tuneonce records dispatch: the fewest configs for a kernel's keys
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/number_text.h"
#include "console/numbers.h"
#include "console/output.h"
#include "records/config_dispatch.h"
#include "records/output_check.h"
#include "records/records_store.h"
#include "report/config_json.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

/// The times of a kernel's records as a table.
struct Table {
  std::vector<std::string> dims;
  std::vector<std::vector<std::int64_t>> extents;  // By record.
  std::vector<Config> configs;
  std::vector<std::vector<double>> slowdowns;  // By record, then by config.
};

/// Returns 0.03 for "3%".
Result<double> FractionOf(const std::string& text) {
  const bool is_percent = !text.empty() && text.back() == '%';
  std::optional<double> number = ParseNumber<double>(text.substr(0, text.size() - (is_percent ? 1 : 0)));
  if (is_percent && number && std::isfinite(*number) && *number >= 0) return *number / 100;
  return InvalidArgumentError("--within " + text + ": give a percentage such as 3%");
}

/// Reads "M=16, N=4096".
std::vector<std::pair<std::string, std::int64_t>> ExtentsOf(const TuningRecord& record) {
  std::vector<std::pair<std::string, std::int64_t>> extents;
  const std::vector<std::string> parts = absl::StrSplit(record.tuned_at, ", ");
  for (const std::string& part : parts) {
    const std::vector<std::string> sides = absl::StrSplit(part, '=');
    const auto extent = sides.size() == 2 ? ParseNumber<std::int64_t>(sides[1]) : std::nullopt;
    if (extent) extents.emplace_back(sides[0], *extent);
  }
  return extents;
}

Table TableOf(const std::vector<TuningRecord>& records) {
  Table table;
  std::map<std::string, std::size_t> place_of;
  for (const auto& [dim, extent] : ExtentsOf(records.front())) table.dims.push_back(dim);
  for (const TuningRecord& record : records) {
    for (const CandidateOutcome& each : record.successes()) {
      if (place_of.emplace(each.config.Canonical(), table.configs.size()).second) table.configs.push_back(each.config);
    }
  }
  for (const TuningRecord& record : records) {
    std::vector<double>& row =
        table.slowdowns.emplace_back(table.configs.size(), std::numeric_limits<double>::infinity());
    const std::vector<CandidateOutcome> successes = record.successes();
    double best_us = std::numeric_limits<double>::infinity();
    for (const CandidateOutcome& each : successes) best_us = std::min(best_us, each.measurement.mean_us);
    for (const CandidateOutcome& each : successes) {
      row[place_of.at(each.config.Canonical())] = each.measurement.mean_us / best_us;
    }
    table.extents.emplace_back();
    for (const auto& [dim, extent] : ExtentsOf(record)) table.extents.back().push_back(extent);
    table.extents.back().resize(table.dims.size(), 0);
  }
  return table;
}

/// Returns the record with the fastest of the chosen configs as the selected one, and without those that were not
/// chosen. The baseline stays. Another config than the search selected was not verified as finalists are.
TuningRecord Dispatched(TuningRecord record, const std::vector<std::string>& chosen, double within) {
  auto is_kept = [&](const CandidateOutcome& each) {
    const bool is_baseline = record.baseline && each.config.IsSame(record.baseline->config);
    return is_baseline || std::count(chosen.begin(), chosen.end(), each.config.Canonical()) > 0;
  };
  std::vector<CandidateOutcome> kept;
  for (const CandidateOutcome& each : record.candidates) {
    if (is_kept(each)) kept.push_back(each);
  }
  const CandidateOutcome* best = nullptr;
  for (const CandidateOutcome& each : kept) {
    const bool is_chosen = std::count(chosen.begin(), chosen.end(), each.config.Canonical()) > 0;
    if (each.kind != OutcomeKind::kMeasured || !is_chosen) continue;
    if (best == nullptr || each.measurement.mean_us < best->measurement.mean_us) best = &each;
  }
  if (best != nullptr && !best->config.IsSame(record.best.config)) {
    record.notes.push_back(absl::StrCat("selected by records dispatch, within ", 100 * within, " % of {",
                                        record.best.config.ToString(), "}"));
    record.reason = SelectionReason::kUnknown;
    record.best = *best;
    record.is_conclusive = false;
    // They were the other config's.
    record.verification = Verification();
    record.speedup_over_baseline.reset();
  }
  record.num_not_measured += static_cast<int>(record.candidates.size() - kept.size());
  record.candidates = std::move(kept);
  return record;
}

}  // namespace

Status DispatchRecords(const RecordsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(const double within, FractionOf(arguments.within.empty() ? "3%" : arguments.within));
  TUNEONCE_RETURN_IF_ERROR(CheckStoreOutput(arguments.output, {arguments.store}, arguments.kernel));
  TUNEONCE_ASSIGN_OR_RETURN(const WholeStore store, ReadWhole(arguments.store));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> all, Records(*store.store, arguments.kernel));
  std::vector<TuningRecord> records, pinned;  // The pinned ones are written as they are.
  for (TuningRecord& record : all) {
    if (!arguments.device.empty() && record.key.device_name != arguments.device) continue;
    if (record.is_pinned) {
      pinned.push_back(std::move(record));
    } else if (!record.successes().empty() && !record.is_imported()) {
      records.push_back(std::move(record));
    }
  }
  if (records.empty()) {
    return NotFoundError("cannot select configs of '" + arguments.kernel + "': " + store.store->path() +
                         " has no measured record of it");
  }
  const bool is_one_device = std::all_of(records.begin(), records.end(), [&](const TuningRecord& record) {
    return record.key.SameDevice(records.front().key);
  });
  if (!is_one_device) return InvalidArgumentError("the records are of several devices: name one with --device");
  const Table table = TableOf(records);
  const std::vector<std::size_t> chosen = FewestConfigs(table.slowdowns, within);
  const DispatchTree tree = MakeDispatchTree(table.extents, table.slowdowns, chosen, within);
  std::vector<std::string> texts, canonical;
  for (const Config& config : table.configs) texts.push_back(config.ToString());
  for (std::size_t config : chosen) canonical.push_back(table.configs[config].Canonical());
  double sum = 0, largest = 1;
  for (std::size_t shape = 0; shape < records.size(); ++shape) {
    const double slowdown = table.slowdowns[shape][tree.ConfigAt(table.extents[shape])];
    sum += slowdown;
    largest = std::max(largest, slowdown);
  }
  const std::size_t num_records = records.size();
  for (TuningRecord& record : records) record = Dispatched(std::move(record), canonical, within);
  int without_code = 0;
  std::size_t num_code = 0;
  records.insert(records.end(), pinned.begin(), pinned.end());
  TUNEONCE_RETURN_IF_ERROR(WriteSelected(store, records, arguments.output, &without_code, &num_code));
  if (arguments.json) {
    Json json = {{"store", store.store->path()}, {"output", arguments.output}, {"records", num_records},
                 {"pinned", pinned.size()},      {"within", within},           {"measured", table.configs.size()}};
    json["configs"] = Json::array();
    for (std::size_t config : chosen) json["configs"].push_back(ConfigJson(table.configs[config]));
    json["dims"] = table.dims;
    json["tree"] = Json::array();
    for (const DispatchTree::Node& node : tree.nodes) {
      const auto place = std::find(chosen.begin(), chosen.end(), node.config) - chosen.begin();
      if (node.above == 0) {
        json["tree"].push_back({{"config", place}});
      } else {
        json["tree"].push_back({{"dim", table.dims[node.dim]}, {"at_most", node.at_most}, {"above", node.above}});
      }
    }
    json["tree_slowdown"] = {{"mean", sum / static_cast<double>(num_records)}, {"largest", largest}};
    json["code"] = num_code;
    json["without_code"] = without_code;
    PrintJson(json);
    return Status();
  }
  PrintLine("%zu of %zu measured configs are within %g %% of the fastest for all %zu records", chosen.size(),
            table.configs.size(), 100 * within, num_records);
  PrintText(tree.ToText(table.dims, texts));
  PrintLine(
      "a tree with %zu leaves selects configs that are %.1f %% slower than the fastest on average, at most %.1f %%",
      tree.num_leaves(), 100 * (sum / static_cast<double>(num_records) - 1), 100 * (largest - 1));
  PrintLine("%zu records and %zu pieces of code written to %s", records.size(), num_code, arguments.output.c_str());
  if (!pinned.empty()) PrintLine("%zu of these records are pinned, and unchanged", pinned.size());
  if (without_code > 0) PrintLine("%d of these records have no code: launches of them need a compiler", without_code);
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
