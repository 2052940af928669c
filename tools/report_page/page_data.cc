#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "report_page/record_words.h"
#include "report_tables.h"
#include "store/record_fields.h"

namespace tuneonce {
inline namespace v0 {
namespace report {
namespace {

using Json = nlohmann::ordered_json;

/// JSON in ASCII, in which no "</script" and no "<!--" can stand.
std::string ScriptText(const Json& json) {
  std::string text = json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  return absl::StrReplaceAll(text, {{"<", "\\u003c"}});
}

/// Rounds to six digits, because no time is known more exactly, and returns null for a number that is not finite.
Json Number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  double rounded = 0;
  (void)absl::SimpleAtod(RealText(*value, 'g', 6), &rounded);
  if (rounded == std::floor(rounded) && std::abs(rounded) < 1e15) return static_cast<std::int64_t>(rounded);
  return rounded;
}

/// Puts the fields of a struct into an object of JSON. A struct in it is left out.
class FieldsOf {
 public:
  template <typename T>
  void operator()(const char* name, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      json_[name] = WordOf(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      json_[name] = value;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!value.empty()) json_[name] = Printable(value);
    }
  }
  template <typename T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
  Json Take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

/// The fields of a struct that are known, by the names that records have.
template <typename T>
Json Known(const T& value) {
  FieldsOf fields;
  VisitFields(fields, value);
  return fields.Take();
}

/// Each text once.
class Texts {
 public:
  std::size_t Intern(const std::string& text) {
    auto [found, is_new] = ids_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return found->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::size_t> ids_;
};

/// How many candidates were measured, failed, are duplicates, were not measured.
Json Counts(const TuningRecord& record) {
  int measured = 0, failed = 0, duplicates = 0, not_measured = 0;
  for (const CandidateOutcome& candidate : record.candidates) {
    measured += candidate.kind == OutcomeKind::kMeasured ? 1 : 0;
    failed += candidate.failed() ? 1 : 0;
    duplicates += candidate.kind == OutcomeKind::kDuplicate ? 1 : 0;
    not_measured += candidate.kind == OutcomeKind::kNotMeasured ? 1 : 0;
  }
  // Stores keep their number alone.
  return Json::array({measured, failed, duplicates, std::max(not_measured, record.num_not_measured)});
}

/// The names of what many entries share, and of what each has of its own, in the order of the values. Fields whose name
/// ends with "$" are places in the texts.
constexpr const char* kSharedFields[] = {"input",         "kernel$",     "device$",   "capability",   "num_sms",
                                         "driver",        "source$",     "variant$",  "reason$",      "why$",
                                         "is_conclusive", "is_complete", "is_pinned", "inputs$",      "timer$",
                                         "host$",         "toolchain$",  "counts",    "nearest_dim$", "not_measured"};
constexpr const char* kOwnFields[] = {"key$",    "shape$",  "config",   "mean", "margin",
                                      "samples", "speedup", "baseline", "when"};

Json SharedRow(const ReportEntry& entry, Texts* texts) {
  const TuningRecord& record = entry.record;
  auto text = [&](const std::string& of) { return texts->Intern(Printable(of)); };
  return Json::array({entry.input,
                      text(record.key.kernel),
                      text(record.key.device_name),
                      record.key.capability,
                      record.key.num_sms,
                      record.key.driver_version,
                      text(record.key.kernel_fingerprint.ToString().substr(0, 8)),
                      text(record.best.variant),
                      text(WordOf(record.reason)),
                      text(WhyText(record)),
                      record.is_conclusive ? 1 : 0,
                      record.is_complete ? 1 : 0,
                      record.is_pinned ? 1 : 0,
                      text(WordOf(record.inputs)),
                      text(record.timer),
                      text(record.host),
                      text(record.best.toolchain),
                      Counts(record),
                      text(record.nearest_dim),
                      record.num_not_measured});
}

bool IsMeasured(const CandidateOutcome& candidate) { return candidate.measurement.num_samples > 0; }

/// The mean, the error margin and the number of samples; null for what is unknown.
std::array<Json, 3> TimesOf(const CandidateOutcome& candidate) {
  const Measurement& measured = candidate.measurement;
  if (!IsMeasured(candidate)) return {Json(), Json(), Json(0)};
  return {Number(measured.mean_us), Number(measured.error_margin_us), Json(measured.num_samples)};
}

Json OwnRow(const ReportData& data, const ReportEntry& entry, Texts* texts) {
  const TuningRecord& record = entry.record;
  auto [mean, margin, samples] = TimesOf(record.best);
  return Json::array({texts->Intern(Printable(record.key.key_text)), texts->Intern(Printable(record.tuned_at)),
                      record.nearest_dim.empty() ? Json(data.IdOf(record.best.config)) : Json(), mean, margin, samples,
                      Number(record.speedup_over_baseline),
                      record.baseline ? Json(data.IdOf(record.baseline->config)) : Json(), record.unix_seconds});
}

/// What is known of a candidate besides its time, or null. `remarks` is the search's list of the compiler's remarks, of
/// which a candidate has the positions, since most configs have the same.
Json MoreOf(const CandidateOutcome& candidate, const Json& samples, Json* remarks) {
  Json more;
  for (const std::string& remark : candidate.remarks) {
    const Json text = Printable(remark);
    const auto known = std::find(remarks->begin(), remarks->end(), text);
    more["remarks"].push_back(known - remarks->begin());
    if (known == remarks->end()) remarks->push_back(text);
  }
  if (candidate.roofline) more["roofline"] = Known(*candidate.roofline);
  if (candidate.resources.registers > 0) more["resources"] = Known(candidate.resources);
  if (candidate.largest_difference) more["largest_difference"] = Known(*candidate.largest_difference);
  if (!samples.is_null()) more["samples"] = samples;
  return more;
}

/// [config, outcome, variant, mean, margin, samples, message, same_as, ties, more], as short as it can be: nulls at the
/// end are left out.
Json CandidateRow(const ReportData& data, const CandidateOutcome& candidate, const Json& samples, Json* remarks) {
  const bool is_measured = candidate.kind == OutcomeKind::kMeasured;
  auto [mean, margin, num_samples] = TimesOf(candidate);
  Json fields = Json::array({data.IdOf(candidate.config), is_measured ? "" : WordOf(candidate.kind),
                             Printable(candidate.variant), mean, margin, num_samples, PrintableLines(candidate.message),
                             candidate.same_as ? Json(data.IdOf(*candidate.same_as)) : Json(),
                             is_measured ? Json(candidate.ties_with_fastest ? 1 : 0) : Json(),
                             MoreOf(candidate, samples, remarks)});
  while (fields.back().is_null()) fields.erase(fields.size() - 1);
  return fields;
}

/// The samples of each candidate in a timeline, by its place among the record's candidates.
std::map<std::size_t, Json> SamplesOf(const Json& timeline) {
  std::map<std::size_t, Json> samples;
  if (!timeline.is_object() || !timeline.contains("samples") || !timeline["samples"].is_array()) return samples;
  for (const Json& each : timeline["samples"]) {
    if (!each.is_object() || !each.contains("candidate") || !each["candidate"].is_number_unsigned()) continue;
    samples[each["candidate"].get<std::size_t>()] = each;
  }
  return samples;
}

/// What only some records have, as the page's scripts read it.
void AddRare(const ReportData& data, const TuningRecord& record, Json* details) {
  Json& json = *details;
  if (record.workspace_bytes > 0) json["workspace_bytes"] = record.workspace_bytes;
  if (record.is_imported() && !IsMeasured(record.best)) json["is_unchecked"] = true;
  if (!(record.best.artifact == Fingerprint())) json["has_code"] = true;
  if (record.fencing_token > 0) json["fencing_token"] = record.fencing_token;
  for (const FatalCandidate& fatal : record.fatal) {
    json["fatal"].push_back(Json::array({data.IdOf(fatal.config), PrintableLines(fatal.reason)}));
  }
  if (Json conditions = Known(record.conditions); !conditions.empty()) json["conditions"] = conditions;
  if (!record.nearest_dim.empty()) json["nearest_dim"] = Printable(record.nearest_dim);
  for (const ImportedRow& row : record.rows) json["rows"].push_back(Json::array({row.at, data.IdOf(row.config)}));
  if (record.cost.wall_seconds > 0) json["cost"] = Known(record.cost);
  for (const std::string& note : record.notes) json["notes"].push_back(PrintableLines(note));
  if (record.drift != 0) json["drift"] = Number(record.drift);
  if (record.is_isolated) json["is_isolated"] = true;
  auto add_reading = [&](const char* name, const std::optional<DeviceReading>& reading) {
    if (!reading) return;
    json[name] = Known(*reading);
    json[name].update(Known(reading->conditions));
  };
  add_reading("device_before", record.device_before);
  add_reading("device_after", record.device_after);
  for (const CandidateOutcome& candidate : record.candidates) {
    for (const PassedOver& passed_over : candidate.passed_over) {
      if (candidate.variant.empty()) continue;
      json["substitutions"].push_back({{"variant", Printable(candidate.variant)},
                                       {"instead_of", Printable(passed_over.variant)},
                                       {"reason", PrintableLines(passed_over.reason)}});
    }
  }
}

Json Details(const ReportData& data, const ReportEntry& entry) {
  const TuningRecord& record = entry.record;
  Json details = {{"candidates", Json::array()}};
  Json remarks = Json::array();
  std::map<std::size_t, Json> samples = SamplesOf(entry.timeline);
  for (std::size_t i = 0; i < record.candidates.size(); ++i) {
    details["candidates"].push_back(CandidateRow(data, record.candidates[i], samples[i], &remarks));
  }
  if (!remarks.empty()) details["remarks"] = std::move(remarks);
  const Measurement& best = record.best.measurement;
  const bool is_measured = IsMeasured(record.best);
  auto number = [&](double value) { return is_measured ? Number(value) : Json(); };
  details["spread"] = Json::array({is_measured ? Number(best.mean_us * best.rel_std()) : Json(), number(best.median_us),
                                   number(best.min_us), number(best.max_us)});
  AddRare(data, record, &details);
  if (!entry.timeline.is_null()) details["timeline"] = entry.timeline;
  return details;
}

std::int64_t Now() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::seconds>(system_clock::now().time_since_epoch()).count();
}

Json Overview(const ReportData& data) {
  Json json;
  json["made_at"] = Now();
  for (const ReportInput& input : data.inputs()) {
    json["inputs"].push_back({{"name", input.name}, {"kind", input.kind}, {"problems", input.problems}});
  }
  json["configs"] = Json::array();
  for (const ReportConfig& config : data.configs()) json["configs"].push_back(Json::array({config.text, config.axes}));
  json["shared_fields"] = kSharedFields;
  json["own_fields"] = kOwnFields;
  json["entries_per_block"] = kEntriesPerBlock;
  Texts texts, shared;
  json["rows"] = Json::array();
  for (const ReportEntry& entry : data.entries()) {
    Json row = OwnRow(data, entry, &texts);
    row.push_back(shared.Intern(SharedRow(entry, &texts).dump()));
    json["rows"].push_back(std::move(row));
  }
  json["shared"] = Json::array();
  for (const std::string& row : shared.texts()) json["shared"].push_back(Json::parse(row));
  json["texts"] = texts.texts();
  return json;
}

}  // namespace

std::string PageOverview(const ReportData& data) {
  return absl::StrCat("<script type=\"application/json\" id=\"overview\">", ScriptText(Overview(data)), "</script>\n");
}

std::string PageDetails(const ReportData& data, std::size_t most_bytes) {
  std::string page;
  const std::vector<ReportEntry>& entries = data.entries();
  for (std::size_t first = 0; first < entries.size(); first += kEntriesPerBlock) {
    std::string block =
        absl::StrCat("<script type=\"application/json\" id=\"details-", first / kEntriesPerBlock, "\">[");
    for (std::size_t i = first; i < std::min(first + kEntriesPerBlock, entries.size()); ++i) {
      absl::StrAppend(&block, i == first ? "" : ",\n", ScriptText(Details(data, entries[i])));
    }
    block += "]</script>\n";
    if (page.size() + block.size() <= most_bytes) page += block;
  }
  return page;
}

}  // namespace report
}  // namespace v0
}  // namespace tuneonce
