// What `tuneonce bundle check` finds in bundles that can be read.
#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "cli/run_cli.h"
#include "compile/cubin.h"
#include "testing/expect_status.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

class BundleCheckTest : public ::testing::Test {
 protected:
  BundleCheckTest() : folder_(*testing::MakeFolder()), path_(folder_.path() + "/k") {
    EXPECT_EQ(mkdir(path_.c_str(), 0700), 0);
  }

  /// A bundle of `parameters`, axes and one variant.
  void Write(const std::string& parameters, const std::string& axes, const std::string& variant) {
    ASSERT_OK(folder_.WriteFile(
        "k/manifest.json", R"({"tuneonce_bundle": 1, "name": "k", "version": "1", "dims": ["N"], "parameters": [)" +
                               parameters + R"(], "axes": [)" + axes + R"(], "example": {"dims": {"N": 1000}},
"variants": [)" + variant + "]}"));
  }
  /// Copies a file of tests/data/cubin into the bundle.
  void CopyCubin(const std::string& name) {
    ASSERT_OK(folder_.WriteFile("k/" + name, *ReadFile(TUNEONCE_TEST_DATA "/cubin/" + name)));
  }
  /// The findings, "wrong" or "look" before each.
  std::vector<std::string> Check(std::vector<std::string> options = {}) {
    std::vector<std::string> command = {"bundle", "check", path_, "--json"};
    command.insert(command.end(), options.begin(), options.end());
    ProcessResult result = RunCli(command);
    EXPECT_EQ(result.output.find("manifest.json"), std::string::npos) << result.output;
    std::size_t begin = result.output.find('{'), end = result.output.rfind('}');
    EXPECT_NE(begin, std::string::npos) << result.output;
    if (begin == std::string::npos) return {};
    std::vector<std::string> findings;
    bool has_wrong = false;
    const auto json = nlohmann::json::parse(result.output.substr(begin, end - begin + 1));
    for (const auto& finding : json["findings"]) {
      has_wrong |= finding["is_error"].get<bool>();
      findings.push_back((finding["is_error"].get<bool>() ? "wrong: " : "look: ") + finding["text"].get<std::string>());
    }
    EXPECT_EQ(result.exit_code, has_wrong ? 1 : 0);
    return findings;
  }
  static void ExpectHas(const std::vector<std::string>& findings, const std::string& kind, const std::string& part) {
    std::string all;
    bool has_it = false;
    for (const std::string& finding : findings) {
      has_it |= finding.rfind(kind, 0) == 0 && finding.find(part) != std::string::npos;
      all += finding + "\n";
    }
    EXPECT_TRUE(has_it) << "no '" << kind << "... " << part << "' in:\n" << all;
  }

  static constexpr const char* kTensors =
      R"({"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["N"]},
{"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]})";
  TemporaryFolder folder_;
  const std::string path_;
};

std::string CubinVariant(const std::string& symbol, const std::string& more = "") {
  return R"({"name": "cubin", "source": "cubin", "symbol": ")" + symbol + R"(", "grid": {"pattern": "one_d",
"tiles": [["N", 256]]}, "block": [256, 1, 1], )" +
         more + R"("artifacts": [{"file": "two_kernels.cubin"}]})";
}

TEST_F(BundleCheckTest, ACubinsOwnTablesSayItsKernelsAndTheirParameters) {
  std::string image = *ReadFile(TUNEONCE_TEST_DATA "/cubin/two_kernels.cubin");
  Result<CubinKernel> kernel = ReadCubinKernel(image, "add");
  ASSERT_OK(kernel);
  EXPECT_EQ(kernel->capability, 90);
  EXPECT_EQ(kernel->parameter_sizes, (std::vector<std::size_t>{8, 8, 4}));
  Result<CubinKernel> by_tileiras = ReadCubinKernel(*ReadFile(TUNEONCE_TEST_DATA "/cubin/rms_norm.cubin"), "");
  ASSERT_OK(by_tileiras);
  EXPECT_EQ(by_tileiras->capability, 90);
  EXPECT_GE(by_tileiras->parameter_sizes.size(), 3u);
  EXPECT_EQ(by_tileiras->parameter_sizes.front(), 8u);
  EXPECT_ERROR(ReadCubinKernel(image, "sub"), StatusCode::kInvalidArgument, "no kernel 'sub'");
  EXPECT_ERROR(ReadCubinKernel(image.substr(0, image.size() / 2), "add"), StatusCode::kInvalidArgument, "not a cubin");
}

TEST_F(BundleCheckTest, ACubinOfOtherParametersSymbolOrTargetIsWrong) {
  CopyCubin("two_kernels.cubin");
  Write(kTensors, "", CubinVariant("add"));
  ExpectHas(Check({"--target", "sm_90"}), "wrong", "kernel 'add'");
  // A text of the file, but no kernel of it.
  Write(kTensors, "", CubinVariant("nv.info"));
  ExpectHas(Check({"--target", "sm_90"}), "wrong", "no kernel 'nv.info' in the image");
  Write(kTensors, "", CubinVariant("add"));
  ExpectHas(Check({"--target", "sm_100"}), "wrong", "its code is for sm_90, which does not run on sm_100");
  Write(kTensors, "", CubinVariant("add", R"("targets": {"min_capability": 90, "max_capability": 90}, )"));
  ExpectHas(Check({"--target", "sm_80"}), "wrong", "sm_80: ");
  ExpectHas(Check(), "look", "no variant runs on sm_75, sm_80");
}

constexpr char kCpuSource[] = R"(
static void k(const tuneonce_block& block, const float* x, float* y, int n) {
  for (int i = block.x * TILE; i < n && i < block.x * TILE + TILE; ++i) y[i] = x[i];
}
TUNEONCE_CPU_KERNEL(k);)";
constexpr char kTileAxis[] = R"({"name": "TILE", "values": [64, 128]}, {"name": "NOTHING", "values": [1, 2]})";

std::string CpuVariant(const std::string& blocks) {
  return R"({"name": "cpu", "source": "cpu_cpp", "symbol": "k", "defines": ["TILE"], "grid": {"pattern": "fixed",
"blocks": [)" +
         blocks + R"(]}, "artifacts": [{"file": "k.cc"}]})";
}

TEST_F(BundleCheckTest, AnArtifactThatLooksWithoutTheKernelOrOfOtherParametersIsToBeLookedAt) {
  Write(kTensors, kTileAxis, CpuVariant(R"({"ceil_div": ["N", "TILE"]})"));
  ASSERT_OK(folder_.WriteFile("k/k.cc", "int other() { return 0; }"));
  ExpectHas(Check(), "look", "variant 'cpu': k.cc: its text does not mention the kernel 'k'");
  ASSERT_OK(folder_.WriteFile("k/k.cc", kCpuSource));  // It takes n, too.
  ExpectHas(Check(), "look", "variant 'cpu': k.cc: kernel 'k' is declared with 2 parameters");
}

TEST_F(BundleCheckTest, GridsThatAreRoundedDownAxesWithoutEffectAndUnreadFilesShow) {
  ASSERT_OK(folder_.WriteFile("k/k.cc", kCpuSource));
  ASSERT_OK(folder_.WriteFile("k/notes.txt", "x"));
  const std::string parameters = std::string(kTensors) + R"(, {"kind": "dim", "dim": "N"})";
  Write(parameters, kTileAxis, CpuVariant(R"({"ceil_div": ["N", "TILE"]})"));
  std::vector<std::string> findings = Check({"--target", "cpu"});
  EXPECT_EQ(findings.size(), 2u) << findings.back();
  ExpectHas(findings, "look", "no variant uses the file 'notes.txt'");
  ExpectHas(findings, "look", "the axis 'NOTHING' has no effect");
  EXPECT_EQ(Check({"--target", "cpu", "--device", "cpu"}).size(), 2u) << "all configs write all elements";

  Write(parameters, kTileAxis, CpuVariant(R"({"floor_div": ["N", "TILE"]})"));
  ExpectHas(Check({"--target", "cpu"}), "look", "at N=1 the grid has no blocks");
  ExpectHas(Check({"--target", "cpu", "--device", "cpu"}), "wrong", "y");

  Write(parameters, kTileAxis, CpuVariant(R"({"max": [1, {"floor_div": ["N", "TILE"]}]})"));
  ExpectHas(Check({"--target", "cpu"}), "look", "the grid grows by one block for each 64 of N, but only above N=127");
}

TEST_F(BundleCheckTest, TheShippedBundlesAreInOrder) {
  for (const std::string& name : NamesIn(TUNEONCE_BUNDLE_FOLDER)) {
    ProcessResult result = RunCli({"bundle", "check", std::string(TUNEONCE_BUNDLE_FOLDER) + "/" + name});
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_EQ(result.output.find("grid"), std::string::npos) << result.output;
  }
}

}  // namespace
}  // namespace tuneonce
