// Text for people holds nothing that acts on their terminal, whatever kernels, tools and devices call themselves.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "inspect/doctor.h"
#include "testing/device_test.h"
#include "tuneonce/report.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

const std::string kHostile =
    "a\x1b[2J\x07\rb\xc2\x9b"
    "1m\xe2\x80\xae\xff";

/// `kHostile` stands at each place of it where a name or a message is.
TuningRecord HostileResult() {
  SearchSpace space;
  space.AddStringAxis("TILE\x1b[2J", {kHostile, kHostile + "2"});
  std::vector<Config> configs = *space.Enumerate(Target());
  TuningRecord result;
  result.key.kernel = kHostile;
  CandidateOutcome measured;
  measured.config = configs[0];
  measured.kind = OutcomeKind::kMeasured;
  measured.variant = kHostile;
  measured.passed_over = {{kHostile, kHostile}};
  measured.measurement = {10.0, 0.5, 5};
  result.best = measured;
  result.baseline = measured;
  CandidateOutcome duplicate;
  duplicate.config = configs[1];
  duplicate.kind = OutcomeKind::kDuplicate;
  duplicate.same_as = configs[0];
  result.candidates = {
      measured, CandidateOutcome::Failed(configs[1], OutcomeKind::kCompile, kHostile + "\nsecond line"), duplicate};
  result.notes.push_back(kHostile + "\nnote: forged");
  result.timer = kHostile;
  return result;
}

void ExpectHarmless(const std::string& text) {
  EXPECT_EQ(text.find_first_of("\x1b\x07\r\x9b\xff"), std::string::npos) << text;
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos) << text;
}

TEST(PrintableReportTest, ATableOfASearch) {
  std::string table = SummaryTable(HostileResult());
  ExpectHarmless(table);
  EXPECT_EQ(table.find("\nnote: forged"), std::string::npos) << table;
}

TEST(PrintableReportTest, WhatTheDoctorFound) {
  DoctorReport report;
  report.findings.push_back(DoctorFinding{"C++ compiler", false, kHostile + "\n[ok]      forged", kHostile});
  std::string text = report.ToString();
  ExpectHarmless(text);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST(PrintableReportTest, AWarningOfTheDefaultRuntime) {
  ::testing::internal::CaptureStderr();
  Runtime::Default()->Warn(kHostile + "\ntuneonce: forged");
  std::string said = ::testing::internal::GetCapturedStderr();
  ExpectHarmless(said);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(PrintableReportTest, JsonIsAsciiAndExact) {
  TuningRecord result = HostileResult();
  result.key.kernel = "a\x1b[2J\xc2\x9b\xe2\x80\xae";  // What JSON can hold.
  std::string text = RecordsToJson({result});
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c < 0x7f); }))
      << text;
  EXPECT_EQ(nlohmann::json::parse(text)["records"][0]["kernel"], result.key.kernel);
}

}  // namespace
}  // namespace tuneonce
