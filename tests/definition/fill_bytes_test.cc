#include "definition/fill_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <stdexcept>

#include "testing/device_test.h"

namespace tuneonce {
namespace {

TEST(FillBytesTest, AScalarMayBeAnInfinityOrNanWhereItsTypeHasOne) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  auto encoded = [](DType dtype, double value) {
    std::uint64_t word = 0;
    return EncodeScalar(dtype, value, &word) ? static_cast<std::int64_t>(word) : -1;
  };
  EXPECT_EQ(encoded(DType::kFloat8E4M3, kInfinity), -1);
  EXPECT_EQ(encoded(DType::kFloat8E4M3, std::nan("")), 0x7f);
  EXPECT_EQ(encoded(DType::kFloat8E5M2, -kInfinity), 0xfc);
  EXPECT_EQ(encoded(DType::kFloat16, kInfinity), 0x7c00);
  EXPECT_EQ(encoded(DType::kFloat16, -kInfinity), 0xfc00);
  EXPECT_EQ(encoded(DType::kFloat16, std::nan("")), 0x7e00);
  EXPECT_EQ(encoded(DType::kFloat16, 2), 0x4000);
  EXPECT_EQ(encoded(DType::kBFloat16, -kInfinity), 0xff80);
  EXPECT_EQ(encoded(DType::kFloat32, kInfinity), 0x7f800000);
  EXPECT_EQ(encoded(DType::kFloat64, -kInfinity), static_cast<std::int64_t>(0xfff0000000000000));
  EXPECT_EQ(encoded(DType::kInt32, kInfinity), -1);
  EXPECT_EQ(encoded(DType::kFloat32, 1e39), -1);
}

TEST(FillBytesTest, NumbersBecomeElementsOrAreRefused) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Case {
    DType dtype;
    double value;
    std::int64_t bits;  // -1: refused.
  };
  for (const Case& c : std::vector<Case>{
           {DType::kBool, 1, 1},
           {DType::kBool, 2, -1},
           {DType::kInt8, -128, 0x80},
           {DType::kInt8, 128, -1},
           {DType::kUInt8, 255, 255},
           {DType::kUInt8, -1, -1},
           {DType::kInt16, -1, 0xffff},
           {DType::kUInt16, 65536, -1},
           {DType::kInt32, 2147483647, 2147483647},
           {DType::kInt32, 2147483648.0, -1},
           {DType::kInt32, 0.5, -1},
           {DType::kUInt32, 4294967295.0, 4294967295},
           {DType::kInt64, -9223372036854775808.0, INT64_MIN},
           {DType::kInt64, 9223372036854775808.0, -1},
           {DType::kInt64, std::nan(""), -1},
           {DType::kUInt64, kInfinity, -1},
           {DType::kFloat8E4M3, 1, 0x38},
           {DType::kFloat8E4M3, 448, 0x7e},
           {DType::kFloat8E4M3, 464, 0x7e},
           {DType::kFloat8E4M3, 465, -1},
           {DType::kFloat8E4M3, -0.001953125, 0x81},
           {DType::kFloat8E5M2, 57344, 0x7b},
           {DType::kFloat8E5M2, 1e6, -1},
           {DType::kFloat16, 0, 0},
           {DType::kFloat16, 1, 0x3c00},
           {DType::kFloat16, -2, 0xc000},
           {DType::kFloat16, 65504, 0x7bff},
           {DType::kFloat16, 65519, 0x7bff},
           {DType::kFloat16, 65520, -1},
           {DType::kFloat16, 1.0 / 3, 0x3555},
           {DType::kFloat16, 0.99999, 0x3c00},  // Rounds into the next exponent.
           {DType::kFloat16, 5.960464477539063e-8, 1},
           {DType::kFloat16, 1e-9, 0},
           {DType::kBFloat16, 1, 0x3f80},
           {DType::kBFloat16, -1.5, 0xbfc0},
           {DType::kBFloat16, 3.3895313892515355e38, 0x7f7f},
           {DType::kBFloat16, 3.4e38, -1},
           {DType::kFloat32, 3.4028235e38, 0x7f7fffff},
           {DType::kFloat32, 1e39, -1},
           {DType::kFloat32, 1, 0x3f800000},
           {DType::kFloat64, kInfinity, -1},
           {DType::kAny, 1, -1},
       }) {
    std::int64_t bits = 0;
    bool fits = EncodeElement(c.dtype, c.value, &bits);
    EXPECT_EQ(fits, c.bits != -1) << DTypeName(c.dtype) << " " << c.value;
    EXPECT_TRUE(!fits || bits == c.bits) << DTypeName(c.dtype) << " " << c.value << ": " << bits;
  }
}

KernelDefinition Definition(const Parameter& parameter) {
  KernelDefinition definition("k");
  definition.DimsInOrder({"N", "S"})
      .Parameters({In("shape", kFloat32, {"N", "S"}), parameter})
      .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  return definition;
}

Result<std::vector<std::int32_t>> Ints(const WarmupFill& fill, std::int64_t n, std::int64_t s) {
  Parameter parameter = In("x", kInt32, {"N"}).ForWarmup(fill);
  KernelDefinition definition = Definition(parameter);
  TUNEONCE_RETURN_IF_ERROR(definition.Validate());
  Dims dims(2);
  dims[Dim{0}] = n;
  dims[Dim{1}] = s;
  TensorView view = TensorView::Contiguous(nullptr, DType::kInt32, {n});
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> bytes, WarmupBytes(definition, parameter, dims, view));
  std::vector<std::int32_t> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(FillBytesTest, FillsAreMadeForTheShapeAtHand) {
  EXPECT_EQ(*Ints(7, 3, 10), (std::vector<std::int32_t>{7, 7, 7}));
  EXPECT_EQ(*Ints(WarmupFill::Constant("S"), 2, 10), (std::vector<std::int32_t>{10, 10}));
  EXPECT_EQ(*Ints(WarmupFill::Iota(), 4, 10), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(*Ints(WarmupFill::Iota(0, "S"), 4, 10), (std::vector<std::int32_t>{0, 10, 20, 30}));
  auto squares = WarmupFill::Of([](const Dims& dims, const TensorView& host) {
    for (std::int64_t i = 0; i < dims[Dim{0}]; ++i) static_cast<std::int32_t*>(host.data)[i] = static_cast<int>(i * i);
  });
  EXPECT_EQ(*Ints(squares, 4, 10), (std::vector<std::int32_t>{0, 1, 4, 9}));
  std::vector<std::int32_t> uniform = *Ints(WarmupFill::Uniform(1, "S"), 1000, 10);
  for (std::int32_t value : uniform) EXPECT_TRUE(value >= 1 && value < 10) << value;
  EXPECT_EQ(std::set<std::int32_t>(uniform.begin(), uniform.end()).size(), 9u) << "each number occurs";
  EXPECT_EQ(uniform, *Ints(WarmupFill::Uniform(1, "S"), 1000, 10)) << "the same each time";
}

/// A kernel that reads one input in place of another would compute the same otherwise.
TEST(FillBytesTest, PseudoRandomNumbersOfTwoParametersDiffer) {
  KernelDefinition definition("k");
  definition.Parameters({In("a", kFloat32, {"N"}), In("b", kFloat32, {"N"}), Out("y", kFloat32, {"N"})});
  definition.AddVariant(Variant([](const Config&) { return KernelSource(); }).Grid(Grid::Fixed(1)));
  ASSERT_OK(definition.Validate());
  Dims dims(1);
  dims[Dim{0}] = 100;
  const TensorView view = TensorView::Contiguous(nullptr, DType::kFloat32, {100});
  std::vector<float> values[2];
  for (std::size_t i = 0; i < 2; ++i) {
    Result<std::vector<char>> bytes = WarmupBytes(definition, definition.parameters()[i], dims, view);
    ASSERT_OK(bytes);
    values[i].resize(100);
    std::memcpy(values[i].data(), bytes->data(), bytes->size());
  }
  for (std::size_t i = 0; i < 100; ++i) EXPECT_NE(values[0][i], values[1][i]) << i;
}

/// Doubles are written as they are, so they tell which numbers the other types round.
TEST(FillBytesTest, RandomNumbersAreRoundedToEachType) {
  constexpr std::int64_t kCount = 20000;
  Dims dims(1);
  dims[Dim{0}] = kCount;
  for (const auto& [first, second] :
       {std::pair(-1.0, 1.0), {0, 1e-6}, {-1e-40, 1e-40}, {-440, 440}, {0, 65600}, {1, 1.0001}}) {
    KernelDefinition definition("k");
    definition.Parameters({In("x", {"N"}).ForWarmup(WarmupFill::Uniform(first, second)), Out("y", kFloat32, {"N"})});
    definition.AddVariant(Variant([](const Config&) { return KernelSource(); }).Grid(Grid::Fixed(1)));
    const auto bytes_of = [&](DType dtype) {
      return WarmupBytes(definition, definition.parameters()[0], dims,
                         TensorView::Contiguous(nullptr, dtype, {kCount}));
    };
    Result<std::vector<char>> doubles = bytes_of(DType::kFloat64);
    ASSERT_OK(doubles);
    for (const DType dtype :
         {DType::kFloat8E4M3, DType::kFloat8E5M2, DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
      SCOPED_TRACE(std::string(DTypeName(dtype)) + " to " + std::to_string(second));
      std::vector<char> expected(DTypeBytes(dtype) * kCount);
      std::size_t num_held = 0;
      for (; num_held < kCount; ++num_held) {
        double value = 0;
        std::memcpy(&value, doubles->data() + num_held * sizeof(value), sizeof(value));
        if (!EncodeElement(dtype, value, expected.data() + num_held * DTypeBytes(dtype))) break;
      }
      Result<std::vector<char>> bytes = bytes_of(dtype);
      if (num_held == kCount) {
        ASSERT_OK(bytes);
        EXPECT_TRUE(*bytes == expected);
      } else {
        EXPECT_ERROR(bytes.status(), StatusCode::kInvalidArgument, "(element " + std::to_string(num_held) + " at");
      }
    }
  }
}

TEST(FillBytesTest, OffsetsAreMonotoneAndEndWhereTheyShould) {
  using Offsets = std::vector<std::int32_t>;
  EXPECT_EQ(*Ints(WarmupFill::Offsets("S"), 5, 10), (Offsets{0, 2, 5, 7, 10})) << "balanced";
  EXPECT_EQ(*Ints(WarmupFill::Offsets("S", 1), 4, 11), (Offsets{0, 6, 9, 11})) << "6, 3 and 2 are 1, 1/2 and 1/3 of 6";
  EXPECT_EQ(*Ints(WarmupFill::Offsets("S"), 4, 1), (Offsets{0, 0, 0, 1})) << "fewer rows than groups";
  EXPECT_EQ(*Ints(WarmupFill::Offsets("S"), 2, 7), (Offsets{0, 7})) << "one group";
  EXPECT_EQ(*Ints(WarmupFill::Offsets("S"), 1, 7), (Offsets{0})) << "no group";
  for (double skew : {0.0, 0.5, 1.0, 16.0}) {
    const Offsets offsets = *Ints(WarmupFill::Offsets("S", skew), 257, 100003);
    EXPECT_TRUE(std::is_sorted(offsets.begin(), offsets.end())) << skew;
    EXPECT_EQ(offsets.front(), 0);
    EXPECT_EQ(offsets.back(), 100003);
  }
}

TEST(FillBytesTest, WhatDoesNotFitTheShapeIsAnErrorThatNamesTheParameter) {
  EXPECT_ERROR(Ints(WarmupFill::Uniform(1, "S"), 8, 1), StatusCode::kInvalidArgument,
               "parameter 'x' has no warm-up values: the range [1, S) is empty at N=8, S=1");
  EXPECT_ERROR(Ints(WarmupFill::Iota(0, "S"), 3, 2000000000), StatusCode::kInvalidArgument,
               "parameter 'x' cannot hold 4e+09 (element 2");
  EXPECT_ERROR(Ints(WarmupFill::Offsets(10, "S"), 3, 17), StatusCode::kInvalidArgument,
               "parameter 'x' has no warm-up values: the skew of offsets must be 0 to 16, not S at N=3, S=17");
  EXPECT_ERROR(Ints(WarmupFill::Of([](const Dims&, const TensorView&) { throw std::runtime_error("no data"); }), 3, 1),
               StatusCode::kInvalidArgument, "the fill of parameter 'x' threw: no data");
}

TEST(FillBytesTest, ADeclarationThatCannotBeIsRefusedWithTheDefinition) {
  struct Case {
    Parameter parameter;
    const char* message;
  };
  for (const Case& c : std::vector<Case>{
           {Scalar<std::int32_t>("n").ForWarmup(0.5),
            "parameter 'n': the warm-up value 0.5 cannot be represented as int32"},
           {Scalar<std::int32_t>("n").ForWarmup(WarmupFill::Iota()),
            "the warm-up value of a scalar must be one number"},
           {Scalar<std::int32_t>("n").ForWarmup(WarmupFill::Constant("Q")), "names the dim 'Q'"},
           {In("t", kUInt8, {"N"}).ForWarmup(-1), "parameter 't': the warm-up value -1 cannot be represented as uint8"},
           {In("t", {"N"}).ForWarmup(WarmupFill::Uniform(3, 3)), "the warm-up range [3, 3) is empty"},
           {In("t", kInt32, {"N"}).ForWarmup(WarmupFill::Offsets("N", -1)),
            "parameter 't': the skew of warm-up offsets must be 0 to 16, not -1"},
           {In("t", kInt32, {"N"}).ForWarmup(WarmupFill::Offsets(-1)), "the warm-up offsets end at -1, below 0"},
           {In("t", {}).ForWarmup(1), "only scalars and tensors with dims"},
           {Out("t", {"N"}).ForWarmup(1),
            "an output that the kernel does not read takes no warm-up values: remove them"},
           {DimValue("N").ForWarmup(1), "only scalars and tensors with dims"},
           {In("t", {"N"}).ForWarmup(WarmupFill::Of(nullptr)), "the warm-up fill is an empty std::function"},
       }) {
    EXPECT_ERROR(Definition(c.parameter).Validate(), StatusCode::kInvalidArgument, c.message);
  }
  for (const Parameter& parameter :
       {Scalar<std::int32_t>("n").ForWarmup(WarmupFill::Constant("S")), In("t", kInt8, {"N"}).ForWarmup(-128),
        InOut("t", kUInt8, {"N"}).ForWarmup(WarmupFill::Uniform(0, 256)), In("t", {"N"}).ForWarmup(0.5)}) {
    EXPECT_OK(Definition(parameter).Validate());
  }
}

}  // namespace
}  // namespace tuneonce
