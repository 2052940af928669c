// tuneonce bundle classify
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/temporary_folder.h"
#include "run_cli.h"
#include "testing/device_test.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

TEST(BundleClassifyTest, SaysTheFamilyTheEvidenceAndTheSpace) {
  ProcessResult text = RunCli({"bundle", "classify", TUNEONCE_BUNDLE_FOLDER "/rms_norm", "--target", "sm_100"});
  EXPECT_EQ(text.exit_code, 0);
  for (const char* part : {"rms_norm on sm_100: norm_like\n", "a reduction's result is applied to the elements",
                           "variant cuda (cuda_cpp): no evidence: CUDA C++ cannot be analyzed\n",
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

/// A bundle of the Tile IR in product.for.tileir, whose matrix product stands in an unstructured loop, in `folder`.
/// `more`: fields of the variant, and variants after it.
void WriteProduct(const TemporaryFolder& folder, const std::string& more) {
  std::filesystem::copy_file(TUNEONCE_TEST_DATA "/tile_ir/product.for.tileir", folder.path() + "/k.tileir");
  ASSERT_OK(folder.WriteFile("manifest.json", R"({"tuneonce_bundle": 1, "name": "product", "version": "1",
      "dims": ["M", "N", "K"], "parameters": [
        {"name": "a", "kind": "tensor", "access": "in", "dtype": "float16", "dims": ["M", "K"]},
        {"name": "b", "kind": "tensor", "access": "in", "dtype": "float16", "dims": ["K", "N"]},
        {"name": "c", "kind": "tensor", "access": "out", "dtype": "float16", "dims": ["M", "N"]},
        {"kind": "dim", "dim": "M", "dtype": "int32"}, {"kind": "dim", "dim": "N", "dtype": "int32"},
        {"kind": "dim", "dim": "K", "dtype": "int32"}],
      "axes": [{"name": "occupancy", "kind": "hint", "values": [1]}], "baseline": {"occupancy": 1},
      "example": {"dims": {"M": 64, "N": 64, "K": 64}},
      "variants": [{"name": "tile", "source": "tile_ir", "symbol": "product", "convention": "plain",
        "grid": {"pattern": "tile_coverage", "tiles": [["M", 64], ["N", 64]]},
        "artifacts": [{"file": "k.tileir"}])" + more +
                                                  "]}"));
}

TEST(BundleClassifyTest, WarningsAboutTheCodeAreShownByCheckToo) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  WriteProduct(*folder, "}");
  const std::string warning = "[look] variant 'tile': a matrix product stands in an unstructured loop, which";
  ProcessResult classified = RunCli({"bundle", "classify", folder->path()});
  EXPECT_EQ(classified.exit_code, 0) << classified.output;
  EXPECT_NE(classified.output.find(warning), std::string::npos) << classified.output;
  ProcessResult json = RunCli({"bundle", "classify", folder->path(), "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.output)["warnings"].size(), 1u) << json.output;
  ProcessResult checked = RunCli({"bundle", "check", folder->path(), "--target", "sm_90", "--target", "sm_100"});
  const std::size_t at = checked.output.find("variant 'tile': a matrix product stands");
  EXPECT_NE(at, std::string::npos) << checked.output;
  EXPECT_EQ(checked.output.find("a matrix product stands", at + 30), std::string::npos) << "once\n" << checked.output;
}

TEST(BundleClassifyTest, WarningsAboutTheCodeAreShownByAVerboseTune) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  WriteProduct(*folder, R"(}, {"name": "cpu", "source": "cpu_cpp", "symbol": "product",
        "grid": {"pattern": "fixed", "blocks": [1]}, "artifacts": [{"file": "k.cc"}]})");
  ASSERT_OK(
      folder->WriteFile("k.cc",
                        "static void product(const tuneonce_block&, const _Float16*, const _Float16*, _Float16* c, "
                        "int m, int n, int) {\n  for (int i = 0; i < m * n; ++i) c[i] = 1;\n}\n"
                        "TUNEONCE_CPU_KERNEL(product);\n"));
  const std::string warning = "tuneonce: product: variant 'tile': a matrix product stands in an unstructured loop";
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--dry-run"}}) {
    std::vector<std::string> command = {"tune", folder->path(), "--device", "cpu", "--quiet"};
    command.insert(command.end(), more.begin(), more.end());
    EXPECT_EQ(RunCli(command).output.find("unstructured loop"), std::string::npos);
    command.push_back("--verbose");
    ProcessResult tuned = RunCli(command);
    EXPECT_EQ(tuned.exit_code, 0) << tuned.output;
    EXPECT_NE(tuned.output.find(warning), std::string::npos) << tuned.output;
  }
}

TEST(BundleClassifyTest, MistakesAreOneLine) {
  const std::string matmul = TUNEONCE_BUNDLE_FOLDER "/matmul";
  ExpectOneLine(RunCli({"bundle", "classify", matmul, "--target", "hopper"}), "target 'hopper' is unknown");
  ExpectOneLine(RunCli({"bundle", "classify", matmul, "--target", "cpu"}), "target 'cpu' is unknown");
  ExpectOneLine(RunCli({"bundle", "classify", matmul, "--shape", "M=x"}), "'M=x' is not an extent");
  ExpectOneLine(RunCli({"bundle", "classify", matmul, "--shape", "Q=1"}), "the bundle has no dim 'Q'");
  ExpectOneLine(RunCli({"bundle", "classify", "/no/bundle"}), "/no/bundle");
  ExpectOneLine(RunCli({"bundle", "check", matmul, "--shape", "Q=x"}), "--shape requires --device");
  ExpectOneLine(RunCli({"bundle", "check", matmul, "--scalar", "Q=x"}), "--scalar requires --device");
}

}  // namespace
}  // namespace tuneonce
