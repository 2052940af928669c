#include "tuneonce/plugin/fingerprint.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

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
  EXPECT_EQ(Fingerprinter().Add(std::string(1000, 'x')).Finish().ToString(), "8970768c91aa11cb65bbea3efcb5b21e");
  EXPECT_EQ(Fingerprinter().AddInLanes(std::string(1000, 'x')).Finish().ToString(), "97ff9caffcbf6880d0898841be3058fb");
}

/// How a text is added, and its size.
class FingerprintOfTextTest : public ::testing::TestWithParam<std::tuple<bool, std::size_t>> {
 protected:
  static Fingerprint Of(std::string_view text) {
    Fingerprinter fingerprinter;
    std::get<0>(GetParam()) ? fingerprinter.AddInLanes(text) : fingerprinter.Add(text);
    return fingerprinter.Finish();
  }
  const std::string text_ = std::string(std::get<1>(GetParam()), 'x');
};

TEST_P(FingerprintOfTextTest, EveryBitCounts) {
  const Fingerprint base = Of(text_);
  std::set<std::uint64_t> lows = {base.low}, highs = {base.high};
  for (std::size_t bit = 0; bit < 8 * text_.size(); ++bit) {
    std::string changed = text_;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    const Fingerprint other = Of(changed);
    lows.insert(other.low);
    highs.insert(other.high);
    // About half of the 64 bits of either half, by chance; all within 8 standard deviations.
    EXPECT_NEAR(__builtin_popcountll(other.low ^ base.low), 32, 28) << bit;
    EXPECT_NEAR(__builtin_popcountll(other.high ^ base.high), 32, 28) << bit;
  }
  EXPECT_EQ(lows.size(), 8 * text_.size() + 1);
  EXPECT_EQ(highs.size(), 8 * text_.size() + 1);
}

TEST_P(FingerprintOfTextTest, TheOrderOfWordsCounts) {
  std::set<Fingerprint> found;
  for (std::size_t at = 0; at < text_.size(); at += 8) {  // One word is another, in each place.
    std::string changed = text_;
    changed[at] = 'y';
    found.insert(Of(changed));
  }
  EXPECT_EQ(found.size(), (text_.size() + 7) / 8);
  EXPECT_NE(Of(text_ + '\0'), Of(text_)) << "and so do zeros behind them";
}

// Less than a block of four words; blocks alone; words and a rest behind them.
INSTANTIATE_TEST_SUITE_P(Sizes, FingerprintOfTextTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Values(13, 61, 256, 301)));

}  // namespace
}  // namespace tuneonce
