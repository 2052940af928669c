// Requirements of variants that depend on the config: a vector width whose code needs aligned addresses.
#include <algorithm>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "cuda/graph.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/tools.h"
#include "testing/work_timer.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

extern "C" {
/// The vector width of the code that ran last.
__attribute__((visibility("default"), used)) inline int tuneonce_vec_ran = 0;
}

namespace tuneonce {
namespace {

class RequirementTest : public testing::CpuDeviceTest {
 protected:
  using Mode = AutotunePolicy::Mode;
  static constexpr std::size_t kExtent = 64;

  RequirementTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.timer = &timer_;
    policy_.search.max_rounds = 1;
  }
  /// y = 2 x. The wider, the faster; code with VEC > 1 computes nonsense at an address that it is not for.
  static Variant Vectorized() {
    return CpuCpp(R"(
#include <cstdint>
extern "C" __attribute__((weak)) long tuneonce_test_work;
extern "C" __attribute__((weak)) int tuneonce_vec_ran;
static void doubled(const tuneonce_block&, const float* x, float* y, int n) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(x) % (4 * VEC) == 0;
  for (int i = 0; i < n; ++i) y[i] = is_aligned ? 2 * x[i] : -1;
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, 400 / VEC, __ATOMIC_RELAXED);
  if (&tuneonce_vec_ran != nullptr) __atomic_store_n(&tuneonce_vec_ran, VEC, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(doubled);)",
                  "doubled");
  }
  /// `baseline`: the VEC of the baseline, or 0 for none.
  static KernelDefinition Doubled(int baseline, const char* requirement = "VEC == 1 || aligned(x, 4 * VEC)") {
    SearchSpace space;
    auto vec = space.AddAxis("VEC", {1, 2, 4});
    if (baseline != 0) space.SetBaseline({{vec, baseline}});
    Variant variant = Vectorized();
    Result<Condition> condition = Condition::Parse(requirement);
    EXPECT_OK(condition);
    variant.Requires(*condition);
    return KernelDefinition("doubled")
        .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
        .Space(space)
        .Grid(Grid::Fixed(1))
        .AddVariant(variant);
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// The vector width that ran at an address `offset` elements behind an aligned one.
  int Launch(TunedKernel& kernel, std::size_t offset = 0, std::size_t n = kExtent) {
    DeviceBuffer x = Floats(std::vector<float>(n + offset, 3)), y = Floats(std::vector<float>(n, 0));
    tuneonce_vec_ran = 0;
    EXPECT_OK(kernel.Launch(stream_->get(), At(x, offset, n), At(y, 0, n)));
    EXPECT_EQ(Read(y), std::vector<float>(n, 6)) << "offset " << offset;
    return tuneonce_vec_ran;
  }
  static TensorView At(const DeviceBuffer& buffer, std::size_t offset, std::size_t n) {
    return TensorView::Contiguous(static_cast<float*>(buffer.data()) + offset, DType::kFloat32,
                                  {static_cast<std::int64_t>(n)});
  }
  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    const std::vector<TuningRecord> records = *policy_.store->List();
    for (const TuningRecord& record : records) keys.push_back(record.key.key_text);
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  testing::WorkTimer timer_;
  AutotunePolicy policy_;
};

TEST_F(RequirementTest, AlignedLaunchesRunTheWidestCodeAndOthersWhatSuitsThem) {
  for (int baseline : {0, 1, 4}) {
    for (std::vector<std::size_t> order : {std::vector<std::size_t>{0, 1, 2}, {1, 0, 2}, {2, 1, 0}}) {
      policy_.store = std::make_shared<MemoryStore>();
      TunedKernel kernel = Create(Doubled(baseline));
      for (int round = 0; round < 2; ++round) {
        for (std::size_t offset : order) {
          EXPECT_EQ(Launch(kernel, offset), offset == 0 ? 4 : offset == 1 ? 1 : 2) << "baseline " << baseline;
        }
      }
      EXPECT_EQ(kernel.counters().tunes, 3);
      EXPECT_EQ(kernel.counters().fallbacks, 0);
      EXPECT_EQ(Keys(), (std::vector<std::string>{
                            "N=64, x:float32, y:float32", "N=64, x:float32, y:float32, without aligned(x, 16)",
                            "N=64, x:float32, y:float32, without aligned(x, 16) and aligned(x, 8)"}));
    }
  }
}

TEST_F(RequirementTest, AssumptionsThatAreAddedLaterDoNotReplaceIt) {
  for (bool first : {false, true}) {
    Variant variant = Vectorized();
    if (!first) variant.Requires(Aligned("x", 16)).Assuming({Contiguous("y")});
    if (first) variant.Assuming({Contiguous("y")}).Requires(Aligned("x", 16));
    EXPECT_EQ(variant.assumptions.size(), 2u);
  }
}

// A part that reads dims is asked at each launch. The launch that comes first does not decide whether a record serves.
TEST_F(RequirementTest, ARecordOfABucketServesWhicheverLaunchComesFirst) {
  const KernelDefinition definition = Doubled(1, "VEC == 1 || N % (16 * VEC) == 0").Key({KeyOf("N").NextPow2()});
  {
    TunedKernel kernel = Create(definition);
    EXPECT_EQ(Launch(kernel, 0, 64), 4);
  }
  for (Mode mode : {Mode::kTuneOnMiss, Mode::kStoredOnly}) {
    policy_.mode = mode;
    TunedKernel kernel = Create(definition);
    EXPECT_EQ(Launch(kernel, 0, 60), 1);
    EXPECT_EQ(Launch(kernel, 0, 64), 4);
    EXPECT_EQ(kernel.counters().tunes, 0);
    EXPECT_EQ(kernel.counters().misses_refused, 0);
  }
}

TEST_F(RequirementTest, AListOfInputsMayBeKept) {
  TunedKernel kernel = Create(Doubled(1));
  Launch(kernel);
  DeviceBuffer x = Floats(std::vector<float>(kExtent, 3)), y = Floats(std::vector<float>(kExtent, 0));
  const TensorView in = At(x, 0, kExtent), out = At(y, 0, kExtent);
  const TunedKernel::CallInputs inputs = {in, out};
  EXPECT_EQ(kernel.Explain(stream_->get(), inputs)->reason, LaunchPlan::Reason::kReady);
  EXPECT_EQ(kernel.Explain(stream_->get(), std::vector<Argument>{in, out})->reason, LaunchPlan::Reason::kReady);
  EXPECT_ERROR(kernel.Explain(stream_->get(), {}), StatusCode::kInvalidArgument, "argument");
}

TEST_F(RequirementTest, AChangedGuardMakesAStoredRecordAMiss) {
  for (const char* guard : {"N % VEC == 0", "N % VEC == 0 || VEC == 4"}) {
    KernelDefinition definition = Doubled(1);
    SearchSpace space;
    auto vec = space.AddAxis("VEC", {1, 2, 4});
    space.SetBaseline({{vec, 1}}).Where("fits", *Condition::Parse(guard));
    TunedKernel kernel = Create(definition.Space(space));
    Launch(kernel, 0, 6);
    EXPECT_EQ(kernel.counters().tunes, 1) << guard;
  }
}

TEST_F(RequirementTest, ASearchTriesOnlyWhatTheKeySuits) {
  TunedKernel kernel = Create(Doubled(4));
  Launch(kernel, 2);
  const std::vector<TuningRecord> records = *policy_.store->List();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].candidates.size(), 2u);
  EXPECT_TRUE(records[0].is_complete);
  ASSERT_TRUE(records[0].baseline.has_value()) << "another config stands in for the baseline, which does not suit";
  EXPECT_EQ(records[0].baseline->config.ToString(), "VEC=1");
}

TEST_F(RequirementTest, AnotherProcessFindsBothSelectionsInTheStore) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  SqliteStoreOptions options;
  options.path = folder->path() + "/store.db";
  policy_.store = *SqliteStore::Open(options);
  {
    TunedKernel kernel = Create(Doubled(4));
    for (std::size_t offset : {0, 1}) Launch(kernel, offset);
  }
  policy_.store = *SqliteStore::Open(options);
  for (Mode mode : {Mode::kTuneOnMiss, Mode::kStoredOnly, Mode::kTuneDeferred}) {
    policy_.mode = mode;
    TunedKernel kernel = Create(Doubled(4));
    EXPECT_EQ(Launch(kernel, 1), 1);
    EXPECT_EQ(Launch(kernel, 0), 4);
    EXPECT_EQ(kernel.counters().stored_hits, 2);
    EXPECT_EQ(kernel.counters().tunes, 0);
  }
}

TEST_F(RequirementTest, StoredOnlyMisalignedLaunchesOfAnAlignedRecordRunWhatSuitsThem) {
  for (int baseline : {1, 4}) {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.mode = Mode::kTuneOnMiss;
    TunedKernel tunes = Create(Doubled(baseline));
    EXPECT_EQ(Launch(tunes), 4);
    policy_.mode = Mode::kStoredOnly;
    TunedKernel kernel = Create(Doubled(baseline));
    EXPECT_EQ(Launch(kernel), 4);
    EXPECT_EQ(Launch(kernel, 1), 1) << "by the code of the search's candidates";
    EXPECT_EQ(kernel.counters().fallbacks, 1);
  }
}

TEST_F(RequirementTest, FrozenAndCapturedLaunchesRunWhatSuitsThem) {
  for (int baseline : {0, 1, 4}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Doubled(baseline));
    ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", static_cast<std::int64_t>(kExtent)}}}));
    kernel.Freeze();
    EXPECT_EQ(Launch(kernel), 4);
    EXPECT_EQ(Launch(kernel, 1), 1);
    EXPECT_EQ(kernel.counters().frozen_misses, 1);
    EXPECT_EQ(kernel.frozen_misses(),
              (std::vector<std::string>{"N=64, x:float32, y:float32, without aligned(x, 16) and aligned(x, 8)"}));
    DeviceBuffer x = Floats(std::vector<float>(kExtent + 1, 3)), y = Floats(std::vector<float>(kExtent, 0));
    Result<GraphExec> graph = GraphExec::Capture(
        stream_->view(), [&](CUstream stream) { return kernel.Launch(stream, At(x, 1, kExtent), At(y, 0, kExtent)); });
    ASSERT_OK(graph);
    ASSERT_OK(graph->Launch(stream_->get()));
    EXPECT_EQ(Read(y), std::vector<float>(kExtent, 6));
  }
}

TEST_F(RequirementTest, CapturedWithoutAWarmUpNothingRuns) {
  TunedKernel kernel = Create(Doubled(4));
  EXPECT_EQ(Launch(kernel), 4);
  DeviceBuffer x = Floats(std::vector<float>(kExtent + 1, 3)), y = Floats(std::vector<float>(kExtent, 0));
  Status captured;
  Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) {
    captured = kernel.Launch(stream, At(x, 1, kExtent), At(y, 0, kExtent));
    return Status();
  });
  EXPECT_ERROR(captured, StatusCode::kFailedPrecondition, "the stream is capturing and no code is loaded");
}

TEST_F(RequirementTest, FallbacksSuitTheCallWhateverTheBaseline) {
  for (Mode mode : {Mode::kFallbackOnly, Mode::kTuneDeferred}) {
    policy_.mode = mode;
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Doubled(4));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(Launch(kernel, 1), 1);
      EXPECT_EQ(Launch(kernel, 0), 4);
    }
  }
}

TEST_F(RequirementTest, APinnedConfigServesOnlyTheCallsThatItSuits) {
  const TunedKernel::Shape shape = {{"N", static_cast<std::int64_t>(kExtent)}};
  for (TunedKernel::PinFor how_long : {TunedKernel::PinFor::kProcess, TunedKernel::PinFor::kStore}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Doubled(1));
    ASSERT_OK(kernel.Pin(shape, {{"VEC", 4}}, how_long));
    EXPECT_EQ(Launch(kernel), 4);
    EXPECT_EQ(Launch(kernel, 2), 2);
    EXPECT_EQ(Launch(kernel), 4);
    TunedKernel other = Create(Doubled(1));
    EXPECT_EQ(Launch(other, 1), 1) << "the stored pin does not suit it";
    EXPECT_EQ(Launch(other), 4);
  }
  TunedKernel kernel = Create(Doubled(1));
  // A value that the axis does not list.
  ASSERT_OK(kernel.Pin(shape, {{"VEC", 8}}, TunedKernel::PinFor::kProcess));
  EXPECT_EQ(Launch(kernel, 2), 2);
  EXPECT_EQ(Launch(kernel, 1), 1);
}

TEST_F(RequirementTest, InABucketAlignmentDecidesAsWell) {
  TunedKernel kernel = Create(Doubled(4).Key(KeyOf("N").NextPow2()));
  EXPECT_EQ(Launch(kernel, 0, 64), 4);
  EXPECT_EQ(Launch(kernel, 1, 60), 1);
  EXPECT_EQ(Launch(kernel, 0, 60), 4);
  EXPECT_EQ(Launch(kernel, 1, 64), 1);
  EXPECT_EQ(kernel.counters().tunes, 2);
}

TEST_F(RequirementTest, IsolatedCandidatesAreThoseThatSuitTheCaller) {
  policy_.search.isolation = Isolation::kRequired;
  policy_.search.timer = nullptr;  // Only timers of the library work in another process.
  TunedKernel kernel = Create(Doubled(4));
  EXPECT_EQ(Launch(kernel, 1), 1);
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  const std::vector<TuningRecord> records = *policy_.store->List();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].best.config.ToString(), "VEC=1");
}

TEST_F(RequirementTest, ExhaustiveSearchTriesWhatSuitsItsArguments) {
  DeviceBuffer x = Floats(std::vector<float>(kExtent + 2, 3)), y = Floats(std::vector<float>(kExtent, 0));
  Result<TuningRecord> found =
      exhaustive_search(Doubled(4), stream_->get(), {At(x, 2, kExtent), At(y, 0, kExtent)}, policy_.search);
  ASSERT_OK(found);
  EXPECT_EQ(found->best.config.ToString(), "VEC=2");
  EXPECT_EQ(found->candidates.size(), 2u);
}

TEST_F(RequirementTest, ACallThatNoConfigSuitsIsAnErrorThatNamesWhatIsMissing) {
  for (Mode mode : {Mode::kTuneOnMiss, Mode::kFallbackOnly, Mode::kTuneDeferred}) {
    policy_.mode = mode;
    TunedKernel kernel = Create(Doubled(4, "aligned(x, 4 * VEC) && VEC >= 2"));
    DeviceBuffer x = Floats(std::vector<float>(kExtent + 1, 3)), y = Floats(std::vector<float>(kExtent, 0));
    Status launched = kernel.Launch(stream_->get(), At(x, 1, kExtent), At(y, 0, kExtent));
    EXPECT_FALSE(launched.ok());
    EXPECT_NE(launched.message().find("'x' is not aligned to 8 bytes"), std::string::npos) << launched.message();
    EXPECT_EQ(Read(y), std::vector<float>(kExtent, 0));
    EXPECT_NE(Launch(kernel), 1);
  }
}

TEST_F(RequirementTest, DimsAndFunctionsAreAskedLikeGuards) {
  const std::vector<Condition> conditions = {
      *Condition::Parse("N % (16 * VEC) == 0"), Condition([](const Config& config, const Problem& problem) {
        return problem[Dim{0}] % (16 * std::get<std::int64_t>(config.values()[0])) == 0;
      })};
  for (const Condition& condition : conditions) {
    for (bool is_bucketed : {false, true}) {
      policy_.store = std::make_shared<MemoryStore>();
      SearchSpace space;
      auto vec = space.AddAxis("VEC", {1, 2, 4});
      space.SetBaseline({{vec, 4}});
      Variant variant = Vectorized();
      variant.Requires(condition);
      KernelDefinition definition("doubled");
      definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
          .Space(space)
          .Grid(Grid::Fixed(1))
          .AddVariant(variant);
      if (is_bucketed) definition.Key(KeyOf("N").NextPow2());
      TunedKernel kernel = Create(definition);
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(Launch(kernel, 0, 128), 4);
        EXPECT_EQ(Launch(kernel, 0, 112), 1);
        EXPECT_LE(Launch(kernel, 0, 96), 2);
      }
    }
  }
}

TEST_F(RequirementTest, PartsWithoutAxesSelectTheVariant) {
  KernelDefinition definition = Doubled(4);
  Variant wide = Vectorized(), any = definition.variants()[0];
  wide.Named("wide").Requires(Aligned("x", 16) && D("N") % 8 == 0 && (Aligned("y", 16) || D("N") == 8));
  any.Named("any");
  KernelDefinition both("doubled");
  both.Parameters(definition.parameters()).Space(definition.space()).Grid(Grid::Fixed(1));
  both.AddVariant(wide).AddVariant(any).Key(KeyOf("N").NextPow2());
  TunedKernel kernel = Create(both);
  EXPECT_EQ(Launch(kernel, 0, 64), 4);
  EXPECT_EQ(Launch(kernel, 0, 60), 4);
  EXPECT_EQ(Launch(kernel, 1, 64), 1);
  EXPECT_EQ(Keys(), (std::vector<std::string>{
                        "N<=64, x:float32, y:float32", "N<=64, x:float32, y:float32, without wide",
                        "N<=64, x:float32, y:float32, without wide and aligned(x, 16) and aligned(x, 8)"}));
}

TEST_F(RequirementTest, CallableVariantsRequireToo) {
  SearchSpace space;
  auto vec = space.AddAxis("VEC", {1, 2, 4});
  space.SetBaseline({{vec, 4}});
  KernelDefinition definition("doubled");
  Variant variant = Callable([=](CUstream stream, const Config& config, const CallArguments& arguments) {
    const auto* x = static_cast<const float*>(arguments.tensor("x").data);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x) % static_cast<std::uintptr_t>(4 * config[vec]), 0u);
    tuneonce_vec_ran = static_cast<int>(config[vec]);
    auto* y = static_cast<float*>(arguments.tensor("y").data);
    (void)stream;
    for (std::int64_t i = 0; i < arguments.dim("N"); ++i) y[i] = 2 * x[i];
    return Status();
  });
  variant.Requires(vec == 1 || Aligned("x", 4 * vec));
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
      .Space(space)
      .AddVariant(variant);
  policy_.mode = Mode::kFallbackOnly;
  TunedKernel kernel = Create(definition);
  EXPECT_EQ(Launch(kernel, 0), 4);
  EXPECT_EQ(Launch(kernel, 1), 1);
}

TEST_F(RequirementTest, ExplainNamesTheKeyAndWhatRuns) {
  TunedKernel kernel = Create(Doubled(4));
  Launch(kernel);
  DeviceBuffer x = Floats(std::vector<float>(kExtent + 1, 3)), y = Floats(std::vector<float>(kExtent, 0));
  Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {At(x, 1, kExtent), At(y, 0, kExtent)});
  ASSERT_OK(plan);
  EXPECT_EQ(plan->action, LaunchPlan::Action::kSearch);
  EXPECT_EQ(plan->key, "N=64, x:float32, y:float32, without aligned(x, 16) and aligned(x, 8)");
  Launch(kernel, 1);
  plan = kernel.Explain(stream_->get(), {At(x, 1, kExtent), At(y, 0, kExtent)});
  ASSERT_OK(plan);
  EXPECT_EQ(plan->action, LaunchPlan::Action::kSelected);
  ASSERT_TRUE(plan->config.has_value());
  EXPECT_EQ(plan->config->ToString(), "VEC=1");
}

TEST_F(RequirementTest, MistakesAreErrorsOfTheDefinition) {
  auto refused = [&](const char* requirement) {
    return TunedKernel::Create(Doubled(1, requirement), policy_).status();
  };
  EXPECT_ERROR(refused("VEC == 1 || aligned(z, 4 * VEC)"), StatusCode::kInvalidArgument,
               "an assumption names 'z', which is not a tensor with dims");
  EXPECT_ERROR(refused("aligned(x, 4 * (VEC - 1))"), StatusCode::kInvalidArgument, "at least 1 is possible");
  EXPECT_ERROR(refused("stride_is(x, 3, VEC)"), StatusCode::kInvalidArgument, "dimension 3 of 'x', which has rank 1");
  EXPECT_ERROR(refused("VEC == 1 || aligned(x, N)"), StatusCode::kInvalidArgument,
               "does not depend on the config alone");
  EXPECT_ERROR(refused("device.num_sms < 2 || aligned(x, 4 * VEC)"), StatusCode::kInvalidArgument,
               "combines assumptions with a function or the device");
  EXPECT_ERROR(refused("WIDTH == 1"), StatusCode::kInvalidArgument, "unknown dim 'WIDTH'");
  SearchSpace space;
  std::vector<std::int64_t> widths;
  for (int i = 1; i <= 32; ++i) widths.push_back(i);
  auto vec = space.AddAxis("VEC", widths);
  Variant variant = Vectorized();
  variant.Requires(Aligned("x", 4 * vec));
  KernelDefinition definition("doubled");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
      .Space(space)
      .Grid(Grid::Fixed(1))
      .AddVariant(variant);
  EXPECT_ERROR(TunedKernel::Create(definition, policy_), StatusCode::kInvalidArgument,
               "have 32 different parts that decide keys");
  SearchSpace guarded;
  guarded.AddAxis("VEC", {1, 2});
  guarded.Where("aligned", Aligned("x", 16));
  EXPECT_ERROR(guarded.status(), StatusCode::kInvalidArgument, "belongs to Variant::Requires");
}

}  // namespace
}  // namespace tuneonce
