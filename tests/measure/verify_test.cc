#include "tuneonce/measure/verify.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "measure/compare_element.h"
#include "testing/device_test.h"
#include "tuneonce/compile/ptxas_toolchain.h"
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
    Result<Comparison> comparison =
        ArrayComparer(stream_->view())
            .Compare(a.get(), b.get(), reference.size(), DType::kFloat32, absolute, relative, is_poisoned);
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
  std::memset(&poison, ArrayComparer::kPoison, sizeof(poison));
  Comparison comparison = Compare({1, 2, poison, poison}, {1, poison, poison, 5}, 0.1, 0, /*is_poisoned=*/true);
  EXPECT_EQ(comparison.num_missing, 1u);
  EXPECT_EQ(comparison.num_wrong, 0u);
  EXPECT_EQ(comparison.first, 1u);
}

TEST_F(VerifyTest, LargestLeavesOutWhatIsNoNumber) {
  DeviceBuffer data = Floats({1, -7, kNan, kInf, 3});
  ArrayComparer comparer(stream_->view());
  EXPECT_EQ(*comparer.Largest(data.get(), 5, DType::kFloat32, false), 7);
  EXPECT_EQ(*comparer.Largest(data.get(), 5, DType::kInt32, false), 0) << "integers are compared exactly";
}

TEST_F(VerifyTest, OtherTypesMustBeEqual) {
  DeviceBuffer a = Floats({1, 2}), b = Floats({1, 2.0000002f});
  Result<Comparison> comparison =
      ArrayComparer(stream_->view()).Compare(a.get(), b.get(), 2, DType::kInt32, 1e30, 1e30, false);
  EXPECT_EQ(comparison->num_wrong, 1u);
}

TEST(VerifyKernelsTest, ThePtxAssemblesForEveryArchitecture) {
  PtxasToolchain ptxas;
  if (!ptxas.Version().ok()) GTEST_SKIP() << "NOT INSTALLED: ptxas";
  for (int capability : {75, 80, 90, 100, 120}) {
    Target target;
    target.capability_major = capability / 10;
    target.capability_minor = capability % 10;
    EXPECT_OK(
        ptxas.Compile(KernelSource::Ptx(kVerifyKernelsPtx, "tuneonce_compare"), Hints(), target, CompileLimits()));
  }
}

}  // namespace
}  // namespace tuneonce
