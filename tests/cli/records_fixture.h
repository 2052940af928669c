#ifndef TUNEONCE_TESTS_CLI_RECORDS_FIXTURE_H_
#define TUNEONCE_TESTS_CLI_RECORDS_FIXTURE_H_

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"
#include "cli/run_cli.h"
#include "testing/tools.h"

namespace tuneonce {

/// Two stores and a file in a folder, and the command.
class RecordsTest : public ::testing::Test {
 protected:
  RecordsTest() : folder_(*testing::MakeFolder()) {}

  void TuneInto(const std::string& store) {
    ProcessResult tuned =
        RunCli({"tune", "vector_add", "--device", "cpu", "--shape", "N=5000", "--quiet", "--store", store});
    ASSERT_EQ(tuned.exit_code, 0) << tuned.output;
  }
  nlohmann::json Json(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    ProcessResult result = RunCli(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return nlohmann::json::parse(result.output, nullptr, false);
  }

  TemporaryFolder folder_;
  std::string store_ = folder_.path() + "/a/store.db";
  std::string other_ = folder_.path() + "/b/store.db";
  std::string file_ = folder_.path() + "/records.json";
};

}  // namespace tuneonce

#endif  // TUNEONCE_TESTS_CLI_RECORDS_FIXTURE_H_
