#include "compile/host_toolchain.h"

#include <gtest/gtest.h>

namespace tuneonce {
namespace {

TEST(HostToolchainTest, TheModelOfTheCpuIsToldApartOnEveryArchitecture) {
  EXPECT_EQ(CpuModelIn("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t: a\n\nprocessor\t: 1\n"),
            "Some CPU @ 2 GHz");
  const std::string grace = "processor\t: 0\nFeatures\t: fp asimd sve2\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n";
  EXPECT_EQ(CpuModelIn(grace), "CPU implementer 0x41, CPU part 0xd4f, Features fp asimd sve2");
  EXPECT_EQ(CpuModelIn("model name\n"), "");
  EXPECT_EQ(CpuModelIn(""), "");
}

}  // namespace
}  // namespace tuneonce
