// A TunedKernel takes its device from the context that is current when it is first used.
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;

class FirstUseTest : public testing::CpuDeviceTest {
 protected:
  FirstUseTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.quiet = true;
  }

  TunedKernel Create() {
    Result<TunedKernel> kernel = TunedKernel::Create(scale_.Definition(), policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  Status Launch(TunedKernel& kernel) {
    DeviceBuffer x = Floats(std::vector<float>(100, 3));
    DeviceBuffer y = Floats(std::vector<float>(100, 0));
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(100, 6));
    return Status();
  }

  testing::ScaleKernel scale_;
  AutotunePolicy policy_;
};

TEST_F(FirstUseTest, TheCurrentContextSaysWhichDeviceItIs) {
  Result<Device> device = Device::OfCurrentContext();
  ASSERT_OK(device);
  EXPECT_EQ(&device->api(), &api());
  EXPECT_EQ(device->index(), device_->index());
}

TEST_F(FirstUseTest, AKernelIsMadeAndFrozenBeforeThereIsAContext) {
  DeviceBuffer x = Floats(std::vector<float>(100, 3));
  TensorView view = View(x);
  current_.reset();
  TunedKernel kernel = Create();
  EXPECT_EQ(kernel.definition().name(), "scale");
  EXPECT_EQ(kernel.counters().hits, 0);
  EXPECT_TRUE(kernel.frozen_misses().empty());
  for (const Status& status :
       {kernel.Launch(stream_->get(), view, view, 2.0f), kernel.Warmup(stream_->get(), {{{"N", 100}}}),
        kernel.Warmup(stream_->get(), view, view, 2.0f), kernel.IsReady({view, view, 2.0f}).status()}) {
    EXPECT_ERROR(status, StatusCode::kFailedPrecondition, "no current CUDA context");
  }
  kernel.Freeze();
  current_.emplace(context_->view());
  ASSERT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().tunes, 0) << "it was frozen before";
  EXPECT_EQ(kernel.frozen_misses().size(), 1u);
}

TEST_F(FirstUseTest, AThreadWithoutAContextDoesNotDecideTheDriver) {
  TunedKernel kernel = Create();
  DeviceBuffer x = Floats(std::vector<float>(100, 3));
  TensorView view = View(x);
  std::thread([&] { EXPECT_FALSE(kernel.Launch(stream_->get(), view, view, 2.0f).ok()); }).join();
  ASSERT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(FirstUseTest, ADeviceWithoutAVariantIsAnErrorOfEachUse) {
  KernelDefinition gpu_only("k");
  gpu_only.Parameters({Out("y", {"N"})}).Grid(Grid::Fixed(1)).AddVariant(CudaCpp("", "k"));
  Result<TunedKernel> kernel = TunedKernel::Create(gpu_only, policy_);
  ASSERT_OK(kernel);
  DeviceBuffer y = Floats({1});
  for (int i = 0; i < 2; ++i) {
    EXPECT_ERROR(kernel->Launch(stream_->get(), View(y)), StatusCode::kUnimplemented,
                 "no variant for cpu; it has: cuda");
    EXPECT_ERROR(kernel->Warmup(stream_->get(), {{{"N", 1}}}), StatusCode::kUnimplemented, "no variant for cpu");
  }
}

TEST_F(FirstUseTest, FirstLaunchesOfManyThreadsMakeOneKernel) {
  TunedKernel kernel = Create();
  constexpr int kThreads = 8;
  std::atomic<int> failed{0};
  DeviceBuffer x = Floats(std::vector<float>(100, 3));
  DeviceBuffer y = Floats(std::vector<float>(100, 0));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      ScopedContext current(context_->view());
      if (!kernel.Launch(stream_->get(), View(x), View(y), 2.0f).ok()) ++failed;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(FirstUseTest, AKernelMovesBeforeAndAfterIt) {
  TunedKernel first = Create();
  TunedKernel second = std::move(first);
  ASSERT_OK(Launch(second));
  TunedKernel third = Create();
  third = std::move(second);
  ASSERT_OK(Launch(third));
  EXPECT_EQ(third.counters().tunes, 1);
  EXPECT_EQ(third.counters().hits, 1);
}

}  // namespace
}  // namespace tuneonce
