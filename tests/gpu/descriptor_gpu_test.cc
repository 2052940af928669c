// A kernel that copies by TMA, on a real GPU: what the driver encodes is what the hardware reads.
#include <gtest/gtest.h>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

/// y = 2 x, by boxes of ROWS by COLUMNS.
constexpr char kTwice[] = R"(
struct alignas(64) TensorMap { unsigned long long opaque[16]; };
extern "C" __global__ void twice(const __grid_constant__ TensorMap x, float* y, int m, int n) {
  __shared__ alignas(128) float box[ROWS * COLUMNS];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(box));
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  const int column = blockIdx.x * COLUMNS, row = blockIdx.y * ROWS;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at),
                 "r"(static_cast<unsigned>(sizeof(box))) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(to), "l"(reinterpret_cast<unsigned long long>(&x)), "r"(column), "r"(row), "r"(at) : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(at) : "memory");
  }
  for (int i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x) {
    int r = row + i / COLUMNS, c = column + i % COLUMNS;
    if (r < m && c < n) y[static_cast<long long>(r) * n + c] = 2 * box[i];
  }
}
)";

class DescriptorGpuTest : public testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (Device::Get(api(), 0)->Identity()->capability_major < 9)
      GTEST_SKIP() << "TMA is from compute capability 9.0 on";
  }
};

TEST_F(DescriptorGpuTest, AKernelThatCopiesByTmaIsTunedLaunchedAndFollowsItsTensor) {
  SearchSpace space;
  IntAxis rows = space.AddAxis("ROWS", {8, 64}), columns = space.AddAxis("COLUMNS", {32, 128});
  space.SetBaseline({{rows, 8}, {columns, 32}});
  KernelDefinition definition("twice");
  definition
      .Parameters({In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M", "N"}),
                   Descriptor("x_map", "x", TensorMap{{rows, columns}}), DimValue("M"), DimValue("N")})
      .Key(KeyOf("M").NextPow2(), KeyOf("N"))
      .Space(space)
      .Grid(Grid::TileCoverage({{"N", columns}, {"M", rows}}))
      .AddVariant(CudaCpp(kTwice, "twice").Block(128).KernelArgs({"x_map", "y", "M", "N"}));
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  Result<TunedKernel> kernel = TunedKernel::Create(definition, policy);
  ASSERT_OK(kernel);
  constexpr std::int64_t kColumns = 100;  // Not a multiple of a box; rows of 400 bytes.
  for (std::int64_t m : {300, 257, 300}) {
    for (float value : {1.0f, 3.0f}) {  // Another tensor each time.
      std::vector<float> values(static_cast<std::size_t>(m * kColumns));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = value * static_cast<float>(i % 1000);
      DeviceBuffer x = Floats(values), y = Floats(std::vector<float>(values.size(), -1));
      auto view = [&](const DeviceBuffer& of) {
        return TensorView::Contiguous(of.data(), DType::kFloat32, {m, kColumns});
      };
      ASSERT_OK(kernel->Launch(stream_->get(), view(x), view(y)));
      for (float& each : values) each *= 2;
      EXPECT_EQ(Read(y), values);
    }
  }
  EXPECT_EQ(kernel->counters().tunes, 1);
}

}  // namespace
}  // namespace tuneonce
