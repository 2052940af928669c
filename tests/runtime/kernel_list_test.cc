// Runtime::Kernels: who is in the list, and what it says, also while kernels come and go.
#include <atomic>
#include <thread>

#include "testing/runtimes.h"
#include "testing/tuned_scale_test.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

class KernelListTest : public testing::TunedScaleTest {
 protected:
  KernelListTest() { policy_.search.runtime = testing::RuntimeIn({}); }
  std::vector<KernelCounters> Listed() const { return policy_.search.runtime->Kernels(); }
  /// Makes the key N=100 ready.
  static Status Warm(TunedKernel& kernel, CUstream stream) { return kernel.Warmup(stream, {{{"N", 100}}}); }
};

TEST_F(KernelListTest, AKernelIsInItFromItsFirstUseToItsEnd) {
  EXPECT_TRUE(Listed().empty());
  {
    TunedKernel kernel = Create();
    ASSERT_OK(Warm(kernel, stream_->get()));
    TunedKernel moved = std::move(kernel);
    TunedKernel second = Create();
    ASSERT_OK(Warm(second, stream_->get()));
    const std::vector<KernelCounters> listed = Listed();
    ASSERT_EQ(listed.size(), 2u);
    EXPECT_EQ(listed[0].kernel, moved.definition().name());
    EXPECT_EQ(listed[0].counters.tunes, 1);
    EXPECT_EQ(listed[1].counters.stored_hits, 1) << "the second finds what the first stored";
    EXPECT_EQ(listed[0].counters.now.ready_entries, moved.counters().now.ready_entries);
    EXPECT_GT(listed[0].counters.now.ready_entries, 0);
  }
  EXPECT_TRUE(Listed().empty());
}

TEST_F(KernelListTest, ItIsReadWhileKernelsComeAndGo) {
  std::atomic<bool> is_over{false};
  std::atomic<std::size_t> most{0};
  std::thread reader([&] {
    while (!is_over) most = std::max(most.load(), Listed().size());
  });
  for (int i = 0; i < 20; ++i) {
    TunedKernel kernel = Create();
    EXPECT_OK(Warm(kernel, stream_->get()));
  }
  is_over = true;
  reader.join();
  EXPECT_LE(most, 1u);
  EXPECT_TRUE(Listed().empty());
}

}  // namespace
}  // namespace tuneonce
