#ifndef TUNEONCE_TESTS_TESTING_TUNED_SCALE_TEST_H_
#define TUNEONCE_TESTS_TESTING_TUNED_SCALE_TEST_H_

#include <memory>
#include <utility>
#include <vector>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce::testing {

/// ScaleKernel as TunedKernels that remember in memory and are tuned in one round.
class TunedScaleTest : public CpuDeviceTest {
 protected:
  TunedScaleTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.max_rounds = 1;
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  TunedKernel Create() { return Create(scale_.Definition()); }
  void Launch(TunedKernel& kernel, std::size_t n) {
    DeviceBuffer x = Floats(std::vector<float>(n, 3));
    DeviceBuffer y = Floats(std::vector<float>(n, 0));
    ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(n, 6));
  }

  ScaleKernel scale_;
  AutotunePolicy policy_;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_TUNED_SCALE_TEST_H_
