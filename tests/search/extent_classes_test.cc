// Which extents of a bucket are verified, and which of them count as alike.
#include "search/extent_classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "testing/device_test.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
namespace {

std::vector<Config> Tiles(const std::vector<std::int64_t>& tiles) {
  SearchSpace space;
  space.AddAxis("TILE", tiles);
  return *space.Enumerate(Target());
}

TEST(ExtentClassesTest, ExtentsAreAlikeThatDivideIntoTilesAlike) {
  const ExtentClasses classes(Tiles({64, 96, 80}));  // Odd factors 3 and 5.
  EXPECT_EQ(classes.ClassOf(64), classes.ClassOf(64 * 7));
  EXPECT_NE(classes.ClassOf(64), classes.ClassOf(96)) << "3 divides one of them";
  EXPECT_NE(classes.ClassOf(80), classes.ClassOf(16)) << "5 divides one of them";
  EXPECT_NE(classes.ClassOf(100), classes.ClassOf(101));
  EXPECT_EQ(classes.ClassOf(101), classes.ClassOf(103));
  EXPECT_EQ(classes.ClassOf(1 << 8), classes.ClassOf(1 << 20)) << "eight zero bits are enough";
}

TEST(ExtentClassesTest, ValuesOfHintsDoNotCount) {
  SearchSpace space;
  space.AddAxis("TILE", std::vector<std::int64_t>{64});
  space.AddHintAxis("num_stages", std::vector<std::int64_t>{3});
  const ExtentClasses classes(*space.Enumerate(Target()));
  EXPECT_EQ(classes.ClassOf(64), classes.ClassOf(64 * 3)) << "a pipeline of 3 stages tiles nothing";
}

TEST(ExtentClassesTest, EachClassHasItsCheapestExtentOfSeveralTiles) {
  const ExtentClasses classes(Tiles({64}));
  const std::vector<std::int64_t> expected = {2049, 2050, 2052, 2056, 2064, 2080, 2112, 2176, 2304};
  EXPECT_EQ(classes.OneOfEach(2049, 4096), expected);
  EXPECT_EQ(classes.OneOfEach(1, 4096), expected) << "above half of the last";
  EXPECT_EQ(classes.OneOfEach(4, 8), (std::vector<std::int64_t>{5, 6, 8, 4})) << "below it where need be";
}

TEST(ExtentClassesTest, OneOfEachClassOfARangeIsThere) {
  const ExtentClasses classes(Tiles({64, 96}));
  const std::vector<std::int64_t> extents = classes.OneOfEach(65, 128);
  std::set<std::uint32_t> found, all;
  for (std::int64_t extent : extents) EXPECT_TRUE(found.insert(classes.ClassOf(extent)).second) << extent;
  for (std::int64_t extent = 65; extent <= 128; ++extent) all.insert(classes.ClassOf(extent));
  EXPECT_EQ(found, all);
}

TEST(ExtentClassesTest, ABucketHasExactlyTheExtentsThatRoundToItsBound) {
  const std::vector<KeyPart> parts = {KeyOf("N").NextPow2(), KeyOf("N").Buckets({24, 100}),
                                      KeyOf("N").Nearest({10, 30, 100})};
  for (const KeyPart& part : parts) {
    for (std::int64_t extent = 1; extent <= 300; ++extent) {
      const ExtentRange range = BucketOf(part, extent);
      EXPECT_EQ(part.Round(range.first), part.Round(extent)) << part.ToString(extent);
      EXPECT_EQ(part.Round(range.last), part.Round(extent)) << part.ToString(extent);
      if (range.first > 1) {
        EXPECT_NE(part.Round(range.first - 1), part.Round(extent)) << part.ToString(extent);
      }
      EXPECT_LE(range.first, extent);
      EXPECT_GE(range.last, extent);
    }
  }
}

TEST(ExtentClassesTest, TheReachGrowsWithPowersOfTwoAndIsAboveAllClasses) {
  const ExtentClasses classes(Tiles({64, 96, 80, 112}));
  EXPECT_GT(ExtentClasses::ReachOf(0), classes.ClassOf(0));
  EXPECT_EQ(ExtentClasses::ReachOf(0), ExtentClasses::ReachOf(1));
  EXPECT_EQ(ExtentClasses::ReachOf(65), ExtentClasses::ReachOf(128));
  EXPECT_LT(ExtentClasses::ReachOf(128), ExtentClasses::ReachOf(129));
  EXPECT_LT(ExtentClasses::ReachOf(std::int64_t{1} << 62), ExtentClasses::ReachOf(INT64_MAX));
}

KernelDefinition Definition(std::vector<KeyPart> key) {
  KernelDefinition definition("d");
  definition.Parameters({In("x", kFloat32, {"M", "K"}), Out("y", kFloat32, {"M", "K"})}).Key(std::move(key));
  definition.AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  EXPECT_OK(definition.Validate());
  return definition;
}

Dims Of(std::int64_t m, std::int64_t k) {
  Dims dims(2);
  dims[Dim{0}] = m;
  dims[Dim{1}] = k;
  return dims;
}

TEST(VerificationDimsTest, TheLaunchTheEndsAPrimeAndEachClassAreVerified) {
  const ExtentClasses classes(Tiles({64}));
  const std::vector<Dims> all =
      VerificationDims(Definition({KeyOf("M").NextPow2(), KeyOf("K")}), Of(100, 7), classes, 14);
  std::set<std::int64_t> extents;
  std::set<std::uint32_t> found;
  for (const Dims& dims : all) {
    EXPECT_EQ(dims[Dim{1}], 7) << "an exact dim stays";
    extents.insert(dims[Dim{0}]);
    found.insert(classes.ClassOf(dims[Dim{0}]));
  }
  EXPECT_EQ(all.front()[Dim{0}], 100) << "the launch's own comes first";
  for (std::int64_t extent : {100, 128, 127, 65}) EXPECT_EQ(extents.count(extent), 1u) << extent;
  for (std::int64_t extent = 65; extent <= 128; ++extent) EXPECT_EQ(found.count(classes.ClassOf(extent)), 1u) << extent;
  EXPECT_LE(all.size(), 14u);
}

TEST(VerificationDimsTest, DimsThatAreRoundedChangeTogetherAndNoMoreThanWantedAreReturned) {
  const ExtentClasses classes(Tiles({64, 96, 80, 112}));
  const KernelDefinition definition = Definition({KeyOf("M").NextPow2(), KeyOf("K").NextPow2()});
  const std::vector<Dims> all = VerificationDims(definition, Of(1000, 100), classes, 9);
  EXPECT_EQ(all.size(), 9u);
  const bool both_change =
      std::any_of(all.begin(), all.end(), [](const Dims& dims) { return dims[Dim{0}] != 1000 && dims[Dim{1}] != 100; });
  EXPECT_TRUE(both_change);
  EXPECT_TRUE(VerificationDims(Definition({KeyOf("M"), KeyOf("K")}), Of(5, 5), classes, 14).empty());
}

TEST(VerificationDimsTest, EachRoundedDimIsRaggedWhereTheOthersAreFull) {
  const ExtentClasses classes(Tiles({64}));
  for (const KeyPart& part : {KeyOf("M").NextPow2(), KeyOf("M").Buckets({1, 64}), KeyOf("M").Nearest({1, 64})}) {
    const KernelDefinition definition = Definition({part, KeyOf("K").NextPow2()});
    const std::vector<Dims> all = VerificationDims(definition, Of(64, 64), classes, 4);
    for (const Dim full : {Dim{0}, Dim{1}}) {
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Dims& dims) {
        return dims[full] == 64 && dims[Dim{1 - full.index}] % 2 == 1;
      })) << part.ToString(64);
    }
  }
}

}  // namespace
}  // namespace tuneonce
