// Files that were compiled ahead, tuned: on the CPU device shared objects, made by the host's compiler.
#include <string>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "testing/work_timer.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;

class PrecompiledTest : public testing::CpuDeviceTest {
 protected:
  PrecompiledTest() : folder_(*testing::MakeFolder()) {}

  /// Compiles the scale kernel of every config but `left_out` into files "scale.TILExWORK.so".
  void CompileAllBut(const std::string& left_out) {
    Target cpu;
    cpu.is_cpu_device = true;
    const Toolchain* toolchain = *Runtime::Default()->toolchains().For(SourceKind::kCpuCpp);
    std::vector<Config> configs = *scale_.space.Enumerate(cpu);
    for (const Config& config : configs) {
      std::string name = AxisValueString(config.values()[0]) + "x" + AxisValueString(config.values()[1]);
      if (name == left_out) continue;
      Result<Artifact> artifact = toolchain->Compile(scale_.Source()(config, Problem()), Hints(), cpu);
      ASSERT_OK(artifact);
      ASSERT_OK(WriteFile(folder_.path() + "/scale." + name + ".so", artifact->image));
    }
  }
  KernelDefinition Definition() const {
    KernelDefinition definition("scale");
    definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"), DimValue("N")})
        .Space(scale_.space)
        .AddVariant(Cubins(folder_.path() + "/scale.{TILE}x{WORK}.so", "scale").Grid(Grid::OneD({"N", scale_.tile})));
    return definition;
  }

  TemporaryFolder folder_;
  testing::ScaleKernel scale_;
};

TEST_F(PrecompiledTest, FilesInATunedLaunchOut) {
  CompileAllBut("");
  AutotunePolicy policy;
  testing::WorkTimer timer;
  policy.search.timer = &timer;
  policy.search.runtime = testing::RuntimeIn({{"TUNEONCE_CXX", "/nowhere/c++"}});
  policy.store = std::make_shared<MemoryStore>();
  DeviceBuffer x = Floats(std::vector<float>(1000, 3)), y = Floats(std::vector<float>(1000, 0));
  for (bool is_restart : {false, true}) {
    TunedKernel kernel = *TunedKernel::Create(Definition(), policy);
    Status launched = kernel.Launch(stream_->get(), View(x), View(y), 2.0f);
    EXPECT_OK(launched);
    EXPECT_EQ(Read(y), std::vector<float>(1000, 6));
    EXPECT_EQ(kernel.counters().tunes, is_restart ? 0 : 1);
    EXPECT_EQ(kernel.counters().stored_hits, is_restart ? 1 : 0);
  }
  TuningRecord record = (*policy.store->List())[0];
  EXPECT_EQ(*record.best.config.Find("WORK"), AxisValue(std::int64_t{1}));
  EXPECT_EQ(record.best.variant, "cubin");
  // Other content is another kernel.
  ASSERT_OK(WriteFile(folder_.path() + "/scale.256x1.so", *ReadFile(folder_.path() + "/scale.64x1.so")));
  TunedKernel changed = *TunedKernel::Create(Definition(), policy);
  ASSERT_OK(changed.Launch(stream_->get(), View(x), View(y), 2.0f));
  EXPECT_EQ(changed.counters().tunes, 1);
}

TEST_F(PrecompiledTest, AConfigWithoutAFileFailsByItsName) {
  CompileAllBut("256x1");
  ASSERT_OK(WriteFile(folder_.path() + "/scale.256x100.so", "no code"));
  DeviceBuffer x = Floats(std::vector<float>(1000, 3)), y = Floats(std::vector<float>(1000, 0));
  TensorView x_view = View(x), y_view = View(y);
  float factor = 2;
  testing::WorkTimer timer;
  SearchOptions options;
  options.timer = &timer;
  options.quiet = true;
  Result<TuningRecord> result = exhaustive_search(Definition(), stream_->get(), {x_view, y_view, factor}, options);
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config.ToString(), "TILE=64, WORK=1");
  ASSERT_EQ(result->failures().size(), 2u);
  for (const CandidateOutcome& failure : result->failures()) EXPECT_EQ(failure.kind, OutcomeKind::kCompile);
  EXPECT_NE(result->failures()[0].message.find("the image is not a shared object"), std::string::npos)
      << result->failures()[0].message;
  EXPECT_NE(result->failures()[1].message.find("/scale.256x1.so"), std::string::npos) << result->failures()[1].message;
}

}  // namespace
}  // namespace tuneonce
