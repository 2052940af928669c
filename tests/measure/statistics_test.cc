#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cuda/driver_api.h"
#include "measure/roofline.h"
#include "testing/expect_status.h"
#include "tuneonce/device.h"

namespace tuneonce {
namespace {

TEST(StatisticsTest, QuantilesMatchThePublishedTable) {
  // Values of t(0.975, df) as published (NIST/SEMATECH e-Handbook, table 1.3.6.7.2).
  for (auto [df, t] :
       {std::pair{1, 12.706}, {2, 4.303}, {10, 2.228}, {30, 2.042}, {40, 2.021}, {60, 2.000}, {100, 1.984}}) {
    EXPECT_NEAR(StudentT975(df), t, 0.001) << df;
  }
  EXPECT_NEAR(StudentT975(100000), 1.960, 0.001);
}

TEST(StatisticsTest, MeanAndMargin) {
  Measurement m = Summarize({1, 2, 3, 4, 5});
  EXPECT_EQ(m.mean_us, 3);
  EXPECT_EQ(m.num_samples, 5);
  EXPECT_NEAR(*m.error_margin_us, 2.776 * std::sqrt(2.5 / 5), 1e-9);
  EXPECT_EQ(*Summarize({2, 2, 2}).error_margin_us, 0);
}

TEST(StatisticsTest, OneSampleHasNoMargin) {
  Measurement m = Summarize({7});
  EXPECT_EQ(m.mean_us, 7);
  EXPECT_FALSE(m.error_margin_us.has_value());
}

TEST(StatisticsTest, TheLatencyRecord) {
  Measurement m = Summarize({4, 1, 3, 2});
  EXPECT_EQ(m.median_us, 2.5);
  EXPECT_EQ(m.min_us, 1);
  EXPECT_EQ(m.max_us, 4);
  EXPECT_NEAR(m.std_us, std::sqrt(5.0 / 3), 1e-12);
  EXPECT_NEAR(m.rel_std(), std::sqrt(5.0 / 3) / 2.5, 1e-12);
  EXPECT_EQ(Summarize({3, 1, 2}).median_us, 2);
  EXPECT_EQ(Summarize({7}).std_us, 0);
}

TEST(StatisticsTest, AnIntervalOfEarlyStoppingIsWiderAndShrinks) {
  std::vector<double> samples;
  double last = 1e9;
  for (int i = 0; i < 64; ++i) {
    samples.push_back(10 + (i % 2));
    if (i == 0) {
      EXPECT_FALSE(SummarizeStoppedEarly(samples).error_margin_us.has_value());
      continue;
    }
    double margin = *SummarizeStoppedEarly(samples).error_margin_us;
    if (i > 8) {
      EXPECT_GT(margin, *Summarize(samples).error_margin_us) << i;
    }
    EXPECT_LT(margin, last * 1.1) << i;
    last = margin;
  }
  EXPECT_LT(last, 0.3);
}

TEST(RooflineTest, ClassesAndRates) {
  DevicePeaks peaks{4000, 1000};
  // 1 GB in 1 ms: 1000 GB/s of 4000.
  std::optional<Roofline> copy = ComputeRoofline(1e9, 0, 1000, peaks);
  ASSERT_TRUE(copy.has_value());
  EXPECT_NEAR(copy->gb_per_s, 1000, 1e-9);
  EXPECT_NEAR(*copy->percent_of_peak, 25, 1e-9);
  EXPECT_FALSE(copy->bound.has_value());
  for (auto [operations, bound] :
       {std::pair{9e6, Bound::kMemory}, {11e6, Bound::kBalanced}, {49e6, Bound::kBalanced}, {51e6, Bound::kCompute}}) {
    EXPECT_EQ(*ComputeRoofline(1e6, operations, 10, peaks)->bound, bound) << operations;
  }
  // 1e12 operations in 2 ms are 500 TFLOP/s of 1000.
  EXPECT_NEAR(*ComputeRoofline(1e6, 1e12, 2000, peaks)->percent_of_peak, 50, 1e-9);
  EXPECT_FALSE(ComputeRoofline(1e6, 1e12, 2000, DevicePeaks())->percent_of_peak.has_value()) << "unknown device";
  EXPECT_FALSE(ComputeRoofline(0, 0, 10, peaks).has_value());
  EXPECT_FALSE(ComputeRoofline(1, 1, 0, peaks).has_value());
}

/// The CPU device's driver as that of a GPU, which counts how often it is asked for a clock.
class ClockedDriver {
 public:
  explicit ClockedDriver(const DriverApi& wrapped)
      : api_(Wrap(wrapped), wrapped.library_path(), /*is_cpu_device=*/false) {}

  const DriverApi& api() const { return api_; }
  static int& count() {
    static int count = 0;
    return count;
  }

 private:
  static CUresult Ask(int* value, CUdevice_attribute attribute, CUdevice device) {
    const bool is_clock =
        attribute == CU_DEVICE_ATTRIBUTE_CLOCK_RATE || attribute == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE;
    if (!is_clock && attribute != CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) {
      return Real().DeviceGetAttribute(value, attribute, device);
    }
    count() += is_clock ? 1 : 0;
    *value = is_clock ? 2000000 : 5120;  // kHz, bits.
    return CUDA_SUCCESS;
  }
  static DriverTable& Real() {
    static auto* const real = new DriverTable;
    return *real;
  }
  static DriverTable Wrap(const DriverApi& wrapped) {
    DriverTable table = Real() = UnguardedTable(wrapped);
    table.DeviceGetAttribute = Ask;
    return table;
  }

  DriverApi api_;
};

TEST(RooflineTest, ADriverIsAskedForTheClocksOfADeviceOnce) {
  Result<Device> cpu = OpenDevice("cpu");
  ASSERT_OK(cpu);
  const ClockedDriver driver(cpu->api());
  for (int i = 0; i < 3; ++i) {
    Result<Device> device = Device::Get(driver.api(), 0);
    ASSERT_OK(device);
    Result<DevicePeaks> peaks = DevicePeaks::Of(*device);
    ASSERT_OK(peaks);
    EXPECT_DOUBLE_EQ(peaks->gb_per_s, 2560);  // 2 * 2 GHz * 640 bytes.
    EXPECT_EQ(ClockedDriver::count(), 2);
  }
}

}  // namespace
}  // namespace tuneonce
