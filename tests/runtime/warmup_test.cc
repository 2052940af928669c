// TunedKernel::Warmup: the data it tunes on, by shape and on a caller's tensors.
#include <mutex>

#include "cuda/graph.h"
#include "definition/fill_bytes.h"
#include "runtime/tuned_kernel_on.h"
#include "runtime/warmup_inputs.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/fault_injection.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;

class WarmupTest : public testing::CpuDeviceTest {
 protected:
  struct Listener : AutotuneObserver {
    void OnTuned(const std::string&, const std::string&, const TuningRecord& result) override {
      chosen = result.best.config.ToString();
    }
    std::string chosen;
  };

  WarmupTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.observer = observer_;
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// A kernel of x (float32) and y that is fast with FAST_ON_ONES=1 where `is_ones`, an expression of x and n, holds,
  /// else with FAST_ON_ONES=0.
  KernelDefinition Definition(const std::string& is_ones, const Parameter& x) {
    SearchSpace space;
    IntAxis fast = space.AddAxis("FAST_ON_ONES", {0, 1});
    std::string type = x.dtype == DType::kInt32 ? "int" : "float";
    bool is_in_out = x.access == Access::kInOut;
    std::string source =
        "static void by_data(const tuneonce_block&, " + type + "* x, float* y, float, int n) {\n" +
        "  bool is_ones = " + is_ones + ";\n  int work = is_ones == (FAST_ON_ONES == 1) ? 1 : 200;\n" +
        "  for (int w = 0; w < work; ++w) for (int i = 0; i < n; ++i) static_cast<volatile float*>(y)[i] = 1;\n" +
        (is_in_out ? "  for (int i = 0; i < n; ++i) x[i] = -1;\n" : "") + "}\nTUNEONCE_CPU_KERNEL(by_data);";
    KernelDefinition definition("by_data");
    definition.DimsInOrder({"N"})
        .Parameters({x, Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
        .Space(space)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(source, "by_data").Define("FAST_ON_ONES", c[fast]);
                    }).Grid(Grid::Fixed(1)));
    return definition;
  }

  AutotunePolicy policy_;
  std::shared_ptr<Listener> observer_ = std::make_shared<Listener>();
};

TEST_F(WarmupTest, OnACallersTensorsItTunesOnTheirDataAndLaunchesNothing) {
  for (float value : {1.0f, 5.0f}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Definition("x[0] == 1", In("x", kFloat32, {"N"})));
    DeviceBuffer x = Floats(std::vector<float>(4000, value));
    DeviceBuffer y = Floats(std::vector<float>(4000, 7));
    ASSERT_OK(kernel.Warmup(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(observer_->chosen, value == 1 ? "FAST_ON_ONES=1" : "FAST_ON_ONES=0");
    EXPECT_EQ(Read(y), std::vector<float>(4000, 7));
    EXPECT_EQ((*policy_.store->List())[0].inputs, TunedInputs::kCaller);
    ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(kernel.counters().hits, 1);
    EXPECT_EQ(Read(y), std::vector<float>(4000, 1));
    ASSERT_OK(kernel.Warmup(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(kernel.counters().tunes, 1);
    EXPECT_ERROR(kernel.Warmup(stream_->get(), View(x), View(y)), StatusCode::kInvalidArgument,
                 "takes 3 arguments, got 2");
  }
}

TEST_F(WarmupTest, ByShapeItTunesOnWhatIsDeclared) {
  struct Case {
    WarmupFill fill;
    const char* is_ones;
  };
  for (const Case& c :
       {Case{1, "x[0] == 1 && x[n - 1] == 1"}, Case{WarmupFill::Iota(1), "x[0] == 1 && x[n - 1] == n"},
        Case{WarmupFill::Constant("N"), "x[0] == n"},
        Case{WarmupFill::Of([](const Dims&, const TensorView& host) { static_cast<std::int32_t*>(host.data)[1] = 9; }),
             "x[0] == 0 && x[1] == 9"}}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Definition(c.is_ones, In("x", kInt32, {"N"}).ForWarmup(c.fill)));
    ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 4000}}}));
    EXPECT_EQ(observer_->chosen, "FAST_ON_ONES=1") << c.is_ones;
    EXPECT_EQ((*policy_.store->List())[0].inputs, TunedInputs::kFill);
  }
}

TEST_F(WarmupTest, ABucketsFillIsMadeAtItsBoundNotRepeatedAndAnInOutStartsEachTrialFromIt) {
  // Offsets that rise over the whole bound; repeated bytes of the shape at hand would begin again at 3000.
  KernelDefinition definition = Definition("x[0] == 0 && x[2999] == 2999 && x[n - 1] == n - 1",
                                           InOut("x", kInt32, {"N"}).ForWarmup(WarmupFill::Iota()));
  definition.Key(KeyOf("N").NextPow2());
  TunedKernel kernel = Create(definition);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 3000}}}));
  EXPECT_EQ(observer_->chosen, "FAST_ON_ONES=1");
  EXPECT_EQ((*policy_.store->List())[0].tuned_at, "N=4096");
  EXPECT_EQ((*policy_.store->List())[0].inputs, TunedInputs::kFill);
  policy_.tune_at_bucket_bound = false;
  policy_.store = std::make_shared<MemoryStore>();
  TunedKernel at_hand = Create(definition);
  ASSERT_OK(at_hand.Warmup(stream_->get(), {{{"N", 3000}}}));
  EXPECT_EQ(observer_->chosen, "FAST_ON_ONES=1");
  EXPECT_EQ((*policy_.store->List())[0].tuned_at, "N=3000");
}

TEST_F(WarmupTest, ALaunchInAWarmedBucketIsAHitAndTheRecordServesLaunches) {
  KernelDefinition definition = Definition("x[0] == 1", In("x", kFloat32, {"N"}));
  definition.Key(KeyOf("N").NextPow2());
  {
    TunedKernel warmed = Create(definition);
    ASSERT_OK(warmed.Warmup(stream_->get(), {{{"N", 3000}}}));
  }
  TunedKernel kernel = Create(definition);
  DeviceBuffer x = Floats(std::vector<float>(2500, 1));
  DeviceBuffer y = Floats(std::vector<float>(2500, 0));
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
  EXPECT_EQ(kernel.counters().stored_hits, 1);
  EXPECT_EQ(kernel.counters().tunes, 0);
}

TEST_F(WarmupTest, ABucketOfACallersTensorsRepeatsThemAndTheRecordSaysSo) {
  KernelDefinition definition = Definition("x[0] == 1 && x[n - 1] == 1", In("x", kFloat32, {"N"}));
  definition.Key(KeyOf("N").NextPow2());
  TunedKernel kernel = Create(definition);
  DeviceBuffer x = Floats(std::vector<float>(3000, 1));
  DeviceBuffer y = Floats(std::vector<float>(3000, 0));
  ASSERT_OK(kernel.Warmup(stream_->get(), View(x), View(y), 2.0f));
  EXPECT_EQ(observer_->chosen, "FAST_ON_ONES=1");
  EXPECT_EQ((*policy_.store->List())[0].inputs, TunedInputs::kRepeated);
  EXPECT_EQ((*policy_.store->List())[0].tuned_at, "N=4096");
}

TEST_F(WarmupTest, WithoutMemoryForItsBoundAWarmUpIsMadeAtTheShapeAtHand) {
  Result<std::unique_ptr<FaultInjection>> faults = FaultInjection::Create(api());
  ASSERT_OK(faults);
  KernelDefinition definition = Definition("x[0] == 1", In("x", kFloat32, {"N"}));
  definition.Key(KeyOf("N").NextPow2());
  Result<Device> device = Device::Get((*faults)->api(), 0);
  TunedKernel kernel = *TunedKernelOn::Create(*device, definition, policy_);
  ASSERT_OK((*faults)->Plan({"MemAllocAsync", 3, CUDA_ERROR_OUT_OF_MEMORY, 0}));  // The bound's first tensor.
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 3000}}}));
  EXPECT_EQ((*policy_.store->List())[0].tuned_at, "N=3000");
}

TEST_F(WarmupTest, WhatCannotBeWarmedSaysSo) {
  TunedKernel kernel = Create(Definition("x[0] == 1", In("x", kFloat32, {"N"})));
  EXPECT_ERROR(kernel.Warmup(stream_->get(), {{{"N", std::int64_t{1} << 60}}}), StatusCode::kInvalidArgument,
               "parameter 'x' is larger than any device's memory at N=1152921504606846976");
  Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) {
    EXPECT_ERROR(kernel.Warmup(stream, {{{"N", 8}}}), StatusCode::kFailedPrecondition, "warm up before the capture");
    return Status();
  });
  EXPECT_OK(graph);
  KernelDefinition raw("raw");
  raw.Parameters({InOut("x", {})}).AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  EXPECT_ERROR(Create(raw).Warmup(stream_->get(), {TunedKernel::Shape()}), StatusCode::kInvalidArgument,
               "parameter 'x' is raw memory of unknown size: warm up with your own arguments");
}

TEST_F(WarmupTest, InputsAreTheSameInEachProcessAndNotZeros) {
  KernelDefinition definition = Definition("x[0] == 1", In("x", kFloat32, {"N"}));
  ASSERT_OK(definition.Validate());
  // More than is made on the host: the rest repeats it.
  constexpr auto kPeriod = static_cast<std::int64_t>(kMostRepeatedBytes / sizeof(float));
  constexpr std::int64_t kCount = 3 * kPeriod + 1000;
  Dims dims(1);
  dims[Dim{0}] = kCount;
  Result<WarmupInputs> inputs = WarmupInputs::Create(definition, {dims, {}, {}}, stream_->view());
  ASSERT_OK(inputs);
  ASSERT_EQ(inputs->arguments().size(), 3u);
  auto address = reinterpret_cast<CUdeviceptr>(inputs->arguments()[0].tensor().data);
  Result<std::vector<char>> bytes = ReadDeviceMemory(stream_->view(), address, 4 * kCount);
  ASSERT_OK(bytes);
  std::vector<float> x(kCount);
  std::memcpy(x.data(), bytes->data(), bytes->size());
  double sum = 0;
  for (float value : x) {
    ASSERT_TRUE(value >= -1 && value <= 1) << value;
    sum += value;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_FLOAT_EQ(x[0], 0.76662162f);  // Fixed for ever: records of different processes are made on the same data.
  EXPECT_EQ(x[kCount - 1], x[999]);
  EXPECT_NE(x[kPeriod / 2], x[0]);
  float factor = 0;
  std::memcpy(&factor, inputs->arguments()[2].value(), sizeof(factor));
  EXPECT_EQ(factor, 2);
}

}  // namespace
}  // namespace tuneonce
