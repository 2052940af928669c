#include "tuneonce/fingerprint.h"

#include <gtest/gtest.h>

#include <string>

namespace tuneonce {
namespace {

TEST(FingerprintTest, FieldsDoNotRunIntoEachOther) {
  EXPECT_NE(Fingerprinter().Add("ab").Add("c").Finish(), Fingerprinter().Add("a").Add("bc").Finish());
  EXPECT_NE(Fingerprinter().Add("").Finish(), Fingerprinter().Finish());
}

TEST(FingerprintTest, IsTheSameInEveryProcessAndRelease) {
  // On disk for ever: this value must never change.
  EXPECT_EQ(Fingerprinter().Add("tuneonce").Add(std::uint64_t{42}).Finish().ToString(),
            "fdb9f7b1970645149fa76621222e4604");
}

TEST(FingerprintTest, EveryBitCounts) {
  std::string text(64, 'x');
  Fingerprint base = Fingerprinter().Add(text).Finish();
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = 'y';
    EXPECT_NE(Fingerprinter().Add(changed).Finish(), base);
  }
}

}  // namespace
}  // namespace tuneonce
