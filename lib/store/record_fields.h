#ifndef TUNEONCE_LIB_STORE_RECORD_FIELDS_H_
#define TUNEONCE_LIB_STORE_RECORD_FIELDS_H_

#include <cstdint>
#include <type_traits>

#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// The number of the list of fields, in stored bytes and in files of records. A changed list is a new format, and other
/// formats are refused. Version 0.1.0 wrote format 7, which each version 0.1.x has to read (docs/packages.md).
inline constexpr std::uint32_t kRecordFormat = 7;

// The list of a record's fields. All code that reads or writes a record as bytes or JSON uses it, by calling
// `fields(name, value)` for each field; `value` is const for a writer. The order is that of the bytes.

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

template <typename Fields, typename T, EnableFor<T, Dim3> = 0>
void VisitFields(Fields& fields, T& dim) {
  fields("x", dim.x);
  fields("y", dim.y);
  fields("z", dim.z);
}

template <typename Fields, typename T, EnableFor<T, Geometry> = 0>
void VisitFields(Fields& fields, T& geometry) {
  fields("grid", geometry.grid);
  fields("block", geometry.block);
  fields("cluster", geometry.cluster);
  fields("shared_memory_bytes", geometry.shared_memory_bytes);
  fields("programmatic_launch", geometry.programmatic_launch);
}

template <typename Fields, typename T, EnableFor<T, ResourceUse> = 0>
void VisitFields(Fields& fields, T& resources) {
  fields("registers", resources.registers);
  fields("shared_bytes", resources.shared_bytes);
  fields("local_bytes", resources.local_bytes);
}

template <typename Fields, typename T, EnableFor<T, OutputDifference> = 0>
void VisitFields(Fields& fields, T& difference) {
  fields("output", difference.output);
  fields("absolute", difference.absolute);
  fields("share_of_tolerance", difference.share_of_tolerance);
}

template <typename Fields, typename T, EnableFor<T, Roofline> = 0>
void VisitFields(Fields& fields, T& roofline) {
  fields("intensity", roofline.intensity);
  fields("bound", roofline.bound);
  fields("gb_per_s", roofline.gb_per_s);
  fields("tflop_per_s", roofline.tflop_per_s);
  fields("percent_of_peak", roofline.percent_of_peak);
}

template <typename Fields, typename T, EnableFor<T, PassedOver> = 0>
void VisitFields(Fields& fields, T& passed_over) {
  fields("variant", passed_over.variant);
  fields("reason", passed_over.reason);
}

// Only measured candidates have measured quantities, so that the others take little space.
template <typename Fields, typename T, EnableFor<T, CandidateOutcome> = 0>
void VisitFields(Fields& fields, T& candidate) {
  fields("config", candidate.config);
  fields("outcome", candidate.kind);
  fields("identity", candidate.identity);
  fields("variant", candidate.variant);
  fields("passed_over", candidate.passed_over);
  fields("message", candidate.message);
  fields("is_transient", candidate.is_transient);
  fields("same_as", candidate.same_as);
  fields("artifact", candidate.artifact);
  fields("toolchain", candidate.toolchain);
  fields("remarks", candidate.remarks);
  if (candidate.kind != OutcomeKind::kMeasured && candidate.kind != OutcomeKind::kPredicted) return;
  VisitFields(fields, candidate.measurement);
  fields("ties_with_fastest", candidate.ties_with_fastest);
  fields("geometry", candidate.geometry);
  fields("resources", candidate.resources);
  fields("largest_difference", candidate.largest_difference);
  fields("roofline", candidate.roofline);
  fields("energy_mj", candidate.energy_mj);
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

template <typename Fields, typename T, EnableFor<T, DeviceReading> = 0>
void VisitFields(Fields& fields, T& reading) {
  fields("conditions", reading.conditions);
  fields("temperature_c", reading.temperature_c);
  fields("power_mw", reading.power_mw);
}

template <typename Fields, typename T, EnableFor<T, TuningCost> = 0>
void VisitFields(Fields& fields, T& cost) {
  fields("compile_seconds", cost.compile_seconds);
  fields("compile_wall_seconds", cost.compile_wall_seconds);
  fields("num_compiled", cost.num_compiled);
  fields("gpu_seconds", cost.gpu_seconds);
  fields("wall_seconds", cost.wall_seconds);
  fields("num_launches", cost.num_launches);
  fields("num_rounds", cost.num_rounds);
  fields("peak_bytes", cost.peak_bytes);
  fields("workers_replaced", cost.workers_replaced);
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
  fields("best", record.best);
  fields("reason", record.reason);
  fields("baseline", record.baseline);
  fields("speedup_over_baseline", record.speedup_over_baseline);
  fields("candidates", record.candidates);
  fields("is_complete", record.is_complete);
  fields("num_not_measured", record.num_not_measured);
  fields("fatal", record.fatal);
  fields("is_conclusive", record.is_conclusive);
  fields("configs", record.configs);
  fields("verification", record.verification);
  fields("workspace_bytes", record.workspace_bytes);
  fields("tuned_at", record.tuned_at);
  fields("inputs", record.inputs);
  fields("timer", record.timer);
  fields("is_isolated", record.is_isolated);
  fields("drift", record.drift);
  fields("device_before", record.device_before);
  fields("device_after", record.device_after);
  fields("race_sm_clock_mhz", record.race_sm_clock_mhz);
  fields("conditions", record.conditions);
  fields("notes", record.notes);
  fields("cost", record.cost);
  fields("is_pinned", record.is_pinned);
  fields("fencing_token", record.fencing_token);
  fields("signature", record.signature);
  fields("host", record.host);
  fields("unix_seconds", record.unix_seconds);
  fields("nearest_dim", record.nearest_dim);
  fields("rows", record.rows);
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_RECORD_FIELDS_H_
