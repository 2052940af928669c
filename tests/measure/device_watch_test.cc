// What is known of a device while it measures, from a library as NVML is (fake_nvml.cc), and where there is none.
#include "measure/device_watch.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tuneonce {
namespace {

DeviceIdentity IdentityOf(unsigned char first_byte_of_uuid) {
  DeviceIdentity identity;
  identity.uuid[0] = first_byte_of_uuid;
  return identity;
}

Environment WithNvml(const std::string& library) {
  Environment environment;
  environment.nvml = library;
  return environment;
}

TEST(DeviceWatchTest, ALookSaysWhatIsKnownAndLeavesOutWhatIsNot) {
  DeviceWatch watch(WithNvml(TUNEONCE_FAKE_NVML), IdentityOf(1));
  std::optional<DeviceReading> first = watch.Read(), second = watch.Read();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first->conditions.sm_clock_mhz - *second->conditions.sm_clock_mhz, 15) << "each look asks anew";
  EXPECT_EQ(first->conditions.memory_clock_mhz, 2619);
  EXPECT_EQ(first->conditions.power_limit_mw, 700000);
  EXPECT_EQ(first->conditions.throttle_reasons, 4u);
  EXPECT_EQ(first->conditions.mig_profile, "");
  EXPECT_EQ(first->temperature_c, 41);
  EXPECT_EQ(first->power_mw, std::nullopt) << "not supported is not 0";
}

TEST(DeviceWatchTest, APartOfADeviceHasTheWholesClocksAndAProfile) {
  std::optional<DeviceReading> reading = DeviceWatch(WithNvml(TUNEONCE_FAKE_NVML), IdentityOf(2)).Read();
  ASSERT_TRUE(reading);
  EXPECT_TRUE(reading->conditions.sm_clock_mhz);
  EXPECT_EQ(reading->conditions.mig_profile, "1g.10gb");
}

TEST(DeviceWatchTest, TheEnergyIsThatOfAWholeDevice) {
  DeviceWatch watch(WithNvml(TUNEONCE_FAKE_NVML), IdentityOf(1));
  const std::optional<std::uint64_t> before = watch.ReadEnergyMj(), after = watch.ReadEnergyMj();
  ASSERT_TRUE(before && after);
  EXPECT_EQ(*after - *before, 250u);
  EXPECT_FALSE(DeviceWatch(WithNvml(TUNEONCE_FAKE_NVML), IdentityOf(2)).ReadEnergyMj()) << "others use the device, too";
  EXPECT_FALSE(DeviceWatch(WithNvml(TUNEONCE_NO_NVML), IdentityOf(1)).ReadEnergyMj());
}

TEST(DeviceWatchTest, NothingIsKnownOfTheCpuDeviceOfStrangersAndWithoutNvml) {
  DeviceIdentity cpu_device = IdentityOf(1);
  cpu_device.is_cpu_device = true;
  EXPECT_FALSE(DeviceWatch(WithNvml(TUNEONCE_FAKE_NVML), cpu_device).Read());
  EXPECT_FALSE(DeviceWatch(WithNvml(TUNEONCE_FAKE_NVML), IdentityOf(3)).Read());
  EXPECT_FALSE(DeviceWatch(WithNvml("/nowhere/libnvidia-ml.so"), IdentityOf(1)).Read());
  EXPECT_FALSE(DeviceWatch(WithNvml(TUNEONCE_NO_NVML), IdentityOf(1)).Read());
}

TEST(NvmlTest, ALibraryThatIsNoneSaysWhatItLacks) {
  const std::map<std::string, std::string> cases = {
      {TUNEONCE_NO_NVML, "is not NVML, or too old: it has no nvmlInit_v2"},
      {"/nowhere/libnvidia-ml.so", "NVML was not found; looked for: /nowhere/libnvidia-ml.so"}};
  for (const auto& [library, message] : cases) {
    Status status = LoadNvml(WithNvml(library)).status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_NE(status.message().find(message), std::string::npos) << status.ToString();
  }
}

}  // namespace
}  // namespace tuneonce
