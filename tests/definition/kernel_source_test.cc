#include "tuneonce/kernel_source.h"

#include <cmath>
#include <limits>

#include "testing/comma_locale.h"
#include "testing/device_test.h"

namespace tuneonce {
namespace {

template <typename T>
std::string Defined(T value) {
  KernelSource source;
  source.Define("A", value);
  return source.defines.empty() ? "nothing" : source.defines[0];
}

TEST(KernelSourceTest, AMacroIsExactlyItsValue) {
  EXPECT_EQ(Defined(64), "A=64");
  EXPECT_EQ(Defined(-5), "A=-5");
  EXPECT_EQ(Defined(std::size_t{7}), "A=7");
  EXPECT_EQ(Defined(true), "A=1");
  EXPECT_EQ(Defined(0.5), "A=0.5");
  EXPECT_EQ(Defined(64.0), "A=64.0");
  EXPECT_EQ(Defined(-0.0), "A=-0.0");
  EXPECT_EQ(Defined(0.1), "A=0.1");
  EXPECT_EQ(Defined(0.1f), "A=0.1f");
  EXPECT_EQ(Defined(0.12345671234567), "A=0.12345671234567");
  EXPECT_EQ(Defined(1e300), "A=1e+300");
  EXPECT_EQ(Defined(5e-324), "A=5e-324");
  EXPECT_EQ(Defined(std::numeric_limits<std::int64_t>::max()), "A=9223372036854775807");
  EXPECT_EQ(Defined(std::numeric_limits<std::int64_t>::min()), "A=(-9223372036854775807-1)");
  EXPECT_EQ(Defined(std::numeric_limits<std::uint64_t>::max()), "A=18446744073709551615u");
}

TEST(KernelSourceTest, AMacroHasAPointUnderALocaleWithADecimalComma) {
  TUNEONCE_COMMA_LOCALE_OR_SKIP();
  EXPECT_EQ(Defined(1.5e-30), "A=1.5e-30");
  EXPECT_EQ(Defined(1.5e-30f), "A=1.5e-30f");
  EXPECT_EQ(Defined(1.5e300), "A=1.5e+300");
  EXPECT_EQ(Defined(0.5), "A=0.5");
}

}  // namespace
}  // namespace tuneonce
