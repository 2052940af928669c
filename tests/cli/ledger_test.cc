// tuneonce compare --ledger: a table of changes that many may append to. Of two results, so that nothing runs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "cli/run_cli.h"
#include "testing/tools.h"
#include "tuneonce/report.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

constexpr char kHeader[] = "iteration\tchange\tlatency_ms\tcorrectness\tstatus\tpeak_bytes";

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() : folder_(*testing::MakeFolder()), ledger_(folder_.path() + "/ledger.tsv") {
    Result("a", 100);
    Result("b", 90);
  }

  std::string Result(const std::string& name, double mean_us) {
    const std::string path = folder_.path() + "/" + name;
    TuningRecord record;
    record.tuned_at = "N=4";
    record.best.kind = OutcomeKind::kMeasured;
    record.best.measurement = {mean_us, 0.1, 9};
    EXPECT_TRUE(WriteFile(path, RecordsToJson({record})).ok());
    return path;
  }
  std::vector<std::string> Append(const std::string& change, const std::string& b = "b") const {
    return {"compare", folder_.path() + "/a", folder_.path() + "/" + b, "--ledger", ledger_, "--change", change};
  }
  std::vector<std::string> Lines() const { return absl::StrSplit(*ReadFile(ledger_), '\n'); }

  TemporaryFolder folder_;
  std::string ledger_;
};

TEST_F(LedgerTest, ANewFileGetsAHeaderAndEachComparisonARow) {
  Result("slow", 1234.5678901);
  EXPECT_EQ(RunCli(Append("tiles of 64, not 128")).exit_code, 0);
  EXPECT_EQ(RunCli(Append("a\ttab and\na line", "slow")).exit_code, 3);
  EXPECT_EQ(Lines(), (std::vector<std::string>{
                         kHeader,
                         "1\ttiles of 64, not 128\t0.090000\tnot_compared\taccept\tnan",
                         "2\ta tab and a line\t1.234568\tnot_compared\trevert\tnan",
                         "",
                     }));
}

TEST_F(LedgerTest, ItStatesWhenALoopShouldStop) {
  Result("same", 100);
  auto stop = [&](const std::string& b) {
    std::vector<std::string> command = Append("x", b);
    command.push_back("--json");
    const nlohmann::json json = nlohmann::json::parse(RunCli(command).output);
    return json["ledger"]["stop"].is_null() ? std::string() : json["ledger"]["stop"].get<std::string>();
  };
  EXPECT_EQ(stop("same"), "");
  EXPECT_EQ(stop("same"), "the last 2 changes gave no gain");
  EXPECT_EQ(stop("same"), "the last 3 changes gave no gain") << "a row can be added all the same";
  EXPECT_EQ(stop("b"), "") << "a gain";
  EXPECT_EQ(stop("same"), "");
  ProcessResult text = RunCli(Append("x", "same"));
  EXPECT_NE(text.output.find("row 6 of " + ledger_ + "\nstop: the last 2 changes gave no gain\n"), std::string::npos)
      << text.output;
  // A crash is no gain.
  ASSERT_TRUE(WriteFile(ledger_, std::string(kHeader) + "\n1\tx\tnan\tfail\tcrash\tnan\n").ok());
  EXPECT_EQ(stop("same"), "the last 2 changes gave no gain");
  ASSERT_TRUE(WriteFile(ledger_, std::string(kHeader) + "\n23\tx\t0.1\tpass\taccept\t3\n").ok());
  EXPECT_EQ(stop("b"), "");
  EXPECT_EQ(stop("b"), "25 iterations are done");
}

TEST_F(LedgerTest, OfARunItHasCorrectnessAndMemory) {
  ProcessResult result = RunCli(
      {"compare", "vector_add", "vector_add", "--device", "cpu", "--quiet", "--shape", "N=1000", "--ledger", ledger_});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  std::vector<std::string> fields = absl::StrSplit(Lines()[1], '\t');
  ASSERT_EQ(fields.size(), 6u);
  EXPECT_EQ(fields[1], "vector_add") << "without --change it is B";
  EXPECT_GT(std::stod(fields[2]), 0);
  EXPECT_EQ(fields[3], "pass");
  EXPECT_EQ(fields[5], "12000") << "three tensors of 1000 floats";
}

TEST_F(LedgerTest, WhatIsNoLedgerIsLeftAsItIsAndNothingIsRun) {
  const std::string text = "iteration,change\n";
  ASSERT_TRUE(WriteFile(ledger_, text).ok());
  ExpectOneLineError(Append("x"), "is not a ledger of tuneonce compare, and stays unchanged");
  EXPECT_EQ(*ReadFile(ledger_), text);
  ledger_ = folder_.path();
  ExpectOneLineError(Append("x"), "cannot append to " + ledger_);
  ledger_ = folder_.path() + "/none/ledger.tsv";
  ExpectOneLineError(Append("x"), "No such file or directory");
  ledger_ = "/dev/null";
  ExpectOneLineError(Append("x"), "it is not a file");
}

TEST_F(LedgerTest, AFileThatIsReadOnlyIsAClearLineBeforeAnythingRuns) {
  ASSERT_TRUE(WriteFile(ledger_, std::string(kHeader) + "\n").ok());
  ASSERT_EQ(chmod(ledger_.c_str(), 0444), 0);
  if (geteuid() == 0) GTEST_SKIP() << "root may write what is read-only";
  ExpectOneLineError(Append("x"), "cannot append to " + ledger_ + ": Permission denied");
}

TEST_F(LedgerTest, AnEmptyFileIsANewOne) {
  ASSERT_TRUE(WriteFile(ledger_, "").ok());
  EXPECT_EQ(RunCli(Append("x")).exit_code, 0);
  EXPECT_EQ(Lines().front(), kHeader);
  EXPECT_EQ(Lines()[1].substr(0, 4), "1\tx\t");
}

TEST_F(LedgerTest, ATornLineStaysAloneAndTheNumbersGoOn) {
  ASSERT_TRUE(WriteFile(ledger_, std::string(kHeader) + "\n7\tx\t0.1\tpass\tminor\t3\n8\ty\t0.").ok());
  EXPECT_EQ(RunCli(Append("z")).exit_code, 0);
  EXPECT_EQ(Lines()[2], "8\ty\t0.");
  EXPECT_EQ(Lines()[3], "8\tz\t0.090000\tnot_compared\taccept\tnan");
}

TEST_F(LedgerTest, ManyThatAppendAtOnceTearNoLineAndUseNoNumberTwice) {
  constexpr int kWriters = 8, kRows = 5;
  std::vector<std::future<void>> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(std::async(std::launch::async, [&, writer] {
      for (int row = 0; row < kRows; ++row) {
        EXPECT_EQ(RunCli(Append(std::string(300, static_cast<char>('a' + writer)))).exit_code, 0);
      }
    }));
  }
  for (std::future<void>& writer : writers) writer.get();
  std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(kWriters * kRows + 2));
  EXPECT_EQ(lines.front(), kHeader);
  for (int row = 1; row <= kWriters * kRows; ++row) {
    std::vector<std::string> fields = absl::StrSplit(lines[static_cast<std::size_t>(row)], '\t');
    ASSERT_EQ(fields.size(), 6u);
    EXPECT_EQ(fields[0], std::to_string(row));
    EXPECT_EQ(fields[1], std::string(300, fields[1][0]));
  }
}

TEST_F(LedgerTest, AFileThatIsLockedIsWaitedForAndThenGivenUp) {
  ASSERT_TRUE(WriteFile(ledger_, std::string(kHeader) + "\n").ok());
  const int file = open(ledger_.c_str(), O_RDWR | O_CLOEXEC);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  ASSERT_EQ(fcntl(file, F_OFD_SETLK, &whole), 0);
  ProcessResult result = RunCli(Append("x"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.output.find("accept"), std::string::npos) << "the verdict is shown: " << result.output;
  EXPECT_NE(result.output.find("another process has locked it"), std::string::npos) << result.output;
  EXPECT_EQ(*ReadFile(ledger_), std::string(kHeader) + "\n");
  std::future<ProcessResult> waiting = std::async(std::launch::async, [&] { return RunCli(Append("x")); });
  usleep(200000);
  close(file);
  EXPECT_EQ(waiting.get().exit_code, 0);
  EXPECT_EQ(Lines().size(), 3u);
}

TEST_F(LedgerTest, ARowThatDoesNotFitIsNotThereInPart) {
  // The shell's unit is 512 or 1024 bytes: a file of up to 1024 may grow by less than the row.
  std::string text = std::string(kHeader) + "\n";
  text += "1\t" + std::string(1000 - text.size(), 'x') + "\t0.1\tpass\tminor\t3\n";
  ASSERT_TRUE(WriteFile(ledger_, text).ok());
  std::string command = "ulimit -f " + std::to_string((text.size() + 511) / 512) + "; exec \"$@\"";
  std::vector<std::string> shell = {"/bin/sh", "-c", command, "sh", TUNEONCE_CLI};
  for (const std::string& argument : Append(std::string(3000, 'y'))) shell.push_back(argument);
  ProcessResult result = tuneonce::Run(shell);
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_NE(result.output.find("cannot append to " + ledger_ + ": File too large"), std::string::npos) << result.output;
  EXPECT_EQ(*ReadFile(ledger_), text);
}

}  // namespace
}  // namespace tuneonce
