#include <set>

#include "base/environment.h"
#include "cuda/cuda_status.h"
#include "cuda/driver_api.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"

namespace tuneonce {
namespace {

TEST(DriverLoaderTest, AMissingDriverNamesThePathsTried) {
  EXPECT_ERROR(LoadCudaDriver("/no/such/libcuda.so"), StatusCode::kUnavailable, "/no/such/libcuda.so");
  EXPECT_ERROR(LoadCpuDriver("/no/such/driver.so"), StatusCode::kUnavailable, "the CPU device was not found");
}

TEST(DriverLoaderTest, ALibraryThatIsNoDriverIsRefused) {
  EXPECT_ERROR(LoadCudaDriver("libm.so.6"), StatusCode::kUnavailable, "not a CUDA driver");
  EXPECT_ERROR(LoadCpuDriver("libm.so.6"), StatusCode::kUnavailable, "not a CUDA driver");
}

TEST(DriverLoaderTest, TheEnvironmentNamesTheDriver) {
  Environment environment = Environment::Get();
  environment.cuda_driver = "/from/the/environment.so";
  Environment::Set(environment);
  EXPECT_ERROR(LoadCudaDriver(), StatusCode::kUnavailable, "/from/the/environment.so");
}

TEST(DriverLoaderTest, ADriverIsLoadedOnce) {
  Result<const DriverApi*> first = LoadCpuDriver();
  ASSERT_OK(first);
  EXPECT_EQ(*first, *LoadCpuDriver());
  EXPECT_TRUE((*first)->is_cpu_device());
}

TEST(OpenDeviceTest, NamesAreChecked) {
  EXPECT_OK(OpenDevice("cpu"));
  EXPECT_OK(OpenDevice("cpu:0"));
  for (const char* name : {"", "gpu", "cpu:", "cpu:x", "CPU"}) {
    EXPECT_ERROR(OpenDevice(name), StatusCode::kInvalidArgument, std::string("unknown device '") + name + "'");
  }
  EXPECT_ERROR(OpenDevice("cpu:-1"), StatusCode::kInvalidArgument, "there is no device -1");
  EXPECT_ERROR(OpenDevice("cpu:7"), StatusCode::kInvalidArgument, "there is no device 7");
}

TEST(CudaStatusTest, KeepsTheCodeAndMarksStickyErrors) {
  const DriverApi& api = **LoadCpuDriver();
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
