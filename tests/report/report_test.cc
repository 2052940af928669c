#include "tuneonce/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "inspect/doctor.h"
#include "testing/comma_locale.h"
#include "testing/device_test.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

TuningRecord SampleResult() {
  SearchSpace space;
  space.AddAxis("TILE", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  std::vector<Config> configs = *space.Enumerate(Target());
  TuningRecord result;
  result.key.kernel = "k";
  for (std::size_t i = 0; i < 10; ++i) {
    CandidateOutcome& candidate = result.candidates.emplace_back();
    candidate.config = configs[i];
    candidate.kind = OutcomeKind::kMeasured;
    candidate.variant = i < 2 ? "ptx" : "tile";
    if (i < 2) candidate.passed_over = {{"tile", "tileiras was not found"}};
    candidate.measurement = {10.0 + static_cast<double>(i), 0.5, 5};
    candidate.ties_with_fastest = true;
    candidate.resources.registers = 64;
  }
  result.candidates[9].measurement = Measurement{19, std::nullopt, 1};
  result.candidates[0].largest_difference = OutputDifference{"y", 0.0625, 0.25};
  result.best = result.candidates[0];
  result.baseline = result.candidates[9];
  result.speedup_over_baseline = 1.9;
  result.candidates.push_back(
      CandidateOutcome::Failed(configs[10], OutcomeKind::kCompile, "first line\nsecond \xff line"));
  CandidateOutcome& duplicate = result.candidates.emplace_back();
  duplicate.config = configs[11];
  duplicate.kind = OutcomeKind::kDuplicate;
  duplicate.same_as = configs[0];
  result.cost.num_launches = 42;
  result.cost.peak_bytes = 3 << 20;
  return result;
}

TEST(TableTest, ATinyDifferenceHasAPointUnderALocaleWithADecimalComma) {
  TUNEONCE_COMMA_LOCALE_OR_SKIP();
  TuningRecord result = SampleResult();
  result.candidates[0].largest_difference = OutputDifference{"y", 1.5e-30, 0.25};
  result.best = result.candidates[0];
  const std::string table = SummaryTable(result);
  EXPECT_NE(table.find("differs from the reference by 1.5e-30 at most in 'y', 25 % of"), std::string::npos) << table;
}

TEST(TableTest, ShowsTopAndBottomAndMarksTheBest) {
  std::string table = SummaryTable(SampleResult());
  EXPECT_NE(table.find("2 configs built by 'ptx' instead of 'tile': tileiras was not found\n"), std::string::npos)
      << table;
  EXPECT_NE(table.find("k: 10 measured, 1 failed, 1 duplicates"), std::string::npos) << table;
  EXPECT_NE(table.find("*       10.000     0.500        5    1.00x= TILE=1\n"), std::string::npos) << table;
  EXPECT_NE(table.find("  ... 2 more\n"), std::string::npos) << table;
  EXPECT_NE(table.find("        19.000         -        1    1.90x= TILE=10  (baseline)\n"), std::string::npos)
      << table;
  EXPECT_NE(table.find("failed (compile): {TILE=11}: first line\n"), std::string::npos) << table;
  EXPECT_NE(table.find("best is 1.90x as fast as the baseline"), std::string::npos) << table;
  EXPECT_NE(table.find("the best differs from the reference by 0.0625 at most in 'y', 25 % of the tolerance\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("42 launches, 3.0 MiB of device memory at most\n"), std::string::npos) << table;
  EXPECT_EQ(table.find("TILE=6"), std::string::npos) << table;
  EXPECT_EQ(SummaryTable(SampleResult(), {20, 0}).find("more"), std::string::npos);
}

TEST(TableTest, RemarksOfTheCompilerAreCountedAndThoseOfTheBestMarked) {
  TuningRecord result = SampleResult();
  for (std::size_t i : {0, 1, 2}) result.candidates[i].remarks = {"failed: no TMA", "passed: a load"};
  result.candidates[3].remarks = {"passed: a load"};
  result.candidates[10].remarks = {"failed: \x1b[31mno TMA", "passed: a load"};
  result.best = result.candidates[0];
  const std::string brief = SummaryTable(result);
  EXPECT_NE(brief.find("{TILE=11}: first line\n    the compiler remarks: failed: \\x1b[31mno TMA\n"), std::string::npos)
      << brief;
  EXPECT_EQ(brief.find("a load"), std::string::npos) << brief;
  TableOptions options;
  options.with_remarks = true;
  const std::string table = SummaryTable(result, options);
  EXPECT_NE(table.find("* the compiler remarks for 3 configs: failed: no TMA\n"), std::string::npos) << table;
  EXPECT_NE(table.find("* the compiler remarks for 5 configs: passed: a load\n"), std::string::npos) << table;
  EXPECT_NE(table.find("  the compiler remarks for 1 config: failed: \\x1b[31mno TMA\n"), std::string::npos) << table;
}

TEST(TableTest, IsShortHoweverManyConfigsThereAre) {
  TuningRecord result = SampleResult();
  for (int i = 0; i < 1000; ++i) {
    result.candidates.push_back(result.candidates[10]);
    result.candidates.push_back(result.candidates[11]);
  }
  result.num_not_measured = 1000;
  result.is_complete = false;
  const std::string table = SummaryTable(result);
  EXPECT_NE(table.find("k: 10 measured, 1001 failed, 1001 duplicates, 1000 not measured: the search was cut short\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("  ... 996 more failed\n"), std::string::npos) << table;
  EXPECT_LT(std::count(table.begin(), table.end(), '\n'), 30) << table;
}

TEST(TableTest, ConfigsAreShownByTheAxesThatDiffer) {
  SearchSpace space;
  space.AddAxis("TILE", {1, 2});
  space.AddAxis("STAGES", {3});
  std::vector<Config> configs = *space.Enumerate(Target());
  TuningRecord result;
  for (const Config& config : configs) {
    CandidateOutcome& candidate = result.candidates.emplace_back();
    candidate.config = config;
    candidate.kind = OutcomeKind::kMeasured;
    candidate.ties_with_fastest = true;
  }
  result.best = result.candidates[0];
  const std::string table = SummaryTable(result);
  EXPECT_NE(table.find("config (of all: STAGES=3)\n"), std::string::npos) << table;
  EXPECT_NE(table.find("x= TILE=2\n"), std::string::npos) << table;
  result.candidates.resize(1);
  EXPECT_NE(SummaryTable(result).find("x= TILE=1, STAGES=3\n"), std::string::npos) << "one alone is shown whole";
}

TEST(TableTest, RatesOfASlowDeviceAreNotZero) {
  TuningRecord result = SampleResult();
  result.best.roofline = Roofline();
  result.best.roofline->gb_per_s = 0.041;
  result.best.roofline->tflop_per_s = 0.0012;
  EXPECT_NE(SummaryTable(result).find("the best moves 0.041 GB/s, computes 1.2 GFLOP/s\n"), std::string::npos)
      << SummaryTable(result);
  result.best.roofline->gb_per_s = 3021.4;
  result.best.roofline->tflop_per_s = 712;
  EXPECT_NE(SummaryTable(result).find("the best moves 3021 GB/s, computes 712 TFLOP/s\n"), std::string::npos)
      << SummaryTable(result);
}

TEST(JsonTest, HoldsEveryFieldAndNullsForWhatIsUnknown) {
  auto file = nlohmann::json::parse(RecordsToJson({SampleResult()}));
  const nlohmann::json& json = file["records"][0];
  EXPECT_EQ(json["kernel"], "k");
  EXPECT_EQ(json["best"]["config"][0]["value"], 1);
  EXPECT_EQ(json["best"]["mean_us"], 10.0);
  EXPECT_EQ(json["candidates"].size(), 12u);
  EXPECT_TRUE(json["candidates"][9]["error_margin_us"].is_null()) << "one sample has no margin, and no NaN";
  EXPECT_EQ(json["candidates"][10]["outcome"], "compile");
  EXPECT_FALSE(json["candidates"][10].contains("mean_us")) << "it was not measured";
  EXPECT_EQ(json["candidates"][11]["same_as"][0]["value"], 1);
  EXPECT_EQ(json["baseline"]["config"][0]["value"], 10);
  EXPECT_EQ(json["speedup_over_baseline"], 1.9);
  EXPECT_EQ(json["cost"]["num_launches"], 42);
  EXPECT_EQ(json["cost"]["peak_bytes"], 3 << 20);
  EXPECT_EQ(json["best"]["largest_difference"]["output"], "y");
  EXPECT_EQ(json["best"]["largest_difference"]["share_of_tolerance"], 0.25);
  EXPECT_TRUE(json["candidates"][1]["largest_difference"].is_null()) << "not compared";
}

TEST(DoctorTest, FindsTheCpuDeviceAndSaysWhatIsMissing) {
  DoctorReport report = RunDoctor(*Runtime::Default());
  EXPECT_TRUE(report.can_tune()) << report.ToString();
  EXPECT_NE(report.ToString().find("device cpu:0"), std::string::npos);
  for (const DoctorFinding& finding : report.findings) {
    EXPECT_TRUE(finding.found || !finding.advice.empty()) << finding.name << " is missing without advice";
    EXPECT_FALSE(finding.detail.empty()) << finding.name;
  }
  EXPECT_EQ(nlohmann::json::parse(DoctorJson(report))["findings"].size(), report.findings.size());
  EXPECT_FALSE(DoctorReport().can_tune());
}

}  // namespace
}  // namespace tuneonce
