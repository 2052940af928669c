// tuneonce bundle classify
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "run_cli.h"

namespace tuneonce {
namespace {

TEST(BundleClassifyTest, SaysTheFamilyTheEvidenceAndTheSpace) {
  ProcessResult text = RunCli({"bundle", "classify", TUNEONCE_BUNDLE_FOLDER "/rms_norm", "--target", "sm_100"});
  EXPECT_EQ(text.exit_code, 0);
  for (const char* part : {"rms_norm on sm_100: norm_like\n", "a reduction's result is applied to the elements",
                           "variant cuda (cuda_cpp): no evidence: CUDA C++ is not read\n",
                           "operations per byte at M=4096, N=4096: memory bound\n", "space to start from: norm_like"}) {
    EXPECT_NE(text.output.find(part), std::string::npos) << part << text.output;
  }
  ProcessResult json = RunCli({"bundle", "classify", TUNEONCE_BUNDLE_FOLDER "/matmul", "--shape", "M=1", "--json"});
  EXPECT_EQ(json.exit_code, 0);
  nlohmann::json parsed = nlohmann::json::parse(json.output, nullptr, /*allow_exceptions=*/false);
  EXPECT_EQ(parsed["family"], "dense_matmul");
  EXPECT_EQ(parsed["bound"], "memory bound");
  EXPECT_EQ(parsed["target"], "sm_90");
}

TEST(BundleClassifyTest, MistakesAreOneLine) {
  const std::string matmul = TUNEONCE_BUNDLE_FOLDER "/matmul";
  ExpectOneLine(RunCli({"bundle", "classify", matmul, "--target", "hopper"}), "target 'hopper' is none");
  ExpectOneLine(RunCli({"bundle", "classify", matmul, "--target", "cpu"}), "target 'cpu' is none");
  ExpectOneLine(RunCli({"bundle", "classify", matmul, "--shape", "M=x"}), "'M=x' is no extent");
  ExpectOneLine(RunCli({"bundle", "classify", matmul, "--shape", "Q=1"}), "the bundle has no dim 'Q'");
  ExpectOneLine(RunCli({"bundle", "classify", "/no/bundle"}), "/no/bundle");
}

}  // namespace
}  // namespace tuneonce
