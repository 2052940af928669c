#include "page_data.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/number_text.h"

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

template <typename Id>
Json OrNull(const std::optional<Id>& id) {
  return id ? Json(*id) : Json(nullptr);
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
Json Counts(const ReportEntry& entry) {
  int measured = 0, duplicates = 0, not_measured = 0;
  for (const ReportCandidate& candidate : entry.candidates) {
    measured += candidate.outcome == "measured" ? 1 : 0;
    duplicates += candidate.outcome == "duplicate" ? 1 : 0;
    not_measured += candidate.outcome == "not_measured" ? 1 : 0;
  }
  const int total = static_cast<int>(entry.candidates.size());
  return Json::array({measured, total - measured - duplicates - not_measured, duplicates, not_measured});
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
  auto text = [&](const std::string& of) { return texts->Intern(of); };
  const bool is_table = entry.more.contains("nearest_dim");
  return Json::array({entry.input,
                      text(entry.kernel),
                      text(entry.device),
                      entry.capability,
                      entry.num_sms,
                      entry.driver_version,
                      text(entry.fingerprint.substr(0, 8)),
                      text(entry.variant),
                      text(entry.reason),
                      text(entry.why),
                      entry.is_conclusive ? 1 : 0,
                      entry.is_complete ? 1 : 0,
                      entry.is_pinned ? 1 : 0,
                      text(entry.inputs),
                      text(entry.timer),
                      text(entry.host),
                      text(entry.toolchain),
                      Counts(entry),
                      text(is_table ? entry.more["nearest_dim"].get<std::string>() : ""),
                      entry.num_not_measured});
}

Json OwnRow(const ReportEntry& entry, Texts* texts) {
  return Json::array({texts->Intern(entry.key), texts->Intern(entry.shape), OrNull(entry.config), Number(entry.mean_us),
                      Number(entry.error_margin_us), entry.num_samples, Number(entry.speedup_over_baseline),
                      OrNull(entry.baseline), entry.unix_seconds});
}

/// {"candidates": [[config, outcome, variant, mean, margin, samples, message, same_as, ties, more]], ...}, each as
/// short as it can be: nulls at the end are left out.
Json Details(const ReportEntry& entry) {
  Json details = {{"candidates", Json::array()}};
  for (const ReportCandidate& candidate : entry.candidates) {
    Json fields = Json::array({candidate.config, candidate.outcome == "measured" ? "" : candidate.outcome,
                               candidate.variant, Number(candidate.mean_us), Number(candidate.error_margin_us),
                               candidate.num_samples, candidate.message, OrNull(candidate.same_as),
                               candidate.ties_with_fastest ? Json(*candidate.ties_with_fastest ? 1 : 0) : Json(),
                               candidate.more});
    while (fields.back().is_null()) fields.erase(fields.size() - 1);
    details["candidates"].push_back(std::move(fields));
  }
  details["spread"] =
      Json::array({Number(entry.std_us), Number(entry.median_us), Number(entry.min_us), Number(entry.max_us)});
  for (const auto& [name, value] : entry.more.items()) details[name] = value;
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
    Json row = OwnRow(entry, &texts);
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
      absl::StrAppend(&block, i == first ? "" : ",\n", ScriptText(Details(entries[i])));
    }
    block += "]</script>\n";
    if (page.size() + block.size() <= most_bytes) page += block;
  }
  return page;
}

}  // namespace report
}  // namespace v0
}  // namespace tuneonce
