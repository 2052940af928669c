// Code that assumes more than its variant declares is refused, and what to declare is named.
#include "launch/code_assumptions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "testing/expect_status.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
namespace {

Status CheckOf(const KernelDefinition& definition, const Variant& variant, const KernelSource& source) {
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                            ParameterLayout::Create(definition, variant.convention, variant.parameters));
  TUNEONCE_ASSIGN_OR_RETURN(AssumptionChecks declared, AssumptionChecks::Create(definition, variant, layout));
  return CheckAssumptionsOfCode(declared, layout, Config(), source);
}

/// Both fixtures are exported by cuTile: rows that are multiples of four elements, addresses of 16 bytes.
class TileIrAssumptionCheck : public ::testing::Test {
 protected:
  static Status Check(std::vector<Assumption> assumptions) {
    KernelDefinition definition = KernelDefinition("softmax").Parameters(
        {In("x", DType::kFloat32, {"M", "N"}), Out("y", DType::kFloat32, {"M", "N"})});
    const std::string file = TUNEONCE_TEST_DATA "/tile_ir/softmax.13.3.tileir";
    Variant variant([](const Config&) { return KernelSource(); });
    variant.Named("tile").Convention(CallingConvention::kCutilePython).Assuming(std::move(assumptions));
    return CheckOf(definition, variant, KernelSource::TileIr(*ReadFile(file), "softmax"));
  }
  /// The innermost strides are constants of the code.
  static std::vector<Assumption> Dense(std::vector<Assumption> assumptions) {
    assumptions.push_back(StrideIs("x", 1, 1));
    assumptions.push_back(StrideIs("y", 1, 1));
    return assumptions;
  }
};

TEST_F(TileIrAssumptionCheck, WhatIsNotDeclaredIsRefusedOneByOne) {
  const Assumption x = Aligned("x", 16), y = Aligned("y", 16), rows_of_x = StrideDivisibleBy("x", 0, 4),
                   rows_of_y = StrideDivisibleBy("y", 0, 4);
  EXPECT_OK(Check(Dense({x, y, rows_of_x, rows_of_y})));
  EXPECT_ERROR(Check(Dense({y, rows_of_x, rows_of_y})), StatusCode::kInvalidArgument,
               "its code assumes that the address of 'x' is a multiple of 16, which the variant does not declare; add "
               "Aligned(\"x\", 16) to Assuming");
  EXPECT_ERROR(Check(Dense({x, y, rows_of_y})), StatusCode::kInvalidArgument,
               "stride 0 of 'x' is a multiple of 4, which the variant does not declare; add "
               "StrideDivisibleBy(\"x\", 0, 4) to Assuming");
  EXPECT_ERROR(Check(Dense({x, y, rows_of_x})), StatusCode::kInvalidArgument, "stride 0 of 'y'");
  EXPECT_ERROR(Check(Dense({x, Aligned("y", 8), rows_of_x, rows_of_y})), StatusCode::kInvalidArgument,
               "address of 'y'");
}

TEST_F(TileIrAssumptionCheck, WhatFollowsFromOthersNeedNotBeDeclared) {
  const Assumption x = Aligned("x", 128), y = Aligned("y", 48);
  const Assumption rows = ExtentAtLeast("x", 0, 2);
  EXPECT_OK(Check(Dense({x, y, rows, StrideIs("x", 0, 12), StrideDivisibleBy("y", 0, 8)})));
  // The stride of a single row may be any.
  EXPECT_ERROR(Check(Dense({x, y, StrideIs("x", 0, 12), StrideDivisibleBy("y", 0, 8)})), StatusCode::kInvalidArgument,
               "stride 0 of 'x'");
  EXPECT_OK(Check(
      Dense({x, y, rows, Contiguous("x"), Contiguous("y"), ExtentDivisibleBy("x", 1, 4)})));  // Rows of N elements.
  EXPECT_ERROR(Check(Dense({x, y, Contiguous("x"), Contiguous("y")})), StatusCode::kInvalidArgument, "stride 0 of 'x'");
}

TEST_F(TileIrAssumptionCheck, AConstantStrideOfAViewIsOneOfTheTensor) {
  const Assumption x = Aligned("x", 16), y = Aligned("y", 16), rows_of_x = StrideDivisibleBy("x", 0, 4),
                   rows_of_y = StrideDivisibleBy("y", 0, 4);
  EXPECT_ERROR(Check({x, y, rows_of_x, rows_of_y, StrideIs("y", 1, 1)}), StatusCode::kInvalidArgument,
               "stride 1 of 'x' is at least 1, which the variant does not declare; add StrideIs(\"x\", 1, 1)");
  EXPECT_ERROR(Check({x, y, rows_of_x, rows_of_y, StrideIs("x", 1, 1), StrideIs("y", 1, 2)}),
               StatusCode::kInvalidArgument, "stride 1 of 'y' is at most 1");
  EXPECT_OK(Check({x, y, rows_of_x, rows_of_y, Contiguous("x"), Contiguous("y")}));
}

class AssumedInPtx : public ::testing::Test {
 protected:
  static Status Check(const std::string& parameters, std::vector<Assumption> assumptions) {
    KernelDefinition definition = KernelDefinition("k").Parameters(
        {In("x", DType::kFloat32, {"N"}), Out("y", DType::kFloat32, {"N"}), DimValue("N"), Workspace("partial", 64)});
    Variant variant([](const Config&) { return KernelSource(); });
    variant.Named("ptx").Assuming(std::move(assumptions));
    return CheckOf(definition, variant, KernelSource::Ptx(".visible .entry k(" + parameters + ")\n{ ret; }", "k"));
  }
};

TEST_F(AssumedInPtx, AlignmentOfPointersIsRefusedUnlessDeclared) {
  const std::string sizes = ", .param .u32 n, .param .u64 .ptr .align 256 partial";
  const std::string of_elements = ".param .u64 .ptr .global .align 4 x, .param .u64 y" + sizes;
  const std::string of_vectors = ".param .u64 .ptr .global .align 16 x, .param .u64 .ptr .align 1 y" + sizes;
  EXPECT_OK(Check(of_elements, {}));  // Every float lies on a multiple of four bytes.
  EXPECT_OK(Check(of_vectors, {Aligned("x", 16)}));
  EXPECT_ERROR(Check(of_vectors, {Aligned("y", 16)}), StatusCode::kInvalidArgument, "the address of 'x'");
  EXPECT_ERROR(Check(".param .u64 x, .param .u64 y, .param .u32 n, .param .u64 .ptr .align 512 partial", {}),
               StatusCode::kInvalidArgument, "compile the code without this assumption");
  // A parameter too many is another check's error.
  EXPECT_OK(Check(".param .u64 x, .param .u64 y, .param .u32 n, .param .u64 p, .param .u64 .ptr .align 16 more", {}));
}

/// The rest of the rules, of which no fixture has code.
class CoverTest : public ::testing::Test {
 protected:
  using Kind = CodeAssumption::Kind;

  /// Kernel parameters: x, N, n, stride 0 of x, N rounded up to 16.
  static Status Cover(std::vector<Assumption> assumptions, CodeAssumption of_code) {
    KernelDefinition definition = KernelDefinition("k").Parameters(
        {InOut("x", DType::kFloat32, {"N", "D"}), DimValue("N"), Scalar("n", DType::kInt32), StrideValue("x", 0),
         Derived("rounded", 16 * CeilDiv("N", 16), DType::kInt32)});
    Variant variant([](const Config&) { return KernelSource(); });
    variant.Named("v").Assuming(std::move(assumptions));
    TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                              ParameterLayout::Create(definition, variant.convention, variant.parameters));
    TUNEONCE_ASSIGN_OR_RETURN(AssumptionChecks declared, AssumptionChecks::Create(definition, variant, layout));
    return declared.Cover(layout, Config(), of_code);
  }
};

TEST_F(CoverTest, Extents) {
  EXPECT_OK(Cover({}, {Kind::kAtLeast, 1, 0}));  // No extent is negative.
  EXPECT_ERROR(Cover({}, {Kind::kAtLeast, 1, 1}), StatusCode::kInvalidArgument,
               "the dim 'N' is at least 1, which the variant does not declare; add "
               "ExtentAtLeast(TENSOR, DIMENSION, 1)");
  EXPECT_OK(Cover({ExtentAtLeast("x", 0, 1)}, {Kind::kAtLeast, 1, 1}));
  EXPECT_ERROR(Cover({ExtentAtLeast("x", 1, 1)}, {Kind::kAtLeast, 1, 1}), StatusCode::kInvalidArgument, "'N'");
  EXPECT_OK(Cover({ExtentIs("x", 0, 48)}, {Kind::kAtLeast, 1, 1}));
  EXPECT_OK(Cover({ExtentIs("x", 0, 48)}, {Kind::kDivisibleBy, 1, 16}));
  EXPECT_OK(Cover({ExtentDivisibleBy("x", 0, 4), ExtentDivisibleBy("x", 0, 6)}, {Kind::kDivisibleBy, 1, 12}));
  EXPECT_ERROR(Cover({ExtentDivisibleBy("x", 0, 8)}, {Kind::kDivisibleBy, 1, 16}), StatusCode::kInvalidArgument,
               "ExtentDivisibleBy");
  EXPECT_ERROR(Cover({}, {Kind::kAtMost, 1, 100}), StatusCode::kInvalidArgument, "without this assumption");
  EXPECT_OK(Cover({ExtentIs("x", 0, 48)}, {Kind::kAtMost, 1, 48}));
}

TEST_F(CoverTest, AConstantExtentIsKnown) {
  KernelDefinition definition = KernelDefinition("k").Parameters({InOut("x", DType::kFloat32, {5, 24})});
  Variant variant([](const Config&) { return KernelSource(); });
  variant.Named("v").Convention(CallingConvention::kCutilePython).Assuming({Contiguous("x")});
  Result<ParameterLayout> layout = ParameterLayout::Create(definition, variant.convention, variant.parameters);
  ASSERT_OK(layout);
  Result<AssumptionChecks> declared = AssumptionChecks::Create(definition, variant, *layout);
  ASSERT_OK(declared);
  EXPECT_OK(declared->Cover(*layout, Config(), {Kind::kDivisibleBy, 2, 8}));  // Extent 1.
  EXPECT_OK(declared->Cover(*layout, Config(), {Kind::kAtLeast, 2, 24}));
  EXPECT_OK(declared->Cover(*layout, Config(), {Kind::kDivisibleBy, 3, 12}));  // Stride 0.
  EXPECT_ERROR(declared->Cover(*layout, Config(), {Kind::kDivisibleBy, 2, 16}), StatusCode::kInvalidArgument, "'=24'");
}

TEST_F(CoverTest, Scalars) {
  EXPECT_ERROR(Cover({}, {Kind::kAtLeast, 2, 0}), StatusCode::kInvalidArgument, "add ScalarAtLeast(\"n\", 0)");
  EXPECT_OK(Cover({ScalarAtLeast("n", 1)}, {Kind::kAtLeast, 2, 0}));
  EXPECT_OK(Cover({ScalarIs("n", 32)}, {Kind::kDivisibleBy, 2, 16}));
  EXPECT_ERROR(Cover({ScalarIs("n", 33)}, {Kind::kDivisibleBy, 2, 16}), StatusCode::kInvalidArgument,
               "ScalarDivisibleBy(\"n\", 16)");
  EXPECT_OK(Cover({ScalarDivisibleBy("n", 32)}, {Kind::kDivisibleBy, 2, 16}));
}

TEST_F(CoverTest, DerivedValues) {
  EXPECT_OK(Cover({}, {Kind::kDivisibleBy, 4, 8}));
  EXPECT_OK(Cover({}, {Kind::kAtLeast, 4, 0}));
  EXPECT_ERROR(Cover({}, {Kind::kDivisibleBy, 4, 32}), StatusCode::kInvalidArgument, "derive it by a Term that does");
  EXPECT_ERROR(Cover({}, {Kind::kAtLeast, 4, 1}), StatusCode::kInvalidArgument, "'rounded' is at least 1");
}

TEST_F(CoverTest, Strides) {
  EXPECT_OK(Cover({}, {Kind::kAtLeast, 3, 0}));  // A stride that a kernel takes is not negative.
  EXPECT_ERROR(Cover({}, {Kind::kAtLeast, 3, 1}), StatusCode::kInvalidArgument, "StrideIs(\"x\", 0, 1)");
  EXPECT_ERROR(Cover({}, {Kind::kDivisibleBy, 3, 2}), StatusCode::kInvalidArgument, "StrideDivisibleBy(\"x\", 0, 2)");
  EXPECT_OK(Cover({StrideIs("x", 0, 64)}, {Kind::kAtLeast, 3, 1}));
  // The tensor is contiguous but for the stride that the kernel takes.
  EXPECT_ERROR(Cover({ExtentDivisibleBy("x", 1, 16), ExtentAtLeast("x", 0, 2)}, {Kind::kDivisibleBy, 3, 16}),
               StatusCode::kInvalidArgument, "stride 0 of 'x'");
}

}  // namespace
}  // namespace tuneonce
