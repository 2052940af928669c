// What `tuneonce bundle compile --dry-run` states, what `bundle compile` compiles of a space with conditions, and what
// both and `bundle check` cost for a public space.
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "cli/run_cli.h"
#include "testing/expect_status.h"
#include "testing/public_spaces.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

using Json = nlohmann::json;

/// The most resident memory of this test's processes so far, in MB.
double PeakMb() {
  rusage usage{};
  EXPECT_EQ(getrusage(RUSAGE_CHILDREN, &usage), 0);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// The CPU time of this test's processes so far, in seconds: other work on the machine does not count.
double CpuSeconds() {
  rusage usage{};
  EXPECT_EQ(getrusage(RUSAGE_CHILDREN, &usage), 0);
  const timeval& user = usage.ru_utime;
  const timeval& system = usage.ru_stime;
  return static_cast<double>(user.tv_sec + system.tv_sec) + 1e-6 * static_cast<double>(user.tv_usec + system.tv_usec);
}

class BundleDryRunTest : public ::testing::Test {
 protected:
  BundleDryRunTest() : folder_(*testing::MakeFolder()) { EXPECT_EQ(mkdir(Path("k").c_str(), 0700), 0); }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  /// Writes the bundle "k" with these axes and conditions: a variant of CUDA C++ and one for the CPU device.
  void Write(const testing::PublicSpace& space) {
    Json axes = Json::array(), defines = Json::array();
    std::string tile = space.axes.front().first;
    for (const auto& [name, values] : space.axes) {
      axes.push_back({{"name", name}, {"values", values}});
      defines.push_back(name);
      if (values.size() > 1 && values.front() > 0) tile = name;
    }
    const Json tiles = Json::array({Json::array({"M", Json({{"axis", tile}})})});
    const Json grid = {{"pattern", "one_d"}, {"tiles", tiles}};
    Json manifest = {{"tuneonce_bundle", 1}, {"name", "k"}, {"version", "1"}, {"dims", {"M"}}};
    manifest["parameters"] = {
        {{"name", "x"}, {"kind", "tensor"}, {"access", "in"}, {"dtype", "float32"}, {"dims", {"M"}}},
        {{"name", "y"}, {"kind", "tensor"}, {"access", "out"}, {"dtype", "float32"}, {"dims", {"M"}}}};
    manifest["axes"] = axes;
    manifest["where"] = space.conditions;
    manifest["max_configs"] = 6000;
    manifest["variants"] = {{{"name", "cuda"},
                             {"source", "cuda_cpp"},
                             {"symbol", "k"},
                             {"defines", defines},
                             {"grid", grid},
                             {"block", {32}},
                             {"artifacts", {{{"file", "k.cu"}}}}},
                            {{"name", "cpu"},
                             {"source", "cpu_cpp"},
                             {"symbol", "k"},
                             {"defines", defines},
                             {"grid", grid},
                             {"artifacts", {{{"file", "k.cc"}}}}}};
    EXPECT_OK(folder_.WriteFile("k/manifest.json", manifest.dump()));
    // Of the size of CLBlast's GEMM.
    const std::string comment = "/*" + std::string(24'000, '-') + "*/\n";
    EXPECT_OK(folder_.WriteFile("k/k.cu", comment + "extern \"C\" __global__ void k(const float* x, float* y) {}\n"));
    EXPECT_OK(folder_.WriteFile("k/k.cc", comment +
                                              "static void k(const tuneonce_block&, const float* x, float* y) {}\n"
                                              "TUNEONCE_CPU_KERNEL(k);\n"));
  }
  Json DryRun(std::vector<std::string> options) {
    options.insert(options.begin(), {"bundle", "compile", Path("k"), "--dry-run", "--json"});
    ProcessResult result = RunCli(options, "TUNEONCE_CXX=/nowhere/c++");
    EXPECT_EQ(result.exit_code, 0) << result.output.substr(0, 2000);
    Json json = Json::parse(result.output, nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(json.is_discarded()) << result.output.substr(0, 2000);
    return json;
  }

  TemporaryFolder folder_;
};

/// 100 points, of which the conditions keep 40.
testing::PublicSpace Forty() {
  return {{{"A", testing::Range(1, 10)}, {"B", testing::Range(1, 10)}}, {"A % 2 == 0", "B <= 8"}};
}

TEST_F(BundleDryRunTest, ADryRunStatesWhatIsCompiledAndWhatIsExcludedByWhichCondition) {
  Write(Forty());
  const Json json = DryRun({"--target", "sm_90", "--target", "cpu"});
  ASSERT_EQ(json["targets"].size(), 2u);
  for (const Json& target : json["targets"]) {
    EXPECT_EQ(target["points"], 100);
    EXPECT_EQ(target["configs"], 40);
    EXPECT_EQ(target["excluded"], Json({{"condition 'A % 2 == 0'", 50}, {"condition 'B <= 8'", 20}}));
    ASSERT_EQ(target["variants"].size(), 1u);
    EXPECT_EQ(target["variants"][0]["variant"], target["target"] == "cpu" ? "cpu" : "cuda");
    EXPECT_EQ(target["variants"][0]["to_compile"], 40);
    EXPECT_EQ(target["variants"][0]["configs"][0], "A=2, B=1");
    EXPECT_EQ(target["variants"][0]["configs"].size(), 40u);
  }
  const ProcessResult text = RunCli({"bundle", "compile", Path("k"), "--target", "sm_90", "--dry-run"});
  EXPECT_EQ(text.output,
            "sm_90: 40 configs of 100 points\n"
            "  50 points are excluded by condition 'A % 2 == 0'\n"
            "  20 points are excluded by condition 'B <= 8'\n"
            "  variant 'cuda': 40 to compile\n");
  EXPECT_NE(RunCli({"bundle", "compile", Path("k"), "--target", "sm_90"}).output.find("--output"), std::string::npos);
}

TEST_F(BundleDryRunTest, EveryConfigOfTheSpaceIsCompiledAndNoOther) {
  Write(Forty());
  // The first compile is a real one. The others get its output, as the configs' code is the same.
  ASSERT_OK(folder_.WriteFile("compiler",
                              "#!/bin/sh\n"
                              "case \"$*\" in *-DA=*) ;; *) exec c++ \"$@\";; esac\n"
                              "echo \"$@\" >> " +
                                  Path("log") +
                                  "\n"
                                  "for each; do\n"
                                  "  case \"$last\" in -o) out=$each;; -MF) made=$each;; esac\n"
                                  "  last=$each\n"
                                  "done\n"
                                  "if [ -f " +
                                  Path("made.so") +
                                  " ]; then\n"
                                  "  cp " +
                                  Path("made.d") + " \"$made\" && cp " + Path("made.so") +
                                  " \"$out\"\n"
                                  "else\n"
                                  "  c++ \"$@\" && cp \"$made\" " +
                                  Path("made.d") + " && cp \"$out\" " + Path("copy.$$") + " && mv " + Path("copy.$$") +
                                  " " + Path("made.so") +
                                  "\n"
                                  "fi\n"));
  ASSERT_EQ(chmod(Path("compiler").c_str(), 0700), 0);
  const ProcessResult compiled = RunCli({"bundle", "compile", Path("k"), "--target", "cpu", "-o", Path("out")},
                                        "TUNEONCE_CXX=" + Path("compiler"));
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  EXPECT_NE(compiled.output.find("cpu: 40 configs, 40 ways to build them compiled"), std::string::npos)
      << compiled.output;
  std::set<std::string> expected;
  const Json dry_run = DryRun({"--target", "cpu"});
  for (const Json& config : dry_run["targets"][0]["variants"][0]["configs"]) expected.insert(config);
  std::set<std::string> found;
  std::istringstream log(*ReadFile(Path("log")));
  int num_compiles = 0;
  for (std::string line; std::getline(log, line); ++num_compiles) {
    auto value = [&](const std::string& flag) {
      const std::size_t begin = line.find(flag) + flag.size();
      return line.substr(begin, line.find(' ', begin) - begin);
    };
    found.insert("A=" + value("-DA=") + ", B=" + value("-DB="));
  }
  EXPECT_EQ(num_compiles, 40);
  EXPECT_EQ(found, expected);
}

TEST_F(BundleDryRunTest, APublicSpaceIsCheckedAndPlannedInSecondsAndLittleMemory) {
  Write(testing::Gemm());
  double before = CpuSeconds();
  const ProcessResult checked = RunCli({"bundle", "check", Path("k")});
  EXPECT_EQ(checked.exit_code, 0) << checked.output.substr(0, 2000);
  EXPECT_LT(CpuSeconds() - before, 10);
  EXPECT_LT(PeakMb(), 200);
  before = CpuSeconds();
  const ProcessResult planned = RunCli({"bundle", "compile", Path("k"), "--target", "sm_90", "--dry-run"});
  EXPECT_LT(CpuSeconds() - before, 10);
  EXPECT_LT(PeakMb(), 200);
  EXPECT_NE(planned.output.find("sm_90: 5788 configs of 26244 points\n"), std::string::npos) << planned.output;
  EXPECT_NE(planned.output.find("variant 'cuda': 5788 to compile\n"), std::string::npos) << planned.output;
}

}  // namespace
}  // namespace tuneonce
