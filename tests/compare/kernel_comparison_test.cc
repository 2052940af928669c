// Two kernels side by side: who is faster, and whether both compute the same.
#include "compare/kernel_comparison.h"

#include <string>
#include <utility>
#include <vector>

#include "launch/assumption.h"
#include "testing/device_test.h"
#include "testing/work_timer.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
namespace {

using testing::kScaleSource;
using testing::NoSource;
using testing::View;

class KernelComparisonTest : public testing::CpuDeviceTest {
 protected:
  static constexpr int kN = 5000;

  void SetUp() override {
    CpuDeviceTest::SetUp();
    options_.quiet = true;
    options_.timer = &timer_;
  }

  static ComparedKernel Validated(KernelDefinition definition) {
    EXPECT_OK(ValidateForLaunch(definition));
    return {std::make_shared<const KernelDefinition>(std::move(definition))};
  }
  /// y = x * factor, by so much work: its time by the WorkTimer. The axis has these values; the first is the baseline.
  static KernelDefinition Scale(std::vector<std::int64_t> works, const std::string& source = kScaleSource) {
    SearchSpace space;
    IntAxis work = space.AddAxis("WORK", works);
    space.SetBaseline({{work, works.front()}});
    KernelDefinition definition("scale");
    definition
        .Parameters(
            {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
        .Space(space)
        .AddVariant(Variant([=](const Config& c) {
                      return KernelSource::CpuCpp(source, "scale").Define("TILE", 64).Define("WORK", c[work]);
                    }).Grid(Grid::OneD({"N", 64})));
    return definition;
  }
  static std::string Replaced(const std::string& what, const std::string& by) {
    std::string source = kScaleSource;
    source.replace(source.find(what), what.size(), by);
    return source;
  }

  Result<KernelComparison> Compare(const ComparedKernel& a, const ComparedKernel& b) {
    DeviceBuffer x = Floats(std::vector<float>(kN, 3)), y = Floats(std::vector<float>(kN, 7));
    TensorView x_view = View(x), y_view = View(y);
    float factor = 2;
    Result<KernelComparison> compared = CompareKernels(a, b, stream_->view(), {x_view, y_view, factor}, options_);
    EXPECT_EQ(Read(x), std::vector<float>(kN, 3)) << "the caller's input is untouched";
    EXPECT_EQ(Read(y), std::vector<float>(kN, 7)) << "the caller's output is untouched";
    return compared;
  }
  Result<KernelComparison> Compare(KernelDefinition a, KernelDefinition b) {
    return Compare(Validated(std::move(a)), Validated(std::move(b)));
  }

  testing::WorkTimer timer_;
  SearchOptions options_;
};

TEST_F(KernelComparisonTest, TheVerdictIsByHowMuchFasterItIs) {
  struct Case {
    std::int64_t work;
    Verdict verdict;
  };
  for (Case each : {Case{50, Verdict::kAccept}, Case{97, Verdict::kMinor}, Case{99, Verdict::kNoChange},
                    Case{100, Verdict::kNoChange}, Case{103, Verdict::kRevert}, Case{200, Verdict::kRevert}}) {
    Result<KernelComparison> compared = Compare(Scale({100}), Scale({each.work}));
    ASSERT_OK(compared);
    EXPECT_EQ(VerdictName(compared->verdict), VerdictName(each.verdict)) << each.work;
    ASSERT_TRUE(compared->speedup.has_value());
    EXPECT_NEAR(compared->speedup->ratio, 100.0 / static_cast<double>(each.work), .001);
    EXPECT_LE(compared->speedup->low, compared->speedup->ratio);
    EXPECT_GE(compared->speedup->high, compared->speedup->ratio);
    EXPECT_TRUE(compared->is_conclusive);
    EXPECT_FALSE(compared->is_same_code) << "of two definitions nobody knows what they pass";
    EXPECT_EQ(compared->failure, "");
    EXPECT_EQ(compared->timer, "work");
    EXPECT_GE(compared->num_pairs, 10);
    EXPECT_EQ(compared->a.measurement.num_samples, compared->num_pairs);
    EXPECT_EQ(compared->b->measurement.num_samples, compared->num_pairs);
    ASSERT_TRUE(compared->largest_difference.has_value()) << "outputs were compared";
    EXPECT_EQ(compared->largest_difference->absolute, 0);
    EXPECT_EQ(compared->b->memory_bytes, 2u * kN * sizeof(float));
  }
}

TEST_F(KernelComparisonTest, EachRunsTheBestThatASearchFinds) {
  Result<KernelComparison> compared = Compare(Scale({100, 40, 70}), Scale({100, 20}));
  ASSERT_OK(compared);
  EXPECT_EQ(compared->a.config.ToString(), "WORK=40");
  EXPECT_EQ(compared->b->config.ToString(), "WORK=20");
  EXPECT_EQ(compared->verdict, Verdict::kAccept);
  EXPECT_NEAR(compared->speedup->ratio, 2, .01);
}

TEST_F(KernelComparisonTest, AConfigThatWasChosenIsNotSearchedFor) {
  ComparedKernel a = Validated(Scale({100, 50}));
  ComparedKernel b = a;
  Result<std::vector<Config>> configs = a.definition->space().Enumerate(Target::Of(*device_->Identity()));
  ASSERT_OK(configs);
  a.config = configs->at(1);
  b.config = configs->at(0);
  Result<KernelComparison> compared = Compare(a, b);
  ASSERT_OK(compared);
  EXPECT_EQ(compared->a.config.ToString(), "WORK=50");
  EXPECT_EQ(compared->b->config.ToString(), "WORK=100");
  EXPECT_EQ(compared->verdict, Verdict::kRevert);
  EXPECT_FALSE(compared->is_same_code);
  b.config = a.config;
  compared = Compare(a, b);
  ASSERT_OK(compared);
  EXPECT_TRUE(compared->is_same_code);
  EXPECT_EQ(compared->verdict, Verdict::kNoChange);
}

TEST_F(KernelComparisonTest, AgainstItselfAKernelIsSearchedOnceAndNeverReverted) {
  ComparedKernel a = Validated(Scale({100, 50, 51}));
  Result<KernelComparison> compared = Compare(a, a);
  ASSERT_OK(compared);
  EXPECT_TRUE(compared->is_same_code);
  EXPECT_EQ(compared->verdict, Verdict::kNoChange);
  EXPECT_TRUE(compared->is_conclusive);
  EXPECT_EQ(compared->a.config.ToString(), compared->b->config.ToString());
}

TEST_F(KernelComparisonTest, WhatIsWrongIsRevertedHoweverFastItIs) {
  struct Case {
    std::string source;
    std::string part;
    const char* verdict = "revert";
  };
  for (const Case& each :
       {Case{Replaced("x[i] * factor", "x[i] * factor + 1"), "wrong result: output 'y': 5000 of 5000 elements differ"},
        Case{Replaced("i < end; ++i)", "i < end && i < 4999; ++i)"), "not written: output 'y': 1 of 5000"},
        Case{Replaced("int begin", "y[n] = 1; int begin"), "out of bounds"},
        Case{Replaced("int begin", "no c++; int begin"), "compile", "crash"},
        // Right before it is timed, and wrong afterwards.
        Case{Replaced("int begin", "static int runs; if (block.x == 0 && ++runs > 5) factor = 9; int begin"),
             "after the race: output 'y'"}}) {
    Result<KernelComparison> compared = Compare(Scale({100}), Scale({1}, each.source));
    ASSERT_OK(compared);
    EXPECT_EQ(VerdictName(compared->verdict), each.verdict);
    EXPECT_TRUE(compared->is_conclusive);
    EXPECT_NE(compared->failure.find(each.part), std::string::npos) << compared->failure;
    EXPECT_FALSE(compared->b.has_value());
    EXPECT_FALSE(compared->speedup.has_value());
    EXPECT_EQ(compared->a.config.ToString(), "WORK=100");
  }
}

TEST_F(KernelComparisonTest, WithinTheToleranceThatADeclaresBIsRight) {
  const std::string source = Replaced("x[i] * factor", "x[i] * factor + 0.006f");
  KernelDefinition a = Scale({100});
  EXPECT_EQ(Compare(a, Scale({50}, source))->verdict, Verdict::kRevert);
  a.VerifyWithin({0, 1e-2, 0});
  Result<KernelComparison> compared = Compare(a, Scale({50}, source));
  ASSERT_OK(compared);
  EXPECT_EQ(compared->verdict, Verdict::kAccept);
  EXPECT_NEAR(compared->largest_difference->share_of_tolerance, .1, .001) << "0.006 of 0.06";
}

TEST_F(KernelComparisonTest, WhatAFailsAtIsAnErrorAndSaysNothingOfB) {
  const std::string wrong = Replaced("int begin", "no c++; int begin");
  Result<KernelComparison> compared = Compare(Scale({100}, wrong), Scale({1}));
  EXPECT_NE(compared.status().message().find("A: "), std::string::npos) << compared.status().ToString();
  EXPECT_NE(compared.status().message().find("'no' was not declared"), std::string::npos)
      << compared.status().ToString();
}

TEST_F(KernelComparisonTest, AShapeThatBIsNotForIsAnErrorAndNoVerdict) {
  KernelDefinition b = Scale({100});
  SearchSpace space = b.space();
  space.SetBaselines({});
  space.Where("N is small", [](const Config&, const Dims& dims) { return dims[Dim{0}] < 100; });
  b.Space(space);
  Result<KernelComparison> compared = Compare(Scale({100}), b);
  EXPECT_FALSE(compared.ok());
  EXPECT_NE(compared.status().message().find("B: "), std::string::npos) << compared.status().ToString();
  EXPECT_NE(compared.status().message().find("N is small"), std::string::npos) << compared.status().ToString();
}

TEST_F(KernelComparisonTest, ASignatureThatDiffersIsOneLineThatNamesTheParameter) {
  auto with = [](std::vector<Parameter> parameters) {
    return KernelDefinition("k").Parameters(std::move(parameters)).AddVariant(Variant(NoSource)).Grid(Grid::Fixed(1));
  };
  const Parameter x = In("x", kFloat32, {"N"}), y = Out("y", kFloat32, {"N"}), factor = Scalar<float>("factor");
  struct Case {
    std::vector<Parameter> parameters;
    std::string part;
  };
  for (const Case& each :
       {Case{{x, y}, "argument 3 is 'factor' (float32 scalar) in A, and missing in B"},
        Case{{x, y, factor, factor}, "argument 4 is missing in A, and 'factor' (float32 scalar) in B"},
        Case{{x, y, Scalar<double>("factor")}, "in A, and 'factor' (float64 scalar) in B"},
        Case{{y, x, factor}, "argument 1 is 'x' (in tensor, float32 [N]) in A, and 'y' (out tensor, float32 [N]) in B"},
        Case{{In("x", kFloat16, {"N"}), y, factor}, "'x' (in tensor, float16 [N]) in B"},
        Case{{x, InOut("y", kFloat32, {"N"}), factor}, "'y' (inout tensor, float32 [N]) in B"},
        Case{{x, Out("y", kFloat32, {"N", "M"}), factor}, "'y' (out tensor, float32 [N, M]) in B"}}) {
    Status status = CheckSameSignature(with({x, y, factor}), with(each.parameters));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(each.part), std::string::npos) << status.message();
  }
  EXPECT_OK(CheckSameSignature(with({x, y, factor}), with({In("in", kFloat32, {"N"}), y, factor, DimValue("N")})));
}

TEST_F(KernelComparisonTest, TheSameOutputMayStandElsewhereAmongTheKernelsOwnParameters) {
  SearchSpace space;
  IntAxis work = space.AddAxis("WORK", {50});
  KernelDefinition b("scale_2");
  b.Parameters({DimValue("N"), In("from", kFloat32, {"N"}), Workspace("sums", 4 * Term("N")),
                Out("to", kFloat32, {"N"}), Scalar<float>("by")})
      .Space(space)
      .AddVariant(Variant([=](const Config& c) {
                    return KernelSource::CpuCpp(kScaleSource, "scale").Define("TILE", 64).Define("WORK", c[work]);
                  })
                      .KernelArgs({"from", "to", "by", "N"})
                      .Grid(Grid::OneD({"N", 64})));
  Result<KernelComparison> compared = Compare(Scale({100}), b);
  ASSERT_OK(compared);
  EXPECT_EQ(compared->failure, "");
  EXPECT_EQ(compared->verdict, Verdict::kAccept);
}

TEST_F(KernelComparisonTest, TwoBackEndsOfOneKernelAreNamed) {
  SearchSpace space;
  Axis<std::string> backend = space.AddStringAxis("backend", {"slow", "fast"});
  IntAxis work = space.AddAxis("WORK", {100, 80});
  space.SetBaseline({{backend, std::string("slow")}, {work, 100}});
  KernelDefinition definition = Scale({100});
  auto variant = [&](const std::string& name, std::int64_t part) {
    return Variant([=](const Config& c) {
             return KernelSource::CpuCpp(kScaleSource, "scale").Define("TILE", 64).Define("WORK", c[work] / part);
           })
        .Grid(Grid::OneD({"N", 64}))
        .Named(name);
  };
  KernelDefinition both("scale");
  both.Parameters(definition.parameters()).Space(space).AddVariant(variant("slow", 1)).AddVariant(variant("fast", 2));
  // Stands behind the fast one, and must not stand in for it.
  both.AddVariant(
      Callable([](CUstream, const Config&, const CallArguments&) { return Status(); }, "nothing").Backend("fast"));
  ComparedKernel a = Validated(both), b = a;
  a.backend = "slow";
  b.backend = "fast";
  Result<KernelComparison> compared = Compare(a, b);
  ASSERT_OK(compared);
  EXPECT_EQ(compared->a.variant, "slow");
  EXPECT_EQ(compared->b->variant, "fast");
  EXPECT_EQ(compared->a.config.ToString(), "backend=slow, WORK=80");
  EXPECT_EQ(compared->b->config.ToString(), "backend=fast, WORK=80");
  EXPECT_NEAR(compared->speedup->ratio, 2, .01);
  b.backend = "none";
  compared = Compare(a, b);
  EXPECT_EQ(compared.status().message(),
            "B: kernel 'scale' has neither a back end nor a variant named 'none' for cpu; it has (BACKEND:VARIANT): "
            "slow:slow, "
            "fast:fast, fast:nothing");
}

TEST_F(KernelComparisonTest, InAWorkerItIsTheSame) {
  options_.timer = nullptr;
  options_.isolation = Isolation::kRequired;
  Result<KernelComparison> compared = Compare(Scale({2000}), Scale({1}));
  ASSERT_OK(compared);
  EXPECT_TRUE(compared->is_isolated);
  EXPECT_EQ(compared->verdict, Verdict::kAccept);
  // What crashes ends the worker, and not this process.
  compared = Compare(Scale({100}), Scale({1}, Replaced("int begin", "__builtin_trap(); int begin")));
  ASSERT_OK(compared);
  EXPECT_EQ(compared->verdict, Verdict::kCrash);
  EXPECT_NE(compared->failure.find("crash"), std::string::npos) << compared->failure;
  compared = Compare(Scale({100}), Scale({1}, Replaced("x[i] * factor", "x[i]")));
  ASSERT_OK(compared);
  EXPECT_NE(compared->failure.find("wrong result"), std::string::npos) << compared->failure;
}

TEST_F(KernelComparisonTest, RoundsAndBudgetsEndItAndItSaysHowSureItIs) {
  options_.max_rounds = 3;
  Result<KernelComparison> compared = Compare(Scale({100}), Scale({97}));
  ASSERT_OK(compared);
  EXPECT_EQ(compared->num_pairs, 3);
  EXPECT_FALSE(compared->is_conclusive) << "three pairs are no certainty";
  std::atomic<bool> cancelled{true};
  options_.stop = &cancelled;
  EXPECT_EQ(Compare(Scale({100}), Scale({97})).status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace tuneonce
