#include "definition/shared_source.h"

#include <gtest/gtest.h>

#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
namespace {

KernelSource Source(int tile) {
  KernelSource source = KernelSource::CudaCpp(std::string(1000, '/') + "\n#include <a.h>", "k");
  source.Define("TILE", tile).Header("a.h", std::string(1000, '*'));
  source.file = "k.cu";
  return source;
}

TEST(SharedSourceTest, SourcesWithTheSameTextShareItAndStayWhatTheyAre) {
  SourceTexts texts;
  const SharedSource a(Source(1), &texts), b(Source(2), &texts), alone(Source(1));
  EXPECT_EQ(&a.content(), &b.content());
  EXPECT_NE(&a.content(), &alone.content());
  for (const SharedSource& shared : {a, alone, SharedSource(a)}) {
    const KernelSource whole = shared.Whole();
    EXPECT_EQ(whole.content, Source(1).content);
    EXPECT_EQ(whole.headers, Source(1).headers);
    EXPECT_EQ(whole.defines, Source(1).defines);
    EXPECT_EQ(whole.file, "k.cu");
    EXPECT_EQ(whole.withheld, nullptr);
    EXPECT_EQ(whole.Fingerprint(), Source(1).Fingerprint());
    EXPECT_EQ(shared.Fingerprint(), Source(1).Fingerprint());
  }
  EXPECT_NE(a.Fingerprint(), b.Fingerprint());
}

TEST(SharedSourceTest, ASourceThatWasShippedWithoutItsTextStaysWithoutIt) {
  SourceTexts texts;
  const SharedSource with_text(Source(1), &texts);
  KernelSource source = Source(1);
  source.withheld = std::make_shared<const Fingerprint>(source.TextFingerprint());
  source.content.clear();
  source.headers.clear();
  const SharedSource shared(source, &texts);
  EXPECT_EQ(shared.content(), "");
  EXPECT_EQ(shared.Whole().content, "");
  EXPECT_NE(shared.Whole().withheld, nullptr);
  EXPECT_EQ(shared.Fingerprint(), with_text.Fingerprint());
}

TEST(SharedSourceTest, AMistakeOfASourceIsKept) {
  SourceTexts texts;
  KernelSource source = Source(1);
  source.Define("2x", 1);
  EXPECT_FALSE(SharedSource(source, &texts).Whole().Check().ok());
  EXPECT_EQ(SharedSource(source, &texts).Fingerprint(), source.Fingerprint());
}

}  // namespace
}  // namespace tuneonce
