// What others see of `tuneonce tune`: profilers its ranges, Perfetto its trace, a person its log.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "cli/run_cli.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

const std::vector<std::string>& Tune() {
  static const auto* const tune =
      new std::vector<std::string>{"tune", "vector_add", "--device", "cpu", "--shape", "N=5000"};
  return *tune;
}

#ifdef TUNEONCE_NVTX_PROBE
TEST(WatchedTuneTest, AProfilerSeesRangesThatOpenAndCloseAndNoneOfHits) {
  ProcessResult result = RunCli(Tune(), "NVTX_INJECTION64_PATH=" TUNEONCE_NVTX_PROBE);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  std::istringstream lines(result.output);
  std::map<std::string, int> begins;
  int pushes = 0, pops = 0, domains = 0;
  for (std::string line; std::getline(lines, line);) {
    domains += line == "nvtx domain tuneonce" ? 1 : 0;
    pops += line == "nvtx pop" ? 1 : 0;
    if (line.rfind("nvtx push ", 0) != 0) continue;
    ++pushes;
    std::string name = line.substr(10);
    ++begins[name.substr(0, name.find_first_of(" {"))];
  }
  EXPECT_EQ(domains, 1);
  EXPECT_EQ(pushes, pops);
  EXPECT_EQ(begins["tune"], 1);
  EXPECT_EQ(begins["search"], 1);
  for (const char* name : {"compile", "load", "prepare", "race", "round", "verify", "run", "look", "lease"}) {
    EXPECT_GT(begins[name], 0) << name;
  }
  EXPECT_EQ(begins["elsewhere"], 0);
  EXPECT_EQ(begins["launch"], 0) << "the command makes 11 hits";
}
#endif

TEST(WatchedTuneTest, ItsTraceIsAFileOfEventsAlsoWhereTheTuneFails) {
  TemporaryFolder folder = *testing::MakeFolder();
  const std::string file = folder.path() + "/trace.json";
  std::vector<std::string> arguments = Tune();
  arguments.insert(arguments.end(), {"--isolation", "off", "--trace", file});
  ProcessResult result = RunCli(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  std::map<std::string, int> categories;
  const nlohmann::json trace = nlohmann::json::parse(*ReadFile(file));
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++categories[event["cat"]];
  }
  for (const char* category :
       {"tune", "search", "compile", "load", "warm-up", "verify", "race", "sample", "store", "wait"}) {
    EXPECT_GT(categories[category], 0) << category;
  }
  ExpectOneLineError(arguments, "no-such-compiler", "TUNEONCE_CXX=no-such-compiler");
  EXPECT_NE(ReadFile(file)->find("no-such-compiler"), std::string::npos) << "it says what failed";
  arguments.back() = folder.path() + "/no/such/folder/trace.json";
  ExpectOneLineError(arguments, "cannot write " + arguments.back());
}

TEST(WatchedTuneTest, TheLogSaysWhatHappensAsMuchAsIsAskedFor) {
  auto count = [](const std::string& level) {
    std::string output = RunCli(Tune(), "TUNEONCE_LOG=" + level).output;
    int lines = 0;
    for (std::size_t at = 0; (at = output.find("tuneonce [", at)) != std::string::npos; ++at) ++lines;
    return lines;
  };
  EXPECT_EQ(count("warn"), 0);
  EXPECT_EQ(count("nonsense"), 0);
  const int info = count("info");
  EXPECT_EQ(info, 3) << "a miss, a search, its end";
  EXPECT_GT(count("debug"), info + 4);
}

}  // namespace
}  // namespace tuneonce
