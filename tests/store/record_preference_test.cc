#include "store/record_preference.h"

#include <cmath>
#include <functional>
#include <string>

#include "store/sqlite_store_fixture.h"

namespace tuneonce {
namespace {

using Change = std::function<void(TuningRecord&)>;

struct PreferenceCase {
  const char* name;
  Change better, other;                      // Of two records that are else the same.
  const char *best, *newest, *most_certain;  // Why the better one is taken; empty: the other is.
};

/// The other one is faster, newer and surer.
void BetterMeasured(TuningRecord& r) {
  r.best.measurement.mean_us = 0.5;
  r.best.measurement.error_margin_us = 0.001;
  r.best.measurement.num_samples = 99;
  r.unix_seconds += 1000;
}

const std::vector<PreferenceCase>& PreferenceCases() {
  static const auto* const cases = new std::vector<PreferenceCase>{
      {"a fencing token", [](TuningRecord& r) { r.fencing_token = 2; },
       [](TuningRecord& r) {
         r.is_pinned = true;
         BetterMeasured(r);
       },
       "of the higher fencing token", "of the higher fencing token", "of the higher fencing token"},
      {"a pin", [](TuningRecord& r) { r.is_pinned = true; }, BetterMeasured, "pinned", "pinned", "pinned"},
      {"a later pin",
       [](TuningRecord& r) {
         r.is_pinned = true;
         r.unix_seconds += 1;
       },
       [](TuningRecord& r) {
         r.is_pinned = true;
         r.best.measurement.mean_us = 0.5;
       },
       "pinned later", "pinned later", "pinned later"},
      {"measured against imported", [](TuningRecord&) {},
       [](TuningRecord& r) {
         r.reason = SelectionReason::kImported;
         BetterMeasured(r);
       },
       "measured, not imported", "measured, not imported", "measured, not imported"},
      {"imported and checked", [](TuningRecord& r) { r.reason = SelectionReason::kImported; },
       [](TuningRecord& r) {
         r.reason = SelectionReason::kImported;
         BetterMeasured(r);
         r.best.measurement.num_samples = 0;
       },
       "measured", "measured", "measured"},
      {"verified",
       [](TuningRecord& r) {
         r.is_complete = false;
         r.verification.level = Verification::Level::kReference;
       },
       BetterMeasured, "verified more strictly", "verified more strictly", "verified more strictly"},
      {"complete", [](TuningRecord&) {},
       [](TuningRecord& r) {
         r.is_complete = false;
         BetterMeasured(r);
       },
       "complete", "complete", "complete"},
      {"both cut short",
       [](TuningRecord& r) {
         r.is_complete = false;
         r.num_not_measured = 1;
       },
       [](TuningRecord& r) {
         r.is_complete = false;
         r.num_not_measured = 5;
         BetterMeasured(r);
       },
       "of the search that measured more", "of the search that measured more", "of the search that measured more"},
      {"faster", [](TuningRecord& r) { r.best.measurement.mean_us = 1; },
       [](TuningRecord& r) {
         r.unix_seconds += 1;
         r.best.measurement.error_margin_us = 0.001;
       },
       "faster", "", ""},
      {"newer", [](TuningRecord& r) { r.unix_seconds += 1; },
       [](TuningRecord& r) {
         r.best.measurement.mean_us = 1;
         r.best.measurement.error_margin_us = 0.001;
       },
       "", "newer", ""},
      {"newer, at another shape", [](TuningRecord& r) { r.unix_seconds += 1; },
       [](TuningRecord& r) {
         r.tuned_at = "N=300";
         r.best.measurement.mean_us = 0.5;
         r.best.measurement.error_margin_us = 0.001;
       },
       "newer, since their times are of different shapes", "newer", ""},
      {"certain", [](TuningRecord&) {},
       [](TuningRecord& r) {
         BetterMeasured(r);
         r.is_conclusive = false;
       },
       "", "", "certain"},
      {"a smaller margin, for its mean", [](TuningRecord& r) { r.best.measurement.error_margin_us = 0.2; },
       [](TuningRecord& r) {
         r.best.measurement.mean_us = 0.5;
         r.best.measurement.error_margin_us = 0.1;
         r.unix_seconds += 1;
       },
       "", "", "of the smaller error margin"},
      {"a margin at all", [](TuningRecord&) {}, [](TuningRecord& r) { r.best.measurement.error_margin_us.reset(); },
       "first given", "first given", "of the smaller error margin"},
      {"more samples", [](TuningRecord& r) { r.best.measurement.num_samples = 7; }, [](TuningRecord&) {}, "first given",
       "first given", "of more samples"},
      {"a mean that is not a number", [](TuningRecord& r) { r.best.measurement.mean_us = std::nan(""); },
       [](TuningRecord&) {}, "first given", "first given", ""},
      {"the same", [](TuningRecord&) {}, [](TuningRecord&) {}, "they are the same", "they are the same",
       "they are the same"},
  };
  return *cases;
}

TEST(RecordPreferenceTest, WhatARecordIsDecidesBeforeHowFastOrNewOrSureItIs) {
  for (const PreferenceCase& each : PreferenceCases()) {
    TuningRecord better = testing::Record(1), other = testing::Record(1);
    each.better(better);
    each.other(other);
    for (const auto& [by, why] : {std::pair(PreferRecord::kBest, each.best),
                                  {PreferRecord::kNewest, each.newest},
                                  {PreferRecord::kMostCertain, each.most_certain}}) {
      SCOPED_TRACE(std::string(each.name) + ", by " + std::to_string(static_cast<int>(by)));
      RecordPreference first = PreferOf(better, other, by);
      RecordPreference second = PreferOf(other, better, by);
      EXPECT_STREQ(first.why, second.why);
      bool tells_apart = std::string(first.why) != "first given" && std::string(first.why) != "they are the same";
      EXPECT_EQ(first.takes_second != second.takes_second, tells_apart) << "the order of the stores does not matter";
      if (*why == '\0') {
        EXPECT_TRUE(first.takes_second) << first.why;
      } else {
        EXPECT_FALSE(first.takes_second);
        EXPECT_STREQ(first.why, why);
      }
    }
  }
}

}  // namespace
}  // namespace tuneonce
