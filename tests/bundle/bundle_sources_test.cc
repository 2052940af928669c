// What is in a bundle's artifacts: looked into when asked, and when a search takes one.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "testing/device_test.h"
#include "testing/tools.h"
#include "tuneonce/bundle.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;

class BundleOfTwoFilesTest : public testing::CpuDeviceTest {
 protected:
  BundleOfTwoFilesTest() {
    Write("right.cc", R"(
static void doubled(const tuneonce_block& block, const float* x, float* y, int n) {
  for (int i = block.x * TILE; i < n && i < (block.x + 1) * TILE; ++i) y[i] = 2 * x[i];
}
TUNEONCE_CPU_KERNEL(doubled);)");
    Write("wrong.cc", "static void other(const tuneonce_block&, const float*, float*, int) {}");
  }
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_.path() + "/" + name) << text; }
  Result<Bundle> LoadWith(const std::string& artifacts) {
    Write("manifest.json", R"({
  "tuneonce_bundle": 1, "name": "doubled", "version": "1", "dims": ["N"],
  "parameters": [
    {"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["N"]},
    {"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]},
    {"kind": "dim", "dim": "N"}
  ],
  "axes": [{"name": "TILE", "values": [64, 128]}],
  "baseline": {"TILE": 64},
  "variants": [
    {"name": "cpu", "source": "cpu_cpp", "symbol": "doubled", "defines": ["TILE"],
     "grid": {"pattern": "one_d", "tiles": [["N", {"axis": "TILE"}]]}, "artifacts": [)" +
                               artifacts + "]}]}");
    return Bundle::Load(folder_.path());
  }
  TemporaryFolder folder_ = *testing::MakeFolder();
};

TEST_F(BundleOfTwoFilesTest, AFileWithoutTheKernelIsACandidatesFailure) {
  Result<Bundle> bundle = LoadWith(R"({"config": {"TILE": 64}, "file": "right.cc"},
                                      {"config": {"TILE": 128}, "file": "wrong.cc"})");
  ASSERT_OK(bundle);
  std::vector<std::string> warnings;
  EXPECT_OK(bundle->CheckSources(&warnings));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("variant 'cpu': wrong.cc: its text does not mention the kernel 'doubled'"),
            std::string::npos)
      << warnings[0];
  DeviceBuffer x = Floats(std::vector<float>(256, 3)), y = Floats(std::vector<float>(256, 0));
  Result<TuningRecord> result = exhaustive_search(bundle->definition(), stream_->get(), {View(x), View(y)});
  ASSERT_OK(result);
  ASSERT_EQ(result->failures().size(), 1u);
  EXPECT_NE(result->failures()[0].message.find("wrong.cc: it has no kernel 'doubled'"), std::string::npos)
      << result->failures()[0].message;
}

TEST_F(BundleOfTwoFilesTest, WhereItIsTheBaselinesALaunchSaysSo) {
  Result<Bundle> bundle = LoadWith(R"({"file": "wrong.cc"})");
  ASSERT_OK(bundle);
  DeviceBuffer x = Floats(std::vector<float>(256, 3)), y = Floats(std::vector<float>(256, 0));
  for (AutotunePolicy::Mode mode : {AutotunePolicy::Mode::kTuneOnMiss, AutotunePolicy::Mode::kFallbackOnly}) {
    AutotunePolicy policy;
    policy.mode = mode;
    Result<TunedKernel> kernel = TunedKernel::Create(bundle->definition(), policy);
    ASSERT_OK(kernel);
    Status status = kernel->Launch(stream_->get(), View(x), View(y));
    EXPECT_NE(status.message().find("wrong.cc: it has no kernel 'doubled'"), std::string::npos) << status.ToString();
  }
}

TEST(BundleSourcesTest, TileIrParametersAreComparedWithTheManifest) {
  Result<std::string> text = ReadFile(TUNEONCE_BUNDLE_FOLDER "/softmax/manifest.json");
  ASSERT_OK(text);
  TemporaryFolder folder = *testing::MakeFolder();
  auto load = [&](const std::string& from, const std::string& to) {
    std::filesystem::copy(TUNEONCE_BUNDLE_FOLDER "/softmax", folder.path(),
                          std::filesystem::copy_options::overwrite_existing | std::filesystem::copy_options::recursive);
    std::string manifest = *text;
    for (std::size_t at = manifest.find(from); at != std::string::npos; at = manifest.find(from, at + to.size())) {
      manifest.replace(at, from.size(), to);
    }
    std::ofstream(folder.path() + "/manifest.json") << manifest;
    Result<Bundle> bundle = Bundle::Load(folder.path());
    EXPECT_OK(bundle);  // What is in an artifact is looked into later.
    return bundle.ok() ? bundle->CheckSources() : bundle.status();
  };
  ASSERT_OK(load("nothing of it", ""));
  EXPECT_ERROR(load("\"parameters\": [\"x\", \"y\"]", "\"parameters\": [\"x\"]"), StatusCode::kInvalidArgument,
               "variant 'tile': softmax.1024x0x1.tileir: kernel 'softmax' is declared with 5 parameters, but "
               "its code has 10");
  EXPECT_ERROR(load("\"symbol\": \"softmax\"", "\"symbol\": \"soft\""), StatusCode::kInvalidArgument,
               "the Tile IR bytecode has no kernel 'soft'; its kernels are: softmax");
}

}  // namespace
}  // namespace tuneonce
