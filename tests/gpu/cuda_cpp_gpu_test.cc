// CUDA C++ as it is found in the wild, tuned on a real GPU: CUB by name expressions, types per dtype, compiler options.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "compile/nvrtc_source.h"
#include "store/memory_store.h"
#include "testing/bundle_formulas.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/report.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

/// y[m] = the sum of row m. What is loaded at a time is BLOCK * ITEMS elements.
constexpr char kRowSums[] = R"(
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cuda_fp16.h>
template <int BLOCK, int ITEMS, typename T>
__global__ void row_sums(const T* x, float* y, int n) {
  using Load = cub::BlockLoad<T, BLOCK, ITEMS, cub::BLOCK_LOAD_STRIPED>;
  using Reduce = cub::BlockReduce<float, BLOCK>;
  __shared__ typename Load::TempStorage load;
  __shared__ typename Reduce::TempStorage reduce;
  const T* row = x + static_cast<long long>(blockIdx.x) * n;
  float sum = 0;
  for (int begin = 0; begin < n; begin += BLOCK * ITEMS) {
    T items[ITEMS];
    Load(load).Load(row + begin, items, n - begin, T(0.f));
    for (int i = 0; i < ITEMS; ++i) sum += static_cast<float>(items[i]);
  }
  sum = Reduce(reduce).Sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
)";

constexpr char kDivide[] = R"(
template <int ITEMS>
__global__ void divide(const float* x, float* y, int n) {
  for (int i = 0; i < ITEMS; ++i) {
    int at = (blockIdx.x * ITEMS + i) * blockDim.x + threadIdx.x;
    if (at < n) y[at] = x[at] / (1.0f + x[at]);
  }
}
)";

class CudaCppGpuTest : public testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Result<Artifact> cub =
        NvrtcToolchain(testing::Tools())
            .Compile(KernelSource::CudaCpp("#include <cub/block/block_load.cuh>\n__global__ void k() {}", "k"), Hints(),
                     testing::Sm(90));
    if (!cub.ok()) GTEST_SKIP() << "CUB IS NOT INSTALLED: " << cub.status().message();
  }
};

KernelDefinition RowSums() {
  SearchSpace space;
  IntAxis block = space.AddAxis("BLOCK", {64, 128, 256, 512});
  IntAxis items = space.AddAxis("ITEMS", {1, 4, 8, 16});
  space.SetBaseline({{block, 128}, {items, 1}});
  KernelDefinition definition("row_sums");
  definition.Parameters({In("x", {"M", "N"}), Out("y", kFloat32, {"M"}), DimValue("N")})
      .Space(space)
      .Grid(Grid::OneD({"M", 1}))
      .AddVariant(CudaCpp(kRowSums, "row_sums<BLOCK, ITEMS, T>").Block(block).DefineType("T", DTypeOf("x")));
  return definition;
}

TEST_F(CudaCppGpuTest, AKernelOfCubIsTunedOverItsTemplateParametersForEachDType) {
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  Result<TunedKernel> kernel = TunedKernel::Create(RowSums(), policy);
  ASSERT_OK(kernel);
  constexpr std::int64_t kRows = 500, kColumns = 10007;
  std::vector<float> values(kRows * kColumns);
  std::vector<std::uint16_t> halves(values.size());
  std::vector<double> sums(kRows, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919) % 97) / 4;
    halves[i] = testing::HalfOf(values[i]);
    sums[i / kColumns] += values[i];
  }
  DeviceBuffer x32 = Floats(values), y = Floats(std::vector<float>(kRows, -1));
  Result<DeviceBuffer> x16 = DeviceBuffer::Allocate(stream_->view(), halves.size() * 2);
  ASSERT_OK(x16);
  ASSERT_OK(x16->CopyFromHost(halves.data(), halves.size() * 2));
  const TensorView out = TensorView::Contiguous(y.data(), DType::kFloat32, {kRows});
  for (const TensorView& x : {TensorView::Contiguous(x32.data(), DType::kFloat32, {kRows, kColumns}),
                              TensorView::Contiguous(x16->data(), DType::kFloat16, {kRows, kColumns})}) {
    for (int launch = 0; launch < 2; ++launch) {
      ASSERT_OK(y.CopyFromHost(std::vector<float>(kRows, -1).data(), kRows * sizeof(float)));
      ASSERT_OK(kernel->Launch(stream_->get(), x, out));
      std::vector<float> found = Read(y);
      for (std::size_t m = 0; m < found.size(); ++m) {
        ASSERT_NEAR(found[m], sums[m], 1e-5 * sums[m]) << "row " << m << " of " << DTypeName(x.dtype);
      }
    }
  }
  EXPECT_EQ(kernel->counters().tunes, 2) << "one for each dtype";
}

TEST_F(CudaCppGpuTest, EveryBlockSizeOfCubIsMeasuredAndNoneFails) {
  constexpr std::int64_t kRows = 256, kColumns = 8192;
  DeviceBuffer x = Floats(std::vector<float>(kRows * kColumns, 0.5f)), y = Floats(std::vector<float>(kRows, 0));
  Result<TuningRecord> result = exhaustive_search(RowSums(), stream_->get(),
                                                  {TensorView::Contiguous(x.data(), DType::kFloat32, {kRows, kColumns}),
                                                   TensorView::Contiguous(y.data(), DType::kFloat32, {kRows})});
  ASSERT_OK(result);
  EXPECT_TRUE(result->failures().empty()) << SummaryTable(*result);
  EXPECT_EQ(result->successes().size() + result->duplicates().size(), 16u);
  EXPECT_TRUE(result->duplicates().empty()) << "each size is other code";
  std::printf("%s\n", SummaryTable(*result).c_str());
}

TEST_F(CudaCppGpuTest, OptionsOfTheCompilerAreRacedAndEqualCodeIsMeasuredOnce) {
  SearchSpace space;
  Axis<bool> exact = space.AddBoolOptionAxis("prec-div");
  IntAxis registers = space.AddOptionAxis("maxrregcount", {0, 64});  // The kernel needs fewer: the same code.
  IntAxis items = space.AddAxis("ITEMS", {1, 4});
  space.SetBaseline({{exact, true}, {registers, 0}, {items, 1}});
  KernelDefinition definition("divide");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
      .Space(space)
      .Grid(Grid::OneD({"N", Term(256) * items}))
      .AddVariant(CudaCpp(kDivide, "divide<ITEMS>").Block(256));
  constexpr std::int64_t kElements = 1 << 22;
  std::vector<float> values(kElements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) / 7;
  DeviceBuffer x = Floats(values), y = Floats(std::vector<float>(values.size(), 0));
  const TensorView from = TensorView::Contiguous(x.data(), DType::kFloat32, {kElements});
  const TensorView to = TensorView::Contiguous(y.data(), DType::kFloat32, {kElements});
  const std::vector<Argument> arguments = {from, to};
  EXPECT_ERROR(exhaustive_search(definition, stream_->get(), arguments), StatusCode::kInvalidArgument,
               "the option axis 'prec-div' may change the results of 'y'");
  Result<TuningRecord> result = exhaustive_search(definition.VerifyWithin({0, 0, 4}), stream_->get(), arguments);
  ASSERT_OK(result);
  EXPECT_TRUE(result->failures().empty()) << SummaryTable(*result);
  EXPECT_EQ(result->successes().size(), 4u) << "a division is other code, a limit of registers that holds is not";
  EXPECT_EQ(result->duplicates().size(), 4u);
  for (const CandidateOutcome& duplicate : result->duplicates()) {
    for (const char* axis : {"prec-div", "ITEMS"}) {
      EXPECT_EQ(*duplicate.config.Find(axis), *duplicate.same_as->Find(axis)) << SummaryTable(*result);
    }
  }
  std::printf("%s\n", SummaryTable(*result).c_str());
}

// NVRTC 13.0 keeps cubins in the driver's cache, and may return one that was compiled with other options
// (docs/internal/driver_rules.md).
TEST_F(CudaCppGpuTest, ACompileGetsTheCodeOfItsOwnOptionsWhateverRanBeforeOrRunsBesideIt) {
  constexpr std::size_t kKinds = 8, kRounds = 20;
  NvrtcToolchain nvrtc(testing::Tools());
  auto code_of = [&](std::size_t kind) {
    KernelSource source = KernelSource::CudaCpp(kDivide, "divide<ITEMS>").Define("ITEMS", (kind & 4) != 0 ? 4 : 1);
    source.options = {(kind & 1) != 0 ? "--prec-div=true" : "--prec-div=false"};
    if ((kind & 2) != 0) source.options.emplace_back("--maxrregcount=64");
    Result<Artifact> artifact = nvrtc.Compile(source, Hints(), testing::Sm(90));
    EXPECT_OK(artifact);
    return artifact.ok() ? artifact->code_fingerprint : Fingerprint();
  };
  std::vector<Fingerprint> alone;
  for (std::size_t kind = 0; kind < kKinds; ++kind) alone.push_back(code_of(kind));
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    for (std::size_t other = 0; other < kind; ++other) {
      EXPECT_EQ(alone[kind] == alone[other], (kind & 5) == (other & 5)) << kind << " and " << other;
    }
  }
  std::atomic<int> others{0};
  std::vector<std::thread> threads;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    threads.emplace_back([&, kind] {
      for (std::size_t round = 0; round < kRounds; ++round) others += code_of(kind) == alone[kind] ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(others, 0) << "of " << kKinds * kRounds << " compiles";
}

}  // namespace
}  // namespace tuneonce
