#include "records/records_explain.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/number_text.h"
#include "base/short_list.h"
#include "console/numbers.h"
#include "console/output.h"
#include "records/records_store.h"
#include "report/config_json.h"
#include "report_page/report_data.h"
#include "store/stored_enums.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

/// Most candidates that are listed as text.
constexpr std::size_t kMostListed = 5;

/// Returns the indices and the required values of key words, from a shape of the kernel's bundle.
Result<std::map<std::size_t, std::uint64_t>> WordsOf(const KeyFilter& filter) {
  std::map<std::size_t, std::uint64_t> words;
  TUNEONCE_ASSIGN_OR_RETURN(auto settings, ParseSettings(filter.shape, "shape"));
  if (settings.empty()) return words;
  Result<Bundle> bundle = Bundle::Load(filter.kernel);
  if (!bundle.ok()) {
    return bundle.status().WithPrefix("--shape needs the kernel's bundle: add --bundle, or use --key");
  }
  const std::vector<KeyPart>& key = bundle->definition().key();
  for (const auto& [name, text] : settings) {
    std::optional<std::int64_t> extent = ParseNumber<std::int64_t>(text);
    if (!extent || *extent < 1) {
      return InvalidArgumentError("--shape " + name + "=" + text + ": the value must be a whole number of at least 1");
    }
    auto part = std::find_if(key.begin(), key.end(), [name = name](const KeyPart& each) {
      return each.kind == KeyPart::Kind::kDim && each.name == name;
    });
    if (part == key.end()) {
      return InvalidArgumentError("--shape " + name + ": the key of '" + filter.kernel + "' has no such dim");
    }
    words[static_cast<std::size_t>(part - key.begin())] = static_cast<std::uint64_t>(part->Round(*extent));
  }
  return words;
}

std::string Driver(int version) { return absl::StrCat(version / 1000, ".", version % 1000 / 10); }

/// Whether the record serves on another driver of its device: "always", or "by_policy" (min_match).
std::string OtherDriver(const TuningRecord& record) {
  return record.is_pinned || record.is_imported() ? "always" : "by_policy";
}
/// Describes a record of another device.
std::string OtherDevice(const TuningRecord& record) { return record.nearest_dim.empty() ? "by_policy" : "never"; }

std::string Origin(const TuningRecord& record) {
  if (record.is_pinned) return "pinned";
  if (!record.is_imported()) return "search";
  return record.best.measurement.num_samples > 0 ? "imported" : "imported_unchecked";
}

/// A candidate that was measured takes this much longer than the selection: 0.05 for 5 %.
double Slower(const CandidateOutcome& candidate, const TuningRecord& record) {
  double chosen_us = record.best.measurement.mean_us;
  return chosen_us > 0 ? candidate.measurement.mean_us / chosen_us - 1 : 0;
}

Json AlternativesJson(const TuningRecord& record) {
  Json alternatives = Json::array();
  for (const CandidateOutcome& candidate : record.candidates) {
    if (candidate.config.IsSame(record.best.config)) continue;
    Json json = {{"config", ConfigJson(candidate.config)}, {"outcome", std::string(FindStored(candidate.kind)->word)}};
    if (candidate.kind == OutcomeKind::kMeasured) {
      json["mean_us"] = candidate.measurement.mean_us;
      json["slower_by"] = Slower(candidate, record);
    }
    if (!candidate.message.empty()) json["message"] = candidate.message;
    alternatives.push_back(std::move(json));
  }
  return alternatives;
}

Json RecordJson(const TuningRecord& record) {
  auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  Json json = {
      {"device", record.key.device_name},
      {"driver_version", record.key.driver_version},
      {"config", ConfigJson(record.best.config)},
      {"variant", record.best.variant},
      {"origin", Origin(record)},
      {"reason", std::string(FindStored(record.reason)->word)},
      {"mean_us", MeanJson(record.best.measurement)},
      {"error_margin_us", or_null(record.best.measurement.error_margin_us)},
      {"num_samples", record.best.measurement.num_samples},
      {"speedup_over_baseline", or_null(record.speedup_over_baseline)},
      {"is_conclusive", record.is_conclusive},
      {"is_complete", record.is_complete},
      {"host", record.host},
      {"unix_seconds", record.unix_seconds},
      {"has_code", !(record.best.artifact == Fingerprint())},
      {"other_driver", OtherDriver(record)},
      {"other_device", OtherDevice(record)},
      {"alternatives", AlternativesJson(record)},
  };
  if (record.nearest_dim.empty()) return json;
  json["nearest_dim"] = record.nearest_dim;
  json["rows"] = Json::array();
  for (const ImportedRow& row : record.rows)
    json["rows"].push_back({{"at", row.at}, {"config", ConfigJson(row.config)}});
  return json;
}

std::string SureText(const TuningRecord& record) {
  const Measurement& measured = record.best.measurement;
  if (measured.num_samples == 0) return "not measured";
  std::string text = absl::StrFormat("%.3f us", measured.mean_us);
  if (measured.error_margin_us) absl::StrAppendFormat(&text, " +- %.3f us", *measured.error_margin_us);
  absl::StrAppend(&text, ", ", measured.num_samples, " samples");
  if (record.speedup_over_baseline) absl::StrAppendFormat(&text, ", %.2fx the baseline", *record.speedup_over_baseline);
  absl::StrAppend(&text, record.is_conclusive ? ", conclusive" : ", not conclusive",
                  record.num_not_measured == 0 ? "" : ", " + record.SearchedText());
  return text;
}

std::string AlternativesText(const TuningRecord& record) {
  std::vector<std::string> measured;
  int failed = 0, duplicates = 0;
  for (const CandidateOutcome& candidate : record.candidates) {
    if (candidate.config.IsSame(record.best.config)) continue;
    failed += candidate.failed() ? 1 : 0;
    duplicates += candidate.kind == OutcomeKind::kDuplicate ? 1 : 0;
    if (candidate.kind != OutcomeKind::kMeasured) continue;
    measured.push_back(absl::StrFormat("{%s} %+.1f %%", candidate.config.ToString(), 100 * Slower(candidate, record)));
  }
  std::string more = measured.size() > kMostListed ? absl::StrCat("; ", measured.size() - kMostListed, " more") : "";
  measured.resize(std::min(measured.size(), kMostListed));
  std::string text = measured.empty() ? "none measured" : absl::StrJoin(measured, ", ") + more;
  if (failed > 0) absl::StrAppend(&text, "; ", failed, " failed");
  if (duplicates > 0) absl::StrAppend(&text, "; ", duplicates, " the same code");
  return text;
}

void PrintRows(const TuningRecord& record) {
  PrintLine("    the row is used whose %s is nearest to the key's, which for a bucket is its bound:",
            record.nearest_dim.c_str());
  for (const ImportedRow& row : record.rows) {
    PrintLine("      %s=%ld: {%s}", record.nearest_dim.c_str(), row.at, row.config.ToString().c_str());
  }
}

void PrintExplained(const TuningRecord& record) {
  std::string driver = record.key.driver_version == 0 ? "any driver" : "driver " + Driver(record.key.driver_version);
  PrintLine("  on %s, %s: %s", record.key.device_name.c_str(), driver.c_str(),
            record.nearest_dim.empty() ? ("{" + record.best.config.ToString() + "}").c_str() : "a table");
  if (!record.nearest_dim.empty()) PrintRows(record);
  PrintLine("    why: %s", report::WhyText(record).c_str());
  PrintLine("    how sure: %s", SureText(record).c_str());
  PrintLine("    from: %s on %s%s%s", Origin(record).c_str(), DateOf(record.unix_seconds).c_str(),
            record.host.empty() ? "" : (", " + record.host).c_str(),
            record.best.toolchain.empty() ? "" : (", " + record.best.toolchain).c_str());
  if (!record.candidates.empty()) PrintLine("    alternatives: %s", AlternativesText(record).c_str());
  PrintLine("    another driver gets %s; another device %s",
            OtherDriver(record) == "always" ? "the same" : "it if min_match is other_driver",
            OtherDevice(record) == "never" ? "does not" : "if min_match is other_device");
}

}  // namespace

Result<std::vector<KeyRecords>> KeysOf(std::vector<TuningRecord> records, const KeyFilter& filter) {
  TUNEONCE_ASSIGN_OR_RETURN(auto words, WordsOf(filter));
  auto is_wanted = [&](const TuningRecord& record) {
    if (!filter.key.empty() && record.key.key_text != filter.key) return false;
    return std::all_of(words.begin(), words.end(), [&](const auto& word) {
      const std::vector<std::uint64_t>& own = record.key.key_words;
      bool serves_any = !record.nearest_dim.empty() && word.first < own.size() && own[word.first] == 0;
      return serves_any || (word.first < own.size() && own[word.first] == word.second);
    });
  };
  std::vector<KeyRecords> keys;
  std::vector<std::string> known;
  for (TuningRecord& record : records) {
    if (!is_wanted(record)) {
      known.push_back("'" + record.key.key_text + "'");
      continue;
    }
    auto same = std::find_if(keys.begin(), keys.end(),
                             [&](const KeyRecords& each) { return each.records.front().key.SameKernel(record.key); });
    if (same == keys.end()) same = keys.insert(keys.end(), KeyRecords{record.key.key_text, {}});
    same->records.push_back(std::move(record));
  }
  if (keys.empty())
    return NotFoundError("no record of '" + filter.kernel + "' is for that key; its keys are: " + ShortList(known));
  return keys;
}

Json ExplanationJson(const std::vector<KeyRecords>& keys) {
  Json json = Json::array();
  for (const KeyRecords& key : keys) {
    json.push_back({{"key", key.key}, {"records", Json::array()}});
    for (const TuningRecord& record : key.records) json.back()["records"].push_back(RecordJson(record));
  }
  return json;
}

void PrintExplanation(const std::vector<KeyRecords>& keys) {
  for (const KeyRecords& key : keys) {
    PrintLine("%s  %s", key.records.front().key.kernel.c_str(), key.key.c_str());
    for (const TuningRecord& record : key.records) PrintExplained(record);
  }
}

}  // namespace v0
}  // namespace tuneonce
