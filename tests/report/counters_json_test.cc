#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tuneonce/report.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

TEST(CountersJsonTest, EveryCounterIsThereByItsName) {
  Counters counters;
  counters.hits = std::int64_t{1} << 60;
  counters.misses_other_source = 3;
  counters.tuning_seconds = 0.5;
  counters.now.pinned_keys = 2;
  auto json = nlohmann::json::parse(CountersJson(counters));
  EXPECT_EQ(json["hits"], std::int64_t{1} << 60);
  EXPECT_EQ(json["misses_other_source"], 3);
  EXPECT_EQ(json["tuning_seconds"], 0.5);
  EXPECT_EQ(json["tunes"], 0);
  // Each is of 8 bytes: one that is not listed shows.
  EXPECT_EQ(json["now"]["pinned_keys"], 2);
  EXPECT_EQ(json["now"].size(), sizeof(Gauges) / 8) << "add it to VisitFields (tuneonce/runtime.h)";
  EXPECT_EQ(json.size() - 1, (sizeof(Counters) - sizeof(Gauges)) / 8) << "add it to VisitFields (tuneonce/runtime.h)";
}

}  // namespace
}  // namespace tuneonce
