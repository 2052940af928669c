// What a thread remembers of its last launches of a key that rounds dims: grids, guards and assumptions at other dims,
// other addresses, other configs, and in other threads.
#include "runtime/launch_memo.h"

#include <atomic>
#include <thread>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/work_timer.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;

/// y[i] = 1000 * WORK + the launch's blocks + MORE, whichever block comes to it.
constexpr char kCount[] = R"(
extern "C" __attribute__((weak)) long tuneonce_test_work;
static void count(const tuneonce_block& block, const float* x, float* y, int length, int n) {
  for (int i = block.x; i < n; i += block.grid_x) y[i] = x[i] + 1000 * WORK + block.grid_x + MORE;
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, WORK, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(count);
)";
constexpr float kGeneral = 100000;  // MORE of the variant without assumptions.

class LaunchMemoTest : public testing::CpuDeviceTest {
 protected:
  LaunchMemoTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.timer = &timer_;
    policy_.search.verify = Verify::kOff;  // Configs say which they are.
    space_.SetBaseline({{work_, 2}});
  }
  /// Its key rounds N to the next power of two; the faster config is the one with WORK=1.
  KernelDefinition Definition(Grid grid, const std::vector<Variant>& variants) {
    KernelDefinition definition("count");
    definition
        .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<std::int32_t>("length").ForWarmup(64),
                     DimValue("N")})
        .Key(KeyOf("N").NextPow2())
        .Space(space_)
        .Grid(std::move(grid));
    for (const Variant& variant : variants) definition.AddVariant(variant);
    return definition;
  }
  KernelDefinition Definition(Grid grid = Grid::OneD({"N", 16})) {
    return Definition(std::move(grid), {Counting("count", 0)});
  }
  /// Of a variant that assumes this, and one that assumes nothing.
  KernelDefinition Assuming(const Assumption& assumption) {
    return Definition(Grid::OneD({"N", 16}),
                      {Counting("assuming", 0).Assuming({assumption}), Counting("general", kGeneral)});
  }
  Variant Counting(const std::string& name, float more) const {
    Variant variant([=, work = work_](const Config& c, const Problem&) {
      return KernelSource::CpuCpp(kCount, "count").Define("WORK", c[work]).Define("MORE", static_cast<int>(more));
    });
    variant.name = name;
    return variant;
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// What every element of y is. `offset`: of x, in elements.
  float Run(TunedKernel& kernel, std::size_t n, std::int32_t length = 64, std::size_t offset = 0) {
    DeviceBuffer x = Floats(std::vector<float>(n + offset, 0)), y = Floats(std::vector<float>(n, 0));
    TensorView from = View(x);
    from.data = static_cast<float*>(from.data) + offset;
    from.shape[0] = static_cast<std::int64_t>(n);
    from.bytes = n * sizeof(float);
    EXPECT_OK(kernel.Launch(stream_->get(), from, View(y), length));
    std::vector<float> found = Read(y);
    EXPECT_EQ(found, std::vector<float>(n, found[0]));
    return found[0];
  }
  /// Of a guard that holds for the faster config where N is 100 at least.
  void ExpectTheGuardIsAskedAtOtherDims() {
    TunedKernel kernel = Create(Definition());
    for (std::size_t n : {128, 128, 70, 70, 128, 70, 120, 99, 100}) {
      EXPECT_EQ(Run(kernel, n), (n >= 100 ? 1000 : 2000) + Blocks(n)) << n;
    }
    EXPECT_EQ(kernel.counters().tunes, 1);
  }
  static float Blocks(std::size_t n) { return static_cast<float>((n + 15) / 16); }

  SearchSpace space_;
  IntAxis work_ = space_.AddAxis("WORK", {2, 1});
  testing::WorkTimer timer_;
  AutotunePolicy policy_;
};

TEST_F(LaunchMemoTest, EachLaunchOfABucketHasTheGridOfItsDims) {
  TunedKernel kernel = Create(Definition());
  for (std::size_t n : {65, 65, 128, 128, 65, 100, 100, 65}) EXPECT_EQ(Run(kernel, n), 1000 + Blocks(n)) << n;
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().hits, 7);
}

TEST_F(LaunchMemoTest, AGuardIsAskedAtOtherDims) {
  space_.Where("enough elements",
               [work = work_](const Config& c, const Dims& dims) { return c[work] == 2 || dims[Dim{0}] >= 100; });
  ExpectTheGuardIsAskedAtOtherDims();
}

TEST_F(LaunchMemoTest, AGuardOfTermsIsAskedAtOtherDims) {
  space_.Where("enough elements", D("N") * work_ >= 100);  // Excludes the faster config for fewer N.
  ExpectTheGuardIsAskedAtOtherDims();
}

TEST_F(LaunchMemoTest, AGuardThatIsAFunctionIsAskedAtEachLaunch) {
  int asked = 0;
  space_.Where("counts", [&](const Config&, const Dims&) { return ++asked > 0; });
  TunedKernel kernel = Create(Definition());
  Run(kernel, 100);
  for (int i = 0; i < 3; ++i) {
    const int before = asked;
    Run(kernel, 100);
    EXPECT_GT(asked, before);
  }
}

TEST_F(LaunchMemoTest, AnAddressIsLookedAtInEachLaunch) {
  TunedKernel kernel = Create(Assuming(Aligned("x", 16)));
  for (std::size_t offset : {0, 0, 1, 1, 0, 1, 4, 3}) {
    EXPECT_EQ(Run(kernel, 100, 64, offset), 1000 + Blocks(100) + (offset % 4 == 0 ? 0 : kGeneral)) << offset;
  }
}

TEST_F(LaunchMemoTest, CallsThatSomeVariantsDoNotSuitRememberTheirOwn) {
  // Elements off the alignment, so that the other variant runs: with the same blocks, and more.
  TunedKernel kernel = Create(Assuming(Aligned("x", 16)));
  for (std::size_t n : {100, 100, 70, 70, 100, 128}) {
    for (std::size_t offset : {1, 0, 1}) {
      EXPECT_EQ(Run(kernel, n, 64, offset), 1000 + Blocks(n) + (offset == 0 ? 0 : kGeneral)) << n << ", " << offset;
    }
  }
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(kernel.counters().hits, 16);
}

TEST_F(LaunchMemoTest, AnAssumptionAboutAnExtentIsAskedAtOtherDims) {
  TunedKernel kernel = Create(Assuming(ExtentDivisibleBy("x", 0, 2)));
  for (std::size_t n : {128, 128, 101, 101, 128, 101, 100}) {
    EXPECT_EQ(Run(kernel, n), 1000 + Blocks(n) + (n % 2 == 0 ? 0 : kGeneral)) << n;
  }
}

TEST_F(LaunchMemoTest, AGridThatReadsAScalarIsNotRemembered) {
  TunedKernel kernel = Create(Definition(Grid::Fixed(CeilDiv("length", 16))));
  for (std::int32_t length : {64, 64, 32, 64, 16}) EXPECT_EQ(Run(kernel, 100, length), 1000 + Blocks(length)) << length;
}

TEST_F(LaunchMemoTest, WhatAPinPutsInItsPlaceRunsFromThenOn) {
  TunedKernel kernel = Create(Definition());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Run(kernel, 100), 1000 + Blocks(100));
  ASSERT_OK(kernel.Pin({{"N", 100}}, {{"WORK", 2}}));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Run(kernel, 100), 2000 + Blocks(100));
}

TEST_F(LaunchMemoTest, EachThreadHasItsOwn) {
  TunedKernel kernel = Create(Definition());
  EXPECT_EQ(Run(kernel, 128), 1000 + Blocks(128));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      ScopedContext current(context_->view());
      for (std::size_t i = 0; i < 50; ++i) {
        const std::size_t n = 65 + 16 * thread + i % 3;
        wrong += Run(kernel, n) == 1000 + Blocks(n) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tuneonce
