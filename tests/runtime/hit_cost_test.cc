// What a hit must not do, counted: no allocation. The driver's launch itself is replaced by nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "testing/cpu_device_test.h"
#include "tuneonce/runtime/tuned_kernel.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0};

}  // namespace

void* operator new(std::size_t size) {
  if (counting.load(std::memory_order_relaxed)) ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tuneonce {
namespace {

using testing::View;

class HitCostTest : public testing::CpuDeviceTest {};

TEST_F(HitCostTest, AHitAllocatesNothing) {
  DriverTable table = UnguardedTable(api());
  static PFN_cuLaunchKernelEx_v11060 launch = table.LaunchKernelEx;
  static std::atomic<bool> pass{true};
  table.LaunchKernelEx = [](const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    return pass.load() ? launch(config, function, parameters, extra) : CUDA_SUCCESS;
  };
  DriverApi counted(table, "counted", true);
  Result<Device> device = Device::Get(counted, 0);
  testing::ScaleKernel scale;
  scale.space.AddGuard("any", [](const Config&, const Dims& dims) { return dims[Dim{0}] > 0; });
  KernelDefinition definition = scale.Definition();
  definition.Key(KeyOf("N").NextPow2(), DTypeOf("x"));
  Result<TunedKernel> kernel = TunedKernel::Create(definition, *device);
  ASSERT_OK(kernel);
  DeviceBuffer x = Floats(std::vector<float>(100, 1));
  DeviceBuffer y = Floats(std::vector<float>(100, 1));
  TensorView x_view = View(x);
  TensorView y_view = View(y);
  float factor = 2;
  ASSERT_OK(kernel->Launch(stream_->get(), x_view, y_view, factor));
  ASSERT_OK(stream_->view().Synchronize());
  pass = false;
  counting = true;
  bool ok = true;
  for (int i = 0; i < 1000; ++i) ok &= kernel->Launch(stream_->get(), x_view, y_view, factor).ok();
  counting = false;
  EXPECT_TRUE(ok);
  EXPECT_EQ(allocations.load(), 0);
  pass = true;
}

}  // namespace
}  // namespace tuneonce
