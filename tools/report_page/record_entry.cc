#include "record_entry.h"

#include <algorithm>
#include <string_view>

#include "base/printable.h"
#include "store/stored_enums.h"

namespace tuneonce::report {
namespace {

using Json = nlohmann::ordered_json;

template <typename Enum>
std::string Word(Enum value) {
  const auto* stored = FindStored(value);
  return stored == nullptr ? "unknown" : std::string(stored->word);
}

ReportCandidate CandidateOf(const CandidateOutcome& outcome, ReportData* data) {
  ReportCandidate candidate;
  candidate.config = data->Intern(outcome.config);
  candidate.outcome = Word(outcome.kind);
  candidate.variant = Printable(outcome.variant);
  candidate.message = PrintableLines(outcome.message);
  if (outcome.same_as) candidate.same_as = data->Intern(*outcome.same_as);
  if (outcome.kind != OutcomeKind::kMeasured) return candidate;
  candidate.mean_us = outcome.measurement.mean_us;
  candidate.error_margin_us = outcome.measurement.error_margin_us;
  candidate.num_samples = outcome.measurement.num_samples;
  return candidate;
}

/// Returns the known state of the device during the measurement, or null.
Json ConditionsJson(const DeviceConditions& conditions) {
  Json json;
  auto add = [&](const char* name, const auto& value) {
    if (value) json[name] = *value;
  };
  add("sm_clock_mhz", conditions.sm_clock_mhz);
  add("memory_clock_mhz", conditions.memory_clock_mhz);
  add("power_limit_mw", conditions.power_limit_mw);
  add("throttle_reasons", conditions.throttle_reasons);
  if (!conditions.mig_profile.empty()) json["mig_profile"] = Printable(conditions.mig_profile);
  return json;
}

/// Returns the fields that only some records have.
Json MoreOf(const TuningRecord& record, ReportData* data) {
  Json more = Json::object();
  if (record.workspace_bytes > 0) more["workspace_bytes"] = record.workspace_bytes;
  if (record.is_imported() && record.best.measurement.num_samples == 0) more["is_unchecked"] = true;
  if (!(record.best.artifact == Fingerprint())) more["has_code"] = true;
  if (record.fencing_token > 0) more["fencing_token"] = record.fencing_token;
  for (const FatalCandidate& fatal : record.fatal) {
    more["fatal"].push_back(Json::array({data->Intern(fatal.config), PrintableLines(fatal.reason)}));
  }
  if (Json conditions = ConditionsJson(record.conditions); !conditions.is_null()) more["conditions"] = conditions;
  if (record.nearest_dim.empty()) return more;
  more["nearest_dim"] = Printable(record.nearest_dim);
  more["rows"] = Json::array();
  for (const ImportedRow& row : record.rows) more["rows"].push_back(Json::array({row.at, data->Intern(row.config)}));
  return more;
}

void AddMeasurement(const Measurement& measurement, ReportEntry* entry) {
  if (measurement.num_samples == 0) return;
  entry->mean_us = measurement.mean_us;
  entry->error_margin_us = measurement.error_margin_us;
  entry->num_samples = measurement.num_samples;
  entry->std_us = measurement.std_us;
  entry->median_us = measurement.median_us;
  entry->min_us = measurement.min_us;
  entry->max_us = measurement.max_us;
}

}  // namespace

std::string WhyText(SelectionReason reason) {
  switch (reason) {
    case SelectionReason::kFastest:
      return "the fastest";
    case SelectionReason::kTieBaseline:
      return "as fast as the fastest, and the baseline";
    case SelectionReason::kTieEarliest:
      return "as fast as the fastest, and the first of these in the space";
    case SelectionReason::kBaselineByMargin:
      return "the baseline: something was faster, but not by the margin";
    default:
      return "not known";
  }
}

std::string WhyText(const TuningRecord& record) {
  if (record.is_pinned) return "it was pinned";
  if (!record.is_imported()) return WhyText(record.reason);
  return record.best.measurement.num_samples > 0 ? "imported, and compared with the baseline"
                                            : "imported; it is compared with the baseline before its first launch";
}

ReportEntry RecordEntry(const TuningRecord& record, ReportData* data) {
  ReportEntry entry;
  entry.kernel = Printable(record.key.kernel);
  entry.key = Printable(record.key.key_text);
  entry.shape = Printable(record.tuned_at);
  entry.device = Printable(record.key.device_name);
  entry.capability = record.key.capability;
  entry.num_sms = record.key.num_sms;
  entry.driver_version = record.key.driver_version;
  entry.fingerprint = record.key.kernel_fingerprint.ToString();
  if (record.nearest_dim.empty()) entry.config = data->Intern(record.best.config);
  entry.variant = Printable(record.best.variant);
  AddMeasurement(record.best.measurement, &entry);
  entry.speedup_over_baseline = record.speedup_over_baseline;
  if (record.baseline) entry.baseline = data->Intern(record.baseline->config);
  entry.reason = Word(record.reason);
  entry.why = WhyText(record);
  entry.is_conclusive = record.is_conclusive;
  entry.is_complete = record.is_complete;
  entry.num_not_measured = record.num_not_measured;
  entry.is_pinned = record.is_pinned;
  entry.inputs = Word(record.inputs);
  entry.timer = Printable(record.timer);
  entry.host = Printable(record.host);
  entry.toolchain = Printable(record.best.toolchain);
  entry.unix_seconds = record.unix_seconds;
  for (const CandidateOutcome& outcome : record.candidates) entry.candidates.push_back(CandidateOf(outcome, data));
  entry.more = MoreOf(record, data);
  return entry;
}

}  // namespace tuneonce::report
