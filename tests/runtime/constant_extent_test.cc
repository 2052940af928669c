// A kernel one of whose extents is a number: what else meets shapes (warm-ups, buckets, verification) meets it as well.
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/work_timer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

/// Sums the 4 elements of each row.
constexpr char kSumRows[] = R"(
static void sum_rows(const tuneonce_block& block, const float* x, float* y, int n) {
  const int begin = block.x * TILE, end = begin + TILE < n ? begin + TILE : n;
  for (int i = begin; i < end; ++i) y[i] = x[4 * i] + x[4 * i + 1] + x[4 * i + 2] + x[4 * i + 3];
}
TUNEONCE_CPU_KERNEL(sum_rows);)";

class ConstantExtentTest : public testing::CpuDeviceTest {
 protected:
  void SetUp() override {
    CpuDeviceTest::SetUp();
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.quiet = true;
    policy_.search.timer = &timer_;
    SearchSpace space;
    IntAxis tile = space.AddAxis("TILE", {16, 64});
    space.SetBaseline({{tile, 16}});
    KernelDefinition definition("sum_rows");
    definition.Parameters({In("x", kFloat32, {"N", 4}), Out("y", kFloat32, {"N"}), DimValue("N")})
        .Space(space)
        .Key(KeyOf("N").NextPow2())
        .AddVariant(Variant([tile](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(kSumRows, "sum_rows").Define("TILE", c[tile]);
                    }).Grid(Grid::OneD({"N", tile})));
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    ASSERT_OK(kernel);
    kernel_.emplace(*std::move(kernel));
  }
  Status Launch(std::int64_t rows, std::int64_t columns) {
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    std::iota(values.begin(), values.end(), 0.f);
    DeviceBuffer x = Floats(values), y = Floats(std::vector<float>(static_cast<std::size_t>(rows), -1));
    TUNEONCE_RETURN_IF_ERROR(kernel_->Launch(stream_->get(),
                                             TensorView::Contiguous(x.data(), kFloat32, {rows, columns}),
                                             TensorView::Contiguous(y.data(), kFloat32, {rows})));
    std::vector<float> sums;
    for (std::int64_t i = 0; i < rows; ++i) sums.push_back(16.f * static_cast<float>(i) + 6);
    EXPECT_EQ(Read(y), sums);
    return Status();
  }

  testing::WorkTimer timer_;
  AutotunePolicy policy_;
  std::optional<TunedKernel> kernel_;
};

TEST_F(ConstantExtentTest, AWarmUpByShapeNamesOnlyTheDimsAndItsBucketServes) {
  ASSERT_OK(kernel_->Warmup(stream_->get(), {{{"N", 100}}}));
  const TuningRecord record = policy_.store->List()->front();
  EXPECT_EQ(record.tuned_at, "N=128");
  EXPECT_EQ(record.key.key_text.find('4'), std::string::npos) << record.key.key_text;
  ASSERT_OK(Launch(101, 4));
  EXPECT_EQ(kernel_->counters().tunes, 1);
  EXPECT_EQ(kernel_->counters().hits, 1);
}

TEST_F(ConstantExtentTest, ALaunchTunesAndAnotherExtentIsRefused) {
  ASSERT_OK(Launch(100, 4));
  EXPECT_EQ(kernel_->counters().tunes, 1);
  EXPECT_ERROR(Launch(100, 5), StatusCode::kInvalidArgument,
               "kernel 'sum_rows', parameter 'x', dimension 1: extent 5 differs from the declared extent 4");
  EXPECT_EQ(kernel_->counters().tunes, 1);
  ASSERT_OK(Launch(99, 4));
}

}  // namespace
}  // namespace tuneonce
