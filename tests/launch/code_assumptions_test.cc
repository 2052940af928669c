// Code that assumes more than its variant declares: refused, or added to what launches are checked for.
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
  EXPECT_ERROR(
      Check(Dense({y, rows_of_x, rows_of_y})), StatusCode::kInvalidArgument,
      "its code assumes that the address of 'x' is a multiple of 16, but the variant does not declare this: add "
      "Aligned(\"x\", 16) to Assuming");
  EXPECT_ERROR(Check(Dense({x, y, rows_of_y})), StatusCode::kInvalidArgument,
               "stride 0 of 'x' is a multiple of 4, but the variant does not declare this: add "
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
               "stride 1 of 'x' is at least 1, but the variant does not declare this: add StrideIs(\"x\", 1, 1)");
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

TEST(ProgrammaticLaunchTest, CodeThatNeverWaitsIsRefused) {
  auto tile = [](const std::string& name) {
    return KernelSource::TileIr(*ReadFile(TUNEONCE_TEST_DATA "/tile_ir/" + name + ".tileir"), name);
  };
  const KernelSource waits = KernelSource::Ptx(".visible .entry k()\n{ griddepcontrol.wait; ret; }", "k"),
                     forgets = KernelSource::Ptx(".visible .entry k()\n{ ret; }", "k");
  Geometry plain, programmatic;
  programmatic.programmatic_launch = true;
  for (const KernelSource& source : {waits, forgets, tile("dependent"), tile("forgetful")}) {
    EXPECT_OK(CheckProgrammaticLaunch(plain, source));
  }
  EXPECT_OK(CheckProgrammaticLaunch(programmatic, waits));
  EXPECT_OK(CheckProgrammaticLaunch(programmatic, tile("dependent")));
  // A header may have the instruction.
  EXPECT_OK(CheckProgrammaticLaunch(programmatic, KernelSource::CudaCpp("__global__ void k() {}", "k")));
  EXPECT_OK(CheckProgrammaticLaunch(programmatic, KernelSource::TileIr("damaged", "k")));
  EXPECT_ERROR(CheckProgrammaticLaunch(programmatic, forgets), StatusCode::kInvalidArgument,
               "its code never waits for the kernels before it (griddepcontrol.wait)");
  EXPECT_ERROR(CheckProgrammaticLaunch(programmatic, tile("forgetful")), StatusCode::kInvalidArgument,
               "its code never waits for the kernels before it (gdc_wait_tko");
}

/// The rest of the rules, of which no fixture has code.
class CoverTest : public ::testing::Test {
 protected:
  using Kind = CodeAssumption::Kind;

  /// Kernel parameters: x, N, n, stride 0 of x, N rounded up to 16.
  static Status Cover(std::vector<Assumption> assumptions, CodeAssumption of_code) {
    KernelDefinition definition = KernelDefinition("k").Parameters(
        {InOut("x", DType::kFloat32, {"N", "D"}), DimValue("N"), Scalar("n", DType::kInt32), StrideValue("x", 0),
         Derived("rounded", 16 * CeilDiv(Dim{0}, 16), DType::kInt32)});
    Variant variant([](const Config&) { return KernelSource(); });
    variant.Named("v").Assuming(std::move(assumptions));
    TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                              ParameterLayout::Create(definition, variant.convention, variant.parameters));
    TUNEONCE_ASSIGN_OR_RETURN(AssumptionChecks declared, AssumptionChecks::Create(definition, variant, layout));
    return CoverAssumption(declared, layout, Config(), of_code);
  }
};

TEST_F(CoverTest, Extents) {
  EXPECT_OK(Cover({}, {Kind::kAtLeast, 1, 0}));  // No extent is negative.
  EXPECT_ERROR(Cover({}, {Kind::kAtLeast, 1, 1}), StatusCode::kInvalidArgument,
               "the dim 'N' is at least 1, but the variant does not declare this: add "
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
  EXPECT_OK(CoverAssumption(*declared, *layout, Config(), {Kind::kDivisibleBy, 2, 8}));  // Extent 1.
  EXPECT_OK(CoverAssumption(*declared, *layout, Config(), {Kind::kAtLeast, 2, 24}));
  EXPECT_OK(CoverAssumption(*declared, *layout, Config(), {Kind::kDivisibleBy, 3, 12}));  // Stride 0.
  EXPECT_ERROR(CoverAssumption(*declared, *layout, Config(), {Kind::kDivisibleBy, 2, 16}), StatusCode::kInvalidArgument,
               "'=24'");
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
  EXPECT_ERROR(Cover({}, {Kind::kDivisibleBy, 4, 32}), StatusCode::kInvalidArgument,
               "derive the value from a Term that does");
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

/// What follows from nothing that is declared is checked at each launch.
class AddOfCodeTest : public ::testing::Test {
 protected:
  using Kind = CodeAssumption::Kind;

  /// Kernel parameters: x, N, n, stride 0 of x. OK if a launch with N rows of this stride at this address is accepted.
  Status Launch(std::vector<Assumption> declared, std::vector<CodeAssumption> of_code, std::int64_t rows = 32,
                std::int64_t stride = 24, std::int32_t n = 5, std::uintptr_t address = 0x1010) {
    KernelDefinition definition = KernelDefinition("k")
                                      .Parameters({InOut("x", DType::kFloat32, {"N", 24}), DimValue("N"),
                                                   Scalar("n", DType::kInt32), StrideValue("x", 0)})
                                      .Grid(Grid::Fixed(1));
    Variant variant([](const Config&, const Problem&) { return KernelSource(); });
    variant.Named("tile").Assuming(std::move(declared));
    definition.AddVariant(variant);
    TUNEONCE_RETURN_IF_ERROR(definition.Validate());
    const Variant& added = definition.variants().front();
    TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                              ParameterLayout::Create(definition, added.convention, added.parameters));
    TUNEONCE_ASSIGN_OR_RETURN(AssumptionChecks checks, AssumptionChecks::Create(definition, added, layout));
    TUNEONCE_RETURN_IF_ERROR(AddAssumptionsOfCode(layout, Config(), of_code, &checks, &has_more_));
    const std::int64_t shape[] = {rows, 24}, strides[] = {stride, 1};
    const TensorView x =  // Arguments refer to it.
        TensorView::Strided(reinterpret_cast<void*>(address), DType::kFloat32, shape, strides, 2);
    const std::vector<Argument> arguments = {x, n};
    BoundCall call;
    TUNEONCE_RETURN_IF_ERROR(CallBinder(definition).Bind(arguments.data(), arguments.size(), &call));
    const Status verified = checks.Verify(call);
    EXPECT_EQ(checks.Hold(call), verified.ok()) << verified.ToString();
    return verified;
  }

  bool has_more_ = false;
};

TEST_F(AddOfCodeTest, ALaunchThatBreaksItIsRefusedInOneLine) {
  const struct {
    CodeAssumption assumption;
    const char* message;  // Of the launch with the next argument that breaks it.
    std::int64_t rows = 32, stride = 24;
    std::int32_t n = 5;
    std::uintptr_t address = 0x1010;
  } kCases[] = {
      {{Kind::kDivisibleBy, 0, 16}, "'x' is not aligned to 16 bytes: it is at 0x1004", 32, 24, 5, 0x1004},
      {{Kind::kDivisibleBy, 1, 16}, "dimension 0 of 'x' has extent 33, which 16 does not divide", 33},
      {{Kind::kAtLeast, 1, 8}, "dimension 0 of 'x' has extent 7, less than 8", 7},
      {{Kind::kDivisibleBy, 2, 5}, "the scalar 'n' is 6, which 5 does not divide", 32, 24, 6},
      {{Kind::kAtLeast, 2, 1}, "the scalar 'n' is 0, less than 1", 32, 24, 0},
      {{Kind::kDivisibleBy, 3, 8}, "dimension 0 of 'x' has stride 28, which 8 does not divide", 32, 28},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.message);
    EXPECT_OK(Launch({}, {each.assumption}));
    EXPECT_TRUE(has_more_);
    const Status refused = Launch({}, {each.assumption}, each.rows, each.stride, each.n, each.address);
    EXPECT_ERROR(refused, StatusCode::kInvalidArgument,
                 std::string("kernel 'k', variant 'tile' was compiled for other arguments: ") + each.message);
    EXPECT_EQ(refused.message().find('\n'), std::string::npos);
  }
  EXPECT_ERROR(Launch({}, {{Kind::kAtLeast, 1, 1}}, 0), StatusCode::kInvalidArgument, "extent 0 is not positive");
}

TEST_F(AddOfCodeTest, WhatIsDeclaredIsNotCheckedTwice) {
  EXPECT_OK(Launch({}, {{Kind::kDivisibleBy, 0, 4}, {Kind::kAtLeast, 1, 0}, {Kind::kAtLeast, 3, 0}}));
  EXPECT_FALSE(has_more_);
  EXPECT_OK(Launch({Aligned("x", 16), ExtentDivisibleBy("x", 0, 16)},
                   {{Kind::kDivisibleBy, 0, 16}, {Kind::kDivisibleBy, 1, 8}}));
  EXPECT_FALSE(has_more_);
  EXPECT_OK(Launch({}, {{Kind::kDivisibleBy, 9, 16}}));  // Loading states that the code has too many parameters.
  EXPECT_FALSE(has_more_);
}

TEST_F(AddOfCodeTest, WhatTheDefinitionContradictsOrNoLaunchShowsIsRefused) {
  EXPECT_ERROR(Launch({ExtentIs("x", 0, 40)}, {{Kind::kDivisibleBy, 1, 16}}), StatusCode::kInvalidArgument,
               "its code assumes that the dim 'N' is a multiple of 16, but the definition declares 40; change the "
               "declaration, or compile the code without this assumption");
  EXPECT_ERROR(Launch({ExtentIs("x", 0, 40)}, {{Kind::kAtLeast, 1, 64}}), StatusCode::kInvalidArgument,
               "is at least 64, but the definition declares 40");
  EXPECT_ERROR(Launch({ScalarIs("n", 6)}, {{Kind::kDivisibleBy, 2, 5}}), StatusCode::kInvalidArgument,
               "'n' is a multiple of 5, but the definition declares 6");
  EXPECT_ERROR(Launch({StrideIs("x", 0, 28)}, {{Kind::kDivisibleBy, 3, 8}}), StatusCode::kInvalidArgument,
               "stride 0 of 'x' is a multiple of 8, but the definition declares 28");
  EXPECT_ERROR(Launch({}, {{Kind::kAtMost, 1, 100}}), StatusCode::kInvalidArgument,
               "'N' is at most 100, but the variant does not declare this: compile the code without this assumption");
}

}  // namespace
}  // namespace tuneonce
