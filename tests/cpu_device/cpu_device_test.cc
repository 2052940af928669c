// What is special to the CPU device, beyond what the conformance suite asks of every driver.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "compile/command_toolchain.h"
#include "cuda/driver_api.h"
#include "cuda/library.h"
#include "launch/launch.h"
#include "search/candidate.h"
#include "testing/device_test.h"
#include "testing/sampling.h"
#include "testing/tools.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce {
namespace {

class CpuDeviceOnlyTest : public testing::CpuDeviceTest {
 protected:
  /// Compiles and loads one kernel named "k" of the parameters (float* y, int n).
  void LoadKernel(const std::string& body) {
    LoadText("static void k(const tuneonce_block& block, float* y, int n) {" + body +
             "}\nTUNEONCE_CPU_KERNEL_WITH_SHARED(k, 64);");
  }
  /// Compiles and loads the kernel "k" of a text.
  void LoadText(const std::string& text) {
    KernelSource source = KernelSource::CpuCpp(text, "k");
    Result<Artifact> artifact =
        CommandToolchain(kHostCompiler, testing::Tools()).Compile(source, Hints(), Target::Of(*device_->Identity()));
    ASSERT_OK(artifact);
    Result<Library> library = Library::Load(api(), artifact->image);
    ASSERT_OK(library);
    library_.emplace(*std::move(library));
    function_ = library_->GetKernel("k")->get();
  }
  /// Launches it over `grid` and waits.
  CUresult Run(const DeviceBuffer& y, Dim3 grid, std::int64_t shared_bytes = 0) {
    auto pointer = y.get();
    int n = static_cast<int>(y.bytes() / 4);
    void* parameters[] = {&pointer, &n};
    Geometry geometry;
    geometry.grid = grid;
    geometry.shared_memory_bytes = shared_bytes;
    CUresult result = LaunchKernel(api().launch_path(), function_, geometry, stream_->get(), parameters);
    return result != CUDA_SUCCESS ? result : UnguardedTable(api()).StreamSynchronize(stream_->get());
  }

  std::optional<Library> library_;
  CUfunction function_ = nullptr;
};

TEST_F(CpuDeviceOnlyTest, AHostFunctionMayNotCallTheDriver) {
  Result<void*> launch = device_->DriverFunction("cuLaunchHostFunc", 10000);
  ASSERT_OK(launch);
  struct Call {
    const DriverTable& driver;
    CUstream stream;
    CUresult synchronize = CUDA_SUCCESS, record = CUDA_SUCCESS;
  } call{UnguardedTable(api()), stream_->get()};
  auto function = [](void* data) {
    auto* to = static_cast<Call*>(data);
    to->synchronize = to->driver.StreamSynchronize(to->stream);
    to->record = to->driver.MemsetD8Async(0, 0, 0, to->stream);
  };
  ASSERT_EQ(reinterpret_cast<PFN_cuLaunchHostFunc_v10000>(*launch)(stream_->get(), function, &call), CUDA_SUCCESS);
  ASSERT_OK(stream_->view().Synchronize());
  EXPECT_EQ(call.synchronize, CUDA_ERROR_NOT_PERMITTED) << "it would wait for itself";
  EXPECT_EQ(call.record, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(CpuDeviceOnlyTest, EveryBlockOfThreeDimensionsRunsOnce) {
  LoadKernel("y[(block.z * block.grid_y + block.y) * block.grid_x + block.x] += 1 + block.shared_bytes;");
  DeviceBuffer y = Floats(std::vector<float>(7 * 5 * 3, 0));
  EXPECT_EQ(Run(y, {7, 5, 3}, 1024), CUDA_SUCCESS);
  EXPECT_EQ(Read(y), std::vector<float>(7 * 5 * 3, 1 + 1024 + 64));
}

TEST_F(CpuDeviceOnlyTest, SharedMemoryIsThereAndAligned) {
  LoadKernel(
      "char* s = static_cast<char*>(block.shared); for (unsigned i = 0; i < block.shared_bytes; ++i) s[i] = 1;"
      "y[block.x] = reinterpret_cast<unsigned long>(s) % 128 == 0 ? 2 : 3;");
  DeviceBuffer y = Floats(std::vector<float>(100, 0));
  EXPECT_EQ(Run(y, {100, 1, 1}, 40000), CUDA_SUCCESS);
  EXPECT_EQ(Read(y), std::vector<float>(100, 2));
}

TEST_F(CpuDeviceOnlyTest, AParameterByValueMayHaveAnyAlignment) {
  for (int alignment : {4, 16, 32, 64, 128}) {
    LoadText("struct alignas(" + std::to_string(alignment) +
             ") Factors { float of[32]; };\n"
             "static void k(const tuneonce_block&, float* y, Factors factors, int n) {\n"
             "  Factors copy = factors;\n"
             "  for (int i = 0; i < n; ++i) y[i] *= copy.of[i % 32];\n}\nTUNEONCE_CPU_KERNEL(k);");
    DeviceBuffer y = Floats(std::vector<float>(64, 3));
    auto pointer = y.get();
    int n = 64;
    alignas(128) char memory[sizeof(float) * 33];
    std::fill_n(reinterpret_cast<float*>(memory), 33, 2.0f);
    void* parameters[] = {&pointer, memory + sizeof(float), &n};  // A caller's bytes may lie anywhere.
    EXPECT_EQ(LaunchKernel(api().launch_path(), function_, Geometry(), stream_->get(), parameters), CUDA_SUCCESS);
    EXPECT_EQ(UnguardedTable(api()).StreamSynchronize(stream_->get()), CUDA_SUCCESS) << alignment;
    EXPECT_EQ(Read(y), std::vector<float>(64, 6)) << alignment;
  }
}

TEST_F(CpuDeviceOnlyTest, AKernelMayBeNoexcept) {
  LoadText(
      "static void k(const tuneonce_block&, float* y, int n) noexcept { for (int i = 0; i < n; ++i) y[i] = 1; }\n"
      "TUNEONCE_CPU_KERNEL(k);");
  DeviceBuffer y = Floats(std::vector<float>(8, 0));
  EXPECT_EQ(Run(y, {1, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(Read(y), std::vector<float>(8, 1));
}

TEST_F(CpuDeviceOnlyTest, AnAccessPastTheEndFaultsAndAResetRecovers) {
  LoadKernel("y[1 << 20] = 1;");
  {
    DeviceBuffer y = Floats({0});
    EXPECT_EQ(Run(y, {1, 1, 1}), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(Run(y, {1, 1, 1}), CUDA_ERROR_ILLEGAL_ADDRESS) << "sticky";
    EXPECT_TRUE(stream_->view().Synchronize().sticky());
  }
  stream_.reset();
  library_.reset();
  current_.reset();
  context_.reset();  // The last reference: the next context is a new one.
  SetUp();
  EXPECT_EQ(Read(Floats({5})), std::vector<float>{5});
}

TEST_F(CpuDeviceOnlyTest, FreedMemoryFaults) {
  LoadKernel("y[0] = 1;");
  std::optional<DeviceBuffer> y(Floats({0}));
  auto pointer = y->get();
  y.reset();
  int n = 1;
  void* parameters[] = {&pointer, &n};
  EXPECT_EQ(LaunchKernel(api().launch_path(), function_, Geometry(), stream_->get(), parameters), CUDA_SUCCESS);
  EXPECT_EQ(UnguardedTable(api()).StreamSynchronize(stream_->get()), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(CpuDeviceOnlyTest, OtherFaultsAreLaunchFailures) {
  LoadKernel("int zero = n - n; if (n / (zero + (n > 100))) __builtin_trap(); if (n > 2) throw 1; __builtin_trap();");
  DeviceBuffer y = Floats({0, 0, 0});
  EXPECT_EQ(Run(y, {1, 1, 1}), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(CpuDeviceOnlyTest, AStackOverflowIsCaught) {
  LoadKernel(
      "struct R { static int f(volatile char* p, int d) { volatile char b[4096]; b[0] = *p;"
      "return f(b, d + 1) + b[0]; } }; char c = 1; y[0] = R::f(&c, n);");
  DeviceBuffer y = Floats({0});
  EXPECT_EQ(Run(y, {1, 1, 1}), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(CpuDeviceOnlyTest, HandlesThatAreGoneAreErrors) {
  const DriverTable& driver = UnguardedTable(api());
  CUstream stream = nullptr;
  ASSERT_EQ(driver.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(driver.StreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.StreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.StreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.EventQuery(reinterpret_cast<CUevent>(0x1234)), CUDA_ERROR_INVALID_HANDLE);
  LoadKernel("y[0] = 1;");
  library_.reset();
  DeviceBuffer y = Floats({0});
  EXPECT_EQ(Run(y, {1, 1, 1}), CUDA_ERROR_INVALID_HANDLE) << "the code was unloaded";
}

TEST_F(CpuDeviceOnlyTest, AFreedPrimaryContextsHandlesAreGone) {
  const DriverTable& driver = UnguardedTable(api());
  ASSERT_EQ(driver.DevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(driver.StreamSynchronize(stream_->get()), CUDA_ERROR_INVALID_HANDLE);
  CUdeviceptr pointer = 0;
  EXPECT_EQ(driver.MemAlloc(&pointer, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(CpuDeviceOnlyTest, AForkedChildGetsAClearError) {
  pid_t child = fork();
  if (child == 0) {
    CUdeviceptr pointer = 0;
    _exit(UnguardedTable(api()).MemAlloc(&pointer, 16) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(Read(Floats({1})), std::vector<float>{1}) << "the parent goes on";
}

TEST_F(CpuDeviceOnlyTest, ManyBuffersComeAndGoWithoutALeak) {
  const DriverTable& driver = UnguardedTable(api());
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  driver.MemGetInfo(&before, &total);
  for (int i = 0; i < 200; ++i) {
    DeviceBuffer a = Floats(std::vector<float>(static_cast<std::size_t>(1 + i * 37 % 5000), 1));
    DeviceBuffer b = Floats(std::vector<float>(100, 2));
  }
  EXPECT_OK(stream_->view().Synchronize());
  driver.MemGetInfo(&after, &total);
  EXPECT_EQ(before, after);
}

/// Several devices: chosen before the driver is loaded, so in a process of its own (each test is one).
TEST(CpuDevicesTest, SeveralDevicesHaveTheirOwnMemory) {
  setenv("TUNEONCE_CPU_DEVICES", "3", 1);
  setenv("TUNEONCE_CPU_MEMORY_MIB", "64", 1);
  Result<Device> device = OpenDevice("cpu:2");
  ASSERT_OK(device);
  EXPECT_EQ(*Device::Count(device->api()), 3);
  EXPECT_EQ(device->Identity()->memory_bytes, 64u << 20);
  Result<Context> context = Context::RetainPrimary(*device);
  ScopedContext current(context->view());
  EXPECT_EQ(Device::OfCurrentContext(device->api())->index(), 2);
  EXPECT_NE(device->Identity()->uuid, OpenDevice("cpu:1")->Identity()->uuid);
  Result<Stream> stream = Stream::Create(device->api());
  Result<DeviceBuffer> half = DeviceBuffer::Allocate(stream->view(), 40u << 20);
  EXPECT_OK(half);
  EXPECT_ERROR(DeviceBuffer::Allocate(stream->view(), 40u << 20), StatusCode::kResourceExhausted, "out of memory");
}

TEST(CpuDevicesTest, AKernelIsAllowedMoreSharedMemoryOnTheDeviceItWasAllowedOn) {
  setenv("TUNEONCE_CPU_DEVICES", "2", 1);
  Result<Device> first = OpenDevice("cpu:0"), second = OpenDevice("cpu:1");
  ASSERT_OK(first);
  ASSERT_OK(second);
  Result<Context> on_first = Context::RetainPrimary(*first), on_second = Context::RetainPrimary(*second);
  KernelSource source = KernelSource::CpuCpp(
      "static void last(const tuneonce_block& block) { static_cast<char*>(block.shared)[65535] = 1; }\n"
      "TUNEONCE_CPU_KERNEL(last);",
      "last");
  Geometry geometry;
  geometry.shared_memory_bytes = 65536;
  auto launch = [](const CompiledKernel& kernel, const Device& device) -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), nullptr));
    return stream.view().Synchronize();
  };
  ScopedContext current(on_second->view());
  Result<CompiledKernel> kernel = CompiledKernel::Create(*second, source, Hints(), geometry);
  ASSERT_OK(kernel);
  EXPECT_OK(launch(*kernel, *second));
  EXPECT_EQ(*kernel->Attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 65536);
  ScopedContext other(on_first->view());
  EXPECT_EQ(*kernel->Attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 48 * 1024);
  EXPECT_FALSE(launch(*kernel, *first).ok());
}

void ExitWhileStreamsRun() {
  Result<Device> device = OpenDevice("cpu");
  static Context context = *Context::RetainPrimary(*device);  // These are destroyed during exit.
  static ScopedContext current(context.view());
  static Stream stream = *Stream::Create(device->api());
  static DeviceBuffer buffer = *DeviceBuffer::Allocate(stream.view(), 1 << 24);
  for (std::size_t i = 0; i < 50; i += testing::StepUnlessWhole(6)) static_cast<void>(buffer.Fill(1));
  std::exit(0);
}

TEST(CpuDeviceExitTest, DestructorsDuringExitDoNothingBad) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(ExitWhileStreamsRun(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tuneonce
