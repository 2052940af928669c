// Contexts that end, forks, exits and graphs: what a TunedKernel outlives, and what outlives it.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/environment.h"
#include "base/process.h"
#include "testing/in_child.h"
#include "testing/tuned_scale_test.h"
#include "tuneonce/device.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;

class LifetimeTest : public testing::TunedScaleTest {
 protected:
  /// y = 2 x in the current context, on a stream of its own.
  Status LaunchIn(TunedKernel& kernel, std::int64_t n) {
    TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(api()));
    auto bytes = static_cast<std::size_t>(n) * sizeof(float);
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer x, DeviceBuffer::Allocate(stream.view(), bytes));
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer y, DeviceBuffer::Allocate(stream.view(), bytes));
    std::vector<float> values(static_cast<std::size_t>(n), 3);
    TUNEONCE_RETURN_IF_ERROR(x.CopyFromHost(values.data(), bytes));
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), View(x), View(y), 2.0f));
    TUNEONCE_RETURN_IF_ERROR(y.CopyToHost(values.data(), bytes));
    TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
    EXPECT_EQ(values, std::vector<float>(values.size(), 6));
    return Status();
  }
};

TEST_F(LifetimeTest, CallsReturnInAForkedChildWhateverTheParentsThreadsDo) {
  if (testing::kIsSanitized) GTEST_SKIP() << "a sanitizer has locks of its own";
  TunedKernel kernel = Create(), unused = Create();
  Launch(kernel, 1000);
  std::atomic<bool> done{false};
  std::thread pinning([&] {
    ScopedContext current(context_->view());
    while (!done) {
      EXPECT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 64}, {"WORK", 1}}));
      EXPECT_EQ(kernel.counters().now.pinned_keys, 1);
    }
  });
  std::thread loading([&] {  // The loader's lock, too.
    while (!done) EXPECT_EQ(dlopen("libtuneonce_not_there.so", RTLD_NOW), nullptr);
  });
  int num_hung = 0;
  for (int i = 0; i < 200 && num_hung == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const bool is_refused = !unused.Launch(stream_->get(), TensorView(), TensorView(), 2.0f).ok();
      const Counters counters = kernel.counters();
      _exit(is_refused && counters.tunes == 1 && counters.now.pinned_keys == 0 ? 0 : 3);
    }
    int state = 0;
    const auto ends = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (waitpid(child, &state, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() < ends) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      ++num_hung;
      kill(child, SIGKILL);
      waitpid(child, &state, 0);
      break;
    }
    EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << state;
  }
  done = true;
  pinning.join();
  loading.join();
  EXPECT_EQ(num_hung, 0);
}

TEST_F(LifetimeTest, APrimaryContextResetDoesNotHurt) {
  TunedKernel kernel = Create();
  ASSERT_OK(LaunchIn(kernel, 100));
  stream_.reset();
  RelaxedDriver driver(api());
  ASSERT_EQ(driver->DevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_ERROR(kernel.Launch(nullptr, TensorView::Contiguous(&driver, DType::kFloat32, {100}),
                             TensorView::Contiguous(&driver, DType::kFloat32, {100}), 2.0f),
               StatusCode::kFailedPrecondition, "context was destroyed");
  CUcontext again = nullptr;
  ASSERT_EQ(driver->DevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver->CtxSetCurrent(again), CUDA_SUCCESS);
  EXPECT_OK(LaunchIn(kernel, 100));
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().stored_hits, 0) << "what was ready still is";
}

TEST_F(LifetimeTest, AKernelRunsInEachContext) {
  TunedKernel kernel = Create();
  bool address_came_back = false;
  CUcontext first = nullptr;
  constexpr int kMost = 100;
  int made = 0;
  for (; made < kMost && !address_came_back; ++made) {
    Result<Context> context = Context::Create(*device_);
    ASSERT_OK(context);
    if (first == nullptr) first = context->get();
    address_came_back = made > 0 && context->get() == first;
    ScopedContext current(context->view());
    ASSERT_OK(LaunchIn(kernel, 100));
    ASSERT_OK(LaunchIn(kernel, 100));
  }
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().hits, 2 * made - 1);
  EXPECT_LE(kernel.counters().now.loaded_kernels, 2) << "the tuned one and the fallback";
  if (!address_came_back) GTEST_SKIP() << "no address came back in " << kMost << " contexts";
}

TEST_F(LifetimeTest, AForkedChildGetsAClearErrorAndTheParentGoesOn) {
  TunedKernel kernel = Create();
  ASSERT_OK(LaunchIn(kernel, 100));
  int said[2];
  ASSERT_EQ(pipe(said), 0);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    float value = 0;
    TensorView view = TensorView::Contiguous(&value, DType::kFloat32, {100});
    std::string text = kernel.Launch(stream_->get(), view, view, 2.0f).ToString();
    ssize_t written = write(said[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(said[1]);
  std::string text(1000, ' ');
  ssize_t size = read(said[0], text.data(), text.size());
  close(said[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  EXPECT_NE(text.find("in a child of fork() nothing can be launched"), std::string::npos) << text;
  std::int64_t hits = kernel.counters().hits;
  EXPECT_OK(LaunchIn(kernel, 100));
  EXPECT_EQ(kernel.counters().hits, hits + 1);
}

TEST_F(LifetimeTest, AChildThatIsForkedDuringAnotherThreadsFirstUseOfAKernelGetsTheErrorAndDoesNotHang) {
  std::atomic<bool> is_asked{false}, goes_on{false};
  KernelDefinition definition("scale");
  Variant variant(scale_.Source());
  variant.runs_on = [&](const Target&) {  // It stops the first use of the kernel.
    is_asked = true;
    while (!goes_on) std::this_thread::yield();
    return true;
  };
  definition
      .Parameters(
          {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
      .Space(scale_.space)
      .AddVariant(variant.Grid(Grid::OneD({"N", scale_.tile})));
  TunedKernel kernel = Create(definition);
  std::atomic<bool> is_done{false};  // Before it asked for the target: it failed.
  std::thread first_use([&] {
    ScopedContext current(context_->view());
    EXPECT_OK(LaunchIn(kernel, 100));
    is_done = true;
  });
  while (!is_asked && !is_done) std::this_thread::yield();
  pid_t child = fork();
  if (child == 0) {
    alarm(20);  // Ends a child that hangs.
    float value = 0;
    TensorView view = TensorView::Contiguous(&value, DType::kFloat32, {100});
    const Status launched = kernel.Launch(stream_->get(), view, view, 2.0f);
    kernel.Freeze();
    const bool is_named = launched.message().find("in a child of fork() nothing can be launched") != std::string::npos;
    _exit(is_named ? 0 : 1);
  }
  goes_on = true;
  first_use.join();
  ASSERT_GE(child, 0);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(WIFSIGNALED(status)) << "it hung";
  EXPECT_EQ(status, 0);
  EXPECT_OK(LaunchIn(kernel, 100));
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().hits, 1);
}

TEST_F(LifetimeTest, AGraphReplaysAfterAThousandMoreKeysWereTuned) {
  scale_.space = SearchSpace();
  const KernelDefinition one_config = testing::ScaleOfOneConfig();
  TunedKernel kernel = Create(one_config);
  DeviceBuffer x = Floats(std::vector<float>(100, 3));
  DeviceBuffer y = Floats(std::vector<float>(100, 0));
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
  Result<GraphExec> graph = GraphExec::Capture(
      stream_->view(), [&](CUstream stream) { return kernel.Launch(stream, View(x), View(y), 4.0f); });
  ASSERT_OK(graph);
  std::vector<TunedKernel::Shape> shapes;
  for (std::int64_t n = 101; n <= 1100; ++n) shapes.push_back({{"N", n}});
  ASSERT_OK(kernel.Warmup(stream_->get(), shapes));
  EXPECT_EQ(kernel.counters().tunes, 1001);
  EXPECT_LE(kernel.counters().now.loaded_kernels, 2) << "bounded by the space, not by the number of keys";
  ASSERT_OK(y.Fill(0));
  ASSERT_OK(graph->Launch(stream_->get()));
  EXPECT_EQ(Read(y), std::vector<float>(100, 12));
}

TEST_F(LifetimeTest, AKernelDiesWhileOtherThreadsLaunchOthers) {
  TunedKernel stays = Create();
  ASSERT_OK(LaunchIn(stays, 100));
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      ScopedContext current(context_->view());
      while (!done) EXPECT_OK(LaunchIn(stays, 100));
    });
  }
  for (int i = 0; i < 20; ++i) {
    TunedKernel dies = Create(scale_.Definition("dies"));
    ASSERT_OK(LaunchIn(dies, 100 + i % 2));
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stays.counters().tunes, 1);
}

/// What the child of the next test does. The kernel is never destroyed, as it must be where threads are not joined.
TEST_F(LifetimeTest, DISABLED_ExitsWhileThreadsLaunch) {
  auto* kernel = new TunedKernel(Create());
  auto* x = new DeviceBuffer(Floats(std::vector<float>(100, 3)));
  ASSERT_OK(kernel->Launch(stream_->get(), View(*x), View(*x), 2.0f));
  static std::atomic<int> launching{0};
  for (int t = 0; t < 3; ++t) {
    std::thread([kernel, x, device = *device_] {
      Context context = *Context::RetainPrimary(device);
      ScopedContext current(context.view());
      Stream stream = *Stream::Create(device.api());
      ++launching;
      while (kernel->Launch(stream.get(), View(*x), View(*x), 2.0f).ok()) {
      }
      for (;;) pause();  // The driver is gone, and so will be the process.
    }).detach();
  }
  while (launching < 3) std::this_thread::yield();
  std::exit(42);
}

TEST_F(LifetimeTest, AProcessExitsWhileThreadsLaunch) {
  ProcessOptions options;
  options.arguments = {std::filesystem::read_symlink("/proc/self/exe"), "--gtest_filter=*ExitsWhileThreadsLaunch",
                       "--gtest_also_run_disabled_tests"};
  options.environment = {"PATH=" + Environment::Read().path};
  Result<ProcessResult> child = RunProcess(options);
  ASSERT_OK(child);
  EXPECT_EQ(child->exit_code, 42) << child->output;
}

}  // namespace
}  // namespace tuneonce
