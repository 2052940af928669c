#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "testing/device_test.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/parameters.h"

namespace tuneonce {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

TEST(KeyTest, ScalarsPrintAsNumbersOfTheirDTypeOrAsBits) {
  const struct {
    DType dtype;
    std::uint64_t word;
    const char* text;
  } cases[] = {
      {DType::kInt8, 0xff, "s=-1"},
      {DType::kUInt8, 0xff, "s=255"},
      {DType::kInt16, 0xfffe, "s=-2"},
      {DType::kInt32, 0xfffffff9, "s=-7"},
      {DType::kInt64, ~std::uint64_t{8}, "s=-9"},
      {DType::kUInt64, std::uint64_t{1} << 62, "s=4611686018427387904"},
      {DType::kUInt64, ~std::uint64_t{0}, "s=0xffffffffffffffff"},
      {DType::kBool, 1, "s=1"},
      {DType::kBool, 2, "s=2"},
      {DType::kFloat32, 0xbfc00000, "s=-1.5"},
      {DType::kFloat32, 0x3dcccccd, "s=0.1"},
      {DType::kFloat32, 1, "s=1e-45"},
      {DType::kFloat32, 0, "s=0"},
      {DType::kFloat32, 0x80000000, "s=-0"},
      {DType::kFloat32, 0x7f7fffff, "s=3.4028235e+38"},
      {DType::kFloat32, 0x7f800000, "s=0x7f800000"},
      {DType::kFloat32, 0x7fc00001, "s=0x7fc00001"},
      {DType::kFloat64, 0x3fb999999999999a, "s=0.1"},
      {DType::kFloat16, 0xc000, "s=-2"},
      {DType::kFloat16, 0x0001, "s=5.9604645e-08"},
      {DType::kFloat16, 0x7c00, "s=0x7c00"},
      {DType::kBFloat16, 0x3f80, "s=1"},
      {DType::kFloat8E4M3, 0x7e, "s=448"},
      {DType::kFloat8E4M3, 0x7f, "s=0x7f"},
      {DType::kFloat8E5M2, 0x7b, "s=57344"},
  };
  for (const auto& each : cases) {
    KernelDefinition definition("k");
    definition.Parameters({Out("y", kFloat32, {"N"}), Scalar("s", each.dtype)}).Key(KeyOf("N"), ValueOf("s"));
    EXPECT_EQ(definition.KeyPartText(1, each.word), each.text);
  }
}

struct Rounded {
  std::int64_t value;
  std::int64_t to;
};

void ExpectRounds(const KeyPart& part, const std::vector<Rounded>& table) {
  ASSERT_OK(part.Check());
  for (const Rounded& each : table) EXPECT_EQ(part.Round(each.value), each.to) << each.value;
}

TEST(KeyBucketsTest, AValueGoesToTheLeastBoundThatIsNoLessAndBeyondThemByPowersOfTwo) {
  ExpectRounds(KeyOf("M").Buckets({1, 2, 4, 8, 16, 24, 32}), {{1, 1},
                                                              {2, 2},
                                                              {3, 4},
                                                              {8, 8},
                                                              {9, 16},
                                                              {17, 24},
                                                              {24, 24},
                                                              {25, 32},
                                                              {32, 32},
                                                              {33, 64},
                                                              {4000, 4096},
                                                              {kLargest, kLargest}});
  ExpectRounds(KeyOf("M").Buckets({5}), {{1, 5}, {5, 5}, {6, 8}, {8, 8}, {9, 16}});
  EXPECT_EQ(KeyOf("M").Buckets({5}).ToString(5), "M<=5");
}

TEST(KeyBucketsTest, AValueGoesToTheNearestAndOfTwoAsNearToTheSmaller) {
  ExpectRounds(KeyOf("M").Nearest({4, 8, 64}),
               {{1, 4}, {4, 4}, {5, 4}, {6, 4}, {7, 8}, {8, 8}, {36, 8}, {37, 64}, {64, 64}, {65, 64}, {kLargest, 64}});
  ExpectRounds(KeyOf("M").Nearest({kLargest - 1, kLargest}), {{1, kLargest - 1}, {kLargest, kLargest}});
  EXPECT_EQ(KeyOf("M").Nearest({64}).ToString(64), "M~64");
}

TEST(KeyBucketsTest, WhatIsWrongWithAListIsSaidInOneLineByTheDefinition) {
  std::vector<std::int64_t> many(KeyPart::kMostValues + 1);
  std::iota(many.begin(), many.end(), 1);
  struct Case {
    std::vector<KeyPart> key;
    const char* message;
  };
  for (const Case& each : {
           Case{{KeyOf("M").Buckets({})}, "KeyOf('M').Buckets has an empty list"},
           Case{{KeyOf("M").Nearest({})}, "KeyOf('M').Nearest has an empty list"},
           Case{{KeyOf("M").Buckets({0, 1})}, "KeyOf('M').Buckets begins with 0; an extent is at least 1"},
           Case{{KeyOf("M").Nearest({-4, 1})}, "KeyOf('M').Nearest begins with -4; an extent is at least 1"},
           Case{{KeyOf("M").Buckets({1, 8, 4})}, "has 4 after 8: give each value once, in rising order"},
           Case{{KeyOf("M").Nearest({1, 4, 4})}, "has 4 after 4: give each value once, in rising order"},
           Case{{KeyOf("M").Buckets(many)}, "has 1025 values; at most 1024 are possible"},
           Case{{KeyOf("M").NextPow2().Buckets({1})}, "KeyOf('M') has more than one of NextPow2, Buckets and Nearest"},
           Case{{KeyOf("M").Buckets({1}).NextPow2()}, "KeyOf('M') has more than one of NextPow2, Buckets and Nearest"},
           Case{{KeyOf("M").Buckets({1}).Nearest({1}).NextPow2()}, "KeyOf('M') has more than one of"},
           Case{{DTypeOf("x").NextPow2()}, "DTypeOf('x') has a bucket, but only dims can have one"},
           Case{{ValueOf("s").Nearest({1})}, "ValueOf('s') has a bucket, but only dims can have one"},
           Case{{KeyOf("M"), KeyOf("M").NextPow2()}, "the key names the dim 'M' twice"},
       }) {
    KernelDefinition definition("k");
    definition.Parameters({In("x", kFloat32, {"M"}), Scalar<int>("s")})
        .Key(each.key)
        .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
    Status status = definition.Validate();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << each.message;
    EXPECT_NE(status.message().find(each.message), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find("kernel 'k': "), 0u) << status.message();
  }
}

}  // namespace
}  // namespace tuneonce
