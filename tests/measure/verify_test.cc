#include "measure/verify.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "compile/ptxas_toolchain.h"
#include "measure/compare_element.h"
#include "testing/device_test.h"
#include "testing/tools.h"
#include "tuneonce/device_buffer.h"
#include "verify_kernels_ptx.h"

namespace tuneonce {
namespace {

TEST(CompareElementTest, ReadsEveryFloatFormat) {
  constexpr ElementFormat kHalf{2, 5, 10, true}, kBrain{2, 8, 7, true}, kSingle{4, 8, 23, true},
      kDouble{8, 11, 52, true}, kE4M3{1, 4, 3, false}, kE5M2{1, 5, 2, true};
  // Values by IEEE 754, and for float8 by the OCP 8-bit floating point specification 1.0, tables 1 and 2.
  EXPECT_EQ(ElementValue(0x3c00, kHalf), 1.0);
  EXPECT_EQ(ElementValue(0xc000, kHalf), -2.0);
  EXPECT_EQ(ElementValue(0x7bff, kHalf), 65504.0);
  EXPECT_EQ(ElementValue(0x0001, kHalf), std::ldexp(1, -24));
  EXPECT_EQ(ElementValue(0x03ff, kHalf), 1023 * std::ldexp(1, -24));
  EXPECT_TRUE(std::isinf(ElementValue(0x7c00, kHalf)));
  EXPECT_TRUE(std::isnan(ElementValue(0x7e00, kHalf)));
  EXPECT_EQ(ElementValue(0x8000, kHalf), 0.0);
  EXPECT_EQ(ElementValue(0x4049, kBrain), 3.140625);
  EXPECT_EQ(ElementValue(0x0001, kBrain), std::ldexp(1, -133));
  EXPECT_EQ(ElementValue(0x7e, kE4M3), 448.0);
  EXPECT_TRUE(std::isnan(ElementValue(0x7f, kE4M3)));
  EXPECT_EQ(ElementValue(0x01, kE4M3), std::ldexp(1, -9));
  EXPECT_EQ(ElementValue(0x7b, kE5M2), 57344.0);
  EXPECT_TRUE(std::isinf(ElementValue(0x7c, kE5M2)));
  for (float value : {1.5f, -0.1f, 3e38f, 1e-45f, std::numeric_limits<float>::min()}) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    EXPECT_EQ(ElementValue(bits, kSingle), static_cast<double>(value));
  }
  double tiny = 5e-324;
  std::uint64_t bits;
  std::memcpy(&bits, &tiny, 8);
  EXPECT_EQ(ElementValue(bits, kDouble), tiny);
}

class VerifyTest : public testing::CpuDeviceTest {
 protected:
  Comparison Compare(const std::vector<float>& reference, const std::vector<float>& candidate, double absolute = 0,
                     double relative = 0, bool is_poisoned = false) {
    DeviceBuffer a = Floats(reference), b = Floats(candidate);
    ElementCheck check;
    check.tolerance = {absolute, relative, 0};
    if (is_poisoned) check.poison = check.reference_poison = ArrayComparer::kPoisons[0];
    Result<Comparison> comparison =
        ArrayComparer(stream_->view())
            .Compare(a.get(), b.get(), ArrayLayout::Dense(DType::kFloat32, reference.size()), check);
    EXPECT_OK(comparison);
    return *comparison;
  }
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST_F(VerifyTest, TolerancesAddUp) {
  EXPECT_EQ(Compare({1, 2, 3}, {1, 2, 3}).num_wrong, 0u);
  Comparison exact = Compare({1, 2, 3}, {1, 2.001f, 3.001f});
  EXPECT_EQ(exact.num_wrong, 2u);
  EXPECT_EQ(exact.first, 1u);
  EXPECT_EQ(Compare({1, 2}, {1.001f, 2}, 0.002).num_wrong, 0u);
  EXPECT_EQ(Compare({1, 100}, {1.1f, 110}, 0, 0.11).num_wrong, 0u);
  EXPECT_EQ(Compare({1, 100}, {1.2f, 110}, 0, 0.11).num_wrong, 1u);
  EXPECT_EQ(Compare({0}, {0.5f}, 0, 0.5).num_wrong, 1u);
  EXPECT_EQ(Compare({0.0f}, {-0.0f}).num_wrong, 0u);
}

TEST_F(VerifyTest, NanEqualsNanAndInfinityItself) {
  EXPECT_EQ(Compare({kNan, kInf, -kInf}, {-kNan, kInf, -kInf}, 1, 1).num_wrong, 0u);
  EXPECT_EQ(Compare({kNan, 1, kInf, kInf, 1}, {1, kNan, -kInf, 1, kInf}, 1e30, 1e30).num_wrong, 5u);
}

TEST_F(VerifyTest, WhatTheReferenceDoesNotWriteIsNotAsked) {
  float poison;
  std::memset(&poison, ArrayComparer::kPoisons[0], sizeof(poison));
  Comparison comparison = Compare({1, 2, poison, poison}, {1, poison, poison, 5}, 0.1, 0, /*is_poisoned=*/true);
  EXPECT_EQ(comparison.num_missing, 1u);
  EXPECT_EQ(comparison.num_wrong, 0u);
  EXPECT_EQ(comparison.first, 1u);
}

TEST_F(VerifyTest, AValueThatIsRightIsNotMissedThoughItIsThePoison) {
  for (unsigned char byte : ArrayComparer::kPoisons) {
    float poison;
    std::memset(&poison, byte, sizeof(poison));
    float near = std::isnan(poison) ? kNan : std::nextafter(poison, 1.0f);
    DeviceBuffer a = Floats({near, 1}), b = Floats({poison, poison});
    ElementCheck check;
    check.tolerance = {0, 1e-3, 0};
    check.poison = byte;
    Comparison found =
        *ArrayComparer(stream_->view()).Compare(a.get(), b.get(), ArrayLayout::Dense(DType::kFloat32, 2), check);
    EXPECT_EQ(found.num_wrong, 0u) << int{byte};
    EXPECT_EQ(found.num_missing, 1u) << int{byte};
    EXPECT_EQ(found.first, 1u);
  }
}

TEST_F(VerifyTest, OneOfThePoisonsIsNoNumberInAnyFloatingPointFormat) {
  for (DType dtype : {DType::kFloat8E4M3, DType::kFloat8E5M2, DType::kFloat16, DType::kBFloat16, DType::kFloat32,
                      DType::kFloat64}) {
    DeviceBuffer zeros = Floats({0, 0}), data = Floats({0, 0});
    ASSERT_OK(data.Fill(ArrayComparer::kPoisons[0]));
    ElementCheck check;
    check.tolerance = {1e300, 1e300, 1e300};
    check.poison = ArrayComparer::kPoisons[0];
    std::uint64_t count = 8 / DTypeBytes(dtype);
    Comparison found =
        *ArrayComparer(stream_->view()).Compare(zeros.get(), data.get(), ArrayLayout::Dense(dtype, count), check);
    EXPECT_EQ(found.num_missing, count) << DTypeName(dtype) << ": no tolerance takes it for a result";
  }
}

TEST_F(VerifyTest, LargestLeavesOutWhatIsNoNumber) {
  DeviceBuffer data = Floats({1, -7, kNan, kInf, 3});
  ArrayComparer comparer(stream_->view());
  EXPECT_EQ(*comparer.Largest(data.get(), ArrayLayout::Dense(DType::kFloat32, 5), std::nullopt), 7);
  EXPECT_EQ(*comparer.Largest(data.get(), ArrayLayout::Dense(DType::kInt32, 5), std::nullopt), 0)
      << "integers are compared exactly";
}

TEST_F(VerifyTest, OtherTypesMustBeEqual) {
  DeviceBuffer a = Floats({1, 2}), b = Floats({1, 2.0000002f});
  ElementCheck check;
  check.tolerance = {1e30, 1e30, 1e30};
  Result<Comparison> comparison =
      ArrayComparer(stream_->view()).Compare(a.get(), b.get(), ArrayLayout::Dense(DType::kInt32, 2), check);
  EXPECT_EQ(comparison->num_wrong, 1u);
}

TEST_F(VerifyTest, TheLargestDifferenceIsFoundAlsoWhereItIsAllowed) {
  Comparison comparison = Compare({1, 100, 3}, {1.5f, 101, 3}, 0, 1);
  EXPECT_EQ(comparison.num_wrong, 0u);
  EXPECT_EQ(comparison.largest_difference, 1);
  EXPECT_EQ(comparison.largest_share, 0.5) << "a half of what is allowed for the first; a hundredth for the second";
  EXPECT_EQ(Compare({1}, {1}).largest_share, 0);
  EXPECT_TRUE(std::isinf(Compare({1}, {2}).largest_share)) << "nothing is allowed";
  EXPECT_TRUE(std::isinf(Compare({1}, {kNan}, 1, 1).largest_difference));
}

TEST_F(VerifyTest, APoisonThatTheReferenceHoldsIsAValueUnlessItIsPartial) {
  float poison;
  std::memset(&poison, ArrayComparer::kPoisons[1], sizeof(poison));
  DeviceBuffer a = Floats({poison, 1}), b = Floats({2, poison});
  ElementCheck check;
  check.poison = ArrayComparer::kPoisons[1];
  Comparison found =
      *ArrayComparer(stream_->view()).Compare(a.get(), b.get(), ArrayLayout::Dense(DType::kFloat32, 2), check);
  EXPECT_EQ(found.num_wrong, 1u);
  EXPECT_EQ(found.num_missing, 1u);
}

TEST_F(VerifyTest, GapsBetweenElementsAreNotLookedAt) {
  // Two rows of three, in rows of five; the gaps differ.
  std::vector<float> x = {1, 2, 3, -1, -1, 4, 5, 6};
  std::vector<float> y = {1, 2, 3, -7, -7, 4, 5, 7};
  DeviceBuffer a = Floats(x), b = Floats(y);
  std::int64_t shape[] = {2, 3}, strides[] = {5, 1};
  TensorView view = TensorView::Strided(a.data(), DType::kFloat32, shape, strides, 2);
  ArrayLayout layout = *ArrayLayout::Of(view);
  EXPECT_EQ(layout.count, 6u);
  ArrayComparer comparer(stream_->view());
  Comparison found = *comparer.Compare(a.get(), b.get(), layout, ElementCheck());
  EXPECT_EQ(found.num_wrong, 1u);
  EXPECT_EQ(found.first, 5u);
  EXPECT_EQ(*comparer.Largest(b.get(), layout, std::nullopt), 7);
  view.bytes = 4;
  EXPECT_ERROR(ArrayLayout::Of(view), StatusCode::kInvalidArgument, "its strides lead out of the 4 bytes it spans");
  std::int64_t backwards[] = {-5, 1};
  EXPECT_FALSE(ArrayLayout::Of(TensorView::Strided(a.data(), DType::kFloat32, shape, backwards, 2)).ok());
  std::int64_t columns[] = {1, 2};
  EXPECT_EQ(ArrayLayout::Of(TensorView::Strided(a.data(), DType::kFloat32, shape, columns, 2))->rank, 0)
      << "transposed: no gaps";
}

TEST_F(VerifyTest, Float8IsComparedByItsOwnRounding) {
  struct Case {
    DType dtype;
    unsigned char reference, candidate;
    bool is_right;
  };
  for (const Case& c :
       {Case{DType::kFloat8E4M3, 0x38, 0x39, true},   // 1 and its neighbour 1.125.
        Case{DType::kFloat8E4M3, 0x39, 0x3b, false},  // 1.125 and 1.375: two steps.
        Case{DType::kFloat8E4M3, 0x38, 0x3a, false},  // 1 and 1.25.
        Case{DType::kFloat8E4M3, 0x01, 0x02, true},   // Subnormal: a step is 2^-9.
        Case{DType::kFloat8E4M3, 0x01, 0x03, false}, Case{DType::kFloat8E5M2, 0x3c, 0x3d, true},  // 1 and 1.25.
        Case{DType::kFloat8E5M2, 0x3c, 0x3e, false}}) {
    DeviceBuffer a = Floats({0}), b = Floats({0});
    ASSERT_OK(a.Fill(c.reference, 0, 1));
    ASSERT_OK(b.Fill(c.candidate, 0, 1));
    ElementCheck check;
    check.tolerance = Tolerance::Of(c.dtype);
    Comparison found = *ArrayComparer(stream_->view()).Compare(a.get(), b.get(), ArrayLayout::Dense(c.dtype, 1), check);
    EXPECT_EQ(found.num_wrong == 0, c.is_right) << int{c.reference} << " and " << int{c.candidate};
  }
}

TEST_F(VerifyTest, AChecksumSeesEveryByteAndItsPlace) {
  std::vector<float> values(1 << 19);  // More than one window.
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000);
  DeviceBuffer data = Floats(values);
  ArrayComparer comparer(stream_->view());
  for (std::size_t begin : {0, 1, 4, 7}) {
    MemoryRange range{data.get() + begin, data.bytes() - begin - 3};
    std::uint64_t sum = comparer.Checksums({range})->front();
    EXPECT_EQ(comparer.Checksums({range, {data.get(), 8}})->front(), sum);
    for (std::size_t at : {std::size_t{0}, std::size_t{5}, (std::size_t{1} << 20) - begin, range.bytes - 1}) {
      std::vector<char> was = *ReadDeviceMemory(stream_->view(), range.address + at, 1);
      ASSERT_OK(data.Fill(static_cast<unsigned char>(was[0] ^ 1), begin + at, 1));
      EXPECT_NE(comparer.Checksums({range})->front(), sum) << at;
      ASSERT_OK(data.Fill(static_cast<unsigned char>(was[0]), begin + at, 1));
      EXPECT_EQ(comparer.Checksums({range})->front(), sum) << at;
    }
    if (begin > 0) {  // Beside the range.
      ASSERT_OK(data.Fill(0xee, begin - 1, 1));
      EXPECT_EQ(comparer.Checksums({range})->front(), sum);
    }
  }
  DeviceBuffer swapped = Floats({1, 2, 3, 4}), other = Floats({3, 4, 1, 2});
  EXPECT_NE(comparer.Checksums({{swapped.get(), 16}})->front(), comparer.Checksums({{other.get(), 16}})->front());
  EXPECT_TRUE(comparer.Checksums({})->empty());
}

TEST(VerifyKernelsTest, ThePtxAssemblesForEveryArchitecture) {
  PtxasToolchain ptxas(testing::Tools());
  if (!ptxas.Version().ok()) GTEST_SKIP() << "NOT INSTALLED: ptxas";
  for (int capability : {75, 80, 90, 100, 120}) {
    Target target;
    target.capability_major = capability / 10;
    target.capability_minor = capability % 10;
    EXPECT_OK(ptxas.Compile(KernelSource::Ptx(kVerifyKernelsPtx, "tuneonce_compare"), Hints(), target, WaitLimits()));
  }
}

}  // namespace
}  // namespace tuneonce
