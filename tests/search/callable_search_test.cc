// Searches over what the host launches itself: the same engine, the same rules.
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cuda/driver_api.h"
#include "testing/device_test.h"
#include "testing/scale_tactics.h"
#include "testing/work_timer.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/search_strategy.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;

class CallableSearchTest : public testing::CpuDeviceTest {
 protected:
  static constexpr int kN = 5000;

  void SetUp() override {
    CpuDeviceTest::SetUp();
    options_.quiet = true;
    tactics_.emplace(*device_);
  }

  /// y = x * 2, with x = 3; checks that nothing of the caller's changed.
  Result<TuningRecord> Search(const KernelDefinition& definition) {
    DeviceBuffer x = Floats(std::vector<float>(kN, 3)), y = Floats(std::vector<float>(kN, 7));
    TensorView x_view = View(x), y_view = View(y);
    float factor = 2;
    Result<TuningRecord> result = exhaustive_search(definition, stream_->get(), {x_view, y_view, factor}, options_);
    EXPECT_EQ(Read(x), std::vector<float>(kN, 3)) << "the caller's input is untouched";
    EXPECT_EQ(Read(y), std::vector<float>(kN, 7)) << "the caller's output is untouched";
    return result;
  }
  Result<TuningRecord> Search(const Variant::LaunchFn& launcher) { return Search(tactics_->Definition(launcher)); }

  testing::WorkTimer timer_;
  SearchOptions options_;
  std::optional<testing::ScaleTactics> tactics_;
};

TEST_F(CallableSearchTest, TheFasterTacticWinsUncompiledAndVerified) {
  options_.timer = &timer_;
  Result<TuningRecord> result = Search(tactics_->Definition());
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config[tactics_->work], 1);
  EXPECT_EQ(result->best.variant, "callable");
  EXPECT_EQ(result->best.artifact, Fingerprint());
  EXPECT_EQ(result->successes().size(), 2u);
  EXPECT_EQ(result->cost.num_compiled, 0);
  EXPECT_GE(result->cost.num_launches, 6) << "each ran twice to be checked, and once at least in the race";
  EXPECT_EQ(result->timer, "work");
  EXPECT_GT(*result->speedup_over_baseline, 1.02);
  ASSERT_TRUE(result->best.largest_difference.has_value()) << "its output was compared";
  EXPECT_EQ(result->best.largest_difference->absolute, 0);
}

TEST_F(CallableSearchTest, TwoTacticsThatAreTheSameAreNoDuplicates) {
  testing::ScaleTactics& tactics = *tactics_;
  Result<TuningRecord> result = Search([&](CUstream stream, const Config&, const CallArguments& a) {
    return tactics.Run(stream, 1, a.tensor(0), a.tensor(1), a.scalar<float>(2), a.dim("N"));
  });
  ASSERT_OK(result);
  EXPECT_EQ(result->successes().size(), 2u);
  EXPECT_TRUE(result->duplicates().empty()) << "what the host does cannot be compared";
}

/// What a launcher may do wrong at WORK=1, what becomes of that config, and what the result says of it.
TEST_F(CallableSearchTest, WhatALauncherDoesWrongFailsItsConfigAlone) {
  testing::ScaleTactics& tactics = *tactics_;
  struct Case {
    Variant::LaunchFn wrong;
    OutcomeKind kind;
    std::string part;
  };
  auto run = [&](CUstream stream, const TensorView& x, const TensorView& y, float factor, std::int64_t n) {
    return tactics.Run(stream, 1, x, y, factor, n);
  };
  auto at = [](TensorView view, std::int64_t element) {
    view.data = static_cast<float*>(view.data) + element;
    return view;
  };
  const std::string kWho = "kernel 'scale': the launcher of variant 'callable'";
  Result<Context> other = Context::Create(*device_);
  ASSERT_OK(other);
  Result<ContextView> callers = ContextView::Current(device_->api());
  ASSERT_OK(callers);
  std::vector<Case> cases = {
      {[&](CUstream s, const Config&, const CallArguments& a) {
         Status launched = run(s, a.tensor(0), a.tensor(1), 2, a.dim("N"));
         RelaxedDriver(device_->api())->CtxSetCurrent(other->get());
         return launched;
       },
       OutcomeKind::kLaunch, "the launcher left another CUDA context current"},
      {[](CUstream, const Config&, const CallArguments&) { return UnimplementedError("no such tactic"); },
       OutcomeKind::kLaunch, kWho + ": no such tactic"},
      {[](CUstream, const Config&, const CallArguments&) -> Status { throw std::runtime_error("out of luck"); },
       OutcomeKind::kLaunch, kWho + " threw: out of luck"},
      {[](CUstream, const Config&, const CallArguments&) -> Status { throw 7; }, OutcomeKind::kLaunch,
       "threw something that is not a std::exception"},
      {[](CUstream, const Config&, const CallArguments& a) {
         return a.tensor("q").data == nullptr ? Status() : InternalError("?");
       },
       OutcomeKind::kLaunch,
       "kernel 'scale': the launcher asked for the tensor 'q', but the kernel has no parameter of this name"},
      {[](CUstream, const Config&, const CallArguments& a) {
         return a.scalar<int>("factor") == 0 ? Status() : InternalError("?");
       },
       OutcomeKind::kLaunch, "asked for the scalar 'factor' as int32; it is float32"},
      {[](CUstream, const Config&, const CallArguments& a) { return a.dim("M") == 0 ? Status() : InternalError("?"); },
       OutcomeKind::kLaunch, "asked for the dim 'M', but the kernel has no dim of this name"},
      {[](CUstream, const Config&, const CallArguments&) { return Status(); }, OutcomeKind::kRun,
       "launched nothing on the stream"},
      {[&](CUstream s, const Config&, const CallArguments& a) {
         return run(s, a.tensor(0), a.tensor(1), 5, a.dim("N"));
       },
       OutcomeKind::kWrongResult, "elements differ from the reference"},
      {[&](CUstream s, const Config&, const CallArguments& a) {
         return run(s, a.tensor(0), a.tensor(1), 2, a.dim("N") - 1);
       },
       OutcomeKind::kNotWritten, "1 of 5000 elements were not written"},
      {[&](CUstream s, const Config&, const CallArguments& a) {
         return run(s, a.tensor(1), a.tensor(0), 2, a.dim("N"));
       },
       OutcomeKind::kWroteInput, "the kernel wrote to its input 'x'"},
      {[&](CUstream s, const Config&, const CallArguments& a) {
         return run(s, a.tensor(0), at(a.tensor(1), 8), 2, a.dim("N"));
       },
       OutcomeKind::kOutOfBounds, "it wrote "},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.part);
    Variant::LaunchFn right = tactics.Launcher();
    Result<TuningRecord> result = Search([&](CUstream stream, const Config& c, const CallArguments& a) {
      return c[tactics.work] == 1 ? each.wrong(stream, c, a) : right(stream, c, a);
    });
    ASSERT_OK(result);
    EXPECT_EQ(result->best.config[tactics.work], 100);
    EXPECT_EQ(ContextView::Current(device_->api())->get(), callers->get());
    ASSERT_EQ(result->failures().size(), 1u);
    EXPECT_EQ(result->failures()[0].kind, each.kind) << result->failures()[0].message;
    EXPECT_NE(result->failures()[0].message.find(each.part), std::string::npos) << result->failures()[0].message;
  }
}

TEST_F(CallableSearchTest, TheFirstLaunchOfAConfigIsInNoCapture) {
  for (Verify verify : {Verify::kAgainstBaseline, Verify::kOff}) {
    options_.verify = verify;
    std::map<std::int64_t, std::vector<bool>> captured;
    Variant::LaunchFn right = tactics_->Launcher();
    Result<TuningRecord> result = Search([&](CUstream stream, const Config& c, const CallArguments& a) {
      captured[c[tactics_->work]].push_back(*StreamView(api(), stream).IsCapturing());
      return right(stream, c, a);
    });
    ASSERT_OK(result);
    EXPECT_EQ(result->timer, "events");
    for (const auto& [work, launches] : captured) {
      EXPECT_FALSE(launches.front()) << "what it loads or allocates then would spoil the capture";
      EXPECT_EQ(std::count(launches.begin(), launches.end(), true), 1) << "the event timer's graph";
    }
    EXPECT_EQ(captured.size(), 2u);
  }
}

TEST_F(CallableSearchTest, CallablesAndCodeRaceInOneSearch) {
  options_.timer = &timer_;
  testing::ScaleTactics& tactics = *tactics_;
  for (bool callable_is_faster : {false, true}) {
    SearchSpace space;
    Axis<std::string> backend = space.AddStringAxis("backend", {"code", "callable"});
    space.SetBaseline({{backend, "code"}});
    Variant code;
    code.name = "code";
    code.source = [=](const Config&, const Problem&) {
      return KernelSource::CpuCpp(testing::kScaleSource, "scale")
          .Define("TILE", 1 << 30)
          .Define("WORK", callable_is_faster ? 100 : 1);
    };
    KernelDefinition definition("scale");
    definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"), DimValue("N")})
        .Space(space)
        .AddVariant(code)
        .AddVariant(Callable([=](CUstream stream, const Config&, const CallArguments& a) {
          return tactics.Run(stream, callable_is_faster ? 1 : 100, a.tensor("x"), a.tensor("y"),
                             a.scalar<float>("factor"), a.dim("N"));
        }));
    Result<TuningRecord> result = Search(definition);
    ASSERT_OK(result);
    EXPECT_EQ(result->successes().size(), 2u);
    EXPECT_EQ(result->best.variant, callable_is_faster ? "callable" : "code");
    EXPECT_EQ(result->baseline->variant, "code");
  }
}

TEST_F(CallableSearchTest, ACallableStandsInWhereNothingElseCompiles) {
  Variant code;
  code.name = "code";
  code.source = [](const Config&, const Problem&) { return KernelSource::CpuCpp("this is no C++", "scale"); };
  KernelDefinition definition = tactics_->Definition();
  KernelDefinition both("scale");
  both.DimsInOrder({"N"})
      .Parameters(definition.parameters())
      .Space(tactics_->space)
      .AddVariant(code)
      .AddVariant(Callable(tactics_->Launcher()));
  options_.timer = &timer_;
  Result<TuningRecord> result = Search(both);
  ASSERT_OK(result);
  EXPECT_EQ(result->best.variant, "callable");
  EXPECT_EQ(result->best.config[tactics_->work], 1);
  ASSERT_EQ(result->candidates.size(), 2u);
  for (const CandidateOutcome& candidate : result->candidates) {
    EXPECT_EQ(candidate.variant, "callable");
    ASSERT_EQ(candidate.passed_over.size(), 1u);
    EXPECT_EQ(candidate.passed_over[0].variant, "code");
  }
}

TEST_F(CallableSearchTest, WithoutADefinitionArgumentsGoByIndex) {
  testing::ScaleTactics& tactics = *tactics_;
  DeviceBuffer x = Floats(std::vector<float>(kN, 3)), y = Floats(std::vector<float>(kN, 7));
  auto launch = [&](CUstream stream, const Config& c, const CallArguments& a) {
    return tactics.Run(stream, c[tactics.work], a.tensor(0), a.tensor(1), a.scalar<float>(2), kN);
  };
  auto arguments = [&](const Config&) {
    return std::vector<TrialArgument>{TrialArgument::In(x.data(), x.bytes()),
                                      TrialArgument::Out(y.data(), y.bytes(), DType::kFloat32), 2.0f};
  };
  options_.timer = &timer_;
  Result<TuningRecord> result = exhaustive_search(tactics.space, stream_->get(), launch, arguments, options_);
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config[tactics.work], 1);
  EXPECT_EQ(result->best.variant, "");
  EXPECT_TRUE(result->best.largest_difference.has_value());
  EXPECT_EQ(Read(y), std::vector<float>(kN, 7)) << "the caller's data is untouched";

  auto undeclared = [&](CUstream stream, const Config& c, const CallArguments&) {
    return tactics.Run(stream, c[tactics.work], View(x), View(y), 2, kN);
  };
  Result<TuningRecord> unprotected = exhaustive_search(tactics.space, stream_->get(), undeclared, nullptr, options_);
  ASSERT_OK(unprotected);
  EXPECT_EQ(unprotected->best.config[tactics.work], 1);
  EXPECT_EQ(Read(y), std::vector<float>(kN, 6)) << "what is not declared is the caller's own";
  EXPECT_ERROR(exhaustive_search(tactics.space, stream_->get(), Variant::LaunchFn()), StatusCode::kInvalidArgument,
               "needs launch_fn");
}

TEST_F(CallableSearchTest, BudgetsCancellationAndLimitsHoldAsForCode) {
  testing::ScaleTactics& tactics = *tactics_;
  options_.max_rounds = 3;
  Result<TuningRecord> few = Search(tactics.Definition());
  ASSERT_OK(few);
  EXPECT_LE(few->cost.num_rounds, 3);
  options_ = SearchOptions();
  options_.quiet = true;
  options_.budgets.race = Budgets::Milliseconds(0);
  Result<TuningRecord> short_wall = Search(tactics.Definition());
  ASSERT_OK(short_wall);
  EXPECT_EQ(short_wall->cost.num_rounds, 1);
  options_.budgets.race = Budgets::Milliseconds(10000);
  options_.budgets.gpu = Budgets::Milliseconds(0);
  Result<TuningRecord> short_gpu = Search(tactics.Definition());
  ASSERT_OK(short_gpu);
  EXPECT_LE(short_gpu->cost.num_rounds, 1);
  options_.budgets.gpu = Budgets::Milliseconds(500);

  std::atomic<bool> cancelled{false};
  options_.stop = &cancelled;
  Variant::LaunchFn right = tactics.Launcher();
  auto cancels = [&](CUstream stream, const Config& c, const CallArguments& a) {
    cancelled = true;
    return right(stream, c, a);
  };
  EXPECT_ERROR(Search(cancels), StatusCode::kCancelled, "the search was cancelled");
  options_.stop = StopToken();
  int before = tactics.num_launches();
  options_.stop = StopToken([&] { return tactics.num_launches() > before; });
  EXPECT_ERROR(Search(tactics.Definition()), StatusCode::kCancelled, "the search was cancelled");
  options_.stop = StopToken();
  options_.memory_budget_bytes = 1;
  EXPECT_ERROR(Search(tactics.Definition()), StatusCode::kResourceExhausted, "all 2 candidates failed");
}

TEST_F(CallableSearchTest, AStrategyThatThrowsIsNamed) {
  class Throwing final : public SearchStrategy {
   public:
    Proposal Propose(const SearchHistory&) const override { throw std::runtime_error("out of ideas"); }
  };
  options_.strategy = Strategy::kGuided;
  options_.make_strategy = [](const StrategySpace&) { return std::make_unique<Throwing>(); };
  EXPECT_ERROR(Search(tactics_->Definition()), StatusCode::kInvalidArgument,
               "kernel 'scale': the search: the search strategy threw: out of ideas");
  options_.make_strategy = [](const StrategySpace&) -> std::unique_ptr<SearchStrategy> { throw 7; };
  EXPECT_ERROR(Search(tactics_->Definition()), StatusCode::kInvalidArgument,
               "kernel 'scale': the search: SearchOptions::make_strategy threw something that is not a std::exception");
}

TEST_F(CallableSearchTest, TwoSearchesNeverTryAtTheSameTime) {
  std::atomic<int> trying{0};
  std::atomic<int> most{0};
  Variant::LaunchFn right = tactics_->Launcher();
  auto watched = [&](CUstream stream, const Config& c, const CallArguments& a) {
    int now = ++trying;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::yield();
    Status launched = right(stream, c, a);
    --trying;
    return launched;
  };
  KernelDefinition definition = tactics_->Definition(watched);
  auto search = [&] {
    ScopedContext current(context_->view());
    DeviceBuffer x = Floats(std::vector<float>(kN, 3)), y = Floats(std::vector<float>(kN, 7));
    TensorView x_view = View(x), y_view = View(y);
    float factor = 2;
    EXPECT_OK(exhaustive_search(definition, stream_->get(), {x_view, y_view, factor}, options_));
  };
  std::thread other(search);
  search();
  other.join();
  EXPECT_EQ(most, 1);
}

TEST_F(CallableSearchTest, ALauncherMayUseATunedKernelButNotTuneIt) {
  testing::ScaleKernel scale;
  AutotunePolicy policy;
  policy.search.quiet = true;
  TunedKernel inner = *TunedKernel::Create(scale.Definition("inner"), policy);
  auto through_inner = [&](CUstream stream, const Config&, const CallArguments& a) {
    return inner.Launch(stream, a.tensor(0), a.tensor(1), a.scalar<float>(2));
  };
  EXPECT_ERROR(Search(through_inner), StatusCode::kInternal, "warm it up before that search");
  EXPECT_EQ(inner.counters().tunes, 0);
  auto searches = [&](CUstream, const Config&, const CallArguments&) {
    return Search(tactics_->Definition()).status();
  };
  EXPECT_ERROR(Search(searches), StatusCode::kInternal, "a search cannot be started from a launcher");
  auto warms = [&](CUstream stream, const Config&, const CallArguments&) {
    return inner.Warmup(stream, {{{"N", kN}}});
  };
  EXPECT_ERROR(Search(warms), StatusCode::kInternal, "warm it up before that search");
  ASSERT_OK(inner.Warmup(stream_->get(), {{{"N", kN}}}));
  Result<TuningRecord> result = Search(through_inner);
  ASSERT_OK(result);
  EXPECT_EQ(result->successes().size(), 2u);
}

TEST_F(CallableSearchTest, AWorkspaceIsTheLaunchersAndGuarded) {
  testing::ScaleTactics& tactics = *tactics_;
  KernelDefinition definition("scale");
  definition
      .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"),
                   Workspace("empty", [](const Config&, const Problem&) { return 0; }),
                   Workspace("half",
                             [](const Config& c, const Problem&) {
                               // The faster config asks for less than it uses.
                               return c.values()[0] == AxisValue(std::int64_t{1}) ? kN * sizeof(float) / 2
                                                                                  : kN * sizeof(float);
                             })})
      .Space(tactics.space)
      .AddVariant(Callable([=](CUstream stream, const Config& c, const CallArguments& a) -> Status {
        if (a.workspace("empty") != nullptr) return InternalError("memory of no bytes is at an address");
        TensorView half = a.tensor("x");
        half.data = a.workspace("half");
        TUNEONCE_RETURN_IF_ERROR(tactics.Run(stream, c[tactics.work], a.tensor("x"), half, 1, kN));
        return tactics.Run(stream, c[tactics.work], half, a.tensor("y"), a.scalar<float>("factor"), kN);
      }));
  Result<TuningRecord> result = Search(definition);
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config[tactics.work], 100);
  ASSERT_EQ(result->failures().size(), 1u);
  EXPECT_EQ(result->failures()[0].kind, OutcomeKind::kOutOfBounds) << result->failures()[0].message;
  EXPECT_NE(result->failures()[0].message.find("workspace"), std::string::npos) << result->failures()[0].message;
}

TEST_F(CallableSearchTest, AVariantIsSourceOrLauncher) {
  Variant both = Callable(tactics_->Launcher());
  both.source = testing::NoSource;
  Variant neither;
  Variant with_list = Callable(tactics_->Launcher());
  with_list.parameters = {"x"};
  Variant with_hints = Callable(tactics_->Launcher());
  with_hints.hints = [](const Config&) { return Hints(); };
  struct Case {
    Variant variant;
    const char* part;
  };
  for (const Case& each :
       {Case{both, "a source function and a launcher"}, Case{neither, "neither a source function nor a launcher"},
        Case{with_list, "a launcher receives all parameters"},
        Case{with_hints, "compiler hints have no effect on a launcher"}}) {
    KernelDefinition definition("k");
    definition.AddVariant(each.variant);
    EXPECT_ERROR(definition.Validate(), StatusCode::kInvalidArgument, each.part);
  }
}

/// Two host implementations of a matmul as tactics beside code that a compiler makes, in one race.
TEST_F(CallableSearchTest, ThreeMatmulsRace) {
  constexpr int kSize = 96;
  const char* const naive = R"(
static void matmul(const tuneonce_block&, const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      volatile float sum = 0;
      for (int k = 0; k < n; ++k) sum = sum + a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
TUNEONCE_CPU_KERNEL(matmul);)";
  const char* const by_rows = R"(
static void matmul(const tuneonce_block& block, const float* a, const float* b, float* c, int n) {
  int begin = block.x * ROWS, end = begin + ROWS < n ? begin + ROWS : n;
  for (int i = begin; i < end; ++i) {
    for (int j = 0; j < n; ++j) c[i * n + j] = 0;
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
  }
}
TUNEONCE_CPU_KERNEL(matmul);)";
  auto tactic = [&](const char* text) {
    return *CompiledKernel::Create(*device_, KernelSource::CpuCpp(text, "matmul").Define("ROWS", kSize), Hints(),
                                   Geometry());
  };
  SearchSpace space;
  Axis<std::string> backend = space.AddStringAxis("backend", {"naive", "rows", "compiled"});
  IntAxis rows = space.AddAxis("ROWS", {16, kSize});
  space.Where("only code has blocks", [=](const Config& c) { return c[backend] == "compiled" || c[rows] == 16; });
  space.SetBaseline({{backend, "naive"}, {rows, 16}});
  auto launcher = [](const CompiledKernel& kernel) {
    return [kernel](CUstream stream, const Config&, const CallArguments& call) {
      const void *a = call.tensor("a").data, *b = call.tensor("b").data, *c = call.tensor("c").data;
      int n = static_cast<int>(call.dim("N"));
      void* parameters[] = {&a, &b, &c, &n};
      return kernel.Launch(stream, parameters);
    };
  };
  Variant compiled;
  compiled.name = "compiled";
  compiled.source = [=](const Config& c, const Problem&) {
    return KernelSource::CpuCpp(by_rows, "matmul").Define("ROWS", c[rows]);
  };
  compiled.geometry = Grid::OneD({"N", rows});
  KernelDefinition definition("matmul");
  definition
      .Parameters(
          {In("a", kFloat32, {"N", "N"}), In("b", kFloat32, {"N", "N"}), Out("c", kFloat32, {"N", "N"}), DimValue("N")})
      .Space(space)
      .VerifyWithin(Tolerance{1e-5, 1e-5})
      .AddVariant(Callable(launcher(tactic(naive)), "naive"))
      .AddVariant(Callable(launcher(tactic(by_rows)), "rows"))
      .AddVariant(compiled);
  std::vector<float> values(kSize * kSize);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3;
  DeviceBuffer a = Floats(values), b = Floats(values), c = Floats(values);
  auto square = [](const DeviceBuffer& buffer) {
    return TensorView::Contiguous(buffer.data(), DType::kFloat32, {kSize, kSize});
  };
  TensorView a_view = square(a), b_view = square(b), c_view = square(c);
  Result<TuningRecord> result = exhaustive_search(definition, stream_->get(), {a_view, b_view, c_view}, options_);
  ASSERT_OK(result);
  EXPECT_EQ(result->successes().size(), 4u);
  EXPECT_NE(result->best.variant, "naive");
  EXPECT_EQ(result->successes().back().variant, "naive") << "it waits for memory at each step";
  EXPECT_EQ(Read(c), values) << "the caller's output is untouched";
}

}  // namespace
}  // namespace tuneonce
