// That no compile of NVRTC's gets what its cache has of other options: by a double, since NVRTC has a cache only where
// there is a driver.
#include <cstdlib>
#include <string>

#include "base/environment.h"
#include "compile/nvrtc_source.h"
#include "testing/expect_status.h"
#include "testing/targets.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

Status Compile(const std::string& text, const std::string& option) {
  Environment environment = Environment::Read();
  environment.nvrtc = TUNEONCE_CACHING_NVRTC;
  environment.worker = "/none";  // In a process of its own it would have kept nothing.
  KernelSource source = KernelSource::CudaCpp(text, "add");
  source.options = {option};
  return NvrtcToolchain(testing::ToolsOf(environment)).Compile(source, Hints(), testing::Sm(90)).status();
}

/// nvrtcVersion has no patch number, and the double says that it is 13.0.
TEST(NvrtcVersionTest, TwoBuildsOfOneVersionHaveTwoVersions) {
  Environment environment = Environment::Read();
  environment.cuda_include = "/no/such/folder";
  Result<std::string> real = NvrtcToolchain(testing::ToolsOf(environment)).Version();
  if (!real.ok() || real->find("nvrtc 13.0 ") != 0) GTEST_SKIP() << "NVRTC 13.0 IS NOT INSTALLED";
  EXPECT_EQ(NvrtcToolchain(testing::ToolsOf(environment)).Version().value(), *real);
  environment.nvrtc = TUNEONCE_CACHING_NVRTC;
  Result<std::string> other = NvrtcToolchain(testing::ToolsOf(environment)).Version();
  ASSERT_OK(other);
  EXPECT_EQ(other->find("nvrtc 13.0 "), 0u) << *other;
  EXPECT_NE(*other, *real);
}

class NvrtcCacheTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("CACHING_NVRTC_IS_OLD"); }
};

// With a header a trace is asked for, and without.
TEST_F(NvrtcCacheTest, ItIsNotAsked) {
  for (const char* text : {"__global__ void add() {}", "#include <cuda_fp16.h>\n__global__ void add() {}"}) {
    EXPECT_OK(Compile(text, "--prec-div=true"));
    EXPECT_OK(Compile(text, "--prec-div=false"));
  }
}

TEST_F(NvrtcCacheTest, AnOlderOneWithoutACacheIsToldNothingOfIt) {
  setenv("CACHING_NVRTC_IS_OLD", "1", 1);
  EXPECT_OK(Compile("__global__ void add() {}", "--prec-div=true"));
  EXPECT_OK(Compile("__global__ void add() {}", "--prec-div=false"));
}

}  // namespace
}  // namespace tuneonce
