#ifndef TUNEONCE_TESTS_CONFORMANCE_DRIVER_UNDER_TEST_H_
#define TUNEONCE_TESTS_CONFORMANCE_DRIVER_UNDER_TEST_H_

#include <cuda.h>
#include <gtest/gtest.h>

#include <string>

#include "cuda/driver_api.h"

namespace tuneonce::conformance {

/// "cpu" or "cuda": set by --driver=.
extern std::string driver_name;

/// The driver's bare table; the program ends with a message if it cannot be loaded.
const DriverTable& Driver();
bool IsCpuDevice();

/// The image of the suite's kernels for device 0, compiled once: fill, spin, fault, mixed.
const std::string& KernelImage();

#define EXPECT_CUDA(expected, call) EXPECT_EQ(static_cast<int>(expected), static_cast<int>(call)) << #call
#define ASSERT_CUDA(call) ASSERT_EQ(static_cast<int>(CUDA_SUCCESS), static_cast<int>(call)) << #call

/// Device 0's primary context current, a non-blocking stream, and the suite's kernels loaded.
class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  CUresult Launch(CUfunction function, CUstream stream, unsigned grid, void** parameters, unsigned shared_bytes = 0);
  /// fill<<<1>>>: `count` floats at `target` become `value`.
  CUresult Fill(CUdeviceptr target, float value, int count, CUstream stream);
  /// Keeps a stream busy for about this long.
  CUresult Spin(int milliseconds, CUstream stream);
  /// "fill" from a library, which the caller unloads, and its function in the current context.
  void LoadFill(CUlibrary* library, CUkernel* kernel, CUfunction* function);
  /// A new stream's capture, begun in `mode`.
  CUstream BeginCapture(CUstreamCaptureMode mode, unsigned stream_flags = CU_STREAM_NON_BLOCKING);
  float ReadFloat(CUdeviceptr source);

  const DriverTable& driver_ = Driver();
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction fill_ = nullptr;
  CUfunction spin_ = nullptr;
  CUfunction fault_ = nullptr;
  CUfunction mixed_ = nullptr;
  CUdeviceptr memory_ = 0;  ///< kCount floats.
  static constexpr int kCount = 1024;
};

}  // namespace tuneonce::conformance

#endif  // TUNEONCE_TESTS_CONFORMANCE_DRIVER_UNDER_TEST_H_
