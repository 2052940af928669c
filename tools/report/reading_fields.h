#ifndef TUNEONCE_TOOLS_REPORT_READING_FIELDS_H_
#define TUNEONCE_TOOLS_REPORT_READING_FIELDS_H_

#include "tuneonce/trial.h"

namespace tuneonce {
inline namespace v0 {

/// Calls `add(name, value)` for what is known of a reading, in the order and by the names that JSON and Python have.
template <typename Add>
void ForEachKnown(const DeviceReading& reading, const Add& add) {
  const auto add_known = [&](const char* name, const auto& value) {
    if (value) add(name, *value);
  };
  add_known("sm_clock_mhz", reading.conditions.sm_clock_mhz);
  add_known("memory_clock_mhz", reading.conditions.memory_clock_mhz);
  add_known("temperature_c", reading.temperature_c);
  add_known("power_mw", reading.power_mw);
  add_known("power_limit_mw", reading.conditions.power_limit_mw);
  add_known("throttle_reasons", reading.conditions.throttle_reasons);
  if (!reading.conditions.mig_profile.empty()) add("mig_profile", reading.conditions.mig_profile);
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_READING_FIELDS_H_
