#ifndef TUNEONCE_TESTS_TESTING_RECORD_CHANGES_H_
#define TUNEONCE_TESTS_TESTING_RECORD_CHANGES_H_

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tuneonce/tuning_record.h"

namespace tuneonce::testing {

/// One field of a record, given a value that a default-made record does not have.
struct RecordChange {
  std::string what;
  std::function<void(TuningRecord&)> apply;
};

/// A config that is told from others by its name.
inline Config NamedConfig(const std::string& name) { return Config::Of({{"name", AxisKind::kStructural, name}}); }

inline Config ConfigOfAllTypes() {
  return Config::Of({{"TILE", AxisKind::kStructural, std::int64_t{-64}},
                     {"occupancy", AxisKind::kHint, std::int64_t{2}},
                     {"alpha", AxisKind::kStructural, 0.1 + 0.2},
                     {"zero", AxisKind::kStructural, -0.0},
                     {"one", AxisKind::kStructural, 1.0},
                     {"bound", AxisKind::kStructural, std::numeric_limits<double>::infinity()},
                     {"flag", AxisKind::kStructural, true},
                     {"any bytes", AxisKind::kStructural, std::string("\xff\x00\"\n=,", 6)},
                     {"text", AxisKind::kStructural, std::string("1")}});
}

/// Makes an outcome one that has measured quantities.
inline CandidateOutcome& Measured(CandidateOutcome* outcome) {
  outcome->kind = OutcomeKind::kMeasured;
  return *outcome;
}

/// A change of every field, one at a time, and of every value of its enums.
inline std::vector<RecordChange> RecordChanges() {
  using R = TuningRecord;
  std::vector<RecordChange> changes = {
      {"kernel", [](R& r) { r.key.kernel = "k\xff"; }},
      {"kernel_fingerprint",
       [](R& r) {
         r.key.kernel_fingerprint = {~std::uint64_t{0}, 2};
       }},
      {"key_words",
       [](R& r) {
         r.key.key_words = {0, ~std::uint64_t{0}};
       }},
      {"key_text", [](R& r) { r.key.key_text = "N=1"; }},
      {"device_name", [](R& r) { r.key.device_name = "H200"; }},
      {"capability", [](R& r) { r.key.capability = 90; }},
      {"num_sms", [](R& r) { r.key.num_sms = 132; }},
      {"driver_version", [](R& r) { r.key.driver_version = 13000; }},
      {"config", [](R& r) { r.best.config = ConfigOfAllTypes(); }},
      {"variant", [](R& r) { r.best.variant = "tile"; }},
      {"mean_us", [](R& r) { Measured(&r.best).measurement.mean_us = 1.0 / 3; }},
      {"error_margin_us", [](R& r) { Measured(&r.best).measurement.error_margin_us = 0; }},
      {"num_samples", [](R& r) { Measured(&r.best).measurement.num_samples = 3; }},
      {"std_us", [](R& r) { Measured(&r.best).measurement.std_us = 0.25; }},
      {"median_us", [](R& r) { Measured(&r.best).measurement.median_us = 2; }},
      {"min_us", [](R& r) { Measured(&r.best).measurement.min_us = 1e-300; }},
      {"max_us", [](R& r) { Measured(&r.best).measurement.max_us = std::numeric_limits<double>::infinity(); }},
      {"identity",
       [](R& r) {
         r.best.identity = {7, 8};
       }},
      {"configs",
       [](R& r) {
         r.configs = {9, 10};
       }},
      {"verification's outputs",
       [](R& r) {
         r.verification.outputs = {{0.5, 0.25, 1, true}};
       }},
      {"verification's tolerance",
       [](R& r) {
         r.verification.outputs = {{0.5, 0.25, 2, true}};
       }},
      {"level memory", [](R& r) { r.verification.level = Verification::Level::kMemory; }},
      {"level reference", [](R& r) { r.verification.level = Verification::Level::kReference; }},
      {"is_data_sufficient", [](R& r) { r.verification.is_data_sufficient = false; }},
      {"has_generated_data", [](R& r) { r.verification.has_generated_data = true; }},
      {"extents",
       [](R& r) {
         r.verification.extents = {{"M", {0, ~std::uint64_t{0}}}};
       }},
      {"gaps", [](R& r) { r.verification.gaps = {"M=65: no memory"}; }},
      {"speedup_over_baseline", [](R& r) { r.speedup_over_baseline = -1; }},
      {"artifact",
       [](R& r) {
         r.best.artifact = {3, 4};
       }},
      {"baseline", [](R& r) { r.baseline.emplace(); }},
      {"baseline's config", [](R& r) { r.baseline.emplace().config = ConfigOfAllTypes(); }},
      {"baseline's variant", [](R& r) { r.baseline.emplace().variant = "ptx"; }},
      {"baseline's artifact",
       [](R& r) {
         r.baseline.emplace().artifact = {5, 6};
       }},
      {"workspace_bytes", [](R& r) { r.workspace_bytes = std::int64_t{1} << 40; }},
      {"tuned_at", [](R& r) { r.tuned_at = "N=4096"; }},
      {"candidates", [](R& r) { r.candidates.resize(2); }},
      {"is_complete", [](R& r) { r.is_complete = false; }},
      {"num_not_measured", [](R& r) { r.num_not_measured = 5; }},
      {"fatal",
       [](R& r) {
         r.fatal.push_back({Config::Of({{"T", AxisKind::kHint, false}}), "hung"});
       }},
      {"is_conclusive", [](R& r) { r.is_conclusive = false; }},
      {"is_pinned", [](R& r) { r.is_pinned = true; }},
      {"fencing_token", [](R& r) { r.fencing_token = ~std::uint64_t{0}; }},
      {"signature", [](R& r) { r.signature = std::string("\x00\x01\xff", 3); }},
      {"timer", [](R& r) { r.timer = "cupti"; }},
      {"is_isolated", [](R& r) { r.is_isolated = true; }},
      {"drift", [](R& r) { r.drift = -0.25; }},
      {"device_before", [](R& r) { r.device_before.emplace().temperature_c = 70; }},
      {"device_after", [](R& r) { r.device_after.emplace().power_mw = 350000; }},
      {"race_sm_clock_mhz", [](R& r) { r.race_sm_clock_mhz = 1987.5; }},
      {"notes", [](R& r) { r.notes = {"timed by events"}; }},
      {"cost", [](R& r) { r.cost.num_launches = 42; }},
      {"peak_bytes", [](R& r) { r.cost.peak_bytes = std::size_t{1} << 40; }},
      {"host", [](R& r) { r.host = "node7"; }},
      {"toolchain", [](R& r) { r.best.toolchain = "tileiras 13.1"; }},
      {"unix_seconds", [](R& r) { r.unix_seconds = -1; }},
      {"sm_clock_mhz", [](R& r) { r.conditions.sm_clock_mhz = 1980; }},
      {"memory_clock_mhz", [](R& r) { r.conditions.memory_clock_mhz = 0; }},
      {"power_limit_mw", [](R& r) { r.conditions.power_limit_mw = 700000; }},
      {"throttle_reasons", [](R& r) { r.conditions.throttle_reasons = 4; }},
      {"mig_profile", [](R& r) { r.conditions.mig_profile = "1g.18gb"; }},
      {"nearest_dim", [](R& r) { r.nearest_dim = "M"; }},
      {"rows",
       [](R& r) {
         r.rows.push_back({24, ConfigOfAllTypes()});
       }},
  };
  auto of_candidate = [&](const std::string& what, std::function<void(CandidateOutcome&)> apply) {
    changes.push_back({"candidate's " + what, [=](R& r) { apply(r.candidates.emplace_back()); }});
  };
  of_candidate("config", [](CandidateOutcome& c) { c.config = ConfigOfAllTypes(); });
  of_candidate("identity", [](CandidateOutcome& c) { c.identity = {11, 12}; });
  of_candidate("variant", [](CandidateOutcome& c) { c.variant = "tile"; });
  of_candidate("mean_us", [](CandidateOutcome& c) { Measured(&c).measurement.mean_us = 7; });
  of_candidate("error_margin_us", [](CandidateOutcome& c) { Measured(&c).measurement.error_margin_us = 0.5; });
  of_candidate("num_samples", [](CandidateOutcome& c) { Measured(&c).measurement.num_samples = 9; });
  of_candidate("geometry", [](CandidateOutcome& c) { Measured(&c).geometry.grid.y = 9; });
  of_candidate("resources", [](CandidateOutcome& c) { Measured(&c).resources.registers = 255; });
  of_candidate("ties_with_fastest", [](CandidateOutcome& c) { Measured(&c).ties_with_fastest = true; });
  of_candidate("largest_difference", [](CandidateOutcome& c) {
    Measured(&c).largest_difference = OutputDifference{"y", 0.25, std::numeric_limits<double>::infinity()};
  });
  of_candidate("roofline", [](CandidateOutcome& c) { Measured(&c).roofline = Roofline{0.5, Bound::kMemory, 1, 2, 3}; });
  of_candidate("energy_mj", [](CandidateOutcome& c) { Measured(&c).energy_mj = 0.5; });
  of_candidate("artifact", [](CandidateOutcome& c) { c.artifact = {5, 6}; });
  of_candidate("toolchain", [](CandidateOutcome& c) { c.toolchain = "nvrtc 13.0"; });
  of_candidate("passed_over", [](CandidateOutcome& c) { c.passed_over = {{"tile", "no tileiras"}}; });
  of_candidate("is_transient", [](CandidateOutcome& c) { c.is_transient = true; });
  of_candidate("message", [](CandidateOutcome& c) { c.message = "ptxas: \xe2 no\n"; });
  of_candidate("same_as", [](CandidateOutcome& c) { c.same_as = ConfigOfAllTypes(); });
  for (int i = 0; i <= static_cast<int>(OutcomeKind::kQuarantined); ++i) {
    of_candidate("kind", [=](CandidateOutcome& c) { c.kind = static_cast<OutcomeKind>(i); });
  }
  for (int i = 0; i <= static_cast<int>(TunedInputs::kFill); ++i) {
    changes.push_back({"inputs", [=](R& r) { r.inputs = static_cast<TunedInputs>(i); }});
  }
  for (int i = 0; i <= static_cast<int>(SelectionReason::kImported); ++i) {
    changes.push_back({"reason", [=](R& r) { r.reason = static_cast<SelectionReason>(i); }});
  }
  return changes;
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_RECORD_CHANGES_H_
