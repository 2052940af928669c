// Variants that are compiled for some arguments only: searching, launching and remembering with them.
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

class AssumptionTest : public testing::CpuDeviceTest {
 protected:
  struct Listener : AutotuneObserver {
    void OnTuned(const std::string&, const std::string&, const TuningRecord& result) override {
      variant = result.best.variant;
    }
    void OnWarning(const std::string& line) override { warning = line; }
    std::string variant;
    std::string warning;
  };

  AssumptionTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.observer = listener_;
  }
  /// y = 2 x: `fast` for whatever is assumed, `general` behind it if wanted.
  static KernelDefinition Definition(std::vector<Assumption> assumptions, bool with_general) {
    KernelDefinition definition("doubled");
    definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")});
    Variant fast;
    fast.name = "fast";
    fast.source = [](const Config&, const Problem&) {
      return KernelSource::CpuCpp(
          "static void doubled(const tuneonce_block&, const float* x, float* y, int n) {\n"
          "  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];\n}\nTUNEONCE_CPU_KERNEL(doubled);",
          "doubled");
    };
    fast.geometry = Grid::Fixed(1);
    fast.assumptions = std::move(assumptions);
    definition.AddVariant(fast);
    if (with_general) {
      Variant general = fast;
      general.name = "general";
      general.assumptions.clear();
      definition.AddVariant(general);
    }
    return definition;
  }
  TunedKernel Create(std::vector<Assumption> assumptions, bool with_general) {
    Result<TunedKernel> kernel = TunedKernel::Create(Definition(std::move(assumptions), with_general), policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// A view of `n` floats, `offset` floats behind the buffer's begin.
  static TensorView At(const DeviceBuffer& buffer, std::int64_t n, std::int64_t offset = 0) {
    return TensorView::Contiguous(static_cast<float*>(buffer.data()) + offset, DType::kFloat32, {n});
  }

  std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
  AutotunePolicy policy_;
};

TEST_F(AssumptionTest, ExtentsDecideTheVariantAndTheSelectionIsStored) {
  TunedKernel kernel = Create({ExtentDivisibleBy("x", 0, 16)}, /*with_general=*/true);
  DeviceBuffer x = Floats(std::vector<float>(160, 1)), y = Floats(std::vector<float>(160, 0));
  ASSERT_OK(kernel.Launch(stream_->get(), At(x, 160), At(y, 160)));
  EXPECT_EQ(listener_->variant, "fast");
  ASSERT_OK(kernel.Launch(stream_->get(), At(x, 100), At(y, 100)));
  EXPECT_EQ(listener_->variant, "general");
  EXPECT_EQ(policy_.store->List()->size(), 2u);
  EXPECT_EQ(listener_->warning, "");
}

TEST_F(AssumptionTest, LeastExtentsAndScalarsDecideTheVariant) {
  TunedKernel kernel = Create({ExtentAtLeast("x", 0, 101)}, /*with_general=*/true);
  DeviceBuffer x = Floats(std::vector<float>(160, 1)), y = Floats(std::vector<float>(160, 0));
  ASSERT_OK(kernel.Launch(stream_->get(), At(x, 101), At(y, 101)));
  EXPECT_EQ(listener_->variant, "fast");
  ASSERT_OK(kernel.Launch(stream_->get(), At(x, 100), At(y, 100)));
  EXPECT_EQ(listener_->variant, "general");

  Variant positive = Definition({ScalarAtLeast("mode", 1)}, /*with_general=*/false).variants().front();
  positive.KernelArgs({"x", "y", "N"});
  KernelDefinition of_modes("of_modes");
  of_modes.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N"), Scalar<int>("mode")});
  of_modes.Key({KeyOf("N")}).AddVariant(positive);
  Result<TunedKernel> by_mode = TunedKernel::Create(of_modes, policy_);
  ASSERT_OK(by_mode);
  EXPECT_OK(by_mode->Launch(stream_->get(), At(x, 100), At(y, 100), 1));
  EXPECT_ERROR(by_mode->Launch(stream_->get(), At(x, 100), At(y, 100), 0), StatusCode::kInvalidArgument,
               "the scalar 'mode' is 0, less than 1");
}

TEST_F(AssumptionTest, AConstantExtentIsNotChosenButFits) {
  KernelDefinition definition = Definition({ExtentIs("x", 0, 160)}, /*with_general=*/false);
  Variant other = definition.variants().front();
  other.name = "other";
  other.assumptions = {Aligned("x", 4), ExtentIs("x", 0, 96)};
  TunedKernel kernel = *TunedKernel::Create(definition.AddVariant(other), policy_);
  DeviceBuffer x = Floats(std::vector<float>(160, 1)), y = Floats(std::vector<float>(160, 0));
  ASSERT_OK(kernel.Launch(stream_->get(), At(x, 160), At(y, 160)));
  EXPECT_EQ(listener_->variant, "fast");
  ASSERT_OK(kernel.Launch(stream_->get(), At(x, 96), At(y, 96)));
  EXPECT_EQ(listener_->variant, "other");
  EXPECT_ERROR(kernel.Launch(stream_->get(), At(x, 100), At(y, 100)), StatusCode::kInvalidArgument,
               "was compiled for N = 96, 160, not for 100 (dimension 0 of 'x')");
  EXPECT_EQ(kernel.counters().tunes, 2);
}

TEST_F(AssumptionTest, AConstantScalarIsNotChosenButFits) {
  Variant fast = Definition({ScalarIs("mode", 2)}, /*with_general=*/false).variants().front();
  fast.KernelArgs({"x", "y", "N"});
  Variant other = fast;
  other.Named("other").assumptions = {ScalarIs("mode", -1)};
  KernelDefinition of_modes("of_modes");
  of_modes.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N"), Scalar<int>("mode")});
  of_modes.Key({KeyOf("N"), ValueOf("mode")}).AddVariant(fast).AddVariant(other);
  Result<TunedKernel> kernel = TunedKernel::Create(of_modes, policy_);
  ASSERT_OK(kernel);
  DeviceBuffer x = Floats(std::vector<float>(96, 1)), y = Floats(std::vector<float>(96, 0));
  ASSERT_OK(kernel->Launch(stream_->get(), At(x, 96), At(y, 96), -1));
  EXPECT_EQ(listener_->variant, "other");
  ASSERT_OK(kernel->Launch(stream_->get(), At(x, 96), At(y, 96), 2));
  EXPECT_EQ(listener_->variant, "fast");
  EXPECT_ERROR(kernel->Launch(stream_->get(), At(x, 96), At(y, 96), 3), StatusCode::kInvalidArgument,
               "was compiled for mode = -1, 2, not for 3: the value is a constant of the code");
}

TEST_F(AssumptionTest, ASelectionWithoutAVariantThatOtherLaunchesSuitIsStoredForItsOwn) {
  TunedKernel kernel = Create({Aligned("x", 16)}, /*with_general=*/true);
  DeviceBuffer x = Floats(std::vector<float>(100, 1)), y = Floats(std::vector<float>(100, 0));
  ASSERT_OK(kernel.Launch(stream_->get(), At(x, 96, 1), At(y, 96)));
  EXPECT_EQ(listener_->variant, "general");
  ASSERT_OK(kernel.Launch(stream_->get(), At(x, 96), At(y, 96)));
  EXPECT_EQ(listener_->variant, "fast");
  EXPECT_EQ(listener_->warning, "");
  EXPECT_EQ(policy_.store->List()->size(), 2u);
}

TEST_F(AssumptionTest, ALaunchThatSuitsNoVariantSaysWhyAndLeavesTheKeyAlone) {
  TunedKernel kernel = Create({Aligned("x", 16), StrideIs("x", 0, 1), NoOverlap("x", "y")}, /*with_general=*/false);
  DeviceBuffer x = Floats(std::vector<float>(200, 1)), y = Floats(std::vector<float>(100, 0));
  auto expect_refusals = [&] {
    EXPECT_ERROR(kernel.Launch(stream_->get(), At(x, 96, 1), At(y, 96)), StatusCode::kInvalidArgument,
                 "variant 'fast' was compiled for other arguments: 'x' is not aligned to 16 bytes");
    std::int64_t n = 96, two = 2;
    EXPECT_ERROR(kernel.Launch(stream_->get(), TensorView::Strided(x.data(), DType::kFloat32, &n, &two, 1), At(y, 96)),
                 StatusCode::kInvalidArgument, "dimension 0 of 'x' has stride 2, not 1");
    EXPECT_ERROR(kernel.Launch(stream_->get(), At(x, 96), At(x, 96, 8)), StatusCode::kInvalidArgument,
                 "'x' and 'y' overlap in memory");
  };
  expect_refusals();
  EXPECT_EQ(kernel.counters().tunes, 0) << "nothing was tuned, and the key is not spoilt";
  ASSERT_OK(kernel.Launch(stream_->get(), At(x, 96), At(y, 96)));
  EXPECT_EQ(kernel.counters().tunes, 1);
  expect_refusals();  // On hits, too.
  ASSERT_OK(kernel.Launch(stream_->get(), At(x, 96), At(y, 96)));
  EXPECT_EQ(Read(y)[95], 2);
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(AssumptionTest, WhatTheSelectionIsNotForIsTunedWithoutItsVariant) {
  // `wide` is faster and assumes alignment; the baseline assumes nothing.
  SearchSpace space;
  auto backend = space.AddStringAxis("backend", {"plain", "wide"});
  space.SetBaseline({{backend, std::string("plain")}});
  KernelDefinition definition("scaled");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"), DimValue("N")})
      .Space(space);
  for (const char* name : {"plain", "wide"}) {
    Variant variant;
    variant.name = name;
    bool is_wide = variant.name == "wide";
    variant.source = [=](const Config&, const Problem&) {
      return KernelSource::CpuCpp(testing::kScaleSource, "scale")
          .Define("TILE", 4096)
          .Define("WORK", is_wide ? 1 : 200);
    };
    variant.geometry = Grid::Fixed(1);
    if (is_wide) variant.assumptions = {Aligned("x", 16)};
    definition.AddVariant(variant);
  }
  Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
  ASSERT_OK(kernel);
  DeviceBuffer x = Floats(std::vector<float>(1001, 3)), y = Floats(std::vector<float>(1000, 0));
  ASSERT_OK(kernel->Launch(stream_->get(), At(x, 1000), At(y, 1000), 2.0f));
  EXPECT_EQ(listener_->variant, "wide");
  ASSERT_OK(kernel->Launch(stream_->get(), At(x, 1000, 1), At(y, 1000), 4.0f));
  EXPECT_EQ(listener_->variant, "plain");
  EXPECT_EQ(kernel->counters().tunes, 2);
  EXPECT_EQ(kernel->counters().fallbacks, 0);
  EXPECT_EQ(Read(y), std::vector<float>(1000, 12));
}

TEST_F(AssumptionTest, AStrideThatNoIndexUsesNeedNotFitTheKernelsInt32) {
  KernelDefinition definition("first_row");
  Variant variant;
  variant.name = "spread";
  variant.source = [](const Config&, const Problem&) {
    return KernelSource::CpuCpp(
        "static void first_row(const tuneonce_block&, const float* x, int rows, int, int stride, int, float* y, int, "
        "int,"
        " int n) {\n"
        "  for (int row = 0; row < rows; ++row)\n"
        "    for (int i = 0; i < n; ++i) y[i] = x[row * stride + i];\n}\n"
        "TUNEONCE_CPU_KERNEL(first_row);",
        "first_row");
  };
  variant.geometry = Grid::Fixed(1);
  variant.convention = CallingConvention::kCutilePython;
  definition.Parameters({In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"N"}), DimValue("N")}).AddVariant(variant);
  Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
  ASSERT_OK(kernel);
  DeviceBuffer x = Floats(std::vector<float>(8, 3)), y = Floats(std::vector<float>(8, 0));
  TensorView row = TensorView::Contiguous(x.data(), DType::kFloat32, {1, 8});
  for (std::int64_t stride :
       {std::int64_t{8}, std::int64_t{1} << 31, std::int64_t{1} << 40, -(std::int64_t{1} << 40)}) {
    row.strides[0] = stride;
    ASSERT_OK(y.Fill(0));
    ASSERT_OK(kernel->Launch(stream_->get(), row, At(y, 8)));
    EXPECT_EQ(Read(y), std::vector<float>(8, 3)) << stride;
  }
  EXPECT_EQ(kernel->counters().tunes, 1);
  row.strides[0] = std::int64_t{1} << 40;
  Result<TunedKernel> anew = TunedKernel::Create(definition, policy_);
  ASSERT_OK(anew);
  EXPECT_OK(anew->Launch(stream_->get(), row, At(y, 8)));  // Also the call that is tuned on.
}

}  // namespace
}  // namespace tuneonce
