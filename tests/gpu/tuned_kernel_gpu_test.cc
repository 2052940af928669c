// TunedKernel on a real GPU: capture, contexts, failing candidates, a foreign capture beside a tune.
#include <gtest/gtest.h>

#include <thread>

#include "matmul.h"
#include "testing/cpu_device_test.h"
#include "tuneonce/cuda/graph.h"
#include "tuneonce/runtime/tuned_kernel.h"
#include "tuneonce/store/memory_store.h"
#include "vector_add.h"

namespace tuneonce {
namespace {

class TunedKernelGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<Device> device = OpenDevice("cuda");
    if (!device.ok()) GTEST_SKIP() << "NO GPU: " << device.status().message();
    device_.emplace(*device);
    context_.emplace(*Context::RetainPrimary(*device_));
    current_.emplace(context_->view());
    stream_.emplace(*Stream::Create(device_->api()));
    policy_.store = std::make_shared<MemoryStore>();
  }
  const DriverApi& api() const { return device_->api(); }
  DeviceBuffer Floats(std::size_t count, float value) {
    std::vector<float> host(count, value);
    DeviceBuffer buffer = *DeviceBuffer::Allocate(stream_->view(), count * 4);
    EXPECT_OK(buffer.CopyFromHost(host.data(), count * 4));
    EXPECT_OK(stream_->view().Synchronize());
    return buffer;
  }
  std::vector<float> Read(const DeviceBuffer& buffer) {
    std::vector<float> host(buffer.bytes() / 4);
    EXPECT_OK(buffer.CopyToHost(host.data(), buffer.bytes()));
    EXPECT_OK(stream_->view().Synchronize());
    return host;
  }

  std::optional<Device> device_;
  std::optional<Context> context_;
  std::optional<ScopedContext> current_;
  std::optional<Stream> stream_;
  AutotunePolicy policy_;
};

using testing::View;

TEST_F(TunedKernelGpuTest, AHitIsCapturedAndReplayed) {
  TunedKernel kernel = *TunedKernel::Create(examples::DefineVectorAdd(), *device_, policy_);
  DeviceBuffer x = Floats(1000, 1), y = Floats(1000, 2), z = Floats(1000, 0);
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), View(z)));
  EXPECT_EQ(Read(z), std::vector<float>(1000, 3));
  ASSERT_OK(z.Fill(0));
  DeviceBuffer other = Floats(7, 1);
  Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) {
    EXPECT_ERROR(kernel.Launch(stream, View(other), View(other), View(other)), StatusCode::kFailedPrecondition,
                 "capturing");
    return kernel.Launch(stream, View(x), View(y), View(z));
  });
  ASSERT_OK(graph);
  ASSERT_OK(graph->Launch(stream_->get()));
  EXPECT_EQ(Read(z), std::vector<float>(1000, 3));
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(TunedKernelGpuTest, ATuneBesideAGlobalCaptureDoesNotSpoilIt) {
  TunedKernel kernel = *TunedKernel::Create(examples::DefineMatmul(), *device_, policy_);
  DeviceBuffer a = Floats(256 * 256, 1), c = Floats(256 * 256, 0);
  Stream capturing = *Stream::Create(api());
  const DriverTable& driver = UnguardedTable(api());
  ASSERT_EQ(driver.StreamBeginCapture(capturing.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  std::thread([&] {
    ScopedContext current(context_->view());
    Stream stream = *Stream::Create(api());
    auto view = [](const DeviceBuffer& b) { return TensorView::Contiguous(b.data(), DType::kFloat32, {256, 256}); };
    EXPECT_OK(kernel.Launch(stream.get(), view(a), view(a), view(c)));
    EXPECT_OK(stream.view().Synchronize());
  }).join();
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.StreamEndCapture(capturing.get(), &graph), CUDA_SUCCESS);
  driver.GraphDestroy(graph);
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(Read(c), std::vector<float>(256 * 256, 256));
}

TEST_F(TunedKernelGpuTest, AContextOfItsOwnWorksLikeThePrimaryOne) {
  TunedKernel kernel = *TunedKernel::Create(examples::DefineVectorAdd(), *device_, policy_);
  Context own = *Context::Create(*device_);
  ScopedContext scoped(own.view());
  Stream primary_stream = *std::move(stream_);
  stream_.emplace(*Stream::Create(api()));
  {
    DeviceBuffer x = Floats(100, 1), z = Floats(100, 0);
    ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(x), View(z)));
    EXPECT_EQ(Read(z), std::vector<float>(100, 2));
    EXPECT_ERROR(kernel.Launch(primary_stream.get(), View(x), View(x), View(z)), StatusCode::kInvalidArgument,
                 "another context");
  }
  stream_.emplace(std::move(primary_stream));
}

TEST_F(TunedKernelGpuTest, CandidatesThatAskForTooMuchFailAndTheRestGoOn) {
  SearchSpace space;
  IntAxis block = space.AddAxis("BLOCK", {64, 2048});
  IntAxis shared = space.AddAxis("SHARED", {0, 100000, 1 << 20});
  KernelDefinition definition("set", "1");
  definition.Dims({"N"})
      .Parameters({Out("y", {"N"}, DType::kFloat32)})
      .Space(space)
      .Variant(
          [](const Config&, const Problem&) {
            return KernelSource::CudaCpp("extern \"C\" __global__ void set(float* y) { if (threadIdx.x == 0) *y = 1; }",
                                         "set");
          },
          nullptr, GeometryFn(Grid::Fixed(1)).Block(block).SharedMemory(shared));
  DeviceBuffer y = Floats(1, 0);
  TensorView view = View(y);
  SearchOptions options;
  options.quiet = true;
  Result<TuningResult> result = exhaustive_search(definition, stream_->view(), {view}, options);
  ASSERT_OK(result);
  EXPECT_EQ(result->successes.size(), 2u);
  EXPECT_EQ(result->failures.size(), 4u);
  EXPECT_EQ(result->best.config[block], 64);
  EXPECT_EQ(Read(y), std::vector<float>(1, 0));
}

void FaultInASearch() {
  Device device = *OpenDevice("cuda");
  Context context = *Context::RetainPrimary(device);
  ScopedContext current(context.view());
  Stream stream = *Stream::Create(device.api());
  KernelDefinition definition("faulty", "1");
  definition.Dims({"N"})
      .Parameters({Out("y", {"N"}, DType::kFloat32)})
      .Variant(
          [](const Config&, const Problem&) {
            return KernelSource::CudaCpp("extern \"C\" __global__ void f(float* y) { y[1ll << 40] = 1; }", "f");
          },
          nullptr, Grid::Fixed(1));
  DeviceBuffer y = *DeviceBuffer::Allocate(stream.view(), 4);
  TensorView view = View(y);
  SearchOptions options;
  options.quiet = true;
  Result<TuningResult> result = exhaustive_search(definition, stream.view(), {view}, options);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::_Exit(result.status().sticky() ? 0 : 1);
}

TEST_F(TunedKernelGpuTest, AFaultIsReportedAsFatalForTheContext) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(FaultInASearch(), ::testing::ExitedWithCode(0), "kernel 'faulty'.*context is lost");
}

}  // namespace
}  // namespace tuneonce
