#ifndef TUNEONCE_LIB_RUNTIME_COUNTER_FIELDS_H_
#define TUNEONCE_LIB_RUNTIME_COUNTER_FIELDS_H_

#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

/// Calls `fields(name, value)` for each gauge.
template <typename Fields>
void VisitFields(Fields& fields, const Gauges& gauges) {
  fields("loaded_kernels", gauges.loaded_kernels);
  fields("ready_entries", gauges.ready_entries);
  fields("pending_keys", gauges.pending_keys);
  fields("pinned_keys", gauges.pinned_keys);
  fields("kept_inputs_bytes", gauges.kept_inputs_bytes);
}

/// Calls `fields(name, value)` for each counter, but not for Counters::now. Everything that prints counters uses these
/// two lists.
template <typename Fields>
void VisitFields(Fields& fields, const Counters& counters) {
  fields("hits", counters.hits);
  fields("tunes", counters.tunes);
  fields("stored_hits", counters.stored_hits);
  fields("waits", counters.waits);
  fields("fallbacks", counters.fallbacks);
  fields("frozen_misses", counters.frozen_misses);
  fields("failed_tunes", counters.failed_tunes);
  fields("tuning_seconds", counters.tuning_seconds);
  fields("tuning_gpu_seconds", counters.tuning_gpu_seconds);
  fields("capture_misses", counters.capture_misses);
  fields("busy_elsewhere", counters.busy_elsewhere);
  fields("inputs_not_kept", counters.inputs_not_kept);
  fields("misses_no_record", counters.misses_no_record);
  fields("misses_other_driver", counters.misses_other_driver);
  fields("misses_other_device", counters.misses_other_device);
  fields("misses_other_source", counters.misses_other_source);
  fields("misses_incomplete", counters.misses_incomplete);
  fields("misses_refused", counters.misses_refused);
  fields("workers_replaced", counters.workers_replaced);
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_COUNTER_FIELDS_H_
