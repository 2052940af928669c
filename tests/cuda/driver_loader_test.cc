#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/environment.h"
#include "cuda/driver_api.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
namespace {

/// An environment in which both drivers are this library.
Environment Named(const std::string& path) {
  Environment environment;
  environment.cuda_driver = path;
  environment.cpu_driver = path;
  return environment;
}

TEST(DriverLoaderTest, AMissingDriverNamesThePathsTried) {
  EXPECT_ERROR(LoadCudaDriver(Named("/no/such/libcuda.so")), StatusCode::kUnavailable, "/no/such/libcuda.so");
  EXPECT_ERROR(LoadCpuDriver(Named("/no/such/driver.so")), StatusCode::kUnavailable, "the CPU device was not found");
}

TEST(DriverLoaderTest, ALibraryThatIsNoDriverIsRefused) {
  EXPECT_ERROR(LoadCudaDriver(Named("libm.so.6")), StatusCode::kUnavailable, "not a CUDA driver");
  EXPECT_ERROR(LoadCpuDriver(Named("libm.so.6")), StatusCode::kUnavailable, "not a CUDA driver");
}

TEST(DriverLoaderTest, TheEnvironmentNamesTheDriver) {
  RuntimeOptions options;
  options.environment = {{"TUNEONCE_CUDA_DRIVER", "/from/the/environment.so"}};
  Result<std::shared_ptr<Runtime>> runtime = Runtime::Create(options);
  ASSERT_OK(runtime);
  EXPECT_ERROR((*runtime)->OpenDevice("cuda"), StatusCode::kUnavailable, "/from/the/environment.so");
}

TEST(DriverLoaderTest, ADriverIsLoadedOnce) {
  Result<const DriverApi*> first = LoadCpuDriver(Environment());
  ASSERT_OK(first);
  EXPECT_EQ(*first, *LoadCpuDriver(Environment()));
  EXPECT_TRUE((*first)->is_cpu_device());
}

TEST(DriverLoaderTest, AChildThatIsForkedWhileAnotherThreadLoadsADriverLoadsItToo) {
  const Environment environment = Named(TUNEONCE_STOPPING_DRIVER);
  void* library = dlopen(TUNEONCE_STOPPING_DRIVER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* state = static_cast<std::atomic<int>*>(dlsym(library, "stopping_driver_state"));
  ASSERT_NE(state, nullptr);
  const DriverApi* loaded = nullptr;
  std::atomic<bool> is_done{false};  // Before it stopped: it failed.
  std::thread loads([&] {
    Result<const DriverApi*> api = LoadCudaDriver(environment);
    EXPECT_OK(api);
    if (api.ok()) loaded = *api;
    is_done = true;
  });
  while (*state != 1 && !is_done) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // Ends a child that hangs.
    _exit(LoadCudaDriver(environment).ok() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  *state = 2;
  loads.join();
  ASSERT_OK(LoadCudaDriver(environment));
  EXPECT_EQ(*LoadCudaDriver(environment), loaded);
}

TEST(OpenDeviceTest, NamesAreChecked) {
  EXPECT_OK(OpenDevice("cpu"));
  EXPECT_OK(OpenDevice("cpu:0"));
  for (const char* name : {"", "gpu", "cpu:", "cpu:x", "CPU"}) {
    EXPECT_ERROR(OpenDevice(name), StatusCode::kInvalidArgument, std::string("unknown device '") + name + "'");
  }
  EXPECT_ERROR(OpenDevice("cpu:-1"), StatusCode::kInvalidArgument, "no device -1");
  EXPECT_ERROR(OpenDevice("cpu:7"), StatusCode::kInvalidArgument, "no device 7");
}

TEST(CudaStatusTest, KeepsTheCodeAndMarksStickyErrors) {
  const DriverApi& api = **LoadCpuDriver(Environment());
  Status oom = CudaStatus(api, CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc(&p, 16)");
  EXPECT_EQ(oom.ToString(), "ResourceExhausted: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  EXPECT_EQ(oom.driver_code(), 2);
  EXPECT_FALSE(oom.sticky());
  EXPECT_TRUE(CudaStatus(api, CUDA_SUCCESS, "x").ok());
  std::set<int> sticky = {214, 700, 702, 710, 714, 715, 716, 717, 718, 719};
  for (int code = 1; code < 1000; ++code) {
    EXPECT_EQ(CudaStatus(api, static_cast<CUresult>(code), "f").sticky(), sticky.count(code) == 1) << code;
  }
}

}  // namespace
}  // namespace tuneonce
