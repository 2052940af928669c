// A launch with nothing to do: it succeeds, and nothing else happens.
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

class ZeroExtentTest : public testing::CpuDeviceTest {
 protected:
  ZeroExtentTest() { policy_.store = std::make_shared<MemoryStore>(); }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  static TensorView Floats(void* data, std::int64_t n) { return TensorView::Contiguous(data, DType::kFloat32, {n}); }
  Status LaunchNothing(TunedKernel& kernel) {
    return kernel.Launch(stream_->get(), Floats(nullptr, 0), Floats(nullptr, 0), 2.0f);
  }
  static void ExpectNothingHappened(const TunedKernel& kernel) {
    Counters counters = kernel.counters();
    EXPECT_EQ(counters.tunes + counters.hits + counters.fallbacks + counters.stored_hits + counters.frozen_misses +
                  counters.capture_misses + counters.failed_tunes + counters.loaded_kernels,
              0);
    EXPECT_TRUE(kernel.frozen_misses().empty());
  }

  AutotunePolicy policy_;
};

TEST_F(ZeroExtentTest, ALaunchOfNothingSucceedsAndLaunchesNothing) {
  testing::ScaleKernel scale;
  KernelDefinition bucketed = scale.Definition();
  bucketed.Key(KeyOf("N").NextPow2());
  for (const KernelDefinition& definition : {scale.Definition(), bucketed}) {
    TunedKernel kernel = Create(definition);
    EXPECT_OK(LaunchNothing(kernel));
    DeviceBuffer x = CpuDeviceTest::Floats({1, 2});
    EXPECT_OK(kernel.Launch(stream_->get(), Floats(x.data(), 0), Floats(x.data(), 0), 2.0f));
    bool missed = true;
    const float factor = 2;
    const TensorView none = Floats(nullptr, 0);
    const Argument arguments[] = {none, none, factor};
    EXPECT_OK(kernel.Launch(stream_->get(), ArgumentSpan(arguments, 3), &missed));
    EXPECT_FALSE(missed);
    Result<bool> tuned = kernel.IsReady({none, none, factor});
    EXPECT_TRUE(tuned.ok() && *tuned) << "the next launch will not tune";
    ExpectNothingHappened(kernel);
    EXPECT_EQ(policy_.store->List()->size(), 0u);
  }
}

TEST_F(ZeroExtentTest, FrozenCapturingAndDisabledItIsTheSame) {
  testing::ScaleKernel scale;
  TunedKernel frozen = Create(scale.Definition());
  frozen.Freeze();
  EXPECT_OK(LaunchNothing(frozen));
  ExpectNothingHappened(frozen);

  TunedKernel captured = Create(scale.Definition());
  RelaxedDriver driver(api());
  ASSERT_EQ(driver->StreamBeginCapture(stream_->get(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_OK(LaunchNothing(captured));
  CUgraph graph = nullptr;
  ASSERT_EQ(driver->StreamEndCapture(stream_->get(), &graph), CUDA_SUCCESS);
  driver->GraphDestroy(graph);
  ExpectNothingHappened(captured);

  policy_.mode = AutotunePolicy::Mode::kFallbackOnly;
  TunedKernel disabled = Create(scale.Definition());
  EXPECT_OK(LaunchNothing(disabled));
  ExpectNothingHappened(disabled);
}

TEST_F(ZeroExtentTest, AllElseIsCheckedStill) {
  TunedKernel kernel = Create(testing::ScaleKernel().Definition());
  DeviceBuffer x = CpuDeviceTest::Floats({1, 2});
  TensorView none = Floats(nullptr, 0), some = Floats(x.data(), 2);
  TensorView halves = TensorView::Contiguous(nullptr, DType::kFloat16, {0});
  TensorView negative = some;
  negative.shape[0] = -1;
  CUstream stream = stream_->get();
  EXPECT_ERROR(kernel.Launch(stream, none, none, 2), StatusCode::kInvalidArgument, "expected a float32 scalar");
  EXPECT_ERROR(kernel.Launch(stream, none, none), StatusCode::kInvalidArgument, "takes 3 arguments, got 2");
  EXPECT_ERROR(kernel.Launch(stream, halves, none, 2.0f), StatusCode::kInvalidArgument, "expected a float32 tensor");
  EXPECT_ERROR(kernel.Launch(stream, none, some, 2.0f), StatusCode::kInvalidArgument, "extent 2 disagrees with N=0");
  EXPECT_ERROR(kernel.Launch(stream, negative, negative, 2.0f), StatusCode::kInvalidArgument, "extent -1");
  TensorView null = some;
  null.data = nullptr;
  EXPECT_ERROR(kernel.Launch(stream, null, some, 2.0f), StatusCode::kInvalidArgument,
               "'x': the tensor is a null pointer");
  ExpectNothingHappened(kernel);
}

TEST_F(ZeroExtentTest, AWarmUpOfNothingIsDoneAtOnce) {
  TunedKernel kernel = Create(testing::ScaleKernel().Definition());
  std::vector<bool> outcomes;
  auto on_done = [&](std::size_t, const Status& outcome) { outcomes.push_back(outcome.ok()); };
  EXPECT_OK(kernel.Warmup(stream_->get(), {{{"N", 0}}}, on_done));
  EXPECT_ERROR(kernel.Warmup(stream_->get(), {{{"N", -1}}}, on_done), StatusCode::kInvalidArgument,
               "kernel 'scale', warm-up: invalid shape: dim N is -1");
  EXPECT_EQ(outcomes, (std::vector<bool>{true, false}));
  ExpectNothingHappened(kernel);
}

TEST_F(ZeroExtentTest, AnOutputWithElementsIsNotLeftUnwritten) {
  KernelDefinition sums("sums");
  sums.Parameters({In("x", kFloat32, {"M", "K"}), Out("y", kFloat32, {"M"})})
      .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  TunedKernel kernel = Create(sums);
  DeviceBuffer y = CpuDeviceTest::Floats({1, 2});
  EXPECT_ERROR(
      kernel.Launch(stream_->get(), TensorView::Contiguous(nullptr, DType::kFloat32, {2, 0}), testing::View(y)),
      StatusCode::kInvalidArgument, "dimension 1 ('K'): extent 0");
  EXPECT_ERROR(kernel.Warmup(stream_->get(), {{{"M", 2}, {"K", 0}}}), StatusCode::kInvalidArgument, "dim K is 0");
  EXPECT_OK(
      kernel.Launch(stream_->get(), TensorView::Contiguous(nullptr, DType::kFloat32, {0, 0}), Floats(nullptr, 0)));
}

}  // namespace
}  // namespace tuneonce
