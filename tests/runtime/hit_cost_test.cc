// What a hit must not do, counted: no allocation, no lock, no system call. The driver's part is replaced by nothing.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>

#include "cuda/driver_api.h"
#include "runtime/tuned_kernel_on.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/scale_tactics.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace {

// Of the thread that hits alone: the CPU device's own thread may still be putting the last launch away.
thread_local bool counting = false;
thread_local int allocations = 0;
thread_local int locks = 0;

/// The C library's function behind one that this program replaces.
template <typename Function>
Function Original(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

__attribute__((noinline)) void* operator new(std::size_t size) {
  if (counting) ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" {
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (counting) ++locks;
  static const auto original = Original<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  return original(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  if (counting) ++locks;
  static const auto original = Original<int (*)(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  return original(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  if (counting) ++locks;
  static const auto original = Original<int (*)(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
  return original(lock);
}
}

namespace tuneonce {
namespace {

using testing::View;

std::atomic<bool> driver_does_nothing{false};
DriverTable real_driver;
CUresult LaunchOrNothing(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  if (driver_does_nothing.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
  return real_driver.LaunchKernelEx(config, function, parameters, extra);
}

/// A kernel with one ready key, whose driver calls can be switched off.
class HitCostTest : public testing::CpuDeviceTest {
 protected:
  void MakeReady(KernelDefinition definition) {
    real_driver = UnguardedTable(api());
    DriverTable table = real_driver;
    table.LaunchKernelEx = LaunchOrNothing;
    counted_.emplace(table, "counted", true);
    AutotunePolicy policy;
    policy.store = std::make_shared<MemoryStore>();
    Result<TunedKernel> kernel = TunedKernelOn::Create(*Device::Get(*counted_, 0), definition, policy);
    ASSERT_OK(kernel);
    kernel_.emplace(*std::move(kernel));
    x_.emplace(Floats(std::vector<float>(100, 1)));
    y_.emplace(Floats(std::vector<float>(100, 1)));
    x_view_ = View(*x_);
    y_view_ = View(*y_);
    ASSERT_OK(kernel_->Launch(stream_->get(), x_view_, y_view_, factor_));
    ASSERT_OK(stream_->view().Synchronize());
    driver_does_nothing = true;
  }
  void TearDown() override { driver_does_nothing = false; }

  bool Hit() { return kernel_->Launch(stream_->get(), x_view_, y_view_, factor_).ok(); }

  /// The ways of a hit: everything computed before, the definition's functions called, terms and a tensor map.
  static std::vector<KernelDefinition> Definitions() {
    testing::ScaleKernel scale;
    KernelDefinition prepared = scale.Definition();
    scale.space.Where("any", [](const Config&, const Dims& dims) { return dims[Dim{0}] > 0; });
    KernelDefinition bucketed = scale.Definition();
    bucketed.Key(KeyOf("N").NextPow2(), DTypeOf("x"));
    testing::ScaleKernel compiled;  // As a bundle's artifacts: for each config, what its code was compiled for.
    KernelDefinition by_code("by_code");
    GeometryFn geometry(Grid::OneD({"N", compiled.tile}));
    geometry.ByCode([](const Config& config) {
      const std::string looked_up = config.ToString() + ": longer than what a string keeps within itself";
      return CodeGeometry{1, static_cast<std::int64_t>(looked_up.size()), {}};
    });
    by_code.Parameters(prepared.parameters()).Space(compiled.space);
    by_code.AddVariant(Variant(compiled.Source()).Grid(geometry));
    by_code.Key(KeyOf("N").NextPow2(), DTypeOf("x"));
    KernelDefinition computed("computed");
    constexpr char kCode[] =
        "static void computed(const tuneonce_block&, const float*, float* y, float factor, tuneonce_tensor_map, int, "
        "int n) "
        "{ for (int i = 0; i < n; ++i) y[i] = factor; }\nTUNEONCE_CPU_KERNEL(computed);";
    computed
        .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"),
                     Descriptor("map", "x", TensorMap{{16}}), Derived("tiles", CeilDiv("N", 16)), DimValue("N")})
        .Grid(Grid::Fixed(1))
        .AddVariant(CpuCpp(kCode, "computed").Assuming({ScalarIs("factor", 2.0f)}));
    return {prepared, bucketed, by_code, computed};
  }

  std::optional<DriverApi> counted_;
  std::optional<TunedKernel> kernel_;
  std::optional<DeviceBuffer> x_, y_;
  TensorView x_view_, y_view_;
  float factor_ = 2;
};

TEST_F(HitCostTest, AHitAllocatesNothingAndTakesNoLock) {
  for (const KernelDefinition& definition : Definitions()) {
    MakeReady(definition);
    ASSERT_TRUE(Hit());
    ASSERT_TRUE(Hit());  // The first one of a tensor map encodes it.
    counting = true;
    bool ok = true;
    for (int i = 0; i < 1000; ++i) ok &= Hit();
    counting = false;
    EXPECT_TRUE(ok);
    EXPECT_EQ(allocations, 0);
    EXPECT_EQ(locks, 0);
    driver_does_nothing = false;
    // The counters do count.
    allocations = locks = 0;
    counting = true;
    { std::vector<int> something(10); }
    static_cast<void>(kernel_->counters());
    counting = false;
    EXPECT_GT(allocations, 0);
    EXPECT_GT(locks, 0);
    allocations = locks = 0;
    kernel_.reset();
  }
}

TEST_F(HitCostTest, NorDoesAHitOfACallableApartFromItsLauncher) {
  testing::ScaleTactics tactics(*device_);
  Variant::LaunchFn right = tactics.Launcher();
  MakeReady(tactics.Definition([&](CUstream stream, const Config& config, const CallArguments& arguments) {
    bool is_whole =
        arguments.tensor("x").data != nullptr && arguments.scalar<float>("factor") == 2 && arguments.dim("N") == 100;
    if (driver_does_nothing) return is_whole ? Status() : InternalError("other arguments");
    return right(stream, config, arguments);
  }));
  ASSERT_TRUE(Hit());
  allocations = locks = 0;
  counting = true;
  bool ok = true;
  for (int i = 0; i < 1000; ++i) ok &= Hit();
  counting = false;
  EXPECT_TRUE(ok);
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(locks, 0);
  driver_does_nothing = false;
  kernel_.reset();
}

TEST_F(HitCostTest, AHitMakesNoSystemCall) {
  MakeReady(Definitions().front());
  ASSERT_TRUE(Hit());
  for (bool hit : {true, false}) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // From here on every system call but read, write and exit kills.
      if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(77);
      bool ok = true;
      for (int i = 0; i < 1000; ++i) ok &= hit ? Hit() : getppid() > 0;
      syscall(SYS_exit, ok ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "seccomp is not allowed here";
    if (hit) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    } else {
      EXPECT_TRUE(WIFSIGNALED(status)) << "the trap does not work: " << status;
    }
  }
}

}  // namespace
}  // namespace tuneonce
