// TunedKernel on a real GPU: capture, contexts, failing candidates, a foreign capture beside a tune.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "compile/nvrtc_source.h"
#include "cuda/driver_api.h"
#include "store/memory_store.h"
#include "testing/bundle_formulas.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;

class TunedKernelGpuTest : public testing::GpuTest {
 protected:
  TunedKernelGpuTest() { policy_.store = std::make_shared<MemoryStore>(); }
  DeviceBuffer Floats(std::size_t count, float value) { return GpuTest::Floats(std::vector<float>(count, value)); }
  static KernelDefinition Shipped(const std::string& name) {
    return Bundle::Load(TUNEONCE_BUNDLE_FOLDER "/" + name)->definition();
  }
  /// z = x + y in the current context, on a stream of its own.
  Status LaunchIn(TunedKernel& kernel) {
    TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(api()));
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer x, DeviceBuffer::Allocate(stream.view(), 400));
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer z, DeviceBuffer::Allocate(stream.view(), 400));
    std::vector<float> values(100, 3);
    TUNEONCE_RETURN_IF_ERROR(x.CopyFromHost(values.data(), 400));
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), View(x), View(x), View(z)));
    TUNEONCE_RETURN_IF_ERROR(z.CopyToHost(values.data(), 400));
    TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
    EXPECT_EQ(values, std::vector<float>(100, 6));
    return Status();
  }

  AutotunePolicy policy_;
};

/// Compiles a kernel with the macro LATE a second late.
class LateToolchain final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kCudaCpp; }
  Result<std::string> Version() const override { return nvrtc_.Version(); }
  std::string Description() const override { return "late"; }

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override {
    const bool is_late = std::any_of(source.defines.begin(), source.defines.end(),
                                     [](const std::string& define) { return define.rfind("LATE", 0) == 0; });
    if (is_late) std::this_thread::sleep_for(std::chrono::seconds(1));
    return nvrtc_.Compile(source, hints, target, limits);
  }
  NvrtcToolchain nvrtc_{testing::Tools()};
};

TEST_F(TunedKernelGpuTest, AWarmUpSearchesLaterForKeysThatWaitForCode) {
  struct NotesOrder final : AutotuneObserver {
    void OnTuned(const std::string& kernel, const std::string&, const TuningRecord&) override {
      order.push_back(kernel);
    }
    std::vector<std::string> order;
  };
  // Blocks of 128 threads are compiled late.
  auto doubled = [](const std::string& name, const std::vector<std::int64_t>& blocks) {
    SearchSpace space;
    IntAxis block = space.AddAxis("BLOCK", blocks);
    KernelDefinition definition(name);
    definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
        .Space(space)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      KernelSource source = KernelSource::CudaCpp(R"(
extern "C" __global__ void doubled(const float* x, float* y, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
})",
                                                                  "doubled")
                                                .Define("BLOCK", c[block]);
                      return c[block] == 128 ? source.Define("LATE", 1) : source;
                    })
                        .Grid(Grid::OneD({"N", block}))
                        .Block(block));
    return definition;
  };
  auto observer = std::make_shared<NotesOrder>();
  policy_.observer = observer;
  policy_.search.compile.num_workers = 4;  // One for each compile.
  policy_.search.runtime = testing::RuntimeWith(std::make_shared<LateToolchain>(), 4);
  Result<TunedKernel> late = TunedKernel::Create(doubled("late", {64, 128}), policy_);
  Result<TunedKernel> soon = TunedKernel::Create(doubled("soon", {64}), policy_);
  ASSERT_OK(late);
  ASSERT_OK(soon);
  Result<std::vector<WarmedKey>> warmed =
      WarmupAll(stream_->get(), {{&*late, {{{"N", 1000}}, {{"N", 2000}}}}, {&*soon, {{{"N", 1000}}}}});
  ASSERT_OK(warmed);
  for (const WarmedKey& key : *warmed) EXPECT_EQ(key.state, WarmedKey::State::kTuned) << key.status.message();
  EXPECT_EQ(observer->order, (std::vector<std::string>{"soon", "late", "late"}));
}

TEST_F(TunedKernelGpuTest, AHitIsCapturedAndReplayed) {
  TunedKernel kernel = *TunedKernel::Create(Shipped("vector_add"), policy_);
  DeviceBuffer x = Floats(1000, 1), y = Floats(1000, 2), z = Floats(1000, 0);
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), View(z)));
  EXPECT_EQ(Read(z), std::vector<float>(1000, 3));
  ASSERT_OK(z.Fill(0));
  DeviceBuffer other = Floats(7, 1), sum = Floats(7, 0);
  Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) {
    EXPECT_ERROR(kernel.Launch(stream, View(other), View(other), View(sum)), StatusCode::kFailedPrecondition,
                 "capturing");
    return kernel.Launch(stream, View(x), View(y), View(z));
  });
  ASSERT_OK(graph);
  ASSERT_OK(graph->Launch(stream_->get()));
  EXPECT_EQ(Read(z), std::vector<float>(1000, 3));
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(TunedKernelGpuTest, ARecordSaysTheClocksWhoeverMeasured) {
  for (Isolation isolation : {Isolation::kOff, Isolation::kRequired}) {
    auto store = std::make_shared<MemoryStore>();
    policy_.store = store;
    policy_.search.isolation = isolation;
    TunedKernel kernel = *TunedKernel::Create(Shipped("vector_add"), policy_);
    ASSERT_OK(LaunchIn(kernel));
    Result<std::vector<TuningRecord>> records = store->List();
    ASSERT_OK(records);
    ASSERT_EQ(records->size(), 1u);
    const DeviceConditions& conditions = records->front().conditions;
    EXPECT_GT(conditions.sm_clock_mhz.value_or(0), 0);
    EXPECT_GT(conditions.memory_clock_mhz.value_or(0), 0);
    EXPECT_GT(conditions.power_limit_mw.value_or(0), 0);
    EXPECT_TRUE(conditions.throttle_reasons);
  }
}

TEST_F(TunedKernelGpuTest, MemoryOfTheHostIsNamedByItsParameterUnlessTheDeviceReachesIt) {
  TunedKernel kernel = *TunedKernel::Create(Shipped("vector_add"), policy_);
  DeviceBuffer x = Floats(1000, 1), z = Floats(1000, 0);
  const DriverTable& driver = UnguardedTable(api());
  CUdevice device = 0;
  int reaches_all_memory = 0;
  ASSERT_EQ(driver.CtxGetDevice(&device), CUDA_SUCCESS);
  ASSERT_EQ(driver.DeviceGetAttribute(&reaches_all_memory, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device),
            CUDA_SUCCESS);
  std::vector<float> host(1000, 2);
  const TensorView on_host = TensorView::Contiguous(host.data(), DType::kFloat32, {1000});
  if (reaches_all_memory == 0) {
    EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), on_host, View(z)), StatusCode::kInvalidArgument,
                 "parameter 'y': the memory at");
    EXPECT_EQ(Read(z), std::vector<float>(1000, 0));
  } else {
    ASSERT_OK(kernel.Launch(stream_->get(), View(x), on_host, View(z)));
    EXPECT_EQ(Read(z), std::vector<float>(1000, 3));
  }
}

TEST_F(TunedKernelGpuTest, ATuneBesideAGlobalCaptureDoesNotSpoilIt) {
  TunedKernel kernel = *TunedKernel::Create(Shipped("matmul"), policy_);
  const std::vector<float> ones(256 * 256, 1);
  DeviceBuffer a = GpuTest::Floats(testing::Packed(ones, DType::kFloat16)), c = Floats(256 * 256 / 2, 0);
  Stream capturing = *Stream::Create(api());
  const DriverTable& driver = UnguardedTable(api());
  ASSERT_EQ(driver.StreamBeginCapture(capturing.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  std::thread([&] {
    ScopedContext current(context_->view());
    Stream stream = *Stream::Create(api());
    auto view = [](const DeviceBuffer& b) { return TensorView::Contiguous(b.data(), DType::kFloat16, {256, 256}); };
    EXPECT_OK(kernel.Launch(stream.get(), view(a), view(a), view(c)));
    EXPECT_OK(stream.view().Synchronize());
  }).join();
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.StreamEndCapture(capturing.get(), &graph), CUDA_SUCCESS);
  driver.GraphDestroy(graph);
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(testing::Unpacked(Read(c), DType::kFloat16), std::vector<float>(256 * 256, 256));
}

TEST_F(TunedKernelGpuTest, AContextOfItsOwnWorksLikeThePrimaryOne) {
  TunedKernel kernel = *TunedKernel::Create(Shipped("vector_add"), policy_);
  Context own = *Context::Create(*device_);
  ScopedContext scoped(own.view());
  Stream primary_stream = *std::move(stream_);
  stream_.emplace(*Stream::Create(api()));
  {
    DeviceBuffer x = Floats(100, 1), z = Floats(100, 0);
    ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(x), View(z)));
    EXPECT_EQ(Read(z), std::vector<float>(100, 2));
    // A launch goes where its stream is.
    DeviceBuffer w = Floats(100, 0);
    ASSERT_OK(kernel.Launch(primary_stream.get(), View(x), View(x), View(w)));
    ASSERT_OK(primary_stream.view().Synchronize());
    EXPECT_EQ(Read(w), std::vector<float>(100, 2));
  }
  stream_.emplace(std::move(primary_stream));
}

TEST_F(TunedKernelGpuTest, AKernelRunsInEachContext) {
  TunedKernel kernel = *TunedKernel::Create(Shipped("vector_add"), policy_);
  std::vector<CUcontext> seen;
  bool address_came_back = false;
  for (int i = 0; i < 20 && !address_came_back; ++i) {
    Result<Context> context = Context::Create(*device_);
    ASSERT_OK(context);
    address_came_back = std::find(seen.begin(), seen.end(), context->get()) != seen.end();
    seen.push_back(context->get());
    ScopedContext current(context->view());
    ASSERT_OK(LaunchIn(kernel));
    ASSERT_OK(LaunchIn(kernel));
  }
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().hits, 2 * static_cast<std::int64_t>(seen.size()) - 1);
  EXPECT_LE(kernel.counters().now.loaded_kernels, 2) << "the tuned one and the fallback";
  if (!address_came_back) GTEST_SKIP() << "no address came back in 20 contexts";
}

TEST_F(TunedKernelGpuTest, EachDeviceHasItsOwnEntry) {
  if (*Device::Count(api()) < 2) GTEST_SKIP() << "NO SECOND GPU";
  TunedKernel kernel = *TunedKernel::Create(Shipped("vector_add"), policy_);
  ASSERT_OK(LaunchIn(kernel));
  Context second = *Context::RetainPrimary(*Device::Get(api(), 1));
  {
    ScopedContext current(second.view());
    ASSERT_OK(LaunchIn(kernel));
    Counters counters = kernel.counters();
    EXPECT_EQ(counters.hits, 0);
    EXPECT_EQ(counters.tunes + counters.stored_hits, 2) << "a GPU of the same model takes the first one's record";
  }
  std::vector<std::thread> threads;
  for (Context* context : {&*context_, &second}) {
    threads.emplace_back([&, context] {
      ScopedContext current(context->view());
      for (int i = 0; i < 100; ++i) EXPECT_OK(LaunchIn(kernel));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kernel.counters().hits, 200);
}

TEST_F(TunedKernelGpuTest, AForkedChildGetsAClearErrorAndTheParentGoesOn) {
  TunedKernel kernel = *TunedKernel::Create(Shipped("vector_add"), policy_);
  ASSERT_OK(LaunchIn(kernel));
  pid_t child = fork();
  if (child == 0) {
    float value = 0;
    TensorView view = TensorView::Contiguous(&value, DType::kFloat32, {100});
    Status status = kernel.Launch(stream_->get(), view, view, view);
    _exit(status.message().find("in a child of fork() nothing can be launched") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_OK(LaunchIn(kernel));
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(TunedKernelGpuTest, APrimaryContextResetDoesNotHurt) {
  TunedKernel kernel = *TunedKernel::Create(Shipped("vector_add"), policy_);
  ASSERT_OK(LaunchIn(kernel));
  stream_.reset();
  RelaxedDriver driver(api());
  ASSERT_EQ(driver->DevicePrimaryCtxReset(device_->handle()), CUDA_SUCCESS);
  TensorView view = TensorView::Contiguous(&driver, DType::kFloat32, {100});
  EXPECT_ERROR(kernel.Launch(nullptr, view, view, view), StatusCode::kFailedPrecondition, "context was destroyed");
  CUcontext again = nullptr;
  ASSERT_EQ(driver->DevicePrimaryCtxRetain(&again, device_->handle()), CUDA_SUCCESS);
  ASSERT_EQ(driver->CtxSetCurrent(again), CUDA_SUCCESS);
  EXPECT_OK(LaunchIn(kernel));
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().stored_hits, 0) << "what was ready still is";
}

TEST_F(TunedKernelGpuTest, CandidatesThatAskForTooMuchFailAndTheRestGoOn) {
  SearchSpace space;
  IntAxis block = space.AddAxis("BLOCK", {64, 2048});
  IntAxis shared = space.AddAxis("SHARED", {0, 100000, 1 << 20});
  KernelDefinition definition("set");
  definition.Parameters({Out("y", kFloat32, {"N"})})
      .Space(space)
      .AddVariant(Variant([](const Config&, const Problem&) {
                    return KernelSource::CudaCpp(
                        "extern \"C\" __global__ void set(float* y) { if (threadIdx.x == 0) *y = 1; }", "set");
                  }).Grid(GeometryFn(Grid::Fixed(1)).Block(block).SharedMemory(shared)));
  DeviceBuffer y = Floats(1, 0);
  TensorView view = View(y);
  SearchOptions options;
  options.quiet = true;
  Result<TuningRecord> result = exhaustive_search(definition, stream_->get(), {view}, options);
  ASSERT_OK(result);
  EXPECT_EQ(result->successes().size(), 2u);
  EXPECT_EQ(result->failures().size(), 4u);
  EXPECT_EQ(result->best.config[block], 64);
  EXPECT_EQ(Read(y), std::vector<float>(1, 0));
}

void FaultInASearch() {
  Device device = *OpenDevice("cuda");
  Context context = *Context::RetainPrimary(device);
  ScopedContext current(context.view());
  Stream stream = *Stream::Create(device.api());
  KernelDefinition definition("faulty");
  definition.Parameters({Out("y", kFloat32, {"N"})})
      .AddVariant(Variant([](const Config&, const Problem&) {
                    return KernelSource::CudaCpp("extern \"C\" __global__ void f(float* y) { y[1ll << 40] = 1; }", "f");
                  }).Grid(Grid::Fixed(1)));
  DeviceBuffer y = *DeviceBuffer::Allocate(stream.view(), 4);
  TensorView view = View(y);
  SearchOptions options;
  options.quiet = true;
  Result<TuningRecord> result = exhaustive_search(definition, stream.get(), {view}, options);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::_Exit(result.status().sticky() ? 0 : 1);
}

TEST_F(TunedKernelGpuTest, AFaultIsReportedAsFatalForTheContext) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(FaultInASearch(), ::testing::ExitedWithCode(0), "kernel 'faulty'.*context is lost");
}

}  // namespace
}  // namespace tuneonce
