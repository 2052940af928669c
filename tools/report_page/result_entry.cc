#include "result_entry.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/printable.h"
#include "record_entry.h"
#include "store/stored_enums.h"

namespace tuneonce {
inline namespace v0 {
namespace report {
namespace {

using Json = nlohmann::ordered_json;

/// Deeper than any result is.
constexpr int kMostDepth = 32;

/// Returns the member of that name, or null.
const Json& At(const Json& json, const char* name) {
  static const Json none;
  if (!json.is_object()) return none;
  auto found = json.find(name);
  return found == json.end() ? none : *found;
}

std::optional<double> NumberAt(const Json& json, const char* name) {
  const Json& value = At(json, name);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}
int IntAt(const Json& json, const char* name) {
  const Json& value = At(json, name);
  if (!value.is_number_integer()) return 0;
  return static_cast<int>(std::clamp<std::int64_t>(value.get<std::int64_t>(), INT32_MIN, INT32_MAX));
}
std::string TextAt(const Json& json, const char* name) {
  const Json& value = At(json, name);
  return value.is_string() ? PrintableLines(value.get<std::string>()) : std::string();
}
bool FlagAt(const Json& json, const char* name, bool otherwise) {
  const Json& value = At(json, name);
  return value.is_boolean() ? value.get<bool>() : otherwise;
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

std::optional<ConfigId> ConfigAt(const Json& json, const char* name, ReportData* data) {
  const Json& config = At(json, name);
  return config.is_object() ? std::optional(data->Intern(config)) : std::nullopt;
}

Json Picked(const Json& json, std::initializer_list<const char*> names) {
  Json picked;
  for (const char* name : names) {
    if (const Json& value = At(json, name); !value.is_null()) picked[name] = Shown(value);
  }
  return picked;
}

void AddSuccesses(const Json& result, ReportData* data, ReportEntry* entry) {
  for (const Json& success : At(result, "successes")) {
    std::optional<ConfigId> config = ConfigAt(success, "config", data);
    if (!config) continue;
    ReportCandidate& candidate = entry->candidates.emplace_back();
    candidate.config = *config;
    candidate.outcome = "measured";
    candidate.variant = TextAt(success, "variant");
    candidate.mean_us = NumberAt(success, "mean_us");
    candidate.error_margin_us = NumberAt(success, "error_margin_us");
    candidate.num_samples = IntAt(success, "num_samples");
    if (const Json& ties = At(success, "ties_with_fastest"); ties.is_boolean()) {
      candidate.ties_with_fastest = ties.get<bool>();
    }
    candidate.more = Picked(success, {"latency", "roofline", "resources", "largest_difference", "samples"});
  }
}

void AddOthers(const Json& result, ReportData* data, ReportEntry* entry) {
  auto add = [&](const Json& from, const char* name, std::string outcome) -> ReportCandidate* {
    std::optional<ConfigId> config = ConfigAt(from, name, data);
    if (!config) return nullptr;
    ReportCandidate& candidate = entry->candidates.emplace_back();
    candidate.config = *config;
    candidate.outcome = std::move(outcome);
    return &candidate;
  };
  for (const Json& failure : At(result, "failures")) {
    // "wrong result" here is "wrong_result" in records; "wrote an input" is "wrote_input".
    std::string kind = absl::StrReplaceAll(TextAt(failure, "kind"), {{" an ", "_"}, {" ", "_"}});
    if (ReportCandidate* failed = add(failure, "config", std::move(kind))) failed->message = TextAt(failure, "message");
  }
  for (const Json& duplicate : At(result, "duplicates")) {
    if (ReportCandidate* same = add(duplicate, "config", "duplicate"))
      same->same_as = ConfigAt(duplicate, "same_as", data);
  }
  for (const Json& config : At(result, "not_measured")) {
    if (config.is_object()) add(Json{{"config", config}}, "config", "not_measured");
  }
}

void AddBest(const Json& result, ReportData* data, ReportEntry* entry) {
  const Json& best = At(result, "best");
  const Json& latency = At(best, "latency");
  entry->config = ConfigAt(best, "config", data);
  entry->variant = TextAt(best, "variant");
  entry->mean_us = NumberAt(best, "mean_us");
  entry->error_margin_us = NumberAt(best, "error_margin_us");
  entry->num_samples = IntAt(best, "num_samples");
  entry->std_us = NumberAt(latency, "std");
  entry->median_us = NumberAt(latency, "median");
  entry->min_us = NumberAt(latency, "min");
  entry->max_us = NumberAt(latency, "max");
  entry->baseline = ConfigAt(At(result, "baseline"), "config", data);
  entry->speedup_over_baseline = NumberAt(result, "speedup_over_baseline");
}

/// "M=64, N=32".
std::string ShapeText(const Json& shape) {
  std::string text;
  if (!shape.is_object()) return text;
  for (const auto& [name, value] : shape.items()) {
    if (value.is_structured()) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", Printable(name), "=",
                    value.is_string() ? Printable(value.get<std::string>()) : value.dump());
  }
  return text;
}

Status CheckIsResult(const Json& json) {
  const char* advice = ": use a store, or a file made by tuneonce records export or tuneonce tune --json";
  if (!json.is_object()) return InvalidArgumentError(absl::StrCat("the file is not a JSON object", advice));
  if (At(json, "keys").is_array()) {
    return InvalidArgumentError(
        "a result of many shapes has no candidates: use the store that it was written to (--store)");
  }
  if (!At(json, "kernel").is_string() || !At(json, "best").is_object()) {
    return InvalidArgumentError(absl::StrCat("the file has no 'kernel' and 'best'", advice));
  }
  return Status();
}

}  // namespace

Result<ReportEntry> ResultEntry(const std::string& text, ReportData* data) {
  bool is_too_deep = false;
  auto keep = [&](int depth, Json::parse_event_t, Json&) {
    is_too_deep |= depth > kMostDepth;
    return depth <= kMostDepth;
  };
  const Json json = Json::parse(text, keep, /*allow_exceptions=*/false);
  if (is_too_deep) return InvalidArgumentError(absl::StrCat("the JSON is nested deeper than ", kMostDepth));
  TUNEONCE_RETURN_IF_ERROR(CheckIsResult(json));
  ReportEntry entry;
  entry.kernel = TextAt(json, "kernel");
  entry.shape = ShapeText(At(json, "shape"));
  entry.key = TextAt(json, "key");
  if (entry.key.empty()) entry.key = entry.shape;
  entry.device = TextAt(json, "device");
  entry.driver_version = IntAt(json, "driver_version");
  entry.timer = TextAt(json, "timer");
  entry.host = TextAt(json, "host");
  if (const Json& when = At(json, "unix_seconds"); when.is_number_integer())
    entry.unix_seconds = when.get<std::int64_t>();
  entry.is_conclusive = FlagAt(json, "is_conclusive", true);
  entry.is_pinned = FlagAt(json, "is_pinned", false);
  AddBest(json, data, &entry);
  AddSuccesses(json, data, &entry);
  AddOthers(json, data, &entry);
  const Json& not_measured = At(json, "not_measured");
  entry.num_not_measured = not_measured.is_array() ? static_cast<int>(not_measured.size()) : 0;
  entry.is_complete = FlagAt(json, "is_complete", entry.num_not_measured == 0);
  std::optional<SelectionReason> reason = FromWord<SelectionReason>(TextAt(json, "reason"));
  entry.reason = std::string(FindStored(reason.value_or(SelectionReason::kUnknown))->word);
  entry.why = entry.is_pinned ? "it was pinned" : WhyText(reason.value_or(SelectionReason::kUnknown));
  Json more = Picked(
      json, {"cost", "notes", "drift", "device_before", "device_after", "is_isolated", "substitutions", "timeline"});
  if (more.is_object()) entry.more = std::move(more);
  return entry;
}

}  // namespace report
}  // namespace v0
}  // namespace tuneonce
