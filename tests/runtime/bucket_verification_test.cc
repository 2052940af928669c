// A selected config is verified for all launches that it serves, not only for the call that was measured.
#include <algorithm>
#include <limits>
#include <optional>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/work_timer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

// CONFIG 0 is the baseline; 1 takes less work, and is incorrect where `INCORRECT` holds. The last element stays
// unwritten where `UNWRITTEN` holds.
constexpr char kSource[] = R"(
extern "C" __attribute__((weak)) long tuneonce_test_work;
static void k(const tuneonce_block& block, const float* x, float* y, float factor, int m, int n) {
  const bool wrong = CONFIG == 1 && (INCORRECT);
  for (int i = 0; i < m * n - (UNWRITTEN); ++i) y[i] = wrong ? -7 : factor * x[i];
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, CONFIG == 0 ? 100 : 1, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(k);)";

class BucketVerificationTest : public testing::CpuDeviceTest {
 protected:
  BucketVerificationTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.max_rounds = 1;
    policy_.search.timer = &timer_;
  }
  KernelDefinition Define(const std::string& incorrect, std::vector<KeyPart> key,
                          const std::string& unwritten = "false") {
    SearchSpace space;
    auto config = space.AddAxis("CONFIG", {0, 1});
    space.SetBaseline({{config, 0}});
    KernelDefinition definition("k");
    definition
        .Parameters(
            {In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M", "N"}), Scalar<float>("factor").ForWarmup(2)})
        .Space(space)
        .Key(std::move(key))
        .Grid(Grid::Fixed(1))
        .AddVariant(Variant([=](const Config& c) {
                      return KernelSource::CpuCpp(kSource, "k")
                          .Define("CONFIG", c[config])
                          .Define("INCORRECT", incorrect)
                          .Define("UNWRITTEN", unwritten);
                    }).KernelArgs({"x", "y", "factor", "M", "N"}));
    return definition;
  }
  /// A kernel of `body` for each element i of n, where CONFIG 1 takes less work. The key is N unless given.
  KernelDefinition DefineOf(const std::string& body, const std::string& signature, std::vector<Parameter> parameters,
                            std::vector<KeyPart> key = {KeyOf("N")}, const std::string& condition = "") {
    SearchSpace space;
    auto config = space.AddAxis("CONFIG", {0, 1});
    space.SetBaseline({{config, 0}});
    if (!condition.empty()) space.Where("the condition", *Condition::Parse(condition));
    std::vector<std::string> arguments;
    for (const Parameter& each : parameters) arguments.push_back(each.name);
    arguments.push_back("N");
    const std::string source = "extern \"C\" __attribute__((weak)) long tuneonce_test_work;\n"
                               "static void k(const tuneonce_block&, " + signature + ") {\n"
                               "  for (int i = 0; i < n; ++i) { " + body + " }\n"
                               "  if (&tuneonce_test_work != nullptr)\n"
                               "    __atomic_fetch_add(&tuneonce_test_work, CONFIG == 0 ? 100 : 1, __ATOMIC_RELAXED);\n"
                               "}\nTUNEONCE_CPU_KERNEL(k);";
    KernelDefinition definition("k");
    definition.Parameters(std::move(parameters)).Space(space).Key(std::move(key)).Grid(Grid::Fixed(1));
    definition.AddVariant(Variant([=](const Config& c) {
                            return KernelSource::CpuCpp(source, "k").Define("CONFIG", c[config]);
                          }).KernelArgs(arguments));
    return definition;
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// Values of which neighbours and signs differ.
  static std::vector<float> Telling(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 5) - 1.5F;
    return values;
  }
  /// Launches a kernel of x, y and `scalars` at N = 64.
  template <typename... Scalars>
  void LaunchFirst(TunedKernel& kernel, Scalars... scalars) {
    DeviceBuffer x = Floats(Telling(64)), y = Floats(std::vector<float>(64));
    ASSERT_OK(kernel.Launch(stream_->get(), testing::View(x), testing::View(y), scalars...));
  }
  /// Launches, and compares with what is expected.
  void Launch(TunedKernel& kernel, std::int64_t m, std::int64_t n, float factor = 2) {
    std::vector<float> values = Telling(static_cast<std::size_t>(m * n));
    DeviceBuffer x = Floats(values), y = Floats(std::vector<float>(values.size()));
    ASSERT_OK(kernel.Launch(stream_->get(), TensorView::Contiguous(x.data(), kFloat32, {m, n}),
                            TensorView::Contiguous(y.data(), kFloat32, {m, n}), factor));
    for (float& value : values) value *= factor;
    EXPECT_EQ(Read(y), values) << "M=" << m << ", N=" << n << ", factor " << factor;
  }
  std::int64_t Selected(TunedKernel& kernel, std::int64_t m, std::int64_t n) {
    Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {{"M", m}, {"N", n}});
    EXPECT_OK(plan);
    return plan.ok() && plan->config ? std::get<std::int64_t>(*plan->config->Find("CONFIG")) : -1;
  }
  LaunchPlan PlanOf(TunedKernel& kernel, std::int64_t m, std::int64_t n) {
    Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {{"M", m}, {"N", n}});
    EXPECT_OK(plan);
    return plan.ok() ? *plan : LaunchPlan();
  }
  bool IsTuned(TunedKernel& kernel, std::int64_t m, std::int64_t n) {
    DeviceBuffer x = Floats(std::vector<float>(static_cast<std::size_t>(m * n)));
    const TensorView view = TensorView::Contiguous(x.data(), kFloat32, {m, n});
    Result<bool> is_tuned = kernel.IsReady({view, view, 2.0F});
    EXPECT_OK(is_tuned);
    return is_tuned.ok() && *is_tuned;
  }
  const TuningRecord OnlyRecord() {
    const std::vector<TuningRecord> records = *policy_.store->List();
    EXPECT_EQ(records.size(), 1u);
    return records.empty() ? TuningRecord() : records.front();
  }

  AutotunePolicy policy_;
  testing::WorkTimer timer_;
};

TEST_F(BucketVerificationTest, AConfigThatIsIncorrectAnywhereInTheBucketIsNotSelected) {
  const std::vector<const char*> faults = {"m % 64 != 0",  "m % 2 != 0",   "m == 127", "m == 65",
                                           "m % 32 == 16", "m % 64 == 32", "m == 100"};
  const std::vector<KeyPart> parts = {KeyOf("M").NextPow2(), KeyOf("M").Buckets({64, 128}),
                                      KeyOf("M").Nearest({40, 90})};
  for (const char* fault : faults) {
    for (const KeyPart& part : parts) {
      policy_.store = std::make_shared<MemoryStore>();
      TunedKernel kernel = Create(Define(fault, {part, KeyOf("N")}));
      Launch(kernel, 100, 3);
      EXPECT_EQ(kernel.counters().tunes, 1);
      const bool is_certain_to_be_seen = part.bucket == KeyPart::Bucket::kNextPow2 ||
                                         (std::string(fault) != "m == 127" && std::string(fault) != "m == 65");
      if (is_certain_to_be_seen) {
        EXPECT_EQ(Selected(kernel, 100, 3), 0) << fault << ", " << part.ToString(100);
      }
      const TuningRecord record = OnlyRecord();
      for (const CandidateOutcome& outcome : record.candidates) {
        if (!outcome.failed()) continue;
        EXPECT_EQ(outcome.kind, OutcomeKind::kWrongResult);
      }
    }
  }
}

TEST_F(BucketVerificationTest, AConfigWhosePathForFullTilesOfOneDimForgetsTheOtherIsNotSelected) {
  for (const char* fault : {"n % 16 == 0 && m % 16 != 0", "m % 16 == 0 && n % 16 != 0"}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Define(fault, {KeyOf("M").NextPow2(), KeyOf("N").NextPow2()}));
    Launch(kernel, 32, 32);
    Launch(kernel, 30, 32);
    Launch(kernel, 32, 30);
    EXPECT_EQ(Selected(kernel, 32, 32), 0) << fault;
  }
}

TEST_F(BucketVerificationTest, TheDimAtWhichItIsIncorrectIsNamed) {
  TunedKernel kernel = Create(Define("m == 100", {KeyOf("M").NextPow2(), KeyOf("N")}));
  Launch(kernel, 100, 3);
  const TuningRecord record = OnlyRecord();
  const auto failed = std::find_if(record.candidates.begin(), record.candidates.end(),
                                   [](const CandidateOutcome& outcome) { return outcome.failed(); });
  ASSERT_NE(failed, record.candidates.end());
  EXPECT_NE(failed->message.find("wrong result at M=100, N=3: output 'y'"), std::string::npos) << failed->message;
}

TEST_F(BucketVerificationTest, ElementsThatTheConfigLeavesUnwrittenAtOtherDimsAreSeen) {
  TunedKernel kernel = Create(Define("false", {KeyOf("M").NextPow2(), KeyOf("N")}, "CONFIG == 1 && m == 66"));
  Launch(kernel, 100, 3);
  EXPECT_EQ(Selected(kernel, 100, 3), 0);
}

TEST_F(BucketVerificationTest, ElementsThatTheBaselineLeavesUnwrittenAreNoFaultOfOthers) {
  for (const char* unwritten : {"CONFIG == 0 && m == 66", "m == 66"}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Define("false", {KeyOf("M").NextPow2(), KeyOf("N")}, unwritten));
    Launch(kernel, 100, 3);
    EXPECT_EQ(Selected(kernel, 100, 3), 1) << unwritten;
    const TuningRecord record = OnlyRecord();
    ASSERT_EQ(record.verification.gaps.size(), 1u) << unwritten;
    EXPECT_NE(record.verification.gaps.front().find("M=66, N=3: the baseline failed: "), std::string::npos)
        << record.verification.gaps.front();
  }
}

TEST_F(BucketVerificationTest, AResultThatIsIncorrectOnceIsNotForgottenWhenTheRunIsRepeated) {
  const std::string once = "m == 66 && [] { static int runs = 0; return ++runs == 1; }()";
  TunedKernel kernel = Create(Define(once, {KeyOf("M").NextPow2(), KeyOf("N")}));
  Launch(kernel, 100, 3);
  EXPECT_EQ(Selected(kernel, 100, 3), 0);
}

TEST_F(BucketVerificationTest, AWarmUpByShapeVerifiesTheBucketToo) {
  TunedKernel kernel = Create(Define("m % 64 != 0", {KeyOf("M").NextPow2(), KeyOf("N")}));
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"M", 128}, {"N", 3}}}));
  EXPECT_EQ(Selected(kernel, 100, 3), 0);
  kernel.Freeze();
  Launch(kernel, 100, 3);
}

TEST_F(BucketVerificationTest, ACorrectConfigIsSelectedAndServesTheBucketFrozenWithoutBeingAskedAgain) {
  TunedKernel kernel = Create(Define("false", {KeyOf("M").NextPow2(), KeyOf("N")}));
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"M", 128}, {"N", 3}}}));
  EXPECT_EQ(Selected(kernel, 100, 3), 1);
  kernel.Freeze();
  for (std::int64_t m = 65; m <= 128; ++m) Launch(kernel, m, 3);
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  EXPECT_EQ(kernel.counters().hits, 64);
}

TEST_F(BucketVerificationTest, AFreeScalarIsVerifiedWithAnotherValue) {
  TunedKernel kernel = Create(Define("factor != 2", {KeyOf("M"), KeyOf("N")}));
  Launch(kernel, 64, 3);
  EXPECT_EQ(Selected(kernel, 64, 3), 0);
  Launch(kernel, 64, 3, 5);
}

TEST_F(BucketVerificationTest, AFreeScalarThatHidesEveryErrorIsVerifiedWithAFiniteValue) {
  for (float factor : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 0.0F}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Define("factor != 0 && factor - factor == 0", {KeyOf("M"), KeyOf("N")}));
    DeviceBuffer x = Floats(std::vector<float>(64 * 3, 1)), y = Floats(std::vector<float>(64 * 3));
    const auto view = [](const DeviceBuffer& buffer) {
      return TensorView::Contiguous(buffer.data(), kFloat32, {64, 3});
    };
    ASSERT_OK(kernel.Launch(stream_->get(), view(x), view(y), factor));
    EXPECT_EQ(Selected(kernel, 64, 3), 0) << "a first call with the factor " << factor;
    Launch(kernel, 64, 3, 5);
  }
}

TEST_F(BucketVerificationTest, AFreeScalarOfHalfPrecisionIsVerifiedWithAnotherValue) {
  for (std::uint16_t hiding : {std::uint16_t{0x3800}, std::uint16_t{0x7E00}}) {  // 0.5 and NaN.
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(DefineOf(
        "y[i] = CONFIG == 1 && flag != " + std::to_string(hiding) + " ? -7 : x[i];",
        "const float* x, float* y, unsigned short flag, int n",
        {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar("flag", kFloat16)}));
    LaunchFirst(kernel, Argument::Scalar(kFloat16, &hiding));
    EXPECT_EQ(OnlyRecord().best.config.ToString(), "CONFIG=0") << hiding;
  }
}

TEST_F(BucketVerificationTest, ScalarsThatAreEqualAreVerifiedWithDifferentValues) {
  TunedKernel kernel = Create(DefineOf(
      "y[i] = alpha * x[i] + (CONFIG == 1 ? alpha : beta);", "const float* x, float* y, float alpha, float beta, int n",
      {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("alpha"), Scalar<float>("beta")}));
  LaunchFirst(kernel, 1.0F, 1.0F);
  EXPECT_EQ(OnlyRecord().best.config.ToString(), "CONFIG=0");
}

TEST_F(BucketVerificationTest, AScalarIsVerifiedThoughAnotherOneDecidesWhichConfigsRun) {
  TunedKernel kernel = Create(DefineOf("y[i] = (CONFIG == 1 ? 1 : alpha) * x[i];",
                                       "const float* x, float* y, float alpha, bool flag, int n",
                                       {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("alpha"),
                                        Scalar<bool>("flag")},
                                       {KeyOf("N")}, "flag == 0 || CONFIG == 0"));
  LaunchFirst(kernel, 1.0F, false);
  EXPECT_EQ(OnlyRecord().best.config.ToString(), "CONFIG=0");
}

TEST_F(BucketVerificationTest, FlagsThatAreTakenForEachOtherAreSeen) {
  TunedKernel kernel = Create(DefineOf(
      "y[i] = (CONFIG == 1 ? b : a) ? -x[i] : x[i];", "const float* x, float* y, bool a, bool b, int n",
      {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<bool>("a"), Scalar<bool>("b")}));
  LaunchFirst(kernel, false, false);
  EXPECT_EQ(OnlyRecord().best.config.ToString(), "CONFIG=0");
}

TEST_F(BucketVerificationTest, ABroadcastInputOfZerosIsReplacedByGeneratedData) {
  TunedKernel kernel = Create(
      DefineOf("y[i] = x[i] + (CONFIG == 1 ? 0 : b[i / 16 * stride + i % 16]);",
               "const float* x, const float* b, int stride, float* y, int n",
               {In("x", kFloat32, {"N"}), In("b", kFloat32, {"G", "R", "C"}), StrideValue("b", 0),
                Out("y", kFloat32, {"N"})}));
  DeviceBuffer x = Floats(Telling(64)), row = Floats(std::vector<float>(16)), y = Floats(std::vector<float>(64));
  const std::int64_t shape[] = {4, 4, 4}, strides[] = {0, 4, 1};
  ASSERT_OK(kernel.Launch(stream_->get(), testing::View(x),
                          TensorView::Strided(row.data(), kFloat32, shape, strides, 3), testing::View(y)));
  EXPECT_EQ(OnlyRecord().best.config.ToString(), "CONFIG=0");
  EXPECT_TRUE(OnlyRecord().verification.has_generated_data);
}

TEST_F(BucketVerificationTest, ExtentsThatWereVerifiedOnWeakDataAreNotStored) {
  const KernelDefinition definition =
      DefineOf("y[i] = index[CONFIG == 1 && n % 2 != 0 ? 0 : i];", "const int* index, float* y, int n",
               {In("index", kInt32, {"M", "N"}), Out("y", kFloat32, {"M", "N"})}, {KeyOf("M")});
  const auto launch = [&](TunedKernel& kernel, int n, bool is_weak) {
    std::vector<int> index(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) index[static_cast<std::size_t>(i)] = is_weak ? 0 : i;
    DeviceBuffer x = *DeviceBuffer::Allocate(stream_->view(), 4 * index.size()),
                 y = Floats(std::vector<float>(index.size()));
    ASSERT_OK(x.CopyFromHost(index.data(), x.bytes()));
    ASSERT_OK(kernel.Launch(stream_->get(), TensorView::Contiguous(x.data(), kInt32, {1, n}),
                            TensorView::Contiguous(y.data(), kFloat32, {1, n})));
    EXPECT_EQ(Read(y), std::vector<float>(index.begin(), index.end())) << n;
  };
  {
    TunedKernel kernel = Create(definition);
    launch(kernel, 64, /*is_weak=*/false);
    EXPECT_EQ(OnlyRecord().best.config.ToString(), "CONFIG=1");
    launch(kernel, 63, /*is_weak=*/true);
  }
  TunedKernel next = Create(definition);
  launch(next, 64, /*is_weak=*/false);
  launch(next, 63, /*is_weak=*/false);
}

// The key omits N: a launch with extents of another class is verified when it comes.

TEST_F(BucketVerificationTest, ALaunchOfAClassOfAnOmittedDimIsVerifiedAtOnce) {
  TunedKernel kernel = Create(Define("n % 2 != 0", {KeyOf("M")}));
  Launch(kernel, 64, 4);
  EXPECT_EQ(Selected(kernel, 64, 4), 1) << "at N=4 it is correct";
  EXPECT_EQ(PlanOf(kernel, 64, 3).reason, LaunchPlan::Reason::kUnverified);
  Launch(kernel, 64, 3);
  EXPECT_EQ(Selected(kernel, 64, 3), 0) << "it is incorrect there, and not run";
  Launch(kernel, 64, 4);
}

TEST_F(BucketVerificationTest, WhatWasVerifiedForALaunchIsRememberedForTheNextProcess) {
  const KernelDefinition definition = Define("false", {KeyOf("M")});
  {
    TunedKernel kernel = Create(definition);
    Launch(kernel, 64, 4);
    Launch(kernel, 64, 3);
    EXPECT_EQ(Selected(kernel, 64, 3), 1);
    EXPECT_EQ(kernel.counters().tunes, 1) << "it is verified, not tuned again";
  }
  TunedKernel restarted = Create(definition);
  Launch(restarted, 64, 4);
  EXPECT_EQ(restarted.counters().stored_hits, 1);
  EXPECT_EQ(PlanOf(restarted, 64, 1).reason, LaunchPlan::Reason::kReady) << "1 is of the class of 3";
  EXPECT_EQ(PlanOf(restarted, 64, 7).reason, LaunchPlan::Reason::kUnverified) << "7 is above 4";
  EXPECT_EQ(PlanOf(restarted, 64, 6).reason, LaunchPlan::Reason::kUnverified);
}

TEST_F(BucketVerificationTest, ALaunchFarAboveTheVerifiedExtentsIsVerifiedAtOnce) {
  for (const std::vector<KeyPart>& key :
       {std::vector<KeyPart>{KeyOf("M")}, {KeyOf("M"), KeyOf("N").Nearest({4, 16})}}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Define("n > 100", key));
    Launch(kernel, 2, 32);
    EXPECT_EQ(Selected(kernel, 2, 32), 1) << "at N=32 it is correct";
    EXPECT_EQ(PlanOf(kernel, 2, 1056).reason, LaunchPlan::Reason::kUnverified) << "1056 and 32 are of one class";
    Launch(kernel, 2, 1056);
    EXPECT_EQ(Selected(kernel, 2, 1056), 0) << "it is incorrect there, and not run";
  }
}

TEST_F(BucketVerificationTest, AFrozenKernelRunsTheFallbackForAnUnverifiedClass) {
  TunedKernel kernel = Create(Define("n % 2 != 0", {KeyOf("M")}));
  Launch(kernel, 64, 4);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"M", 64}, {"N", 8}}}));
  kernel.Freeze();
  Launch(kernel, 64, 3);
  EXPECT_EQ(kernel.counters().frozen_misses, 1);
  EXPECT_EQ(PlanOf(kernel, 64, 3).reason, LaunchPlan::Reason::kUnverified);
  EXPECT_EQ(Selected(kernel, 64, 8), 1) << "the warm-up verified it";
}

TEST_F(BucketVerificationTest, WarmupAllVerifiesTheClassOfEachShapeOfAKey) {
  for (const bool is_incorrect : {false, true}) {
    TunedKernel kernel = Create(Define(is_incorrect ? "n % 2 != 0" : "false", {KeyOf("M")}));
    const Result<std::vector<WarmedKey>> keys =
        WarmupAll(stream_->get(), {{&kernel, {{{"M", 64}, {"N", 4}}, {{"M", 64}, {"N", 3}}}}});
    ASSERT_OK(keys);
    ASSERT_EQ(keys->size(), 1u);
    EXPECT_EQ((*keys)[0].state, WarmedKey::State::kTuned);
    kernel.Freeze();
    Launch(kernel, 64, 3);
    Launch(kernel, 64, 4);
    EXPECT_EQ(kernel.counters().frozen_misses, 0);
    EXPECT_EQ(Selected(kernel, 64, 3), is_incorrect ? 0 : 1);
  }
}

TEST_F(BucketVerificationTest, ADeferredKernelVerifiesAtTheNextTunePending) {
  policy_.mode = AutotunePolicy::Mode::kTuneDeferred;
  TunedKernel kernel = Create(Define("false", {KeyOf("M")}));
  Launch(kernel, 64, 4);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  Launch(kernel, 64, 3);
  EXPECT_EQ(PlanOf(kernel, 64, 3).reason, LaunchPlan::Reason::kUnverified);
  EXPECT_EQ(kernel.counters().now.pending_keys, 1);
  EXPECT_FALSE(IsTuned(kernel, 64, 3)) << "its next launch is no hit";
  EXPECT_TRUE(IsTuned(kernel, 64, 4));
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(PlanOf(kernel, 64, 3).reason, LaunchPlan::Reason::kReady);
  EXPECT_TRUE(IsTuned(kernel, 64, 3));
  Launch(kernel, 64, 3);
}

TEST_F(BucketVerificationTest, ExplainStatesBeforeAStoredRecordIsLoadedThatALaunchIsUnverified) {
  using Mode = AutotunePolicy::Mode;
  using Action = LaunchPlan::Action;
  const KernelDefinition definition = Define("false", {KeyOf("M")});
  TunedKernel first = Create(definition);
  Launch(first, 64, 4);
  for (Mode mode : {Mode::kTuneDeferred, Mode::kStoredOnly, Mode::kTuneOnMiss}) {
    policy_.mode = mode;
    for (bool is_loaded : {false, true}) {
      TunedKernel kernel = Create(definition);
      if (is_loaded) Launch(kernel, 64, 4);
      EXPECT_EQ(PlanOf(kernel, 64, 4).action, Action::kSelected);
      const LaunchPlan plan = PlanOf(kernel, 64, 3);
      EXPECT_EQ(plan.action, mode == Mode::kTuneOnMiss ? Action::kSearch : Action::kFallback);
      EXPECT_EQ(plan.reason, LaunchPlan::Reason::kUnverified);
      EXPECT_EQ(plan.detail, "{CONFIG=1} was not verified at extents like M=64, N=3");
      EXPECT_EQ(Selected(kernel, 64, 3), mode == Mode::kTuneOnMiss ? 1 : 0);
      if (mode == Mode::kTuneOnMiss) continue;
      Launch(kernel, 64, 3);
      EXPECT_EQ(kernel.counters().fallbacks, 1);
    }
  }
}

}  // namespace
}  // namespace tuneonce
