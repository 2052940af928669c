#ifndef TUNEONCE_TESTS_TESTING_DEVICE_TEST_H_
#define TUNEONCE_TESTS_TESTING_DEVICE_TEST_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "cuda/driver_api.h"
#include "testing/expect_status.h"
#include "tuneonce/arguments.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce::testing {

/// Tests leave nothing in the user's cache folder, and find nothing there.
inline const bool kDefaultStoreIsMemory = setenv("TUNEONCE_STORE", "memory", 1) == 0;
/// Whoever runs them: they tune.
inline const bool kTuningIsEnabled = unsetenv("DISABLE_AUTOTUNE") == 0 && unsetenv("TUNEONCE_DISABLE_AUTOTUNE") == 0;

/// The source of kernels that no test compiles.
inline KernelSource NoSource(const Config&, const Problem&) { return KernelSource(); }

/// A device's primary context current on this thread, with a stream. Tests of a GPU are skipped, loudly, where there is
/// none.
class DeviceTest : public ::testing::Test {
 protected:
  explicit DeviceTest(const char* name) : device_name_(name) {}

  void SetUp() override {
    Result<Device> device = OpenDevice(device_name_);
    if (!device.ok() && device_name_ == "cuda") GTEST_SKIP() << "NO GPU: " << device.status().message();
    ASSERT_OK(device);
    device_.emplace(*device);
    Result<Context> context = Context::RetainPrimary(*device_);
    ASSERT_OK(context);
    context_.emplace(*std::move(context));
    current_.emplace(context_->view());
    ASSERT_OK(current_->status());
    Result<Stream> stream = Stream::Create(device_->api());
    ASSERT_OK(stream);
    stream_.emplace(*std::move(stream));
  }

  const DriverApi& api() const { return device_->api(); }

  /// Device memory filled with these floats.
  DeviceBuffer Floats(const std::vector<float>& values) {
    Result<DeviceBuffer> buffer = DeviceBuffer::Allocate(stream_->view(), values.size() * sizeof(float));
    EXPECT_OK(buffer);
    EXPECT_OK(buffer->CopyFromHost(values.data(), values.size() * sizeof(float)));
    EXPECT_OK(stream_->view().Synchronize());
    return *std::move(buffer);
  }
  std::vector<float> Read(const DeviceBuffer& buffer) {
    std::vector<float> values(buffer.bytes() / sizeof(float));
    EXPECT_OK(buffer.CopyToHost(values.data(), buffer.bytes()));
    EXPECT_OK(stream_->view().Synchronize());
    return values;
  }

  const std::string device_name_;
  std::optional<Device> device_;
  std::optional<Context> context_;
  std::optional<ScopedContext> current_;
  std::optional<Stream> stream_;
};

class CpuDeviceTest : public DeviceTest {
 protected:
  CpuDeviceTest() : DeviceTest("cpu") {}
};

class GpuTest : public DeviceTest {
 protected:
  GpuTest() : DeviceTest("cuda") {}
};

inline TensorView View(const DeviceBuffer& buffer) {
  return TensorView::Contiguous(buffer.data(), DType::kFloat32, {static_cast<std::int64_t>(buffer.bytes() / 4)});
}

/// What every block of `scale` runs: y = WORK times x * factor. WORK is a real selection: more work takes longer. The
/// work is counted where there is a counter (work_timer.h).
inline constexpr char kScaleSource[] = R"(
extern "C" __attribute__((weak)) long tuneonce_test_work;
static void scale(const tuneonce_block& block, const float* x, float* y, float factor, int n) {
  int begin = block.x * TILE, end = begin + TILE < n ? begin + TILE : n;
  for (int work = 0; work < WORK; ++work) {
    for (int i = begin; i < end; ++i) static_cast<volatile float*>(y)[i] = x[i] * factor;
  }
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, WORK, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(scale);)";

/// y = x * factor over N elements; axes TILE {64, 256} and WORK {100, 1}; the baseline is (64, 100), a slow one, by
/// more than noise can hide.
struct ScaleKernel {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {64, 256});
  IntAxis work = space.AddAxis("WORK", {100, 1});

  ScaleKernel() { space.SetBaseline({{tile, 64}, {work, 100}}); }

  Variant::SourceFn Source() const {
    return [tile = tile, work = work](const Config& c, const Problem&) {
      return KernelSource::CpuCpp(kScaleSource, "scale").Define("TILE", c[tile]).Define("WORK", c[work]);
    };
  }
  KernelDefinition Definition(const std::string& name = "scale") const {
    KernelDefinition definition(name);
    definition
        .Parameters(
            {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
        .Space(space)
        .AddVariant(Variant(Source()).Grid(Grid::OneD({"N", tile})));
    return definition;
  }
};

/// `scale` with another space, of the axes TILE and WORK. Its source is data, unlike ScaleKernel's.
inline KernelDefinition ScaleIn(const SearchSpace& space, const IntAxis& tile, const std::string& name = "scale",
                                const std::string& source = kScaleSource) {
  KernelDefinition definition(name);
  definition
      .Parameters(
          {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
      .Space(space)
      .Grid(Grid::OneD({"N", tile}))
      .AddVariant(CpuCpp(source, "scale"));
  return definition;
}

/// ScaleKernel without axes, for tests of many keys: each is tuned at once.
inline KernelDefinition ScaleOfOneConfig() {
  KernelDefinition definition("scale");
  definition
      .Parameters(
          {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
      .AddVariant(Variant([](const Config&, const Problem&) {
                    return KernelSource::CpuCpp(kScaleSource, "scale").Define("TILE", 64).Define("WORK", 1);
                  }).Grid(Grid::OneD({"N", 64})));
  return definition;
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_DEVICE_TEST_H_
