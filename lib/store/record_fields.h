#ifndef TUNEONCE_LIB_STORE_RECORD_FIELDS_H_
#define TUNEONCE_LIB_STORE_RECORD_FIELDS_H_

#include <type_traits>

#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

// The list of a record's fields. All code that reads or writes a record as bytes or JSON uses it, by calling
// `fields(name, value)` for each field; `value` is const for a writer. The order is that of the bytes, so a change of
// the list is a new format (tuning_record.cc).

template <typename T, typename Struct>
using EnableFor = std::enable_if_t<std::is_same_v<std::remove_const_t<T>, Struct>, int>;

template <typename Fields, typename T, EnableFor<T, TuningKey> = 0>
void VisitFields(Fields& fields, T& key) {
  fields("kernel", key.kernel);
  fields("kernel_fingerprint", key.kernel_fingerprint);
  fields("key", key.key_text);
  fields("key_words", key.key_words);
  fields("device", key.device_name);
  fields("capability", key.capability);
  fields("num_sms", key.num_sms);
  fields("driver_version", key.driver_version);
}

template <typename Fields, typename T, EnableFor<T, Measurement> = 0>
void VisitFields(Fields& fields, T& measurement) {
  fields("mean_us", measurement.mean_us);
  fields("error_margin_us", measurement.error_margin_us);
  fields("num_samples", measurement.num_samples);
  fields("std_us", measurement.std_us);
  fields("median_us", measurement.median_us);
  fields("min_us", measurement.min_us);
  fields("max_us", measurement.max_us);
}

template <typename Fields, typename T, EnableFor<T, RecordedBaseline> = 0>
void VisitFields(Fields& fields, T& baseline) {
  fields("config", baseline.config);
  fields("variant", baseline.variant);
  fields("artifact", baseline.artifact);
}

template <typename Fields, typename T, EnableFor<T, CandidateOutcome> = 0>
void VisitFields(Fields& fields, T& candidate) {
  fields("config", candidate.config);
  fields("outcome", candidate.kind);
  fields("identity", candidate.identity);
  fields("variant", candidate.variant);
  fields("mean_us", candidate.mean_us);
  fields("error_margin_us", candidate.error_margin_us);
  fields("num_samples", candidate.num_samples);
  fields("message", candidate.message);
  fields("same_as", candidate.same_as);
}

template <typename Fields, typename T, EnableFor<T, FatalCandidate> = 0>
void VisitFields(Fields& fields, T& candidate) {
  fields("config", candidate.config);
  fields("reason", candidate.reason);
}

template <typename Fields, typename T, EnableFor<T, ImportedRow> = 0>
void VisitFields(Fields& fields, T& row) {
  fields("at", row.at);
  fields("config", row.config);
}

template <typename Fields, typename T, EnableFor<T, DeviceConditions> = 0>
void VisitFields(Fields& fields, T& conditions) {
  fields("sm_clock_mhz", conditions.sm_clock_mhz);
  fields("memory_clock_mhz", conditions.memory_clock_mhz);
  fields("power_limit_mw", conditions.power_limit_mw);
  fields("throttle_reasons", conditions.throttle_reasons);
  fields("mig_profile", conditions.mig_profile);
}

template <typename Fields, typename T, EnableFor<T, Verification::Output> = 0>
void VisitFields(Fields& fields, T& output) {
  fields("absolute", output.absolute);
  fields("relative", output.relative);
  fields("ulps", output.ulps);
  fields("may_be_partial", output.may_be_partial);
}

template <typename Fields, typename T, EnableFor<T, Verification::Extents> = 0>
void VisitFields(Fields& fields, T& extents) {
  fields("dim", extents.dim);
  fields("classes", extents.classes);
}

template <typename Fields, typename T, EnableFor<T, Verification> = 0>
void VisitFields(Fields& fields, T& verification) {
  fields("level", verification.level);
  fields("outputs", verification.outputs);
  fields("is_data_sufficient", verification.is_data_sufficient);
  fields("has_generated_data", verification.has_generated_data);
  fields("extents", verification.extents);
  fields("gaps", verification.gaps);
}

template <typename Fields, typename T, EnableFor<T, TuningRecord> = 0>
void VisitFields(Fields& fields, T& record) {
  VisitFields(fields, record.key);
  fields("config", record.config);
  fields("variant", record.variant);
  VisitFields(fields, record.measurement);
  fields("identity", record.identity);
  fields("configs", record.configs);
  fields("verification", record.verification);
  fields("speedup_over_baseline", record.speedup_over_baseline);
  fields("artifact", record.artifact);
  fields("baseline", record.baseline);
  fields("reason", record.reason);
  fields("workspace_bytes", record.workspace_bytes);
  fields("tuned_at", record.tuned_at);
  fields("inputs", record.inputs);
  fields("candidates", record.candidates);
  fields("is_complete", record.is_complete);
  fields("num_not_measured", record.num_not_measured);
  fields("fatal", record.fatal);
  fields("is_conclusive", record.is_conclusive);
  fields("is_pinned", record.is_pinned);
  fields("fencing_token", record.fencing_token);
  fields("signature", record.signature);
  fields("timer", record.timer);
  fields("host", record.host);
  fields("toolchain", record.toolchain);
  fields("unix_seconds", record.unix_seconds);
  fields("conditions", record.conditions);
  fields("nearest_dim", record.nearest_dim);
  fields("rows", record.rows);
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_RECORD_FIELDS_H_
