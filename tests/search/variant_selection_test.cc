// Which variants of a shipped bundle may build a config for which arguments: for a GPU's target, without a GPU.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "compare/kernel_comparison.h"
#include "search/candidate.h"
#include "testing/expect_status.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
namespace {

class VariantSelectionTest : public ::testing::Test {
 protected:
  /// The variants that matmul's baseline can be built by, in order of preference.
  static std::vector<std::string> VariantsFor(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t row_of_b,
                                              std::uintptr_t address = 4096, VariantSet left_out = {}) {
    Result<Bundle> bundle = Bundle::Load(std::string(TUNEONCE_BUNDLE_FOLDER) + "/matmul");
    EXPECT_OK(bundle);
    auto definition = std::make_shared<const KernelDefinition>(bundle->definition());
    auto matrix = [](std::uintptr_t at, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
      const std::int64_t shape[] = {rows, columns}, strides[] = {stride, 1};
      return TensorView::Strided(reinterpret_cast<void*>(at), DType::kFloat16, shape, strides, 2);  // Never followed.
    };
    // Arguments point to views.
    const TensorView a = matrix(address, m, k, k), b = matrix(1u << 30, k, n, row_of_b), c = matrix(2u << 30, m, n, n);
    const std::vector<Argument> arguments = {a, b, c};
    BoundCall call;
    EXPECT_OK(CallBinder(*definition).Bind(arguments.data(), arguments.size(), &call));
    Target target;
    target.capability_major = 9;
    call.problem.target = &target;
    Result<std::optional<Config>> baseline = definition->space().BaselineFor(call.problem);
    Result<PlannedConfig> planned = PlanConfig(definition, **baseline, call, /*enable_tile=*/true, left_out);
    EXPECT_OK(planned);
    std::vector<std::string> names;
    for (const Candidate& candidate : planned->alternatives) names.push_back(candidate.variant->name);
    return names;
  }
};

const std::string kByN = "tile_unaligned_N", kByK = "tile_unaligned_K", kByBoth = "tile_unaligned_N_K";

TEST_F(VariantSelectionTest, MatmulHasAFastVariantForAlignedShapesAndOneForAnyBehindIt) {
  using Names = std::vector<std::string>;
  const Names all = {"tile", "tile_any", kByN, kByK, kByBoth, "tile_cpp", "cuda_behind_tile"};
  EXPECT_EQ(VariantsFor(4096, 4096, 4096, 4096), all);
  EXPECT_EQ(VariantsFor(1, 4096, 4096, 4096), all) << "M has buckets: nothing is assumed";
  EXPECT_EQ(VariantsFor(4096, 4008, 4096, 4008), (Names{"tile_any", kByN, kByK, kByBoth, "cuda_behind_tile"}));
  EXPECT_EQ(VariantsFor(4096, 4001, 4096, 4001), (Names{kByN, kByBoth, "cuda_behind_tile"})) << "rows of b and c";
  EXPECT_EQ(VariantsFor(4096, 4096, 4001, 4096), (Names{kByK, kByBoth, "cuda_behind_tile"})) << "rows of a";
  EXPECT_EQ(VariantsFor(4096, 4001, 4001, 4001), (Names{kByBoth, "cuda_behind_tile"}));
  EXPECT_EQ(VariantsFor(4096, 4096, 4096, 4096, 4098), (Names{kByK, kByBoth, "cuda_behind_tile"}))
      << "a's address is one that 16 does not divide";
  EXPECT_EQ(VariantsFor(4096, 4096, 4096, 4104), (Names{"tile", "tile_any", kByN, kByK, kByBoth})) << "b has gaps";
  EXPECT_EQ(VariantsFor(4096, 4096, 4096, 4099), (Names{kByN, kByBoth})) << "b has gaps of any size";
  EXPECT_EQ(VariantsFor(4096, 4096, 4096, 4096, 4096, VariantSet().With(0).With(1)),
            (Names{kByN, kByK, kByBoth, "tile_cpp", "cuda_behind_tile"}))
      << "at a bucket's bound, for a launch of 4001";
}

TEST(CodeAssumptionPlanTest, AVariantWhoseCodeAssumesMoreThanItDeclaresIsPassedOver) {
  auto ptx = [](const std::string& alignment) {
    return Variant([alignment](const Config&) {
      return KernelSource::Ptx(".visible .entry k(.param .u64 .ptr .global .align " + alignment + " x) { ret; }", "k");
    });
  };
  KernelDefinition definition("k");
  definition.Parameters({InOut("x", DType::kFloat32, {"N"})}).Grid(Grid::Fixed("N"));
  definition.AddVariant(ptx("16").Named("of_vectors").ForTarget(OnGpu()))
      .AddVariant(ptx("4").Named("any").ForTarget(OnGpu()));
  ASSERT_OK(definition.Validate());
  const TensorView x = TensorView::Contiguous(reinterpret_cast<void*>(4096), DType::kFloat32, {64});
  const std::vector<Argument> arguments = {x};
  BoundCall call;
  ASSERT_OK(CallBinder(definition).Bind(arguments.data(), arguments.size(), &call));
  Target target;
  target.capability_major = 9;
  call.problem.target = &target;
  Result<PlannedConfig> planned =
      PlanConfig(std::make_shared<const KernelDefinition>(definition), Config(), call, /*enable_tile=*/true);
  ASSERT_OK(planned);
  ASSERT_EQ(planned->alternatives.size(), 1u);
  EXPECT_EQ(planned->alternatives[0].variant->name, "any");
  ASSERT_EQ(planned->passed_over.size(), 1u);
  EXPECT_EQ(planned->passed_over[0].variant, "of_vectors");
  EXPECT_NE(planned->passed_over[0].reason.find("add Aligned(\"x\", 16) to Assuming"), std::string::npos)
      << planned->passed_over[0].reason;
}

TEST(VariantsNamedTest, AWholeNameIsPreferredToTheBeginningOfNames) {
  std::vector<Variant> variants;
  for (const char* name : {"tile", "tile_any", "tile_cpp_D64", "tile_cpp_D128", "tiles"}) {
    variants.push_back(TileCpp("", "k").Named(name));
  }
  std::vector<const Variant*> all;
  for (const Variant& variant : variants) all.push_back(&variant);
  const struct {
    const char* name;
    std::vector<std::string> found;
  } kCases[] = {{"tile", {"tile"}},
                {"tile_cpp", {"tile_cpp_D64", "tile_cpp_D128"}},
                {"tile_cpp_D64", {"tile_cpp_D64"}},
                {"tile_cpp_D", {}},
                {"", {}}};
  for (const auto& each : kCases) {
    std::vector<std::string> found;
    for (const Variant* variant : VariantsNamed(each.name, all)) found.push_back(variant->name);
    EXPECT_EQ(found, each.found) << each.name;
  }
}

}  // namespace
}  // namespace tuneonce
