#include <gtest/gtest.h>

#include "compile/command_toolchain.h"
#include "testing/expect_status.h"
#include "testing/targets.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

TEST(CpuToolchainTest, TheModelOfTheCpuIsToldApartOnEveryArchitecture) {
  auto model = [](const std::string& name, const std::string& flags) {
    return CpuModelIn("processor\t: 0\nmodel name\t: " + name + "\nflags\t\t: " + flags + "\n\nprocessor\t: 1\n");
  };
  EXPECT_EQ(model("Some CPU @ 2 GHz", "sse avx2").find("Some CPU @ 2 GHz, features "), 0u);
  EXPECT_EQ(model("Cloud CPU", "sse avx2"), model("Cloud CPU", "avx2 sse"));
  EXPECT_NE(model("Cloud CPU", "sse avx2"), model("Cloud CPU", "sse avx2 avx512f"))
      << "code for one faults on the other";
  EXPECT_NE(model("Cloud CPU", "sse avx2"), model("Other CPU", "sse avx2"));
  const std::string grace = "processor\t: 0\nFeatures\t: fp asimd sve2\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n";
  EXPECT_EQ(CpuModelIn(grace), "CPU implementer 0x41, CPU part 0xd4f, Features fp asimd sve2");
  EXPECT_EQ(CpuModelIn("model name\n"), "");
  EXPECT_EQ(CpuModelIn(""), "");
}

Result<Artifact> CompileOnHost(const std::string& text) {
  CommandToolchain toolchain(kHostCompiler, testing::Tools());
  return toolchain.Compile(KernelSource::CpuCpp(text, "k"), Hints(), testing::CpuTarget());
}

TEST(CpuToolchainTest, AByteOrderMarkIsNoPartOfTheText) {
  EXPECT_OK(CompileOnHost(
      "\xef\xbb\xbfstatic void k(const tuneonce_block&, float* y) { y[0] = 1; }\nTUNEONCE_CPU_KERNEL(k);\n"));
}

TEST(CpuToolchainTest, ASourceWithoutTheKernelStatesWhatItLacks) {
  EXPECT_ERROR(CompileOnHost("static void k(const tuneonce_block&, float*) {}"), StatusCode::kInvalidArgument,
               "k.cc: it has no kernel 'k'; define it and add TUNEONCE_CPU_KERNEL(k)");
}

}  // namespace
}  // namespace tuneonce
