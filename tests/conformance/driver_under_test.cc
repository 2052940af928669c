#include "driver_under_test.h"

#include <cstdio>
#include <cstdlib>

#include "base/environment.h"
#include "cuda/driver_api.h"
#include "ipc_exporter.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"

namespace tuneonce::conformance {
namespace {

constexpr char kCpuKernels[] = R"(
extern "C" int clock_gettime(int, long*);
static long now_us() { long t[2]; clock_gettime(1, t); return t[0] * 1000000 + t[1] / 1000; }

static void fill(const tuneonce_block&, float* target, float value, int count) {
  for (int i = 0; i < count; ++i) target[i] = value;
}
static void spin(const tuneonce_block&, long microseconds) {
  long end = now_us() + microseconds;
  while (now_us() < end) {}
}
static void fault(const tuneonce_block&, int* target) { *static_cast<volatile int*>(target) = 1; }
static void mixed(const tuneonce_block&, char a, double b, short c, float* out, int e) {
  out[0] = static_cast<float>(a + b + c + e);
}
TUNEONCE_CPU_KERNEL(fill);
TUNEONCE_CPU_KERNEL(spin);
TUNEONCE_CPU_KERNEL(fault);
TUNEONCE_CPU_KERNEL(mixed);
)";

constexpr char kCudaKernels[] = R"(
__device__ long long now_ns() { long long t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }

extern "C" __global__ void fill(float* target, float value, int count) {
  for (int i = 0; i < count; ++i) target[i] = value;
}
extern "C" __global__ void spin(long long microseconds) {
  long long end = now_ns() + microseconds * 1000;
  while (now_ns() < end) {}
}
extern "C" __global__ void fault(int* target) { *static_cast<volatile int*>(target) = 1; }
extern "C" __global__ void mixed(char a, double b, short c, float* out, int e) {
  out[0] = static_cast<float>(a + b + c + e);
}
)";

const DriverApi& Api() {
  static const DriverApi* const api = [] {
    const Environment& environment = Runtime::Default()->environment();
    Result<const DriverApi*> loaded = driver_name == "cpu" ? LoadCpuDriver(environment) : LoadCudaDriver(environment);
    if (!loaded.ok()) {
      std::fprintf(stderr, "%s\n", loaded.status().ToString().c_str());
      std::exit(1);
    }
    return *loaded;
  }();
  return *api;
}

}  // namespace

std::string driver_name = "cpu";

const DriverTable& Driver() { return UnguardedTable(Api()); }

bool IsCpuDevice() { return Api().is_cpu_device(); }

const std::string& KernelImage() {
  static const std::string* const image = [] {
    Target target = Target::Of(*Device::Get(Api(), 0)->Identity());
    KernelSource source =
        target.is_cpu_device ? KernelSource::CpuCpp(kCpuKernels, "fill") : KernelSource::CudaCpp(kCudaKernels, "fill");
    Result<Artifact> artifact = (*Runtime::Default()->toolchains().For(source.kind))->Compile(source, Hints(), target);
    if (!artifact.ok()) {
      std::fprintf(stderr, "%s\n", artifact.status().ToString().c_str());
      std::exit(1);
    }
    return new std::string(artifact->image);
  }();
  return *image;
}

void DriverTest::SetUp() {
  const std::string& image = KernelImage();
  CUdevice device = 0;
  ASSERT_CUDA(driver_.DeviceGet(&device, 0));
  ASSERT_CUDA(driver_.DevicePrimaryCtxRetain(&context_, device));
  ASSERT_CUDA(driver_.CtxSetCurrent(context_));
  ASSERT_CUDA(driver_.StreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  ASSERT_CUDA(driver_.ModuleLoadData(&module_, image.data()));
  ASSERT_CUDA(driver_.ModuleGetFunction(&fill_, module_, "fill"));
  ASSERT_CUDA(driver_.ModuleGetFunction(&spin_, module_, "spin"));
  ASSERT_CUDA(driver_.ModuleGetFunction(&fault_, module_, "fault"));
  ASSERT_CUDA(driver_.ModuleGetFunction(&mixed_, module_, "mixed"));
  ASSERT_CUDA(driver_.MemAlloc(&memory_, kCount * sizeof(float)));
  // The first launch loads lazily and would wait for others.
  ASSERT_CUDA(Fill(memory_, 0, kCount, stream_));
  ASSERT_CUDA(Spin(0, stream_));
  ASSERT_CUDA(driver_.StreamSynchronize(stream_));
}

void DriverTest::TearDown() {
  driver_.StreamSynchronize(stream_);
  driver_.MemFree(memory_);
  driver_.ModuleUnload(module_);
  driver_.StreamDestroy(stream_);
  driver_.CtxSetCurrent(nullptr);
  driver_.DevicePrimaryCtxRelease(0);
}

CUresult DriverTest::Launch(CUfunction function, CUstream stream, unsigned grid, void** parameters,
                            unsigned shared_bytes) {
  CUlaunchConfig config{};
  config.gridDimX = grid;
  config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = shared_bytes;
  config.hStream = stream;
  return driver_.LaunchKernelEx(&config, function, parameters, nullptr);
}

void DriverTest::LoadFill(CUlibrary* library, CUkernel* kernel, CUfunction* function) {
  ASSERT_CUDA(driver_.LibraryLoadData(library, KernelImage().data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_CUDA(driver_.LibraryGetKernel(kernel, *library, "fill"));
  ASSERT_CUDA(driver_.KernelGetFunction(function, *kernel));
}

CUresult DriverTest::Fill(CUdeviceptr target, float value, int count, CUstream stream) {
  void* parameters[] = {&target, &value, &count};
  return Launch(fill_, stream, 1, parameters);
}

CUresult DriverTest::Spin(int milliseconds, CUstream stream) {
  long long microseconds = milliseconds * 1000LL;
  void* parameters[] = {&microseconds};
  return Launch(spin_, stream, 1, parameters);
}

CUstream DriverTest::BeginCapture(CUstreamCaptureMode mode, unsigned stream_flags) {
  CUstream stream = nullptr;
  EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamCreate(&stream, stream_flags));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamBeginCapture(stream, mode));
  return stream;
}

float DriverTest::ReadFloat(CUdeviceptr source) {
  float value = -1;
  EXPECT_CUDA(CUDA_SUCCESS, driver_.MemcpyDtoHAsync(&value, source, sizeof(value), stream_));
  EXPECT_CUDA(CUDA_SUCCESS, driver_.StreamSynchronize(stream_));
  return value;
}

}  // namespace tuneonce::conformance

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.rfind("--driver=", 0) == 0) tuneonce::conformance::driver_name = argument.substr(9);
    if (argument == "--export") return tuneonce::conformance::RunIpcExporter();
  }
  return RUN_ALL_TESTS();
}
