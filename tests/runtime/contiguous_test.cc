// A kernel that takes a bare pointer computes on contiguous memory; what it is not given such is refused.
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

class ContiguousTest : public testing::CpuDeviceTest {
 protected:
  ContiguousTest() { policy_.store = std::make_shared<MemoryStore>(); }
  static TensorView Matrix(void* data, DType dtype, std::int64_t m, std::int64_t n, std::int64_t row,
                           std::int64_t column) {
    const std::int64_t shape[] = {m, n}, strides[] = {row, column};
    return TensorView::Strided(data, dtype, shape, strides, 2);
  }

  AutotunePolicy policy_;
};

TEST_F(ContiguousTest, TheShippedRmsNormRefusesAViewWithGapsAndATransposedOne) {
  Result<TunedKernel> kernel = TunedKernel::FromBundle(std::string(TUNEONCE_BUNDLE_FOLDER) + "/rms_norm", policy_);
  ASSERT_OK(kernel);
  DeviceBuffer x = Floats(std::vector<float>(16 * 1024, 1)), w = Floats(std::vector<float>(512, 1));
  DeviceBuffer y = Floats(std::vector<float>(16 * 1024 / 2, 0));
  TensorView gaps = Matrix(x.data(), DType::kFloat16, 16, 1024, 2048, 1);
  TensorView transposed = Matrix(x.data(), DType::kFloat16, 16, 1024, 1, 16);
  TensorView good = Matrix(x.data(), DType::kFloat16, 16, 1024, 1024, 1);
  TensorView weights = TensorView::Contiguous(w.data(), DType::kFloat16, {1024});
  TensorView out = Matrix(y.data(), DType::kFloat16, 16, 1024, 1024, 1);
  auto launch = [&](const TensorView& input, const TensorView& output) {
    return kernel->Launch(stream_->get(), input, weights, output, 1e-5f);
  };
  auto expect_refusals = [&] {
    EXPECT_ERROR(
        launch(gaps, out), StatusCode::kInvalidArgument,
        "kernel 'rms_norm', variant 'cpu' was compiled for other arguments: dimension 0 of 'x' has stride 2048, "
        "not 1024");
    EXPECT_ERROR(launch(transposed, out), StatusCode::kInvalidArgument, "dimension 1 of 'x' has stride 16, not 1");
    TensorView gaps_out = Matrix(x.data(), DType::kFloat16, 16, 1024, 2048, 1);
    EXPECT_ERROR(launch(good, gaps_out), StatusCode::kInvalidArgument, "dimension 0 of 'y' has stride 2048, not 1024");
  };
  expect_refusals();
  EXPECT_EQ(kernel->counters().tunes, 0) << "nothing was tuned for it, and the key is not spoilt";
  ASSERT_OK(launch(good, out));
  expect_refusals();  // On hits, too.
  kernel->Freeze();
  expect_refusals();
  EXPECT_EQ(kernel->counters().tunes, 1);
  ASSERT_OK(launch(good, out));
}

TEST_F(ContiguousTest, ItIsCheckedWhateverTheKeyAndTheModeAre) {
  testing::ScaleKernel scale;
  KernelDefinition bucketed = scale.Definition();
  bucketed.Key(KeyOf("N").NextPow2(), DTypeOf("x"));
  testing::ScaleKernel guarded;
  guarded.space.Where("any", [](const Config&, const Dims& dims) { return dims[Dim{0}] > 0; });
  DeviceBuffer x = Floats(std::vector<float>(200, 1)), y = Floats(std::vector<float>(100, 0));
  const std::int64_t n = 100, two = 2, one = 1, many = 77;
  TensorView gaps = TensorView::Strided(x.data(), DType::kFloat32, &n, &two, 1);
  TensorView good = TensorView::Strided(x.data(), DType::kFloat32, &n, &one, 1);
  TensorView single = TensorView::Strided(x.data(), DType::kFloat32, &one, &many, 1);
  TensorView single_out = TensorView::Strided(y.data(), DType::kFloat32, &one, &many, 1);
  for (bool disabled : {false, true}) {
    policy_.mode = disabled ? AutotunePolicy::Mode::kFallbackOnly : AutotunePolicy::Mode::kTuneOnMiss;
    for (const KernelDefinition& definition : {scale.Definition(), bucketed, guarded.Definition()}) {
      Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
      ASSERT_OK(kernel);
      for (int i = 0; i < 2; ++i) {
        EXPECT_ERROR(kernel->Launch(stream_->get(), gaps, testing::View(y), 2.0f), StatusCode::kInvalidArgument,
                     "dimension 0 of 'x' has stride 2, not 1");
        ASSERT_OK(kernel->Launch(stream_->get(), good, testing::View(y), 2.0f));
        ASSERT_OK(kernel->Launch(stream_->get(), single, single_out, 2.0f));  // One element has no step.
      }
      EXPECT_EQ(Read(y), std::vector<float>(100, 2));
    }
  }
}

TEST_F(ContiguousTest, ASearchOnItsOwnRefusesItToo) {
  DeviceBuffer x = Floats(std::vector<float>(200, 1)), y = Floats(std::vector<float>(100, 0));
  const std::int64_t n = 100, two = 2;
  const float factor = 2;
  TensorView gaps = TensorView::Strided(x.data(), DType::kFloat32, &n, &two, 1);
  TensorView out = testing::View(y);
  Result<TuningRecord> result =
      exhaustive_search(testing::ScaleKernel().Definition(), stream_->get(), {gaps, out, factor}, SearchOptions());
  EXPECT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("dimension 0 of 'x' has stride 2"), std::string::npos)
      << result.status().ToString();
}

TEST_F(ContiguousTest, RawMemoryIsAsTheCallerHasIt) {
  KernelDefinition raw("raw");
  auto source = [](const Config&, const Problem&) {
    return KernelSource::CpuCpp(
        "static void raw(const tuneonce_block&, const float* x, float* y, int n) {\n"
        "  for (int i = 0; i < n; ++i) y[i] = x[2 * i];\n}\nTUNEONCE_CPU_KERNEL(raw);",
        "raw");
  };
  raw.Parameters({In("x", {}), Out("y", kFloat32, {"N"}), DimValue("N")})
      .AddVariant(Variant(source).Grid(Grid::Fixed(1)));
  Result<TunedKernel> kernel = TunedKernel::Create(raw, policy_);
  ASSERT_OK(kernel);
  DeviceBuffer x = Floats({1, 0, 2, 0, 3, 0}), y = Floats({0, 0, 0});
  const std::int64_t n = 3, two = 2;
  TensorView gaps = TensorView::Strided(x.data(), DType::kFloat32, &n, &two, 1);
  ASSERT_OK(kernel->Launch(stream_->get(), gaps, testing::View(y)));
  EXPECT_EQ(Read(y), (std::vector<float>{1, 2, 3}));
}

}  // namespace
}  // namespace tuneonce
