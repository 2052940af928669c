// tuneonce records diff A B
#include <algorithm>
#include <map>
#include <optional>

#include "console/output.h"
#include "records/records_store.h"
#include "report/config_json.h"
#include "store/kernel_fingerprint.h"
#include "store/stored_enums.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

/// The records of two stores for one key.
struct Pair {
  std::optional<TuningRecord> a, b;

  const TuningKey& key() const { return a ? a->key : b->key; }
  bool is_same_selection() const {
    return a && b && a->best.config.IsSame(b->best.config) && a->best.variant == b->best.variant;
  }
};

struct Difference {
  std::vector<Pair> pairs;  ///< In the order of A, then of B.
  /// Returns whether a record that only one store has is for other sources of a kernel that the other store has, on the
  /// same device and driver.
  bool IsOtherSource(const Pair& pair) const {
    return std::any_of(pairs.begin(), pairs.end(), [&](const Pair& other) {
      const TuningKey &x = pair.key(), &y = other.key();
      bool is_of_the_other_store = pair.a ? other.b.has_value() : other.a.has_value();
      return is_of_the_other_store && x.IsOtherSource(y) && x.SameDevice(y) && x.driver_version == y.driver_version;
    });
  }
};

Difference Compare(WholeStore a, WholeStore b, const std::string& kernel) {
  Difference difference;
  std::map<std::string, std::size_t> places;
  auto place = [&](const TuningKey& key) -> Pair* {
    if (!kernel.empty() && key.kernel != kernel) return nullptr;
    auto [it, is_new] = places.emplace(FullKey(key).ToString(), difference.pairs.size());
    if (is_new) difference.pairs.emplace_back();
    return &difference.pairs[it->second];
  };
  for (TuningRecord& record : a.records) {
    if (Pair* pair = place(record.key)) pair->a = std::move(record);
  }
  for (TuningRecord& record : b.records) {
    if (Pair* pair = place(record.key)) pair->b = std::move(record);
  }
  return difference;
}

Json RecordJson(const std::optional<TuningRecord>& record) {
  if (!record) return nullptr;
  return {{"config", ConfigJson(record->best.config)},
          {"variant", record->best.variant},
          {"mean_us", MeanJson(record->best.measurement)},
          {"num_samples", record->best.measurement.num_samples},
          {"reason", std::string(FindStored(record->reason)->word)},
          {"is_pinned", record->is_pinned},
          {"is_complete", record->is_complete},
          {"unix_seconds", record->unix_seconds}};
}

Json PairJson(const Pair& pair, bool is_other_source) {
  const TuningKey& key = pair.key();
  const char* what = !pair.b ? "only_a" : !pair.a ? "only_b" : "changed";
  return {{"kernel", key.kernel},
          {"key", key.key_text},
          {"device", key.device_name},
          {"driver_version", key.driver_version},
          {"what", what},
          {"other_source", is_other_source},
          {"a", RecordJson(pair.a)},
          {"b", RecordJson(pair.b)}};
}

void PrintPair(const Pair& pair, bool is_other_source) {
  std::string key = KeyLine(pair.key());
  const char* why = is_other_source ? "  (the other store has this kernel with different sources)" : "";
  if (!pair.b) return PrintLine("< %s: %s%s", key.c_str(), Brief(*pair.a).c_str(), why);
  if (!pair.a) return PrintLine("> %s: %s%s", key.c_str(), Brief(*pair.b).c_str(), why);
  PrintLine("! %s: %s -> %s", key.c_str(), Brief(*pair.a).c_str(), Brief(*pair.b).c_str());
}

}  // namespace

Status DiffRecords(const RecordsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(WholeStore a, ReadWhole(arguments.stores[0]));
  TUNEONCE_ASSIGN_OR_RETURN(WholeStore b, ReadWhole(arguments.stores[1]));
  std::vector<std::string> problems;
  for (const WholeStore* store : {&a, &b}) {
    for (const std::string& problem : RecordProblems(*store)) problems.push_back(store->path + ": " + problem);
  }
  Difference difference = Compare(std::move(a), std::move(b), arguments.kernel);
  Json differences = Json::array();
  int same = 0;
  for (const Pair& pair : difference.pairs) {
    if (pair.is_same_selection()) {
      ++same;
      continue;
    }
    bool is_other_source = !(pair.a && pair.b) && difference.IsOtherSource(pair);
    differences.push_back(PairJson(pair, is_other_source));
    if (!arguments.json) PrintPair(pair, is_other_source);
  }
  if (arguments.json) {
    PrintJson({{"a", arguments.stores[0]},
               {"b", arguments.stores[1]},
               {"same", same},
               {"differences", std::move(differences)},
               {"problems", problems}});
    return Status();
  }
  PrintLine("%zu keys differ, %d have the same selection", differences.size(), same);
  for (const std::string& problem : problems) PrintLine("not compared: %s", problem.c_str());
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
