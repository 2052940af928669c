#include <cmath>

#include "testing/cpu_device_test.h"
#include "tuneonce/measure/event_timer.h"
#include "tuneonce/measure/statistics.h"

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

class EventTimerTest : public testing::CpuDeviceTest {};

TEST_F(EventTimerTest, OnlyTheLaunchIsTimedAndCounted) {
  int prepared = 0;
  int launched = 0;
  DeviceBuffer buffer = Floats(std::vector<float>(1000, 1));
  EventTimerOptions options;
  options.num_warmups = 3;
  options.min_samples = 5;
  options.max_samples = 5;
  EventTimer timer(options);
  Result<TimedResult> result = timer.Time(stream_->view(), {[&] {
                                                              ++prepared;
                                                              return Status();
                                                            },
                                                            [&] {
                                                              ++launched;
                                                              return buffer.Fill(1);
                                                            }});
  ASSERT_OK(result);
  EXPECT_EQ(prepared, 8);
  EXPECT_EQ(launched, 8);
  EXPECT_EQ(result->num_launches, 8);
  EXPECT_EQ(result->measurement.num_samples, 5);
  EXPECT_GE(result->measurement.mean_us, 0);
  EXPECT_GE(result->gpu_seconds, 0);
}

TEST_F(EventTimerTest, ErrorsOfTheRunComeBack) {
  EventTimer timer;
  auto fine = [] { return Status(); };
  EXPECT_ERROR(timer.Time(stream_->view(), {fine, [] { return NotFoundError("launch"); }}), StatusCode::kNotFound,
               "launch");
  EXPECT_ERROR(timer.Time(stream_->view(), {[] { return NotFoundError("prepare"); }, fine}), StatusCode::kNotFound,
               "prepare");
  EventTimerOptions options;
  options.num_warmups = 0;
  options.max_samples = 0;
  EXPECT_ERROR(EventTimer(options).Time(stream_->view(), {fine, fine}), StatusCode::kInvalidArgument, "max_samples");
}

}  // namespace
}  // namespace tuneonce
