// What a search found out, as a record: here what the device was doing.
#include "runtime/recorded_result.h"

#include <gtest/gtest.h>

namespace tuneonce {
namespace {

DeviceReading Reading(std::int64_t sm_clock_mhz, std::optional<std::uint64_t> throttle_reasons) {
  DeviceReading reading;
  reading.conditions.sm_clock_mhz = sm_clock_mhz;
  reading.conditions.throttle_reasons = throttle_reasons;
  return reading;
}

DeviceConditions ConditionsOf(const std::optional<DeviceReading>& before, const std::optional<DeviceReading>& after) {
  TuningResult result;
  result.device_before = before;
  result.device_after = after;
  TuningRecord record;
  RecordResult(result, &record);
  return record.conditions;
}

TEST(RecordedResultTest, ARecordHasTheClocksOfTheRacesEndAndWhateverSlowedTheDevice) {
  DeviceConditions conditions = ConditionsOf(Reading(1980, 4), Reading(1755, 32));
  EXPECT_EQ(conditions.sm_clock_mhz, 1755);
  EXPECT_EQ(conditions.throttle_reasons, 36u);
  EXPECT_EQ(ConditionsOf(Reading(1980, std::nullopt), Reading(1755, 32)).throttle_reasons, 32u);
  EXPECT_EQ(ConditionsOf(Reading(1980, 4), Reading(1755, std::nullopt)).throttle_reasons, 4u);
}

TEST(RecordedResultTest, WhatIsNotKnownIsNotSaid) {
  DeviceConditions conditions = ConditionsOf(std::nullopt, std::nullopt);
  EXPECT_FALSE(conditions.sm_clock_mhz || conditions.throttle_reasons);
  EXPECT_FALSE(ConditionsOf(Reading(1980, std::nullopt), Reading(1755, std::nullopt)).throttle_reasons);
}

}  // namespace
}  // namespace tuneonce
