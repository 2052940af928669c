// What the host launches itself, and what was compiled ahead, on a real GPU: under CUPTI, in captures, as fatbins.
#include <string>
#include <vector>

#include "cuda/graph.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;

/// y = 2 x, by a kernel of the host's that does the work WORK times over; with TWICE in two launches.
class CallableGpuTest : public testing::GpuTest {
 protected:
  static constexpr int kN = 1 << 20;
  static constexpr int kBlock = 256;

  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    space_.SetBaseline({{work_, 64}});
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.quiet = true;
    for (int work : {64, 1}) {
      Geometry geometry;
      geometry.grid.x = kN / kBlock;
      geometry.block.x = kBlock;
      KernelSource source = KernelSource::CudaCpp(R"(
extern "C" __global__ void twice(const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int work = 0; work < WORK; ++work) ((volatile float*)y)[i] = 2 * ((volatile const float*)x)[i];
})",
                                                  "twice")
                                .Define("WORK", work);
      Result<CompiledKernel> kernel = CompiledKernel::Create(*device_, source, Hints(), geometry);
      ASSERT_OK(kernel);
      kernels_.push_back(*kernel);
    }
  }
  Variant::LaunchFn Launcher(int launches = 1) const {
    return [=, kernels = kernels_, work = work_](CUstream stream, const Config& c, const CallArguments& a) {
      const void *x = a.tensor("x").data, *y = a.tensor("y").data;
      void* parameters[] = {&x, &y};
      Status launched;
      for (int i = 0; i < launches && launched.ok(); ++i) {
        launched = kernels[c[work] == 1 ? 1 : 0].Launch(stream, parameters);
      }
      return launched;
    };
  }
  KernelDefinition Definition(const Variant::LaunchFn& launcher) const {
    KernelDefinition definition("twice");
    definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"})})
        .Space(space_)
        .AddVariant(Callable(launcher));
    return definition;
  }

  SearchSpace space_;
  IntAxis work_ = space_.AddAxis("WORK", {64, 1});
  std::vector<CompiledKernel> kernels_;
  AutotunePolicy policy_;
};

TEST_F(CallableGpuTest, TacticsRaceUnderCuptiAndAreCapturedAndServed) {
  for (bool is_restart : {false, true}) {
    TunedKernel kernel = *TunedKernel::Create(Definition(Launcher()), policy_);
    DeviceBuffer x = Floats(std::vector<float>(kN, 3)), y = Floats(std::vector<float>(kN, 0));
    ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y)));
    EXPECT_EQ(Read(y), std::vector<float>(kN, 6));
    EXPECT_EQ(kernel.counters().tunes, is_restart ? 0 : 1);
    ASSERT_OK(y.Fill(0));
    Result<GraphExec> graph =
        GraphExec::Capture(stream_->view(), [&](CUstream stream) { return kernel.Launch(stream, View(x), View(y)); });
    ASSERT_OK(graph);
    ASSERT_OK(graph->Launch(stream_->get()));
    EXPECT_EQ(Read(y), std::vector<float>(kN, 6));
  }
  TuningRecord record = (*policy_.store->List())[0];
  EXPECT_EQ(record.timer, "cupti");
  EXPECT_EQ(record.best.config.ToString(), "WORK=1");
}

TEST_F(CallableGpuTest, ATacticOfTwoKernelsIsTimedByEvents) {
  DeviceBuffer x = Floats(std::vector<float>(kN, 3)), y = Floats(std::vector<float>(kN, 0));
  TensorView x_view = View(x), y_view = View(y);
  Result<TuningRecord> result =
      exhaustive_search(Definition(Launcher(2)), stream_->get(), {x_view, y_view}, policy_.search);
  ASSERT_OK(result);
  EXPECT_EQ(result->timer, "events");
  EXPECT_EQ(result->best.config[work_], 1);
  EXPECT_EQ(Read(y), std::vector<float>(kN, 0));
}

/// `two_kernels` has code for sm_90 alone.
TEST_F(CallableGpuTest, CubinsAndFatbinsAreTunedAsTheyAre) {
  Result<DeviceIdentity> identity = device_->Identity();
  ASSERT_OK(identity);
  if (Target::Of(*identity).capability() != 90) GTEST_SKIP() << "NO GPU OF sm_90";
  SearchSpace space;
  Axis<std::string> kind = space.AddStringAxis("KIND", {"cubin", "fatbin", "ptx_that_is_not_there"});
  space.SetBaseline({{kind, "cubin"}});
  KernelDefinition definition("add");
  definition.Parameters({InOut("a", kFloat32, {"N"}), In("b", kFloat32, {"N"}), DimValue("N")})
      .Space(space)
      .AddVariant(Cubins(std::string(TUNEONCE_TEST_DATA) + "/cubin/two_kernels.{KIND}", "add")
                      .Grid(GeometryFn(Grid::Fixed(1)).Block(kBlock)));
  DeviceBuffer a = Floats(std::vector<float>(kBlock, 1)), b = Floats(std::vector<float>(kBlock, 2));
  TensorView a_view = View(a), b_view = View(b);
  Result<TuningRecord> result = exhaustive_search(definition, stream_->get(), {a_view, b_view}, policy_.search);
  ASSERT_OK(result);
  EXPECT_EQ(result->successes().size(), 2u);
  ASSERT_EQ(result->failures().size(), 1u);
  EXPECT_NE(result->failures()[0].message.find("two_kernels.ptx_that_is_not_there"), std::string::npos);
  TunedKernel kernel = *TunedKernel::Create(definition, policy_);
  ASSERT_OK(kernel.Launch(stream_->get(), a_view, b_view));
  EXPECT_EQ(Read(a), std::vector<float>(kBlock, 3));
}

}  // namespace
}  // namespace tuneonce
