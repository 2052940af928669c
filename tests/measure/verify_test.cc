#include "measure/verify.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "compile/command_toolchain.h"
#include "measure/compare_element.h"
#include "testing/device_test.h"
#include "testing/tools.h"
#include "tuneonce/device.h"
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
  for (DType dtype :
       {DType::kFloat8E4M3, DType::kFloat8E5M2, DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
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

TEST_F(VerifyTest, TheScaleIsTheLargestOfABlockOf256) {
  // By how much an element may differ: absolute * the largest of its block. The last block takes the rest.
  struct Case {
    std::size_t count, outlier, wrong;
    bool is_allowed;
  };
  for (const Case& c :
       {Case{300, 0, 299, true},  // One block, whatever is left.
        Case{511, 510, 0, true}, Case{512, 0, 255, true}, Case{512, 0, 256, false}, Case{512, 511, 255, false},
        Case{512, 256, 511, true}, Case{700, 699, 256, true}, Case{700, 699, 255, false}, Case{100000, 99999, 0, false},
        Case{100000, 5, 99999, false}, Case{1, 0, 0, true}}) {
    std::vector<float> reference(c.count, 1);
    reference[c.outlier] = 1000;
    std::vector<float> candidate = reference;
    candidate[c.wrong] += 5;
    Comparison found = Compare(reference, candidate, 0.01);
    EXPECT_EQ(found.num_wrong, c.is_allowed ? 0u : 1u) << c.count << " " << c.outlier << " " << c.wrong;
    EXPECT_EQ(found.largest_share, c.is_allowed ? 0.5 : 500) << c.count << " " << c.outlier << " " << c.wrong;
  }
}

TEST_F(VerifyTest, WhatIsNoNumberAndWhatIsNotWrittenIsNoScale) {
  std::vector<float> reference(256, 1), candidate(256, 1.5f);
  reference[7] = candidate[7] = kInf;
  reference[8] = candidate[8] = kNan;
  EXPECT_EQ(Compare(reference, candidate, 0.01).num_wrong, 254u);
  float poison;  // As a number it is large enough to allow anything.
  std::memset(&poison, 0x74, sizeof(poison));
  reference[9] = poison;
  DeviceBuffer a = Floats(reference), b = Floats(candidate);
  ElementCheck check;
  check.tolerance = {0.01, 0, 0};
  check.reference_poison = 0x74;
  Comparison found =
      *ArrayComparer(stream_->view()).Compare(a.get(), b.get(), ArrayLayout::Dense(DType::kFloat32, 256), check);
  EXPECT_EQ(found.num_wrong, 253u);
}

TEST_F(VerifyTest, BlocksOfAStridedArrayAreOfItsElementsInRowMajorOrder) {
  // 4 rows of 128 in rows of 200, so that a block is two rows.
  std::vector<float> reference(4 * 200, 1e9f);
  for (int row = 0; row < 4; ++row) {
    for (int i = 0; i < 128; ++i) reference[static_cast<std::size_t>(row * 200 + i)] = row < 2 ? 1000 : 1;
  }
  std::vector<float> candidate = reference;
  candidate[200 + 127] += 5;  // The last of the first block.
  candidate[2 * 200] += 5;    // The first of the second.
  DeviceBuffer a = Floats(reference), b = Floats(candidate);
  std::int64_t shape[] = {4, 128}, strides[] = {200, 1};
  ElementCheck check;
  check.tolerance = {0.01, 0, 0};
  ArrayLayout layout = *ArrayLayout::Of(TensorView::Strided(a.data(), DType::kFloat32, shape, strides, 2));
  Comparison found = *ArrayComparer(stream_->view()).Compare(a.get(), b.get(), layout, check);
  EXPECT_EQ(found.num_wrong, 1u);
  EXPECT_EQ(found.first, 256u);
}

TEST_F(VerifyTest, NumbersTooSmallToBeExactAreNotCompared) {
  struct Case {
    DType dtype;
    std::uint32_t reference, candidate;  // Bits of one element.
    bool is_right;
  };
  // Code may flush what is below the smallest normal number of float32 to 0; float16 has few bits there.
  for (const Case& c : {Case{DType::kFloat32, 0x007fffff, 0, true}, Case{DType::kFloat32, 0x00ffffff, 0, false},
                        Case{DType::kBFloat16, 0x007f, 0, true}, Case{DType::kBFloat16, 0x00ff, 0, false},
                        Case{DType::kFloat16, 0x0003, 0x0002, true}, Case{DType::kFloat16, 0x000f, 0, false}}) {
    DeviceBuffer a = Floats({0}), b = Floats({0});
    ASSERT_OK(a.CopyFromHost(&c.reference, 4));
    ASSERT_OK(b.CopyFromHost(&c.candidate, 4));
    ASSERT_OK(stream_->view().Synchronize());
    ElementCheck check;
    check.tolerance = Tolerance::Of(c.dtype);
    auto compare = [&] {
      return ArrayComparer(stream_->view()).Compare(a.get(), b.get(), ArrayLayout::Dense(c.dtype, 1), check)->num_wrong;
    };
    EXPECT_EQ(compare() == 0, c.is_right) << DTypeName(c.dtype) << " " << c.reference;
    check.tolerance = {};
    EXPECT_EQ(compare(), 1u) << "without a tolerance they must be equal";
  }
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
  view.bytes = 4;
  EXPECT_ERROR(ArrayLayout::Of(view), StatusCode::kInvalidArgument, "the tensor's strides reach beyond its 4 bytes");
  std::int64_t backwards[] = {-5, 1};
  EXPECT_FALSE(ArrayLayout::Of(TensorView::Strided(a.data(), DType::kFloat32, shape, backwards, 2)).ok());
  std::int64_t columns[] = {1, 2};
  EXPECT_EQ(ArrayLayout::Of(TensorView::Strided(a.data(), DType::kFloat32, shape, columns, 2))->rank, 0)
      << "transposed: no gaps";
}

TEST_F(VerifyTest, ALayoutHasNoGapsOnlyIfEachPlaceHasAnElement) {
  std::int64_t shape[] = {2, 3};
  struct Case {
    std::int64_t strides[2];
    bool is_dense;
  };
  // The elements are as many as the places in all of these; with strides of 5 and 0 they meet at 0 and 5.
  for (const Case& c : {Case{{3, 1}, true}, Case{{1, 2}, true}, Case{{5, 0}, false}}) {
    TensorView view = TensorView::Strided(nullptr, DType::kFloat32, shape, c.strides, 2);
    ASSERT_EQ(view.bytes, 6 * sizeof(float));
    EXPECT_EQ(ArrayLayout::Of(view)->rank == 0, c.is_dense) << c.strides[0] << ", " << c.strides[1];
  }
}

TEST_F(VerifyTest, ChangesAreFoundWhereNothingMayBeWritten) {
  constexpr std::size_t kBytes = 400;
  std::vector<float> values(kBytes / sizeof(float), 3);
  for (int granule : {1, 2, 4, 8}) {
    const std::uint64_t count = kBytes / static_cast<std::uint64_t>(granule);
    // Every third granule may be written.
    std::vector<std::uint32_t> bits((count + 31) / 32, 0);
    for (std::uint64_t k = 0; k < count; k += 3) bits[k / 32] |= 1u << (k % 32);
    DeviceBuffer mask = *DeviceBuffer::Allocate(stream_->view(), bits.size() * sizeof(std::uint32_t));
    ASSERT_OK(mask.CopyFromHost(bits.data(), mask.bytes()));
    ASSERT_OK(stream_->view().Synchronize());
    for (bool has_original : {true, false}) {
      DeviceBuffer original = Floats(values), data = Floats(values);
      constexpr unsigned char kFill = 0x34;
      if (!has_original) ASSERT_OK(data.Fill(kFill));
      ArrayComparer comparer(stream_->view());
      auto find = [&] {
        Result<ChangedMemory> changed =
            comparer.FindChanges({data.get(), granule, count, mask.get()}, has_original ? original.get() : 0, kFill);
        EXPECT_OK(changed);
        return changed.ok() ? *changed : ChangedMemory();
      };
      const auto size = static_cast<std::size_t>(granule);
      EXPECT_EQ(find().bytes, 0u);
      ASSERT_OK(data.Fill(0xEE, 3 * size, size));  // It may be.
      EXPECT_EQ(find().bytes, 0u);
      ASSERT_OK(data.Fill(0xEE, 8 * size - 1, 1));  // The last byte of granule 7.
      EXPECT_EQ(find().bytes, size);
      EXPECT_EQ(find().first, 7 * size);
      ASSERT_OK(data.Fill(0xEE, kBytes - size, size));
      EXPECT_EQ(find().bytes, (count - 1) % 3 == 0 ? size : 2 * size);
      ASSERT_OK(data.Fill(0xEE, size, 1));
      EXPECT_EQ(find().first, size);
    }
  }
  EXPECT_EQ(ArrayComparer(stream_->view()).FindChanges({}, 0, 0)->bytes, 0u);
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

TEST_F(VerifyTest, DescribeCountsElementsByWhatTheyAre) {
  DeviceBuffer data = Floats({0, -0.0f, kNan, kInf, -kInf, -2, 3, 1e-45f});
  ArrayComparer comparer(stream_->view());
  auto describe = [&](DType dtype, std::uint64_t count) {
    Result<ArrayFacts> facts = comparer.Describe(data.get(), ArrayLayout::Dense(dtype, count));
    EXPECT_OK(facts);
    EXPECT_EQ(facts->count, count);
    EXPECT_EQ(facts->count, facts->num_zero + facts->num_not_finite + facts->num_negative + facts->num_positive);
    return *facts;
  };
  ArrayFacts facts = describe(DType::kFloat32, 8);
  EXPECT_EQ(facts.num_zero, 2u) << "-0 too";
  EXPECT_EQ(facts.num_not_finite, 3u);
  EXPECT_EQ(facts.num_negative, 1u);
  EXPECT_EQ(facts.num_positive, 2u) << "a subnormal number is one";
  EXPECT_FALSE(facts.is_constant);
  EXPECT_FALSE(describe(DType::kFloat32, 2).is_constant) << "0 and -0 have other bits";
  EXPECT_TRUE(describe(DType::kFloat32, 1).is_constant);
  EXPECT_EQ(describe(DType::kFloat32, 0).count, 0u);
  // The first byte of each float is 0, but for two.
  ASSERT_OK(data.Fill(0x00));
  ASSERT_OK(data.Fill(0x80, 4, 2));
  struct Case {
    DType dtype;
    std::uint64_t count, negative, positive;
  };
  for (const Case& c : {Case{DType::kAny, 32, 0, 2}, Case{DType::kBool, 32, 0, 2}, Case{DType::kUInt8, 32, 0, 2},
                        Case{DType::kInt8, 32, 2, 0}, Case{DType::kUInt16, 16, 0, 1}, Case{DType::kInt16, 16, 1, 0},
                        Case{DType::kInt32, 8, 0, 1}, Case{DType::kInt64, 4, 0, 1}, Case{DType::kUInt64, 4, 0, 1},
                        Case{DType::kFloat8E4M3, 32, 0, 0}, Case{DType::kFloat16, 16, 1, 0}}) {
    facts = describe(c.dtype, c.count);
    EXPECT_EQ(facts.num_negative, c.negative) << DTypeName(c.dtype);
    EXPECT_EQ(facts.num_positive, c.positive) << DTypeName(c.dtype);
    EXPECT_EQ(facts.num_not_finite, 0u);
    EXPECT_FALSE(facts.is_constant);
  }
  ASSERT_OK(data.Fill(0xFF));
  EXPECT_EQ(describe(DType::kInt64, 4).num_negative, 4u);
  EXPECT_EQ(describe(DType::kUInt64, 4).num_positive, 4u);
  facts = describe(DType::kFloat32, 8);
  EXPECT_EQ(facts.num_not_finite, 8u);
  EXPECT_TRUE(facts.is_constant) << "the same NaN";
}

TEST_F(VerifyTest, DescribeDoesNotLookAtGaps) {
  DeviceBuffer data = Floats({4, 4, -1, 0, 4, 4});
  std::int64_t shape[] = {2, 2}, strides[] = {4, 1};
  TensorView view = TensorView::Strided(data.data(), DType::kFloat32, shape, strides, 2);
  ArrayFacts facts = *ArrayComparer(stream_->view()).Describe(data.get(), *ArrayLayout::Of(view));
  EXPECT_EQ(facts.count, 4u);
  EXPECT_EQ(facts.num_positive, 4u);
  EXPECT_TRUE(facts.is_constant);
}

TEST_F(VerifyTest, DescribeCountsABroadcastElementOnce) {
  DeviceBuffer data = Floats({0, 5, -1});
  const std::int64_t shape[] = {std::int64_t{1} << 30, 3};
  const std::int64_t strides[] = {0, 1};
  const TensorView view = TensorView::Strided(data.data(), DType::kFloat32, shape, strides, 2);
  const ArrayFacts facts = *ArrayComparer(stream_->view()).Describe(data.get(), *ArrayLayout::Of(view));
  EXPECT_EQ(facts.count, 3u);
  EXPECT_EQ(facts.num_zero, 1u);
  EXPECT_EQ(facts.num_negative, 1u);
}

TEST(VerifyKernelsTest, ThePtxAssemblesForEveryArchitecture) {
  CommandToolchain ptxas(kPtxas, testing::Tools());
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
