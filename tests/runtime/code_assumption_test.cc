// What a tile kernel's code assumes beyond its variant's declaration, known once it is compiled: on the CPU device, by
// a toolchain that states it as Tile IR does.
#include <memory>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "compile/command_toolchain.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/tile_toolchain.h"
#include "testing/tools.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

class CodeAssumptionTest : public testing::CpuDeviceTest {
 protected:
  /// y = 2 x on N elements, in buckets of N. Configs of `tile` assume that N is a multiple of ASSUME; `plain`, behind
  /// it, takes any N.
  static KernelDefinition Doubled(const std::vector<std::int64_t>& assumed, bool has_plain = false,
                                  std::vector<Assumption> declared = {}) {
    constexpr char kText[] = R"(
static void doubled(const tuneonce_block&, const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}
TUNEONCE_CPU_KERNEL(doubled);)";
    SearchSpace space;
    auto assume = space.AddAxis("ASSUME", assumed);
    space.SetBaseline({{assume, assumed.front()}});
    KernelDefinition definition("doubled");
    definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
        .Key(KeyOf("N").NextPow2())
        .Space(space)
        .Grid(Grid::Fixed(1));
    Variant tile([=](const Config& config, const Problem&) {
      return KernelSource::TileCpp(kText, "doubled").Define("ASSUME", config[assume]);
    });
    definition.AddVariant(tile.Named("tile").Assuming(std::move(declared)));
    if (has_plain) {
      Variant plain([=](const Config& config, const Problem&) {
        return KernelSource::CpuCpp(kText, "doubled").Define("ASSUME", config[assume]);
      });
      definition.AddVariant(plain.Named("plain"));
    }
    return definition;
  }
  void SetUp() override {
    CpuDeviceTest::SetUp();
    UseNewRuntime();
    policy_.search.max_rounds = 1;
    policy_.store = std::make_shared<MemoryStore>();
    policy_.on_tune_error = AutotunePolicy::OnTuneError::kReturn;
  }
  void UseNewRuntime() {
    tile_ = std::make_shared<testing::TileToolchain>(
        std::vector<std::string>{"tile<ptr<f32>>", "tile<ptr<f32>>", "tile<i32>"}, /*assumed=*/2);
    RuntimeOptions options;
    options.toolchains = std::make_shared<const ToolchainSet>(std::vector<std::shared_ptr<const Toolchain>>{
        tile_, std::make_shared<const CommandToolchain>(kHostCompiler, testing::Tools())});
    policy_.search.runtime = *Runtime::Create(options);
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// Launches on `n` elements of 3. The output is right, or after an error untouched.
  Status Launch(TunedKernel& kernel, std::int64_t n) {
    const auto count = static_cast<std::size_t>(n);
    DeviceBuffer x = Floats(std::vector<float>(count, 3)), y = Floats(std::vector<float>(count, -1));
    Status launched = kernel.Launch(stream_->get(), testing::View(x), testing::View(y));
    EXPECT_EQ(Read(y), std::vector<float>(count, launched.ok() ? 6.0f : -1.0f)) << launched.ToString();
    return launched;
  }

  static constexpr const char* kRefused =
      "kernel 'doubled', variant 'tile' was compiled for other arguments: dimension 0 of 'x' has extent 60, which 16 "
      "does not divide";
  AutotunePolicy policy_;
  std::shared_ptr<testing::TileToolchain> tile_;
};

TEST_F(CodeAssumptionTest, ALaunchThatBreaksItIsRefusedBeforeItRuns) {
  TunedKernel kernel = Create(Doubled({16}));
  EXPECT_OK(Launch(kernel, 64));
  for (bool is_loaded : {false, true}) {
    SCOPED_TRACE(is_loaded);
    const Status refused = Launch(kernel, 60);
    EXPECT_ERROR(refused, StatusCode::kInvalidArgument, kRefused);
    EXPECT_EQ(refused.message().find('\n'), std::string::npos) << refused.message();
  }
  EXPECT_OK(Launch(kernel, 48));  // Of the same bucket.
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_ERROR(Launch(kernel, 28), StatusCode::kInvalidArgument, "which 16 does not divide");  // Of a new key.
}

TEST_F(CodeAssumptionTest, AnotherVariantIsUsedWhereTheCodeDoesNotSuit) {
  {
    TunedKernel kernel = Create(Doubled({16}, /*has_plain=*/true));
    EXPECT_OK(Launch(kernel, 64));
    EXPECT_EQ((*policy_.store->List())[0].best.variant, "tile");
    EXPECT_OK(Launch(kernel, 60));
    EXPECT_EQ(kernel.counters().tunes, 1) << "the key's fallback runs";
  }
  policy_.store = std::make_shared<MemoryStore>();
  TunedKernel kernel = Create(Doubled({16}, /*has_plain=*/true).Key(KeyOf("N")));
  EXPECT_OK(Launch(kernel, 60));
  EXPECT_EQ((*policy_.store->List())[0].best.variant, "plain");
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(CodeAssumptionTest, ExplainNamesIt) {
  TunedKernel kernel = Create(Doubled({16}, /*has_plain=*/true));
  EXPECT_OK(Launch(kernel, 64));
  DeviceBuffer x = Floats(std::vector<float>(60, 3)), y = Floats(std::vector<float>(60, 0));
  Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {testing::View(x), testing::View(y)});
  ASSERT_OK(plan);
  EXPECT_EQ(plan->reason, LaunchPlan::Reason::kGuard);
  EXPECT_EQ(plan->detail, kRefused);
  EXPECT_OK(Launch(kernel, 60));
}

TEST_F(CodeAssumptionTest, OneConfigFailsAndTheSearchGoesOn) {
  TunedKernel kernel = Create(Doubled({4, 16, 1}));
  EXPECT_OK(Launch(kernel, 60));
  const TuningRecord record = (*policy_.store->List())[0];
  EXPECT_NE(*record.best.config.Find("ASSUME"), AxisValue(std::int64_t{16}));
  EXPECT_EQ(tile_->num_compiles(), 3);
}

TEST_F(CodeAssumptionTest, ItComesAlongWithCodeOfTheCache) {
  TemporaryFolder folder = *testing::MakeFolder();
  for (bool is_second : {false, true}) {
    Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open({folder.path() + "/store.db"});
    ASSERT_OK(store);
    policy_.store = *store;
    UseNewRuntime();
    TunedKernel kernel = Create(Doubled({16}));
    if (is_second) {
      EXPECT_ERROR(Launch(kernel, 60), StatusCode::kInvalidArgument, kRefused);
    }
    EXPECT_OK(Launch(kernel, 64));
    EXPECT_ERROR(Launch(kernel, 60), StatusCode::kInvalidArgument, kRefused);
    EXPECT_EQ(tile_->num_compiles(), is_second ? 0 : 1);
    EXPECT_EQ(kernel.counters().tunes, is_second ? 0 : 1);
  }
}

TEST_F(CodeAssumptionTest, ADefinitionThatContradictsItIsRefused) {
  TunedKernel kernel = Create(Doubled({16}, /*has_plain=*/false, {ExtentIs("x", 0, 60)}));
  EXPECT_ERROR(Launch(kernel, 60), StatusCode::kInternal,
               "its code assumes that the dim 'N' is a multiple of 16, but the definition declares 60");
}

}  // namespace
}  // namespace tuneonce
