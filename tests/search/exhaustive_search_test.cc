// Real searches on the CPU device.
#include "tuneonce/exhaustive_search.h"

#include <cmath>
#include <thread>

#include "cuda/driver_api.h"
#include "search/search_call.h"
#include "testing/device_test.h"
#include "testing/fault_injection.h"
#include "testing/runtimes.h"
#include "testing/work_timer.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;

class ExhaustiveSearchTest : public testing::CpuDeviceTest {
 protected:
  ExhaustiveSearchTest() { options_.quiet = true; }

  Result<TuningRecord> Search(const KernelDefinition& definition, const DeviceBuffer& x, const DeviceBuffer& y) {
    TensorView x_view = View(x);
    TensorView y_view = View(y);
    return exhaustive_search(definition, stream_->get(), {x_view, y_view, factor_}, options_);
  }

  testing::ScaleKernel scale_;
  testing::WorkTimer timer_;
  SearchOptions options_;
  float factor_ = 2;
};

TEST_F(ExhaustiveSearchTest, FindsTheConfigThatDoesLessWorkAndTouchesNothing) {
  DeviceBuffer x = Floats(std::vector<float>(20000, 3));
  DeviceBuffer y = Floats(std::vector<float>(20000, 7));
  options_.timer = &timer_;
  Result<TuningRecord> result = Search(scale_.Definition(), x, y);
  ASSERT_OK(result);
  EXPECT_EQ(result->successes().size(), 4u);
  EXPECT_EQ(result->best.config[scale_.work], 1) << "a hundredth of the work";
  EXPECT_EQ(result->successes().back().config[scale_.work], 100);
  EXPECT_GE(*result->speedup_over_baseline, 1.0);
  EXPECT_GT(result->cost.num_launches, 0);
  EXPECT_EQ(Read(y), std::vector<float>(20000, 7)) << "the caller's data is untouched";
}

TEST_F(ExhaustiveSearchTest, TheEngineAloneTakesTheSeedsFunctions) {
  DeviceBuffer x = Floats(std::vector<float>(5000, 3));
  DeviceBuffer y = Floats(std::vector<float>(5000, 7));
  options_.timer = &timer_;
  Result<TuningRecord> result = exhaustive_search(
      scale_.space, stream_->get(),
      [&](const Config& c) {
        Geometry g;
        g.grid.x = (5000 + c[scale_.tile] - 1) / c[scale_.tile];
        return g;
      },
      [&](const Config& c) { return scale_.Source()(c, Problem()); },
      [&](const Config&) {
        return std::vector<TrialArgument>{TrialArgument::In(x.data()), TrialArgument::Out(y.data(), y.bytes()), 2.0f,
                                          5000};
      },
      nullptr, options_);
  ASSERT_OK(result);
  EXPECT_EQ(result->key.kernel, "scale");
  EXPECT_EQ(result->best.config[scale_.work], 1);
  EXPECT_EQ(Read(y), std::vector<float>(5000, 7));
}

TEST_F(ExhaustiveSearchTest, ArgumentsOfTheEngineAreChecked) {
  DeviceBuffer x = Floats({1});
  auto grid = [](const Config&) { return Geometry(); };
  auto kernel = [&](const Config& c) { return scale_.Source()(c, Problem()); };
  auto search = [&](std::vector<TrialArgument> arguments) {
    return exhaustive_search(
        scale_.space, stream_->get(), grid, kernel, [=](const Config&) { return arguments; }, nullptr, options_);
  };
  EXPECT_ERROR(search({TrialArgument::In(x.data()), TrialArgument::Out(x.data(), 0), 1.0f, 1}),
               StatusCode::kInvalidArgument, "parameter \'argument 2\': an output without a size cannot be tuned");
  EXPECT_ERROR(search({TrialArgument::In(x.data()), TrialArgument::Out(nullptr, 4), 1.0f, 1}),
               StatusCode::kInvalidArgument, "argument 2 is a null pointer");
  EXPECT_ERROR(search({TrialArgument::In(x.data())}), StatusCode::kInternal,
               "is declared with 1 parameters, but its code has 4");
  EXPECT_ERROR(search({TrialArgument::In(x.data()), TrialArgument::Out(x.data(), 4), 1.0f, 1.0}), StatusCode::kInternal,
               "declared with 8 bytes, but the code has 4");
  EXPECT_ERROR(exhaustive_search(scale_.space, stream_->get(), nullptr, kernel, nullptr), StatusCode::kInvalidArgument,
               "needs grid_fn");
}

TEST_F(ExhaustiveSearchTest, ThrowingCallbacksBecomeErrorsThatNameThem) {
  DeviceBuffer x = Floats({1});
  auto thrower = [](const Config&, const Problem&) -> KernelSource { throw std::runtime_error("no file"); };
  KernelDefinition source_throws("k");
  source_throws.Parameters({In("x", {"N"}), Out("y", {"N"}), Scalar<float>("factor")})
      .Space(scale_.space)
      .AddVariant(Variant(thrower).Grid(Grid::Fixed(1)));
  EXPECT_ERROR(Search(source_throws, x, x), StatusCode::kInvalidArgument,
               "the source function of kernel 'k' at config {TILE=64, WORK=100} threw: no file");
}

TEST_F(ExhaustiveSearchTest, AForeignAxisInACallbackIsReported) {
  DeviceBuffer x = Floats({1});
  SearchSpace other;
  IntAxis foreign = other.AddAxis("OTHER", {1});
  KernelDefinition definition("k");
  definition.Parameters({In("x", {"N"}), Out("y", {"N"}), Scalar<float>("factor")})
      .Space(scale_.space)
      .AddVariant(Variant([=](const Config& c, const Problem&) {
                    return KernelSource::CpuCpp("", "k").Define("T", c[foreign]);
                  }).Grid(Grid::Fixed(1)));
  EXPECT_ERROR(Search(definition, x, x), StatusCode::kInvalidArgument, "an axis of another search space");
}

TEST_F(ExhaustiveSearchTest, ACapturingStreamAndAForeignStreamAreRefused) {
  DeviceBuffer x = Floats({1});
  const DriverTable& driver = UnguardedTable(api());
  ASSERT_EQ(driver.StreamBeginCapture(stream_->get(), CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_ERROR(Search(scale_.Definition(), x, x), StatusCode::kFailedPrecondition, "the stream is capturing");
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.StreamEndCapture(stream_->get(), &graph), CUDA_SUCCESS) << "the capture lives on";
  driver.GraphDestroy(graph);
  Result<Context> other = Context::Create(*device_);
  {
    ScopedContext scoped(other->view());
    EXPECT_ERROR(Search(scale_.Definition(), x, x), StatusCode::kInvalidArgument, "another CUDA context");
  }
  std::thread([&] {
    EXPECT_ERROR(Search(scale_.Definition(), x, x), StatusCode::kFailedPrecondition, "no current CUDA context");
  }).join();
}

TEST_F(ExhaustiveSearchTest, AKernelThatFaultsIsReportedAsFatalForTheContext) {
  KernelDefinition definition("faulty");
  definition.Parameters({In("x", {"N"}), Out("y", {"N"}), Scalar<float>("factor")})
      .AddVariant(Variant([](const Config&, const Problem&) {
                    return KernelSource::CpuCpp(
                        "static void f(const tuneonce_block&, const float*, float* y, float) "
                        "{ y[1 << 22] = 1; }\nTUNEONCE_CPU_KERNEL(f);",
                        "f");
                  }).Grid(Grid::Fixed(1)));
  DeviceBuffer x = Floats({1});
  Result<TuningRecord> result = Search(definition, x, x);
  EXPECT_ERROR(result, StatusCode::kInternal, "kernel 'faulty', candidate {(no axes)}");
  EXPECT_ERROR(result, StatusCode::kInternal, "this CUDA context is lost");
  EXPECT_TRUE(result.status().sticky());
}

TEST_F(ExhaustiveSearchTest, EveryFailingDriverCallIsAFailureOrAnErrorNeverACrash) {
  Result<std::unique_ptr<FaultInjection>> faults = FaultInjection::Create(api());
  ASSERT_OK(faults);
  DeviceBuffer x = Floats(std::vector<float>(100, 1));
  DeviceBuffer y = Floats(std::vector<float>(100, 1));
  TensorView x_view = View(x);
  TensorView y_view = View(y);
  StreamView stream((*faults)->api(), stream_->get());
  for (const char* function : {"CtxGetCurrent",      "StreamGetCtx",      "StreamIsCapturing",
                               "EventCreate",        "EventRecord",       "StreamCreate",
                               "StreamWaitEvent",    "LibraryLoadData",   "LibraryGetKernel",
                               "KernelGetFunction",  "FuncGetParamInfo",  "MemGetInfo",
                               "MemAllocAsync",      "LaunchKernelEx",    "EventRecordWithFlags",
                               "StreamBeginCapture", "StreamEndCapture",  "GraphInstantiateWithFlags",
                               "GraphLaunch",        "MemsetD8Async",     "EventElapsedTime",
                               "StreamSynchronize",  "DeviceGetAttribute"}) {
    (*faults)->Clear();
    ASSERT_OK((*faults)->Plan({function, 0, CUDA_ERROR_OUT_OF_MEMORY, 0}));
    Result<TuningRecord> result = SearchDefinition(scale_.Definition(), stream, {x_view, y_view, factor_}, options_);
    EXPECT_FALSE(result.ok()) << function;
    EXPECT_GT((*faults)->CallCount(function), 0) << function;
    // Once, and not of the baseline, which the others need: one candidate fails, and the search has a result.
    (*faults)->Clear();
    ASSERT_OK((*faults)->Plan({"LaunchKernelEx", 2, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 0}));
    result = SearchDefinition(scale_.Definition(), stream, {x_view, y_view, factor_}, options_);
    ASSERT_OK(result);
    ASSERT_EQ(result->failures().size(), 1u);
    EXPECT_EQ(result->failures()[0].kind, OutcomeKind::kResources);
  }
  EXPECT_EQ(Read(y), std::vector<float>(100, 1));
}

TEST_F(ExhaustiveSearchTest, AnInOutIsRestoredBeforeEachTrial) {
  // Doubles y in place: without the restore, trials would run off to infinity and the last check would see it.
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {1, 2});
  KernelDefinition definition("double");
  definition.Parameters({InOut("y", kFloat32, {"N"}), Out("seen", kFloat32, {"N"})})
      .Space(space)
      .AddVariant(Variant([=](const Config& c, const Problem&) {
                    return KernelSource::CpuCpp(
                               "static void d(const tuneonce_block&, float* y, float* seen) {"
                               "if (*y != 3) __builtin_trap(); *y *= 2; seen[0] = seen[1] = TILE; }\n"
                               "TUNEONCE_CPU_KERNEL(d);",
                               "d")
                        .Define("TILE", c[tile]);
                  }).Grid(Grid::Fixed(1)));
  DeviceBuffer y = Floats({3, -3});  // Both signs: no values are generated.
  DeviceBuffer seen = Floats({0, 0});
  TensorView y_view = View(y);
  TensorView seen_view = View(seen);
  EXPECT_OK(exhaustive_search(definition, stream_->get(), {y_view, seen_view}, options_));
  EXPECT_EQ(Read(y), (std::vector<float>{3, -3}));
  EXPECT_EQ(Read(seen), (std::vector<float>{0, 0}));
}

TEST_F(ExhaustiveSearchTest, DisableAutotuneDoesNotTouchTheEngine) {
  options_.runtime = testing::RuntimeIn({{"DISABLE_AUTOTUNE", "1"}});
  DeviceBuffer x = Floats({1});
  DeviceBuffer y = Floats({1});
  EXPECT_OK(Search(scale_.Definition(), x, y));
}

TEST_F(ExhaustiveSearchTest, AStreamThatDiesHalfWayEndsTheSearchInWords) {
  Result<std::unique_ptr<FaultInjection>> faults = FaultInjection::Create(api());
  ASSERT_OK(faults);
  DeviceBuffer x = Floats(std::vector<float>(100, 1));
  DeviceBuffer y = Floats(std::vector<float>(100, 1));
  TensorView x_view = View(x);
  TensorView y_view = View(y);
  StreamView stream((*faults)->api(), stream_->get());
  int errors = 0;
  for (int ordinal = 1; ordinal <= 40; ordinal += 3) {  // In a verification, in a round, after the last.
    (*faults)->Clear();
    ASSERT_OK((*faults)->Plan({"StreamSynchronize", ordinal, CUDA_ERROR_ILLEGAL_ADDRESS, 0}));
    Result<TuningRecord> result = SearchDefinition(scale_.Definition(), stream, {x_view, y_view, factor_}, options_);
    if ((*faults)->CallCount("StreamSynchronize") < ordinal) break;
    ++errors;
    ASSERT_FALSE(result.ok()) << ordinal;
    EXPECT_TRUE(result.status().sticky()) << ordinal << ": " << result.status().ToString();
    EXPECT_NE(result.status().message().find("kernel 'scale', "), std::string::npos) << result.status().ToString();
  }
  EXPECT_GT(errors, 3);
}

/// y = 2 x over N floats by one of several kernels: axis KIND says which; 0 is right, and the baseline.
class VerificationTest : public testing::CpuDeviceTest {
 protected:
  static constexpr int kN = 1000;
  static constexpr char kSource[] = R"(
extern "C" __attribute__((weak)) long tuneonce_test_work;
static void twice(const tuneonce_block&, const float* x, float* y, int n) {
  static int runs = 0;
  ++runs;
  if (&tuneonce_test_work != nullptr) tuneonce_test_work += KIND == 0 ? 200 : 1;
  for (int work = 0; work < (KIND == 0 ? 200 : 1); ++work)  // The wrong ones are fast.
  for (int i = 0; i < n; ++i) {
    float value = 2 * x[i];
    if (KIND == 1 && i == 700) value += 1;
    if (KIND == 2 && i == n - 1) continue;
    if (KIND == 5 && runs == 3 && i == 3) value = 0;
    if (KIND == 6) value *= 1.000001f;
    if (KIND == 7 && i == 5) value = __builtin_nanf("");
    static_cast<volatile float*>(y)[i] = value;
  }
  if (KIND == 3) y[n] = 1;
  if (KIND == 4) y[-1] = 1;
}
TUNEONCE_CPU_KERNEL(twice);)";

  KernelDefinition Define(int kind) {
    SearchSpace space;
    IntAxis axis = space.AddAxis("KIND", {0, kind});
    space.SetBaseline({{axis, 0}});
    KernelDefinition definition("twice");
    definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
        .Space(space)
        .AddVariant(Variant([axis](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(kSource, "twice").Define("KIND", c[axis]);
                    }).Grid(Grid::Fixed(1)));
    return definition;
  }
  Result<TuningRecord> Search(const KernelDefinition& definition, SearchOptions options = {}) {
    options.quiet = true;
    options.timer = &timer_;
    DeviceBuffer x = Floats(std::vector<float>(kN, 3));
    DeviceBuffer y = Floats(std::vector<float>(kN, 7));
    TensorView x_view = View(x), y_view = View(y);
    Result<TuningRecord> result = exhaustive_search(definition, stream_->get(), {x_view, y_view}, options);
    EXPECT_EQ(Read(y), std::vector<float>(kN, 7)) << "the caller's data";
    return result;
  }

  testing::WorkTimer timer_;
};

TEST_F(VerificationTest, AFastWrongKernelCannotWin) {
  struct Case {
    int kind;
    OutcomeKind failure;
    const char* message;
  };
  for (const Case& c :
       {Case{1, OutcomeKind::kWrongResult,
             "output 'y': 1 of 1000 elements differ from the reference, the first at 700"},
        Case{2, OutcomeKind::kNotWritten, "output 'y': 1 of 1000 elements were not written, the first at 999"},
        Case{3, OutcomeKind::kOutOfBounds, "it wrote behind 'y'"},
        Case{4, OutcomeKind::kOutOfBounds, "it wrote before 'y'"},
        Case{7, OutcomeKind::kWrongResult, "the first at 5"}}) {
    Result<TuningRecord> result = Search(Define(c.kind));
    ASSERT_OK(result);
    EXPECT_EQ(result->best.config.ToString(), "KIND=0") << c.kind;
    ASSERT_EQ(result->failures().size(), 1u) << c.kind;
    EXPECT_EQ(result->failures()[0].kind, c.failure) << c.kind;
    EXPECT_NE(result->failures()[0].message.find(c.message), std::string::npos) << result->failures()[0].message;
  }
}

TEST_F(VerificationTest, AnotherOrderOfRoundingIsNoFailure) {
  Result<TuningRecord> result = Search(Define(6));
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config.ToString(), "KIND=6");
  EXPECT_TRUE(result->notes.empty());
  KernelDefinition strict = Define(6);
  strict.VerifyWithin({0, 1e-9});
  EXPECT_EQ(Search(strict)->failures().size(), 1u);
}

TEST_F(VerificationTest, AnUnorderedKernelIsCheckedMoreThanOnce) {
  EXPECT_TRUE(Search(Define(5))->failures().empty()) << "its first two runs are right";
  KernelDefinition unordered = Define(5);
  unordered.Unordered();
  Result<TuningRecord> result = Search(unordered);
  ASSERT_OK(result);
  ASSERT_EQ(result->failures().size(), 1u);
  EXPECT_EQ(result->failures()[0].kind, OutcomeKind::kWrongResult);
}

TEST_F(VerificationTest, ItCanBeSwitchedOffInWords) {
  SearchOptions options;
  options.verify = Verify::kOff;
  Result<TuningRecord> unverified = Search(Define(1), options);
  EXPECT_EQ(unverified->best.config.ToString(), "KIND=1");
  ASSERT_EQ(unverified->notes.size(), 1u);
  EXPECT_EQ(unverified->notes[0], "outputs were not compared (Verify::kOff): the selected config may be incorrect");
  EXPECT_EQ(Search(Define(3), options)->failures().size(), 1u) << "bounds are checked all the same";
}

TEST_F(VerificationTest, AGivenReferenceStandsInForTheBaseline) {
  SearchOptions options;
  DeviceBuffer expected = Floats(std::vector<float>(kN, 6));
  options.reference = {View(expected)};
  EXPECT_EQ(Search(Define(1), options)->failures().size(), 1u);
  DeviceBuffer other = Floats(std::vector<float>(kN, 5));
  options.reference = {View(other)};
  EXPECT_ERROR(Search(Define(1), options), StatusCode::kInternal, "1000 of 1000 elements differ");
  DeviceBuffer small = Floats({1});
  options.reference = {View(small)};
  EXPECT_ERROR(Search(Define(1), options), StatusCode::kInternal,
               "the reference for output 'y' is float32[1] of 4 bytes");
}

TEST_F(VerificationTest, WhatIsNotComparedIsSaid) {
  KernelDefinition wrong_baseline = Define(1);
  SearchOptions options;
  options.quiet = true;
  DeviceBuffer x = Floats(std::vector<float>(kN, 3));
  DeviceBuffer y = Floats(std::vector<float>(kN, 7));
  SearchSpace space;
  space.AddAxis("KIND", {0, 1});
  auto search = [&](const SearchSpace& s, DType dtype) {
    return exhaustive_search(
        s, stream_->get(), [](const Config&) { return Geometry(); },
        [](const Config& c) {
          return KernelSource::CpuCpp(kSource, "twice").Define("KIND", std::get<std::int64_t>(*c.Find("KIND")));
        },
        [&](const Config&) {
          return std::vector<TrialArgument>{TrialArgument::In(x.data()), TrialArgument::Out(y.data(), y.bytes(), dtype),
                                            std::int32_t{kN}};
        },
        nullptr, options);
  };
  Result<TuningRecord> no_baseline = search(space, DType::kFloat32);
  ASSERT_OK(no_baseline);
  EXPECT_EQ(no_baseline->notes,
            (std::vector<std::string>{"outputs were not compared: the search has neither a baseline nor a reference",
                                      "input of unknown size, so it was neither copied nor checked: 'argument 1'"}));
  SearchSpace with_baseline;
  IntAxis kind = with_baseline.AddAxis("KIND", {0, 1});
  with_baseline.SetBaseline({{kind, 0}});
  EXPECT_EQ(search(with_baseline, DType::kAny)->notes,
            (std::vector<std::string>{"input of unknown size, so it was neither copied nor checked: 'argument 1'",
                                      "outputs without a dtype were not compared: 'argument 2'"}));
  EXPECT_EQ(search(with_baseline, DType::kFloat32)->failures().size(), 1u);
}

TEST_F(VerificationTest, WithoutItsReferenceNobodyWins) {
  for (const char* broken : {"#if KIND == 0\n#error no baseline\n#endif\n", ""}) {
    SearchSpace space;
    IntAxis kind = space.AddAxis("KIND", {0, 6});
    space.SetBaseline({{kind, 0}});
    KernelDefinition definition = Define(6);
    KernelDefinition other("twice");
    bool compiles = *broken == '\0';
    other.DimsInOrder({"N"})
        .Parameters(definition.parameters())
        .Space(space)
        .AddVariant(Variant([kind, broken](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(std::string(broken) + kSource, "twice").Define("KIND", c[kind]);
                    }).Grid(GeometryFn([kind, compiles](const Config& c, const Problem&) {
          Geometry geometry;
          if (compiles && c[kind] == 0) geometry.grid.x = 0;  // Cannot be launched.
          return geometry;
        })));
    EXPECT_ERROR(Search(other), StatusCode::kInternal,
                 "not verified: the candidate's outputs cannot be compared: the baseline failed ({KIND=6})");
    SearchOptions options;
    options.verify = Verify::kOff;
    EXPECT_OK(Search(other, options));  // Unless nobody asked for it.
  }
}

TEST_F(VerificationTest, TheRooflineComesFromTheDefinition) {
  KernelDefinition definition = Define(6);
  Dim n = definition.DimOf("N");
  definition.Work([n](const Problem& p) { return 8.0 * static_cast<double>(p[n]); },
                  [n](const Problem& p) { return static_cast<double>(p[n]); });
  Result<TuningRecord> result = Search(definition);
  ASSERT_OK(result);
  ASSERT_TRUE(result->best.roofline.has_value());
  EXPECT_DOUBLE_EQ(*result->best.roofline->intensity, 0.125);
  EXPECT_EQ(*result->best.roofline->bound, Bound::kMemory);
  EXPECT_NEAR(result->best.roofline->gb_per_s, 8000 / (result->best.measurement.mean_us * 1e3), 1e-6);
  EXPECT_FALSE(result->best.roofline->percent_of_peak.has_value()) << "the CPU device's peak is not known";
  definition.Work([](const Problem&) { return std::nan(""); }, [](const Problem&) { return 1000.0; });
  result = Search(definition);
  ASSERT_OK(result);
  EXPECT_FALSE(result->best.roofline->intensity.has_value());
  ASSERT_EQ(result->notes.size(), 1u);
  EXPECT_EQ(result->notes[0].rfind("the roofline is incomplete: the bytes of one run have no value", 0), 0u);
  definition.Work([](const Problem&) -> double { throw std::runtime_error("no idea"); }, nullptr);
  EXPECT_ERROR(Search(definition), StatusCode::kInvalidArgument, "no idea");
}

TEST_F(ExhaustiveSearchTest, MemoryOfTheHostIsNamedByItsParameter) {
  std::vector<float> host(64, 1);
  KernelDefinition definition("scale");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"})})
      .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  DeviceBuffer x = Floats(host);
  EXPECT_ERROR(exhaustive_search(definition, stream_->get(),
                                 {testing::View(x), TensorView::Contiguous(host.data(), kFloat32, {64})}),
               StatusCode::kInvalidArgument, "is unknown to the device's driver: pass device memory, not host memory");
}

}  // namespace
}  // namespace tuneonce
