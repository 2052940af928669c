// What code takes for granted of tensors: the quick form of the checks against the one that names what is wrong.
#include "tuneonce/kernel/assumption.h"

#include <random>

#include "testing/device_test.h"

namespace tuneonce {
namespace {

/// A call of a kernel with two matrices over M and N, which lie nowhere.
class AssumptionChecksTest : public ::testing::Test {
 protected:
  AssumptionChecks Checks(std::vector<Assumption> assumptions, CallingConvention convention) {
    KernelDefinition definition("k", "1");
    variant_.name = "v";
    variant_.source = testing::NoSource;
    variant_.geometry = Grid::Fixed(1);
    variant_.convention = convention;
    variant_.assumptions = std::move(assumptions);
    definition.Dims({"M", "N"})
        .Parameters({In("x", {"M", "N"}), Out("y", {"M", "N"}), DimValue("N")})
        .Variant(variant_);
    EXPECT_OK(definition.Validate());
    definition_.emplace(std::move(definition));
    Result<AssumptionChecks> checks = AssumptionChecks::Create(*definition_, definition_->variants().front());
    EXPECT_OK(checks);
    return *std::move(checks);
  }
  const BoundCall& Call() {
    std::vector<Argument> arguments = {x_, y_};
    EXPECT_OK(CallBinder(*definition_).Bind(arguments.data(), arguments.size(), &call_));
    return call_;
  }
  static TensorView Matrix(std::uintptr_t address, std::int64_t m, std::int64_t n, std::int64_t stride) {
    std::int64_t shape[] = {m, n}, strides[] = {stride, 1};
    return TensorView::Strided(reinterpret_cast<void*>(address), DType::kFloat32, shape, strides, 2);
  }

  struct Variant variant_;
  std::optional<KernelDefinition> definition_;
  TensorView x_ = Matrix(0x100000, 4, 8, 8), y_ = Matrix(0x200000, 4, 8, 8);
  BoundCall call_;
};

TEST_F(AssumptionChecksTest, AnInt32ParameterIsAnAssumption) {
  AssumptionChecks plain = Checks({}, CallingConvention::kPlain);
  x_.strides[0] = std::int64_t{1} << 31;
  EXPECT_TRUE(plain.Hold(Call())) << "it does not take strides";
  x_.shape[1] = y_.shape[1] = std::int64_t{1} << 31;
  EXPECT_TRUE(plain.HoldApartFromExtents(Call()));
  EXPECT_FALSE(plain.Hold(Call())) << "but N";
  EXPECT_ERROR(plain.Verify(Call()), StatusCode::kInvalidArgument,
               "dimension 1 of 'x' has extent 2147483648, which does not fit an int32");

  AssumptionChecks spread = Checks({StrideDivisibleBy("x", 0, 8)}, CallingConvention::kCutilePython);
  x_ = y_ = Matrix(0x100000, 4, 8, (std::int64_t{1} << 31) - 8);
  EXPECT_TRUE(spread.Hold(Call()));
  x_.strides[0] = -8;
  EXPECT_TRUE(spread.Hold(Call())) << "a negative stride is one too";
  x_.strides[0] = -12;
  EXPECT_FALSE(spread.Hold(Call()));
  x_.strides[0] = std::int64_t{1} << 31;
  EXPECT_FALSE(spread.HoldApartFromExtents(Call()));
  EXPECT_ERROR(spread.Verify(Call()), StatusCode::kInvalidArgument,
               "dimension 0 of 'x' has stride 2147483648, which does not fit an int32");
}

TEST_F(AssumptionChecksTest, HoldAndVerifyAgree) {
  std::mt19937_64 random(7);
  auto one_of = [&](std::initializer_list<std::int64_t> values) { return values.begin()[random() % values.size()]; };
  auto any_assumption = [&] {
    std::string tensor = random() % 2 == 0 ? "x" : "y";
    int dimension = static_cast<int>(random() % 2);
    switch (random() % 5) {
      case 0:
        return Aligned(tensor, one_of({1, 4, 16, 24}));
      case 1:
        return StrideIs(tensor, dimension, one_of({1, 8}));
      case 2:
        return StrideDivisibleBy(tensor, dimension, one_of({1, 4, 12}));
      case 3:
        return ExtentDivisibleBy(tensor, dimension, one_of({1, 2, 3}));
      default:
        return NoOverlap("x", "y");
    }
  };
  int held = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Assumption> assumptions;
    for (std::uint64_t i = random() % 4; i > 0; --i) assumptions.push_back(any_assumption());
    AssumptionChecks checks =
        Checks(assumptions, random() % 2 == 0 ? CallingConvention::kPlain : CallingConvention::kCutilePython);
    for (int calls = 0; calls < 5; ++calls) {
      std::int64_t m = one_of({1, 2, 6, std::int64_t{1} << 32}), n = one_of({1, 6, 8});
      auto any_matrix = [&] {
        TensorView view = Matrix(static_cast<std::uintptr_t>(one_of({0x1000, 0x1008, 0x1018, 0x900000})), m, n,
                                 one_of({-8, 1, 8, 12, std::int64_t{1} << 31, -(std::int64_t{1} << 31)}));
        view.strides[1] = one_of({1, 1, 1, 4, 8});
        view.bytes = static_cast<std::size_t>(one_of({0, 8, 24, 0x10000}));
        return view;
      };
      x_ = any_matrix();
      y_ = any_matrix();
      bool holds = checks.Verify(Call()).ok();
      EXPECT_EQ(checks.Hold(Call()), holds) << round;
      held += static_cast<int>(holds);
    }
  }
  EXPECT_GT(held, 500);
  EXPECT_LT(held, 9500);
}

}  // namespace
}  // namespace tuneonce
