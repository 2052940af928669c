// Numbers as texts that read back as the same numbers.
#include "base/number_text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

#include "base/trace.h"
#include "testing/comma_locale.h"

namespace tuneonce {
namespace {

TEST(NumberTextTest, ItIsTheShortestThatReadsBackAsTheNumber) {
  EXPECT_EQ(ShortestText(0.5), "0.5");
  EXPECT_EQ(ShortestText(64.0), "64");
  EXPECT_EQ(ShortestText(100.0), "100");
  EXPECT_EQ(ShortestText(1e5), "1e+05");
  EXPECT_EQ(ShortestText(1e300), "1e+300");
  EXPECT_EQ(ShortestText(-0.0), "-0");
  EXPECT_EQ(ShortestText(0.1f), "0.1");
  EXPECT_EQ(ShortestText(std::numeric_limits<double>::denorm_min()), "5e-324");
  EXPECT_EQ(ShortestText(1.0 / 3), "0.3333333333333333");
}

TEST(NumberTextTest, ItHasAPointUnderALocaleWithADecimalComma) {
  TUNEONCE_COMMA_LOCALE_OR_SKIP();
  EXPECT_EQ(ShortestText(1.5e-30), "1.5e-30");
  EXPECT_EQ(ShortestText(1.5e-30f), "1.5e-30");
  EXPECT_EQ(ShortestText(1.5e+300), "1.5e+300");
  EXPECT_EQ(ShortestText(0.5), "0.5");
  EXPECT_STREQ(localeconv()->decimal_point, ",") << "the host's locale stays";
}

TEST(NumberTextTest, RealsAreWrittenAsByPrintfAndWithAPoint) {
  EXPECT_EQ(RealText(0.125, 'f', 2), "0.12");
  EXPECT_EQ(RealText(12345.678, 'e', 3), "1.235e+04");
  EXPECT_EQ(RealText(1e300, 'f', 0).size(), 301u);
  TUNEONCE_COMMA_LOCALE_OR_SKIP();
  EXPECT_EQ(RealText(1.5e-30, 'g', 6), "1.5e-30");
  EXPECT_EQ(RealText(1.5, 'f', 3), "1.500");
}

TEST(NumberTextTest, ATracesNumbersAreJsonUnderALocaleWithADecimalComma) {
  TUNEONCE_COMMA_LOCALE_OR_SKIP();
  Trace trace;
  trace.Begin(1);
  Trace::Event event;
  event.begin = Trace::Clock::now();
  event.duration = std::chrono::nanoseconds(1500);
  event.arguments = {{"error", 1.5e-30}};
  trace.Add(event);
  const std::string json = trace.End();
  EXPECT_NE(json.find("\"dur\":1.500,"), std::string::npos) << json;
  EXPECT_NE(json.find("{\"error\":1.5"), std::string::npos) << json;
}

#ifdef __cpp_lib_to_chars
template <typename Real>
std::string ByTheLibrary(Real value) {
  char digits[512];
  return std::string(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

TEST(NumberTextTest, ItIsWhatToCharsWrites) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    if (value - value == 0) {
      EXPECT_EQ(ShortestText(value), ByTheLibrary(value));
    }
    float narrow;
    std::memcpy(&narrow, &bits, sizeof(narrow));
    if (narrow - narrow == 0) {
      EXPECT_EQ(ShortestText(narrow), ByTheLibrary(narrow));
    }
    double near_one = static_cast<double>(static_cast<std::int64_t>(bits >> 40)) / 1000;
    EXPECT_EQ(ShortestText(near_one), ByTheLibrary(near_one));
  }
}
#endif

TEST(NumberTextTest, WhatIsNoNumberIsNamed) {
  EXPECT_EQ(ShortestText(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(ShortestText(-std::numeric_limits<double>::infinity()), "-inf");
}

}  // namespace
}  // namespace tuneonce
