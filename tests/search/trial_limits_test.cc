// What trials are compared with, what may be left out, and what a search does with little memory.
#include <cmath>
#include <cstring>
#include <map>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;

class TrialLimitsTest : public testing::CpuDeviceTest {
 protected:
  static constexpr int kN = 1000;

  TrialLimitsTest() { options_.quiet = true; }

  /// Kernels over `const float* x, float* y, int n`, one per value of KIND; 0 is the baseline, and slow.
  KernelDefinition Define(const std::string& body, Parameter y = Out("y", kFloat32, {"N"}), bool has_baseline = true) {
    std::string source = R"(
static void k(const tuneonce_block&, const float* cx, float* y, int n) {
  static int runs = 0;
  ++runs;
  auto* x = const_cast<float*>(cx);
  (void)x;
  for (volatile int i = 0; i < (KIND == 0 ? 300000 : KIND == 1 ? 0 : 200000); i = i + 1) {}
)" + body + "}\nTUNEONCE_CPU_KERNEL(k);";
    SearchSpace space;
    IntAxis kind = space.AddAxis("KIND", {0, 1, 2});
    if (has_baseline) space.SetBaseline({{kind, 0}});
    KernelDefinition definition("k");
    definition.DimsInOrder({"N"})
        .Parameters({In("x", kFloat32, {"N"}), std::move(y), DimValue("N")})
        .Space(space)
        .AddVariant(Variant([kind, source](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(source, "k").Define("KIND", c[kind]);
                    }).Grid(Grid::Fixed(1)));
    return definition;
  }
  Result<TuningRecord> Search(const KernelDefinition& definition) {
    x_.emplace(Floats(std::vector<float>(kN, 3)));
    y_.emplace(Floats(std::vector<float>(kN, 7)));
    TensorView x_view = View(*x_), y_view = View(*y_);
    return exhaustive_search(definition, stream_->get(), {x_view, y_view}, options_);
  }
  /// Gives searches memory for all but the copy of x: the largest budget with which a search of `definition` does not
  /// try {KIND=1}, less a part of what the copy takes.
  void LimitMemory(const KernelDefinition& definition) {
    constexpr std::size_t kStep = std::size_t{20} << 10;
    auto is_tried = [](const TuningRecord& result) {
      return std::none_of(result.candidates.begin(), result.candidates.end(), [](const CandidateOutcome& candidate) {
        return candidate.kind == OutcomeKind::kNotMeasured && candidate.config.ToString() == "KIND=1";
      });
    };
    for (options_.memory_budget_bytes = std::size_t{2} << 20; options_.memory_budget_bytes > 4 * kStep;
         options_.memory_budget_bytes -= kStep) {
      Result<TuningRecord> result = Search(definition);
      if (!result.ok() || is_tried(*result)) continue;
      options_.memory_budget_bytes -= 3 * kStep;
      return;
    }
    FAIL() << "each budget suffices";
  }
  void LimitMemory() { LimitMemory(Define(std::string(kTwice) + "if (KIND == 1) y[0] = 2 * x[0];")); }
  static std::map<std::string, std::string> Failures(const TuningRecord& result) {
    std::map<std::string, std::string> failures;
    for (const CandidateOutcome& failure : result.failures()) {
      failures[failure.config.ToString()] = std::string(OutcomeName(failure.kind)) + ": " + failure.message;
    }
    return failures;
  }
  static bool Notes(const TuningRecord& result, const std::string& part) {
    for (const std::string& note : result.notes) {
      if (note.find(part) != std::string::npos) return true;
    }
    return false;
  }

  static constexpr char kTwice[] = "for (int i = 0; i < n; ++i) y[i] = 2 * x[i];\n";
  /// What one tensor of kN floats takes with its guard zones, and a little more.
  static constexpr std::size_t kOneTensor = std::size_t{140} << 10;
  static constexpr std::size_t kCode = std::size_t{200} << 10;  ///< More than three kernels' images.

  SearchOptions options_;
  std::optional<DeviceBuffer> x_, y_;
};

// --- what is compared

TEST_F(TrialLimitsTest, OfAPartialOutputCountsWhatTheBaselineWrites) {
  auto partial = [] { return Out("y", kFloat32, {"N"}).MayBePartial(); };
  // The baseline leaves the last 100. 1 writes some of these, 2 all but one of the others.
  std::string body = R"(
int end = KIND == 1 ? 950 : 900;
for (int i = 0; i < end; ++i) if (KIND != 2 || i != 3) y[i] = 2 * x[i];)";
  Result<TuningRecord> result = Search(Define(body, partial()));
  ASSERT_OK(result);
  auto failures = Failures(*result);
  EXPECT_EQ(failures.size(), 1u);
  EXPECT_NE(failures["KIND=2"].find("not written: output 'y': 1 of 1000 elements were not written, the first at 3"),
            std::string::npos)
      << failures["KIND=2"];
  // An unordered kernel's third run is compared with the right one of the two.
  KernelDefinition unordered = Define(body, partial());
  unordered.Unordered();
  result = Search(unordered);
  ASSERT_OK(result);
  EXPECT_EQ(result->failures().size(), 1u);
  // The value of the poison, where the baseline wrote it, is a value.
  result = Search(Define(R"(
for (int i = 0; i < 900; ++i) y[i] = 1;
float poison;
unsigned char byte = 0xFF;
for (int i = 0; i < 4; ++i) reinterpret_cast<unsigned char*>(&poison)[i] = byte;
if (KIND != 1) y[3] = poison;)",
                         partial()));
  ASSERT_OK(result);
  EXPECT_EQ(result->failures().size(), 1u);
  EXPECT_EQ(Failures(*result).count("KIND=1"), 1u);
}

TEST_F(TrialLimitsTest, AGivenReferenceCountsAsAWhole) {
  DeviceBuffer expected = Floats(std::vector<float>(kN, 6));
  options_.reference = {View(expected)};
  std::string body = "for (int i = 0; i < n - KIND; ++i) y[i] = 2 * x[i];";
  for (bool is_partial : {false, true}) {
    Parameter y = Out("y", kFloat32, {"N"});
    Result<TuningRecord> result = Search(Define(body, is_partial ? std::move(y).MayBePartial() : y));
    ASSERT_OK(result);
    EXPECT_EQ(result->best.config.ToString(), "KIND=0");
    EXPECT_EQ(result->failures().size(), 2u);
    EXPECT_NE(Failures(*result)["KIND=2"].find("2 of 1000 elements were not written"), std::string::npos);
  }
}

TEST_F(TrialLimitsTest, EachOutputHasItsOwnToleranceAndTheLargestDifferenceIsSaid) {
  std::string body = std::string(kTwice) + "if (KIND == 1) y[5] *= 1.5f;\nif (KIND == 2) y[5] *= 1.25f;";
  EXPECT_EQ(Search(Define(body))->failures().size(), 2u);
  Result<TuningRecord> result = Search(Define(body, Out("y", kFloat32, {"N"}).Within({0, 0.25, 0})));
  ASSERT_OK(result);
  EXPECT_EQ(result->failures().size(), 1u);
  EXPECT_NE(Failures(*result)["KIND=1"].find("by 3 at most (tolerance 0.25 * |reference|)"), std::string::npos)
      << Failures(*result)["KIND=1"];
  for (const CandidateOutcome& success : result->successes()) {
    ASSERT_TRUE(success.largest_difference.has_value());
    EXPECT_EQ(success.largest_difference->output, "y");
    bool is_baseline = success.config.ToString() == "KIND=0";
    EXPECT_EQ(success.largest_difference->absolute, is_baseline ? 0 : 1.5);
    EXPECT_EQ(success.largest_difference->share_of_tolerance, is_baseline ? 0 : 1);
  }
  options_.verify = Verify::kOff;
  EXPECT_FALSE(Search(Define(body))->best.largest_difference.has_value());
}

TEST_F(TrialLimitsTest, OfAStridedOutputTheGapsAreNotLookedAt) {
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1, 2});
  space.SetBaseline({{kind, 0}});
  KernelDefinition definition("k");
  Variant variant;
  variant.name = "cpu";
  variant.source = [kind](const Config& c, const Problem&) {
    return KernelSource::CpuCpp(R"(
static void k(const tuneonce_block&, float* y, int rows, int columns, int row_stride, int column_stride) {
  for (volatile int i = 0; i < (KIND == 0 ? 300000 : KIND == 1 ? 0 : 200000); i = i + 1) {}
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      if (KIND != 1 || r != 2 || c != 1) y[r * row_stride + c * column_stride] = r * 100 + c;
}
TUNEONCE_CPU_KERNEL(k);)",
                                "k")
        .Define("KIND", c[kind]);
  };
  variant.geometry = Grid::Fixed(1);
  variant.convention = CallingConvention::kCutilePython;
  definition.Parameters({Out("y", kFloat32, {"M", "N"})}).Space(space).AddVariant(variant);
  DeviceBuffer y = Floats(std::vector<float>(64, 7));
  std::int64_t shape[] = {4, 5}, strides[] = {16, 2};
  TensorView view = TensorView::Strided(y.data(), DType::kFloat32, shape, strides, 2);
  Result<TuningRecord> result = exhaustive_search(definition, stream_->get(), {view}, options_);
  ASSERT_OK(result);
  EXPECT_EQ(result->failures().size(), 1u);
  EXPECT_NE(Failures(*result)["KIND=1"].find("1 of 20 elements were not written, the first at 11"), std::string::npos)
      << Failures(*result)["KIND=1"];
  EXPECT_EQ(Read(y), std::vector<float>(64, 7));
}

TEST_F(TrialLimitsTest, OnlyOutputsMayBePartialOrHaveATolerance) {
  for (Parameter& wrong : std::vector<Parameter>{In("z", {"N"}).MayBePartial(), In("z", {"N"}).Within({}),
                                                 Scalar<std::int32_t>("z").Within({})}) {
    KernelDefinition definition("k");
    definition.DimsInOrder({"N"})
        .Parameters({Out("y", {"N"}), wrong})
        .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
    EXPECT_ERROR(definition.Validate(), StatusCode::kInvalidArgument, "is for outputs only");
  }
}

TEST_F(TrialLimitsTest, ConfigsWithArgumentsOfTheirOwnShareWhatIsTheSame) {
  DeviceBuffer x = Floats(std::vector<float>(kN, 3)), y = Floats(std::vector<float>(kN, 7));
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1, 2, 3});
  space.SetBaseline({{kind, 0}});
  auto search = [&](std::size_t y_bytes_of_3) {
    return exhaustive_search(
        space, stream_->get(), [](const Config&) { return Geometry(); },
        [&](const Config& c) {
          return KernelSource::CpuCpp(R"(
static void k(const tuneonce_block&, const float* x, float* y, int n, int kind) {
  for (volatile int i = 0; i < (kind == 0 ? 300000 : 0); i = i + 1) {}
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
  if (kind == 1) const_cast<float*>(x)[0] = 5;
}
TUNEONCE_CPU_KERNEL(k);)",
                                      "k")
              .Define("KIND", c[kind]);
        },
        [&](const Config& c) {
          std::size_t bytes = c[kind] == 3 ? y_bytes_of_3 : y.bytes();
          return std::vector<TrialArgument>{TrialArgument::In(x.data(), x.bytes()),
                                            TrialArgument::Out(y.data(), bytes, DType::kFloat32),
                                            static_cast<std::int32_t>(bytes / 4), static_cast<std::int32_t>(c[kind])};
        },
        nullptr, options_);
  };
  Result<TuningRecord> result = search(y.bytes());
  ASSERT_OK(result);
  EXPECT_EQ(result->failures().size(), 1u) << "each has its own scalars";
  EXPECT_EQ(Failures(*result)["KIND=1"], "wrote an input: the kernel wrote to its input 'argument 1'");
  EXPECT_TRUE(result->notes.empty());
  EXPECT_NE(result->best.config.ToString(), "KIND=0");
  result = search(400);
  ASSERT_OK(result);
  EXPECT_EQ(Failures(*result)["KIND=3"],
            "wrong result: output 'argument 2' has another size or dtype than the reference");
  EXPECT_EQ(Read(x), std::vector<float>(kN, 3));
}

// --- memory

TEST_F(TrialLimitsTest, ThePeakIsCountedAndTheBudgetIsKept) {
  Result<TuningRecord> result = Search(Define(kTwice));
  ASSERT_OK(result);
  std::size_t peak = result->cost.peak_bytes;
  EXPECT_GE(peak, 3 * kN * sizeof(float)) << "a copy of x, scratch for y, a reference";
  EXPECT_LE(peak, 2 * kOneTensor + kOneTensor + kCode);
  options_.memory_budget_bytes = peak;
  result = Search(Define(kTwice));
  ASSERT_OK(result);
  EXPECT_EQ(result->cost.peak_bytes, peak);
  EXPECT_TRUE(result->notes.empty());
  options_.allow_trials_in_place = true;
  for (std::size_t budget = peak - 1; budget > 0; budget /= 2) {
    options_.memory_budget_bytes = budget;
    result = Search(Define(kTwice));
    if (!result.ok()) {
      EXPECT_ERROR(result, StatusCode::kResourceExhausted, "exceed the search's memory budget");
      continue;
    }
    EXPECT_LE(result->cost.peak_bytes, budget);
    EXPECT_TRUE(Notes(*result, "there was too little memory to copy the inputs") || Notes(*result, "not verified at"))
        << budget;
  }
  EXPECT_FALSE(result.ok()) << "with next to nothing";
}

TEST_F(TrialLimitsTest, TheFlushOfEachTimerIsCounted) {
  options_.cache = CacheState::kCold;
  std::unique_ptr<Timer> events = MakeEventTimer();
  for (Timer* timer : {static_cast<Timer*>(nullptr), events.get()}) {
    options_.timer = timer;
    Result<TuningRecord> result = Search(Define(kTwice));
    ASSERT_OK(result);
    EXPECT_GT(result->cost.peak_bytes, device_->Identity()->l2_bytes);
  }
}

TEST_F(TrialLimitsTest, CopiesOfInputsGoBeforeACandidateFailsWhereTrialsMayRunInPlace) {
  // The second candidate's workspace fits only without the copy of x.
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1, 2});
  space.SetBaseline({{kind, 0}});
  KernelDefinition definition("k");
  definition
      .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N"),
                   Workspace("w",
                             [kind](const Config& c, const Problem&) {
                               return c[kind] == 1 ? std::size_t{300} << 10 : c[kind] == 2 ? std::size_t{1} << 30 : 0;
                             })})
      .Space(space)
      .AddVariant(Variant([kind](const Config& c, const Problem&) {
                    return KernelSource::CpuCpp(R"(
static void k(const tuneonce_block&, const float* x, float* y, int n, char* w) {
  if (w != nullptr) w[100000] = KIND;
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}
TUNEONCE_CPU_KERNEL(k);)",
                                                "k")
                        .Define("KIND", c[kind]);
                  }).Grid(Grid::Fixed(1)));
  LimitMemory(definition);
  Result<TuningRecord> result = Search(definition);
  ASSERT_OK(result);
  ASSERT_EQ(result->not_measured().size(), 1u) << "1 would need the memory of the copy, 2 more than that";
  EXPECT_EQ(result->not_measured().front().config.ToString(), "KIND=1");
  EXPECT_TRUE(Notes(*result, "'x' (4000 bytes) cannot be copied within the memory budget"));
  EXPECT_LE(result->cost.peak_bytes, options_.memory_budget_bytes);
  options_.allow_trials_in_place = true;
  result = Search(definition);
  ASSERT_OK(result);
  EXPECT_TRUE(result->not_measured().empty());
  EXPECT_TRUE(Notes(*result, "too little memory to copy the inputs"));
  auto failures = Failures(*result);
  EXPECT_EQ(failures.size(), 1u);
  EXPECT_NE(failures["KIND=2"].find("resources: "), std::string::npos) << failures["KIND=2"];
  EXPECT_LE(result->cost.peak_bytes, options_.memory_budget_bytes);
}

TEST_F(TrialLimitsTest, WithoutMemoryForACopyTheBaselineRunsAlone) {
  LimitMemory();
  for (Verify verify : {Verify::kAgainstBaseline, Verify::kOff}) {
    options_.verify = verify;
    Result<TuningRecord> result = Search(Define(std::string(kTwice) + "if (KIND == 1) x[3] = 9;"));
    ASSERT_OK(result);
    EXPECT_EQ(Read(*x_), std::vector<float>(kN, 3));
    EXPECT_EQ(result->best.config.ToString(), "KIND=0");
    EXPECT_TRUE(result->failures().empty());
    EXPECT_EQ(result->not_measured().size(), 2u);
    EXPECT_FALSE(result->is_conclusive);
    EXPECT_TRUE(Notes(*result,
                      "'x' (4000 bytes) cannot be copied within the memory budget: candidates were not tried; raise "
                      "SearchOptions::memory_budget_bytes, or set SearchOptions::allow_trials_in_place"));
  }
}

TEST_F(TrialLimitsTest, WithoutMemoryForACopyAndWithoutABaselineNothingIsTried) {
  LimitMemory();
  EXPECT_ERROR(Search(Define(std::string(kTwice) + "x[3] = 9;", Out("y", kFloat32, {"N"}), /*has_baseline=*/false)),
               StatusCode::kResourceExhausted,
               "no candidate was tried: 'x' (4000 bytes) cannot be copied within the memory budget");
  EXPECT_EQ(Read(*x_), std::vector<float>(kN, 3));
}

TEST_F(TrialLimitsTest, WhatIsDamagedInPlaceIsTheSearchsError) {
  LimitMemory();
  options_.allow_trials_in_place = true;
  // 1 damages x when it is tried, in the race alone, or when it is checked again; or the baseline does.
  for (const char* damage : {"if (KIND == 1) x[3] = 9;", "if (KIND == 1 && runs == 3) x[3] = 9;",
                             "if (KIND == 1 && runs > 3) x[3] = 9;", "x[3] = 9;"}) {
    SCOPED_TRACE(damage);
    EXPECT_ERROR(Search(Define(std::string(kTwice) + damage)), StatusCode::kDataLoss, "the caller's 'x' is damaged");
    EXPECT_EQ(Read(*x_)[3], 9);
  }
  EXPECT_OK(Search(Define(kTwice)));
  // The baseline runs in place in any case, as the launch would have it do.
  options_.allow_trials_in_place = false;
  EXPECT_ERROR(Search(Define(std::string(kTwice) + "x[3] = 9;")), StatusCode::kDataLoss, "the caller's 'x' is damaged");
}

TEST_F(TrialLimitsTest, ALaunchWhoseSearchDamagedItsInputIsAnError) {
  LimitMemory();
  options_.allow_trials_in_place = true;
  AutotunePolicy policy;
  policy.search = options_;
  auto store = std::make_shared<MemoryStore>();
  policy.store = store;
  for (bool launches : {true, false}) {
    Result<TunedKernel> kernel = TunedKernel::Create(Define(std::string(kTwice) + "if (KIND == 1) x[3] = 9;"), policy);
    ASSERT_OK(kernel);
    x_.emplace(Floats(std::vector<float>(kN, 3)));
    y_.emplace(Floats(std::vector<float>(kN, 7)));
    Status status = launches ? kernel->Launch(stream_->get(), View(*x_), View(*y_))
                             : kernel->Warmup(stream_->get(), View(*x_), View(*y_));
    EXPECT_ERROR(status, StatusCode::kDataLoss, "the caller's 'x' is damaged");
    EXPECT_EQ(Read(*y_), std::vector<float>(kN, 7)) << "it is not computed from damaged data";
    EXPECT_TRUE(store->List()->empty());
  }
}

TEST_F(TrialLimitsTest, ASelectionForLackOfMemoryIsSearchedForAgainByWhoHasMore) {
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  policy.search.quiet = true;
  auto launch = [&](std::size_t budget) {
    policy.search.memory_budget_bytes = budget;
    Result<TunedKernel> kernel = TunedKernel::Create(Define(kTwice), policy);
    EXPECT_OK(kernel);
    x_.emplace(Floats(std::vector<float>(kN, 3)));
    y_.emplace(Floats(std::vector<float>(kN, 7)));
    EXPECT_OK(kernel->Launch(stream_->get(), View(*x_), View(*y_)));
    EXPECT_EQ(Read(*y_), std::vector<float>(kN, 6));
    EXPECT_OK(kernel->Launch(stream_->get(), View(*x_), View(*y_)));
    return kernel->counters().tunes;
  };
  LimitMemory();
  EXPECT_EQ(launch(options_.memory_budget_bytes), 1) << "once in a process";
  EXPECT_EQ(launch(options_.memory_budget_bytes), 1);
  EXPECT_EQ(launch(0), 1) << "the record is not complete";
  EXPECT_EQ(launch(0), 0) << "now it is";
  EXPECT_EQ(launch(options_.memory_budget_bytes), 0);
}

TEST_F(TrialLimitsTest, ABucketsTensorsCountAndAreNotTheCallers) {
  KernelDefinition definition = Define(std::string(kTwice) + "if (KIND == 1) x[3] = 9;");
  definition.Key(KeyOf("N").NextPow2());
  struct Observer final : AutotuneObserver {
    void OnTuned(const std::string&, const std::string&, const TuningRecord& tuned) override { result = tuned; }
    TuningRecord result;
  };
  constexpr std::int64_t kMany = 70000;  // The bucket's bound is 131072.
  auto tune = [&](std::size_t budget) {
    auto observer = std::make_shared<Observer>();
    AutotunePolicy policy;
    policy.search = options_;
    policy.search.memory_budget_bytes = budget;
    policy.observer = observer;
    policy.store = std::make_shared<MemoryStore>();
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy);
    EXPECT_OK(kernel);
    DeviceBuffer x = Floats(std::vector<float>(kMany, 3)), y = Floats(std::vector<float>(kMany, 7));
    EXPECT_OK(kernel->Launch(stream_->get(), View(x), View(y)));
    EXPECT_EQ(Read(x), std::vector<float>(kMany, 3));
    EXPECT_EQ(Read(y), std::vector<float>(kMany, 6));
    return observer->result;
  };
  TuningRecord result = tune(0);
  std::size_t bucket = 2 * 131072 * sizeof(float);
  EXPECT_GT(result.cost.peak_bytes, 2 * bucket);
  EXPECT_EQ(result.failures().size(), 1u);
  TuningRecord tight = tune(result.cost.peak_bytes - bucket / 4);  // On a busy machine peaks differ a little.
  EXPECT_TRUE(Notes(tight, "too little memory to copy the inputs"));
  EXPECT_FALSE(Notes(tight, "damaged")) << "it was the bucket's";
  EXPECT_EQ(tight.failures().size(), 1u);
}

TEST_F(TrialLimitsTest, ASearchThatEndsEarlyLeavesNothingBehind) {
  RelaxedDriver driver(api());
  auto free_bytes = [&] {
    EXPECT_OK(stream_->view().Synchronize());
    std::size_t free = 0, total = 0;
    EXPECT_EQ(driver->MemGetInfo(&free, &total), CUDA_SUCCESS);
    return free;
  };
  x_.emplace(Floats(std::vector<float>(kN, 3)));
  y_.emplace(Floats(std::vector<float>(kN, 7)));
  std::size_t before = free_bytes();
  std::atomic<bool> cancelled{false};
  options_.stop = &cancelled;
  int steps = 0;
  options_.on_progress = [&](const SearchProgress& progress) {
    if (progress.stage == SearchProgress::Stage::kMeasure && ++steps == 2) cancelled = true;
  };
  EXPECT_ERROR(Search(Define(kTwice)), StatusCode::kCancelled, "was cancelled");
  // Frees are in the order of the search's own stream: wait until they are through.
  while (free_bytes() < before) {
  }
  EXPECT_EQ(free_bytes(), before);
}

}  // namespace
}  // namespace tuneonce
