// Launches of one key that have different baselines: each mode, kinds of keys, and orders of launches.
#include <algorithm>
#include <vector>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/work_timer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using Mode = AutotunePolicy::Mode;

// y = 2 x. TILE 4 is incorrect up to 100 rows, TILE 1 above them where `ONE_IS_FOR_FEW`. FASTEST takes the least work.
constexpr char kSource[] = R"(
extern "C" __attribute__((weak)) long tuneonce_test_work;
static void twice(const tuneonce_block&, const float* x, float* y, int rows, int n) {
  const bool wrong = rows <= 100 ? TILE == 4 : TILE == 1 && ONE_IS_FOR_FEW;
  for (int i = 0; i < n; ++i) y[i] = (wrong ? 3 : 2) * x[i];
  const long work = TILE == FASTEST ? 1 : 100;
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, work, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(twice);)";

/// Four columns, M rows, and the baseline TILE=4 for more than 100 rows, else TILE=1.
class VaryingBaselineTest : public testing::CpuDeviceTest {
 protected:
  VaryingBaselineTest() {
    policy_.search.max_rounds = 1;
    policy_.search.timer = &timer_;
    policy_.search.compile.cache = std::make_shared<MemoryStore>();
  }
  SearchSpace Space(const Term& rows) const {
    SearchSpace space;
    const IntAxis tile = space.AddAxis("TILE", {1, 2, 4});
    space.SetBaselines({{{{tile, 4}}, rows > 100}, {{{tile, 1}}}});
    return space;
  }
  static Variant Code(std::int64_t fastest, bool one_is_for_few) {
    return Variant([=](const Config& config) {
      return KernelSource::CpuCpp(kSource, "twice")
          .Define("TILE", std::get<std::int64_t>(*config.Find("TILE")))
          .Define("FASTEST", fastest)
          .Define("ONE_IS_FOR_FEW", one_is_for_few);
    });
  }
  KernelDefinition Define(std::int64_t fastest, bool one_is_for_few, const std::vector<KeyPart>& key) const {
    KernelDefinition definition("twice");
    definition.Parameters({In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M", "N"}), Derived("size", D("M") * 4)})
        .Key(key)
        .Space(Space(D("M")))
        .Grid(Grid::Fixed(1))
        .AddVariant(Code(fastest, one_is_for_few).KernelArgs({"x", "y", "M", "size"}));
    return definition;
  }
  /// The number of rows is a scalar that the key does not contain.
  KernelDefinition DefineByScalar(std::int64_t fastest) const {
    KernelDefinition definition("twice");
    definition
        .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<std::int32_t>("rows").ForWarmup(128),
                     DimValue("N")})
        .Space(Space(D("rows")))
        .Grid(Grid::Fixed(1))
        .AddVariant(Code(fastest, /*one_is_for_few=*/true).KernelArgs({"x", "y", "rows", "N"}));
    return definition;
  }
  TunedKernel Create(const KernelDefinition& definition, Mode mode) {
    policy_.mode = mode;
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// Launches `count` elements, and checks the result, and that Explain states before what happens.
  template <typename... More>
  void Launch(TunedKernel& kernel, std::initializer_list<std::int64_t> shape, const More&... more) {
    std::int64_t count = 1;
    for (std::int64_t extent : shape) count *= extent;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3.5F;
    DeviceBuffer x = Floats(values), y = Floats(std::vector<float>(values.size()));
    const TensorView from = TensorView::Contiguous(x.data(), kFloat32, shape);
    const TensorView to = TensorView::Contiguous(y.data(), kFloat32, shape);
    const Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {from, to, more...});
    ASSERT_OK(plan);
    const Counters before = kernel.counters();
    ASSERT_OK(kernel.Launch(stream_->get(), from, to, more...));
    for (float& value : values) value *= 2;
    EXPECT_EQ(Read(y), values);
    const Counters after = kernel.counters();
    if (plan->action == LaunchPlan::Action::kSearch) return;  // What it runs is not known before.
    EXPECT_EQ(after.fallbacks - before.fallbacks, plan->action == LaunchPlan::Action::kFallback ? 1 : 0)
        << LaunchPlanName(plan->reason) << ": " << plan->detail;
    EXPECT_EQ(after.tunes, before.tunes);
  }
  std::int64_t Runs(TunedKernel& kernel, std::int64_t m) {
    Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {{"M", m}, {"N", 4}});
    EXPECT_OK(plan);
    return plan.ok() && plan->config ? std::get<std::int64_t>(*plan->config->Find("TILE")) : -1;
  }

  AutotunePolicy policy_;
  testing::WorkTimer timer_;
};

TEST_F(VaryingBaselineTest, NoModeKeyOrOrderOfLaunchesRunsTheBaselineOfAnotherLaunch) {
  const std::vector<std::vector<KeyPart>> keys = {{KeyOf("M"), KeyOf("N")},
                                                  {KeyOf("M").NextPow2(), KeyOf("N")},
                                                  {KeyOf("M").Nearest({64}), KeyOf("N")},
                                                  {KeyOf("N")}};
  const std::vector<std::vector<std::int64_t>> orders = {{90, 128, 91, 104, 88, 60}, {128, 90, 104, 88, 300, 91}};
  for (const std::vector<KeyPart>& key : keys) {
    for (std::int64_t fastest : {1, 2, 4}) {
      for (bool one_is_for_few : {false, true}) {
        for (const std::vector<std::int64_t>& order : orders) {
          policy_.store = std::make_shared<MemoryStore>();
          const KernelDefinition definition = Define(fastest, one_is_for_few, key);
          for (Mode mode : {Mode::kFallbackOnly, Mode::kTuneDeferred, Mode::kTuneOnMiss, Mode::kStoredOnly}) {
            SCOPED_TRACE("key part " + key.front().ToString(100) + " of " + std::to_string(key.size()) + ", fastest " +
                         std::to_string(fastest) + ", one for few " + std::to_string(one_is_for_few) + ", first " +
                         std::to_string(order.front()) + ", mode " + std::to_string(static_cast<int>(mode)));
            TunedKernel kernel = Create(definition, mode);
            for (std::int64_t m : order) Launch(kernel, {m, 4});
            // It returns an error if the baseline of a launch failed at the bucket's bound: it is then no reference.
            if (mode == Mode::kTuneDeferred) (void)kernel.TunePending(stream_->get());
            kernel.Freeze();
            for (std::int64_t m : order) Launch(kernel, {m, 4});
          }
        }
      }
    }
  }
}

TEST_F(VaryingBaselineTest, AFallbackIsTheBaselineOfItsLaunchWhicheverCameFirst) {
  for (const std::vector<std::int64_t>& order : {std::vector<std::int64_t>{90, 128, 91}, {128, 90, 127}}) {
    TunedKernel kernel = Create(Define(2, true, {KeyOf("M").NextPow2(), KeyOf("N")}), Mode::kFallbackOnly);
    for (std::int64_t m : order) {
      Launch(kernel, {m, 4});
      EXPECT_EQ(Runs(kernel, m), m > 100 ? 4 : 1) << m;
    }
    EXPECT_EQ(kernel.counters().now.loaded_kernels, 2);
  }
}

TEST_F(VaryingBaselineTest, AConfigIsComparedWithTheBaselineOfEachShape) {
  for (std::int64_t first : {90, 128}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Define(2, false, {KeyOf("M").NextPow2(), KeyOf("N")}), Mode::kTuneOnMiss);
    for (std::int64_t m : {first, std::int64_t{90}, std::int64_t{128}}) {
      Launch(kernel, {m, 4});
      EXPECT_EQ(Runs(kernel, m), 2) << "TILE=2 is correct everywhere";
    }
    EXPECT_EQ(kernel.counters().fallbacks, 0);
    const std::vector<TuningRecord> records = *policy_.store->List();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_TRUE(records.front().verification.gaps.empty());
    for (const CandidateOutcome& candidate : records.front().candidates) EXPECT_FALSE(candidate.failed());
  }
}

TEST_F(VaryingBaselineTest, WhereTheBaselineIsSelectedEachLaunchRunsItsOwn) {
  policy_.store = std::make_shared<MemoryStore>();
  TunedKernel kernel = Create(Define(4, false, {KeyOf("M").NextPow2(), KeyOf("N")}), Mode::kTuneOnMiss);
  for (std::int64_t m : {90, 128, 90, 128}) {
    Launch(kernel, {m, 4});
    EXPECT_EQ(Runs(kernel, m), m > 100 ? 4 : 1);
  }
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().fallbacks, 2);
  Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {{"M", 90}, {"N", 4}});
  ASSERT_OK(plan);
  EXPECT_EQ(plan->reason, LaunchPlan::Reason::kGuard);
  EXPECT_EQ(plan->detail, "{TILE=4} was selected as the baseline, and is not the baseline of these arguments");
}

TEST_F(VaryingBaselineTest, AScalarThatTheKeyOmitsMayDecideTheBaseline) {
  for (std::int64_t fastest : {1, 2, 4}) {
    for (const std::vector<int>& order : {std::vector<int>{128, 90, 128}, {90, 128, 90}}) {
      policy_.store = std::make_shared<MemoryStore>();
      for (Mode mode : {Mode::kFallbackOnly, Mode::kTuneDeferred, Mode::kTuneOnMiss, Mode::kStoredOnly}) {
        SCOPED_TRACE("fastest " + std::to_string(fastest) + ", first " + std::to_string(order.front()) + ", mode " +
                     std::to_string(static_cast<int>(mode)));
        TunedKernel kernel = Create(DefineByScalar(fastest), mode);
        for (int rows : order) Launch(kernel, {100}, rows);
        if (mode == Mode::kTuneDeferred) ASSERT_OK(kernel.TunePending(stream_->get()));
        for (int rows : order) Launch(kernel, {100}, rows);
      }
    }
  }
}

/// The space's fallback config runs where no baseline applies.
TEST_F(VaryingBaselineTest, WhereNoBaselineAppliesTheFallbackConfigRunsWhicheverLaunchCameFirst) {
  for (const std::vector<std::int64_t>& order : {std::vector<std::int64_t>{90, 128, 91}, {128, 90, 127}}) {
    SearchSpace space;
    const IntAxis tile = space.AddAxis("TILE", {1, 2, 4});
    space.SetBaselines({{{{tile, 4}}, D("M") > 100}});
    space.SetFallback({{tile, 2}});
    KernelDefinition definition = Define(2, true, {KeyOf("M").NextPow2(), KeyOf("N")});
    definition.Space(space);
    TunedKernel kernel = Create(definition, Mode::kFallbackOnly);
    for (std::int64_t m : order) {
      Launch(kernel, {m, 4});
      EXPECT_EQ(Runs(kernel, m), m > 100 ? 4 : 2) << m;
    }
  }
}

}  // namespace
}  // namespace tuneonce
