#include "tuneonce/fingerprint.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace tuneonce {
namespace {

TEST(FingerprintTest, FieldsDoNotRunIntoEachOther) {
  EXPECT_NE(Fingerprinter().Add("ab").Add("c").Finish(), Fingerprinter().Add("a").Add("bc").Finish());
  EXPECT_NE(Fingerprinter().Add("").Finish(), Fingerprinter().Finish());
  EXPECT_NE(Fingerprinter().Add("a").Finish(), Fingerprinter().Add(std::string_view("a\0", 2)).Finish());
}

TEST(FingerprintTest, IsTheSameInEveryProcessAndRelease) {
  // On disk for ever: this value must never change.
  EXPECT_EQ(Fingerprinter().Add("tuneonce").Add(std::uint64_t{42}).Finish().ToString(),
            "963c369f488479dd0fba6c5837359dab");
  EXPECT_EQ(Fingerprinter().Add(std::string(1000, 'x')).Finish().ToString(), "23858ec6689d3f3095c7e1be6d612b3a");
}

class FingerprintOfTextTest : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FingerprintOfTextTest, EveryBitCounts) {
  const std::string text(GetParam(), 'x');
  const Fingerprint base = Fingerprinter().Add(text).Finish();
  std::set<std::uint64_t> lows = {base.low}, highs = {base.high};
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string changed = text;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    const Fingerprint other = Fingerprinter().Add(changed).Finish();
    lows.insert(other.low);
    highs.insert(other.high);
    // About half of the 64 bits of either half, by chance; all within 8 standard deviations.
    EXPECT_NEAR(__builtin_popcountll(other.low ^ base.low), 32, 28) << bit;
    EXPECT_NEAR(__builtin_popcountll(other.high ^ base.high), 32, 28) << bit;
  }
  EXPECT_EQ(lows.size(), 8 * text.size() + 1);
  EXPECT_EQ(highs.size(), 8 * text.size() + 1);
}

TEST_P(FingerprintOfTextTest, TheOrderOfWordsCounts) {
  std::string text(GetParam(), 'x');
  std::set<Fingerprint> found;
  for (std::size_t at = 0; at < text.size(); at += 8) {  // One word is another, in each place.
    std::string changed = text;
    changed[at] = 'y';
    found.insert(Fingerprinter().Add(changed).Finish());
  }
  EXPECT_EQ(found.size(), (text.size() + 7) / 8);
  text.push_back('\0');
  EXPECT_NE(Fingerprinter().Add(text).Finish(), Fingerprinter().Add(text.substr(0, GetParam())).Finish());
}

// Seven words, and a rest; one block of lanes more than a short field, and a word and a rest behind it.
INSTANTIATE_TEST_SUITE_P(Sizes, FingerprintOfTextTest, ::testing::Values(61, 256, 300));

}  // namespace
}  // namespace tuneonce
