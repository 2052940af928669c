// Scalars, and terms over them, in grids, guards, derived values, workspaces, assumptions, sources and the key.
#include <cstring>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;

/// y[i] = blocks of the launch for i < N, whichever block comes to it; by a stride that is passed.
constexpr char kCount[] = R"(
static void count(const tuneonce_block& block, const float* x, float* y, int length, int step, float* scratch, int n) {
  if (scratch != nullptr) scratch[block.x] = 1;
  for (int i = block.x * step; i < n && i < (int)(block.x + 1) * step; ++i) y[i] = x[i] + block.grid_x + 1000 * length;
}
TUNEONCE_CPU_KERNEL(count);
)";

class ScalarDecidesTest : public testing::CpuDeviceTest {
 protected:
  ScalarDecidesTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.max_rounds = 1;
    space_.SetBaseline({{tile_, 64}});
  }
  /// The grid has a block per TILE of `length`, which covers N.
  KernelDefinition Definition() const {
    KernelDefinition definition("count");
    definition
        .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<std::int32_t>("length").ForWarmup(128),
                     Derived("step", CeilDiv("N", CeilDiv("length", tile_))),
                     Workspace("scratch", 4 * CeilDiv("length", tile_)), DimValue("N")})
        .Space(space_)
        .Grid(Grid::Fixed(CeilDiv("length", tile_)))
        .AddVariant(CpuCpp(kCount, "count"));
    return definition;
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  std::vector<float> Run(TunedKernel& kernel, std::int32_t length, std::size_t n = 100) {
    DeviceBuffer x = Floats(std::vector<float>(n, 0)), y = Floats(std::vector<float>(n, 0));
    EXPECT_OK(kernel.Launch(stream_->get(), View(x), View(y), length));
    return Read(y);
  }
  static std::vector<float> Expected(float blocks, float length, std::size_t n = 100) {
    return std::vector<float>(n, blocks + 1000 * length);
  }

  SearchSpace space_;
  IntAxis tile_ = space_.AddAxis("TILE", {64});
  AutotunePolicy policy_;
};

TEST_F(ScalarDecidesTest, AGridOfAScalarIsComputedAtEachLaunchUnlessTheKeyNamesIt) {
  for (bool is_in_key : {false, true}) {
    KernelDefinition definition = Definition();
    if (is_in_key) definition.Key(KeyOf("N"), ValueOf("length"));
    TunedKernel kernel = Create(definition);
    for (int round = 0; round < 2; ++round) {
      for (auto [length, blocks] : {std::pair{128, 2}, {129, 3}, {1, 1}}) {
        EXPECT_EQ(Run(kernel, length), Expected(static_cast<float>(blocks), static_cast<float>(length)));
      }
    }
    EXPECT_EQ(kernel.counters().tunes, is_in_key ? 3 : 1);
    EXPECT_EQ(kernel.counters().fallbacks, 0);
  }
}

TEST_F(ScalarDecidesTest, ABucketAndAWarmUpByShapeTakeIt) {
  KernelDefinition definition = Definition();
  definition.Key(KeyOf("N").NextPow2());
  TunedKernel kernel = Create(definition);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 100}}}));
  EXPECT_EQ(Run(kernel, 200, 120), Expected(4, 200, 120));
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(ScalarDecidesTest, WhatHasNoValueIsTheLaunchsErrorInWords) {
  TunedKernel kernel = Create(Definition());
  EXPECT_EQ(Run(kernel, 64), Expected(1, 64));
  DeviceBuffer x = Floats(std::vector<float>(100, 0)), y = Floats(std::vector<float>(100, 0));
  EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), View(y), std::int32_t{-5}), StatusCode::kInvalidArgument,
               "the grid is fixed of ceil_div(length=-5, TILE=64), 1, 1");
  EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), View(y), std::int32_t{0}), StatusCode::kInvalidArgument,
               "grid (0, 1, 1)");
  EXPECT_OK(kernel.Launch(stream_->get(), View(x), View(y), std::int32_t{1}));  // It was one call's error.
  TensorView none = View(x);
  none.shape[0] = 0;
  none.bytes = 0;
  EXPECT_OK(kernel.Launch(stream_->get(), none, none, std::int32_t{-5}));  // Nothing to launch, whatever the grid.
}

TEST_F(ScalarDecidesTest, ACallThatCannotBeLaunchedDoesNotKeepItsKeyFromBeingTuned) {
  struct Case {
    std::int32_t length;
    std::int64_t factor;  // Of the derived value.
    const char* message;
  };
  const Case cases[] = {
      {0, 1, "grid (0, 1, 1)"},
      {-5, 1, "the grid is fixed of ceil_div(length=-5, TILE=64), 1, 1"},
      {3000000, 1000, "is 3000000000, which is not an int32"},
  };
  using Mode = AutotunePolicy::Mode;
  for (const Case& each : cases) {
    for (Mode mode : {Mode::kTuneOnMiss, Mode::kTuneDeferred}) {
      SCOPED_TRACE(std::to_string(each.length) + (mode == Mode::kTuneOnMiss ? ", kTuneOnMiss" : ", kTuneDeferred"));
      KernelDefinition definition = Definition();
      std::vector<Parameter> parameters = definition.parameters();
      if (each.factor > 1) parameters[3] = Derived("step", Term("length") * each.factor);
      definition.Parameters(parameters);
      policy_.store = std::make_shared<MemoryStore>();
      policy_.mode = mode;
      TunedKernel kernel = Create(definition);
      DeviceBuffer x = Floats(std::vector<float>(100, 0)), y = Floats(std::vector<float>(100, 0));
      EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), View(y), each.length), StatusCode::kInvalidArgument,
                   each.message);
      EXPECT_EQ(kernel.counters().now.pending_keys, 0) << "it is no call that the key can be tuned on";
      EXPECT_OK(kernel.TunePending(stream_->get()));
      const Status warmed = kernel.Warmup(stream_->get(), {{{"N", 100}, {"length", each.length}}});
      EXPECT_ERROR(warmed, StatusCode::kInvalidArgument, each.message);
      EXPECT_ERROR(kernel.Retune(stream_->get(), {View(x), View(y), each.length}), StatusCode::kInvalidArgument,
                   each.message);
      EXPECT_EQ(kernel.counters().failed_tunes, 0);
      EXPECT_EQ(kernel.counters().tunes, 0);
      ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), std::int32_t{128}));
      EXPECT_OK(kernel.TunePending(stream_->get()));
      EXPECT_EQ(kernel.counters().tunes, 1);
      EXPECT_TRUE(*kernel.IsReady({View(x), View(y), std::int32_t{128}}));
    }
  }
}

TEST_F(ScalarDecidesTest, ADerivedValueMustFit) {
  KernelDefinition definition = Definition();
  std::vector<Parameter> parameters = definition.parameters();
  parameters[3] = Derived("step", Term("length") * 1000);
  definition.Parameters(parameters);
  TunedKernel kernel = Create(definition);
  DeviceBuffer x = Floats({1}), y = Floats({1});
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), std::int32_t{3}));
  EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), View(y), std::int32_t{3000000}), StatusCode::kInvalidArgument,
               "length=3000000 * 1000 is 3000000000, which is not an int32");
}

TEST_F(ScalarDecidesTest, AGuardOfAScalarIsAskedAtEachLaunch) {
  tile_ = space_.AddAxis("T2", {1, 2});
  space_ = SearchSpace();
  tile_ = space_.AddAxis("TILE", {64, 32});
  space_.SetBaseline({{tile_, 64}});
  space_.Where("32 for short ones only", [tile = tile_](const Config& config, const Problem& problem) {
    return config[tile] == 64 || problem.scalar<std::int32_t>(2) < 100;
  });
  KernelDefinition definition = Definition();
  TunedKernel kernel = Create(definition);
  EXPECT_EQ(Run(kernel, 200), Expected(4, 200)) << "TILE=64 is all there is";
  DeviceBuffer x = Floats(std::vector<float>(100, 0)), y = Floats(std::vector<float>(100, 0));
  TunedKernel by_key = Create(definition.Key(KeyOf("N"), ValueOf("length")));
  for (std::int32_t length : {200, 50, 200}) ASSERT_OK(by_key.Launch(stream_->get(), View(x), View(y), length));
  EXPECT_EQ(by_key.counters().tunes, 2);
  EXPECT_EQ(by_key.counters().fallbacks, 0);
}

TEST_F(ScalarDecidesTest, AGuardAndABaselineOfATargetKnowTheDeviceAtAHitToo) {
  space_ = SearchSpace();
  tile_ = space_.AddAxis("TILE", {64, 32});
  space_.SetBaselines({{{{tile_, 32}}, OnGpu()}, {{{tile_, 64}}, OnCpuDevice()}});
  space_.Where("on a device with cores", [](const Config&, const Problem& problem) {
    return problem.target->is_cpu_device && problem.target->num_sms >= 1;
  });
  KernelDefinition definition = Definition();
  definition.Key(KeyOf("N").NextPow2());
  TunedKernel kernel = Create(definition);
  for (std::size_t n : {100, 99, 100}) Run(kernel, 200, n);
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().fallbacks, 0) << "the guard holds for each shape of the bucket";
  policy_.mode = AutotunePolicy::Mode::kFallbackOnly;
  TunedKernel fallback_only = Create(definition);
  for (std::size_t n : {100, 99, 100}) EXPECT_EQ(Run(fallback_only, 200, n), Expected(4, 200, n)) << "TILE=64";
  EXPECT_EQ(fallback_only.counters().now.loaded_kernels, 1);
}

/// y = value, by a variant that was compiled for it.
constexpr char kFill[] = R"(
static void fill(const tuneonce_block&, float* y, TYPE, int n) {
  for (int i = 0; i < n; ++i) y[i] = VALUE;
}
TUNEONCE_CPU_KERNEL(fill);
)";

KernelDefinition Filling(const char* type, Parameter scalar, Assumption first, std::optional<Assumption> second) {
  KernelDefinition definition("fill");
  definition.Parameters({Out("y", kFloat32, {"N"}), std::move(scalar), DimValue("N")}).Grid(Grid::Fixed(1));
  auto variant = [&](int value) {
    return Variant([=](const Config&) {
             return KernelSource::CpuCpp(kFill, "fill").Define("VALUE", value).Define("TYPE", type);
           })
        .Named(std::to_string(value));
  };
  definition.AddVariant(variant(1).Assuming({std::move(first)}));
  definition.AddVariant(second ? variant(2).Assuming({*std::move(second)}) : variant(2));
  return definition;
}

TEST_F(ScalarDecidesTest, AVariantIsChosenByWhatItAssumesOfAScalar) {
  for (bool is_in_key : {false, true}) {
    KernelDefinition definition =
        Filling("bool", Scalar<bool>("causal"), ScalarIs("causal", true), ScalarIs("causal", false));
    if (is_in_key) definition.Key(KeyOf("N"), ValueOf("causal"));
    TunedKernel kernel = Create(definition);
    DeviceBuffer y = Floats(std::vector<float>(10, 0));
    for (bool causal : {true, false, true, false, true}) {
      ASSERT_OK(kernel.Launch(stream_->get(), View(y), causal));
      EXPECT_EQ(Read(y), std::vector<float>(10, causal ? 1 : 2)) << is_in_key;
    }
    EXPECT_EQ(kernel.counters().tunes, 2);
    EXPECT_EQ(kernel.counters().hits, 3);
    EXPECT_EQ(kernel.counters().fallbacks, 0);
  }
}

TEST_F(ScalarDecidesTest, DivisorsAndFloatingPointValuesAreAssumedToo) {
  DeviceBuffer y = Floats(std::vector<float>(10, 0));
  TunedKernel by_divisor = Create(Filling("long", Scalar<std::int64_t>("n"), ScalarDivisibleBy("n", 16), std::nullopt));
  for (std::int64_t n : {std::int64_t{32}, std::int64_t{33}, std::int64_t{-16}, std::int64_t{0}}) {
    ASSERT_OK(by_divisor.Launch(stream_->get(), View(y), n));
    EXPECT_EQ(Read(y)[0], n % 16 == 0 ? 1 : 2) << n;
  }
  TunedKernel by_value = Create(Filling("float", Scalar<float>("p"), ScalarIs("p", 0.5), std::nullopt));
  for (float p : {0.5f, 0.25f}) {
    ASSERT_OK(by_value.Launch(stream_->get(), View(y), p));
    EXPECT_EQ(Read(y)[0], p == 0.5f ? 1 : 2);
  }
}

TEST_F(ScalarDecidesTest, WhatCannotBeAssumedIsNamed) {
  struct Case {
    Parameter scalar;
    Assumption assumption;
    const char* message;
  };
  const Case cases[] = {
      {Scalar<bool>("s"), ScalarIs("s", 2),
       "an assumption sets a value for 's', a bool that this dtype cannot represent"},
      {Scalar<std::int32_t>("s"), ScalarIs("s", std::int64_t{1} << 40), "a value for 's', a int32"},
      {Scalar<std::int32_t>("s"), ScalarIs("s", 0.5), "a value for 's', a int32"},
      {Scalar<float>("s"), ScalarDivisibleBy("s", 2), "a divisor for 's', a float32"},
      {Scalar<std::int32_t>("s"), ScalarDivisibleBy("s", 0), "an assumption has the divisor 0 for 's'"},
      {Scalar<std::int32_t>("s"), ScalarIs("t", 0), "an assumption names 't', which is not a scalar"},
  };
  for (const Case& each : cases) {
    EXPECT_ERROR(TunedKernel::Create(Filling("int", each.scalar, each.assumption, std::nullopt), policy_),
                 StatusCode::kInvalidArgument, each.message);
  }
  TunedKernel kernel =
      Create(Filling("int", Scalar<std::int32_t>("s"), ScalarIs("s", 1), Assumption(ScalarIs("s", 2))));
  DeviceBuffer y = Floats({0});
  EXPECT_ERROR(kernel.Launch(stream_->get(), View(y), std::int32_t{3}), StatusCode::kInvalidArgument,
               "kernel 'fill' was compiled for s = 1, 2, not for 3");
}

TEST_F(ScalarDecidesTest, ASourceMayReadAScalarThatTheKeyNamesAndNoOther) {
  KernelDefinition definition("fill");
  definition.Parameters({Out("y", kFloat32, {"N"}), Scalar<std::int32_t>("value"), DimValue("N")})
      .Grid(Grid::Fixed(1))
      .AddVariant(Variant([](const Config&, const Problem& problem) {
        return KernelSource::CpuCpp(kFill, "fill")
            .Define("VALUE", problem.scalar<std::int32_t>(1))
            .Define("TYPE", "int");
      }));
  DeviceBuffer y = Floats({0});
  TunedKernel unkeyed = Create(definition);
  EXPECT_ERROR(unkeyed.Launch(stream_->get(), View(y), std::int32_t{3}), StatusCode::kInvalidArgument,
               "the value is not part of the key: add ValueOf(NAME) to the key");
  TunedKernel keyed = Create(definition.Key(KeyOf("N"), ValueOf("value")));
  for (std::int32_t value : {3, 4, 3}) {
    ASSERT_OK(keyed.Launch(stream_->get(), View(y), value));
    EXPECT_EQ(Read(y)[0], value);
  }
}

TEST_F(ScalarDecidesTest, AWarmUpSaysAScalarsValueByNameAndItDecidesKeyGridDerivedValueAndWorkspace) {
  KernelDefinition definition = Definition();
  definition.Key(KeyOf("N"), ValueOf("length"));
  TunedKernel kernel = Create(definition);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 100}, {"length", 192}}, {{"length", 64}, {"N", 100}}}));
  EXPECT_EQ(kernel.counters().tunes, 2);
  kernel.Freeze();
  EXPECT_EQ(Run(kernel, 192), Expected(3, 192));
  EXPECT_EQ(Run(kernel, 64), Expected(1, 64));
  EXPECT_TRUE(kernel.frozen_misses().empty());
  EXPECT_EQ(Run(kernel, 128), Expected(2, 128));
  EXPECT_EQ(kernel.frozen_misses().size(), 1u) << "the declared value was not warmed: another was named";
}

TEST_F(ScalarDecidesTest, AScalarThatIsNamedNeedsNoDeclarationAndDecidesAGuard) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {64, 16});
  space.SetBaselines({{{{tile, 64}}}, {{{tile, 16}}}});
  space.Where("short calls take small tiles", [=](const Config& c, const Problem& problem) {
    return (c[tile] == 16) == (problem.scalar<std::int32_t>(2) < 64);
  });
  KernelDefinition definition("count");
  definition
      .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<std::int32_t>("length"),
                   Derived("step", CeilDiv("N", CeilDiv("length", tile))),
                   Workspace("scratch", 4 * CeilDiv("length", tile)), DimValue("N")})
      .Space(space)
      .Key(KeyOf("N"), ValueOf("length"))
      .Grid(Grid::Fixed(CeilDiv("length", tile)))
      .AddVariant(CpuCpp(kCount, "count"));
  TunedKernel kernel = Create(definition);
  EXPECT_ERROR(kernel.Warmup(stream_->get(), {{{"N", 100}}}), StatusCode::kInvalidArgument,
               "parameter 'length' (int32 scalar) has no warm-up values: declare them with ForWarmup, in a manifest "
               "with \"warmup\", name it in the shape");
  EXPECT_ERROR(kernel.Warmup(stream_->get(), {{{"N", 100}, {"length", 1.5}}}), StatusCode::kInvalidArgument,
               "scalar 'length' cannot be 1.5: it is a int32");
  EXPECT_ERROR(kernel.Warmup(stream_->get(), {{{"N", 100}, {"length", std::int64_t{1} << 31}}}),
               StatusCode::kInvalidArgument, "scalar 'length' cannot be 2147483648");
  Result<std::vector<WarmedKey>> warmed =
      WarmupAll(stream_->get(), {{&kernel, {{{"N", 100}, {"length", 48}}, {{"N", 100}, {"length", 128}}}}});
  ASSERT_OK(warmed);
  for (const WarmedKey& key : *warmed) EXPECT_OK(key.status);
  kernel.Freeze();
  EXPECT_EQ(Run(kernel, 48), Expected(3, 48)) << "tiles of 16";
  EXPECT_EQ(Run(kernel, 128), Expected(2, 128)) << "tiles of 64";
  EXPECT_TRUE(kernel.frozen_misses().empty());
}

TEST_F(ScalarDecidesTest, WholeNumbersOfAShapeReachTheKernelToTheLastBit) {
  const std::int64_t value = (std::int64_t{1} << 53) + 1;
  KernelDefinition definition("wide");
  definition
      .Parameters({Out("y", kFloat32, {"N"}), Scalar<std::int64_t>("wide"), Scalar<std::uint64_t>("natural"),
                   Scalar<bool>("flag"), Scalar<float>("factor"), DimValue("N")})
      .Key(KeyOf("N"), ValueOf("wide"), ValueOf("natural"), ValueOf("flag"), ValueOf("factor"))
      .Space(space_)
      .Grid(Grid::Fixed(1))
      .AddVariant(CpuCpp("static void wide(const tuneonce_block&, float* y, long, unsigned long, bool, float, int n) {"
                         "  for (int i = 0; i < n; ++i) y[i] = 1;\n}\nTUNEONCE_CPU_KERNEL(wide);",
                         "wide"));
  TunedKernel kernel = Create(definition);
  ASSERT_OK(kernel.Warmup(stream_->get(),
                          {{{"N", 2}, {"wide", value}, {"natural", value}, {"flag", true}, {"factor", 0.1f}}}));
  DeviceBuffer y = Floats({0, 0});
  EXPECT_TRUE(*kernel.IsReady({View(y), value, static_cast<std::uint64_t>(value), true, 0.1f}));
  EXPECT_FALSE(*kernel.IsReady({View(y), value - 1, static_cast<std::uint64_t>(value), true, 0.1f}));
  EXPECT_EQ(kernel.Explain(stream_->get(), {View(y), value, static_cast<std::uint64_t>(value), true, 0.1f})->key,
            "N=2, wide=9007199254740993, natural=9007199254740993, flag=1, factor=0.1, y:float32");
  EXPECT_ERROR(
      kernel.Warmup(stream_->get(), {{{"N", 2}, {"wide", 1}, {"natural", -1}, {"flag", 2}, {"factor", 1e300}}}),
      StatusCode::kInvalidArgument,
      "scalar 'natural' cannot be -1: it is a uint64; scalar 'flag' cannot be 2: it is a bool; scalar 'factor' cannot");
}

}  // namespace
}  // namespace tuneonce
