// Code of Tile IR that is loaded and unloaded while other threads launch such code (NVIDIA/cuda-tile#23 reports a crash
// there), and a chain of programmatic launches. On a GPU, with tileiras.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "cuda/driver_api.h"
#include "cuda/library.h"
#include "launch/launch.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

constexpr int kTile = 1024;  // What a block of `dependent` handles.

std::string Bytecode() { return *ReadFile(TUNEONCE_TEST_DATA "/tile_ir/dependent.tileir"); }

class TileCodeGpuTest : public testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Toolchain& tileiras = **Runtime::Default()->toolchains().For(SourceKind::kTileIr);
    if (Result<std::string> version = tileiras.Version(); !version.ok()) {
      GTEST_SKIP() << "NO TILEIRAS: " << version.status().message();
    }
    Result<Artifact> artifact = tileiras.Compile(KernelSource::TileIr(Bytecode(), "dependent"), Hints(),
                                                 Target::Of(*device_->Identity()), WaitLimits());
    ASSERT_OK(artifact);
    image_ = artifact->image;
  }

  /// Enqueues y = x + 1.
  Status Launch(const KernelHandle& kernel, CUstream stream, const DeviceBuffer& x, const DeviceBuffer& y) const {
    CUdeviceptr from = x.get(), to = y.get();
    auto extent = static_cast<std::int32_t>(x.bytes() / sizeof(float));
    std::int32_t stride = 1;
    void* parameters[] = {&from, &extent, &stride, &to, &extent, &stride};
    Geometry geometry;
    geometry.grid.x = (extent + kTile - 1) / kTile;
    return CudaStatus(api(), LaunchKernel(api().launch_path(), kernel.get(), geometry, stream, parameters),
                      "cuLaunchKernelEx");
  }

  /// A thread that launches code that stays loaded, until `stop`: of two buffers each launch adds 1 to one and writes
  /// the other, and the sum tells whether each launch ran.
  Status LaunchUntil(const std::atomic<bool>& stop, std::atomic<std::int64_t>* launches) const {
    ScopedContext current(context_->view());
    TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(api()));
    TUNEONCE_ASSIGN_OR_RETURN(Library library, Library::Load(api(), image_));
    TUNEONCE_ASSIGN_OR_RETURN(KernelHandle kernel, library.GetKernel("dependent"));
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer sum, DeviceBuffer::Allocate(stream.view(), kTile * 8 * sizeof(float)));
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer next, DeviceBuffer::Allocate(stream.view(), sum.bytes()));
    float expected = 0;
    TUNEONCE_RETURN_IF_ERROR(sum.Fill(0));
    std::vector<float> values(kTile * 8);
    while (!stop) {
      for (int i = 0; i < 50; ++i) {
        TUNEONCE_RETURN_IF_ERROR(Launch(kernel, stream.get(), sum, next));
        TUNEONCE_RETURN_IF_ERROR(Launch(kernel, stream.get(), next, sum));
      }
      *launches += 100;
      expected += 100;
      TUNEONCE_RETURN_IF_ERROR(sum.CopyToHost(values.data(), sum.bytes()));
      TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
      if (values != std::vector<float>(values.size(), expected)) return InternalError("a launch computed another sum");
      if (expected > 1e6f) {  // Beyond 2^24 a float has no 1 any more.
        TUNEONCE_RETURN_IF_ERROR(sum.Fill(0));
        expected = 0;
      }
    }
    return Status();
  }

  /// Loads the code, launches it once and unloads it, many times.
  Status LoadAndUnload(int times) const {
    ScopedContext current(context_->view());
    TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(api()));
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer x, DeviceBuffer::Allocate(stream.view(), kTile * sizeof(float)));
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer y, DeviceBuffer::Allocate(stream.view(), kTile * sizeof(float)));
    TUNEONCE_RETURN_IF_ERROR(x.Fill(0));
    std::vector<float> values(kTile);
    for (int i = 0; i < times; ++i) {
      TUNEONCE_ASSIGN_OR_RETURN(Library library, Library::Load(api(), image_));
      TUNEONCE_ASSIGN_OR_RETURN(KernelHandle kernel, library.GetKernel("dependent"));
      TUNEONCE_RETURN_IF_ERROR(y.Fill(0));
      TUNEONCE_RETURN_IF_ERROR(Launch(kernel, stream.get(), x, y));
      TUNEONCE_RETURN_IF_ERROR(y.CopyToHost(values.data(), y.bytes()));
      TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
      if (values != std::vector<float>(values.size(), 1))
        return InternalError("code that was just loaded is incorrect");
    }
    return Status();
  }

  std::string image_;
};

TEST_F(TileCodeGpuTest, CodeIsLoadedAndUnloadedWhileOthersLaunch) {
  constexpr int kLaunching = 4, kLoading = 2, kTimes = 2000;
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> launches{0};
  std::vector<Status> launching(kLaunching), loading(kLoading);
  std::vector<std::thread> launchers, loaders;
  for (Status& status : launching) launchers.emplace_back([&] { status = LaunchUntil(stop, &launches); });
  for (Status& status : loading) loaders.emplace_back([&] { status = LoadAndUnload(kTimes); });
  for (std::thread& thread : loaders) thread.join();
  stop = true;
  for (std::thread& thread : launchers) thread.join();
  for (const Status& status : launching) EXPECT_OK(status);
  for (const Status& status : loading) EXPECT_OK(status);
  EXPECT_GT(launches, 0);
  std::printf("%d loads and unloads beside %lld launches\n", kLoading * kTimes, static_cast<long long>(launches));
}

TEST_F(TileCodeGpuTest, AChainOfProgrammaticLaunchesReadsWhatItWrote) {
  if (Target::Of(*device_->Identity()).capability() < 90) GTEST_SKIP() << "NO PROGRAMMATIC LAUNCHES: before sm_90";
  Variant tile([](const Config&) { return KernelSource::TileIr(Bytecode(), "dependent"); });
  tile.Named("tile").Convention(CallingConvention::kCutilePython);
  tile.Assuming({Aligned("x", 16), Aligned("y", 16), Contiguous("x"), Contiguous("y")});
  KernelDefinition definition("dependent");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"})})
      .Grid(GeometryFn(Grid::OneD({"N", kTile})).ProgrammaticLaunch())
      .AddVariant(std::move(tile));
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  TunedKernel kernel = *TunedKernel::Create(definition, policy);
  constexpr std::size_t kCount = 1 << 20;
  std::vector<float> first(kCount);
  for (std::size_t i = 0; i < kCount; ++i) first[i] = static_cast<float>(i % 1000);
  DeviceBuffer a = Floats(first), b = Floats(first);
  constexpr int kChain = 1000;
  for (int i = 0; i < kChain; ++i) {
    ASSERT_OK(kernel.Launch(stream_->get(), testing::View(i % 2 == 0 ? a : b), testing::View(i % 2 == 0 ? b : a)));
  }
  for (float& value : first) value += kChain;
  EXPECT_EQ(Read(a), first);
}

}  // namespace
}  // namespace tuneonce
