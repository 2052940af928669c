// Compiler options as axes, and types that follow the dtypes of a call, from the definition to the store, by C++ and by
// manifest, on the CPU device.
#include <algorithm>
#include <fstream>

#include "base/temporary_folder.h"
#include "compile/command_toolchain.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "testing/work_timer.h"
#include "tuneonce/bundle.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/report.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;

/// y = 2 x. With fast math a hundredth of the work, and a result that is off by 1e-4.
constexpr char kTwice[] = R"(
extern "C" __attribute__((weak)) long tuneonce_test_work;
#ifdef __FAST_MATH__
constexpr long kWork = 1; constexpr float kFactor = 2 * 1.0001f;
#else
constexpr long kWork = 100; constexpr float kFactor = 2;
#endif
static void twice(const tuneonce_block&, const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] * kFactor;
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, kWork, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(twice);)";

constexpr std::size_t kElements = 64;

class OptionAxisTest : public testing::CpuDeviceTest {
 protected:
  OptionAxisTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.timer = &timer_;
  }

  /// Axes use_fast_math and maxrregcount, which the CPU device's compiler does not take.
  static KernelDefinition Twice(std::optional<Tolerance> tolerance) {
    SearchSpace space;
    Axis<bool> fast = space.AddBoolOptionAxis("use_fast_math");
    IntAxis registers = space.AddOptionAxis("maxrregcount", {0, 32});
    space.SetBaseline({{fast, false}, {registers, 0}});
    KernelDefinition definition("twice");
    definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
        .Space(space)
        .Grid(Grid::Fixed(1))
        .AddVariant(CpuCpp(kTwice, "twice"));
    if (tolerance) definition.VerifyWithin(*tolerance);
    return definition;
  }
  /// What a launch on ones gives.
  float Launch(TunedKernel& kernel) {
    DeviceBuffer x = Floats(std::vector<float>(kElements, 1)), y = Floats(std::vector<float>(kElements, 0));
    EXPECT_OK(kernel.Launch(stream_->get(), View(x), View(y)));
    return Read(y)[kElements - 1];
  }

  TemporaryFolder folder_ = *testing::MakeFolder();
  testing::WorkTimer timer_;
  AutotunePolicy policy_;
};

TEST_F(OptionAxisTest, TheFasterOptionWinsWithinTheDeclaredToleranceOnly) {
  for (const auto& [tolerance, result] :
       {std::pair(Tolerance{0, 1e-3, 0}, 2 * 1.0001f), {Tolerance{0, 1e-6, 0}, 2.0f}}) {
    Result<TunedKernel> kernel = TunedKernel::Create(Twice(tolerance), policy_);
    ASSERT_OK(kernel);
    EXPECT_EQ(Launch(*kernel), result) << tolerance.relative;
    policy_.store = std::make_shared<MemoryStore>();
  }
  EXPECT_ERROR(TunedKernel::Create(Twice(std::nullopt), policy_), StatusCode::kInvalidArgument,
               "kernel 'twice': the option axis 'use_fast_math' may change the results of 'y': declare a tolerance");
}

TEST_F(OptionAxisTest, WhatTheCompilerDoesNotTakeIsADuplicateAndReportsNameTheOption) {
  DeviceBuffer x = Floats(std::vector<float>(kElements, 1)), y = Floats(std::vector<float>(kElements, 0));
  Result<TuningRecord> result =
      exhaustive_search(Twice(Tolerance{0, 1e-3, 0}), stream_->get(), {View(x), View(y)}, policy_.search);
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config.ToString(), "use_fast_math=true, maxrregcount=0");
  ASSERT_EQ(result->duplicates().size(), 2u);
  EXPECT_EQ(result->duplicates()[0].config.ToString(), "use_fast_math=false, maxrregcount=32");
  const char* note =
      "no compiler of these candidates has the option 'maxrregcount', so the values of this axis make duplicate "
      "configs";
  EXPECT_EQ(std::count(result->notes.begin(), result->notes.end(), note), 1);
  for (const std::string& each : result->notes) EXPECT_EQ(each.find("use_fast_math"), std::string::npos) << each;
  EXPECT_EQ(result->successes().size(), 2u);
  EXPECT_NE(SummaryTable(*result).find("use_fast_math=true"), std::string::npos);
}

TEST_F(OptionAxisTest, ASelectionIsServedByTheNextProcessAndNotToAKernelWithOtherOptions) {
  SqliteStoreOptions options;
  options.path = folder_.path() + "/s/store.db";
  for (int tunes : {1, 0}) {
    policy_.store = *SqliteStore::Open(options);
    Result<TunedKernel> kernel = TunedKernel::Create(Twice(Tolerance{0, 1e-3, 0}), policy_);
    ASSERT_OK(kernel);
    EXPECT_EQ(Launch(*kernel), 2 * 1.0001f);
    EXPECT_EQ(kernel->counters().tunes, tunes);
  }
  Result<std::vector<TuningRecord>> records = policy_.store->List();
  ASSERT_OK(records);
  ASSERT_EQ(records->size(), 1u);
  EXPECT_EQ(records->front().best.config.Kind(0), AxisKind::kOption);
  KernelDefinition other = Twice(Tolerance{0, 1e-3, 0});
  SearchSpace space;
  space.AddBoolOptionAxis("use_fast_math");
  Result<TunedKernel> kernel = TunedKernel::Create(other.Space(space), policy_);
  ASSERT_OK(kernel);
  Launch(*kernel);
  EXPECT_EQ(kernel->counters().tunes, 1);
}

TEST_F(OptionAxisTest, ASearchWithoutADefinitionTakesThemToo) {
  SearchSpace space;
  Axis<bool> fast = space.AddBoolOptionAxis("use_fast_math");
  space.SetBaseline({{fast, false}});
  DeviceBuffer x = Floats(std::vector<float>(kElements, 1)), y = Floats(std::vector<float>(kElements, 0));
  auto search = [&](std::optional<Tolerance> tolerance) {
    auto arguments = [&](const Config&) {
      TrialArgument out = TrialArgument::Out(y.data(), y.bytes(), DType::kFloat32);
      if (tolerance) out = std::move(out).Within(*tolerance);
      return std::vector<TrialArgument>{TrialArgument::In(x.data(), x.bytes()), out, static_cast<int>(kElements)};
    };
    return exhaustive_search(
        space, stream_->get(), [](const Config&) { return Geometry(); },
        [](const Config&) { return KernelSource::CpuCpp(kTwice, "twice"); }, arguments, nullptr, policy_.search);
  };
  EXPECT_ERROR(search(std::nullopt), StatusCode::kInvalidArgument, "may change the results of 'argument 2'");
  Result<TuningRecord> result = search(Tolerance{0, 1e-3, 0});
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config.ToString(), "use_fast_math=true");
}

/// A bundle of kTwice with `axes` and further fields.
std::string Manifest(const std::string& axes, const std::string& more = "", const std::string& of_variant = "") {
  return R"({"tuneonce_bundle": 1, "name": "twice", "version": "1", "dims": ["N"],
  "parameters": [{"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["N"]},
                 {"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]},
                 {"kind": "dim", "dim": "N"}],
  "axes": )" +
         axes + more + R"(,
  "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "twice", "grid": {"pattern": "fixed", "blocks": [1]},
                "artifacts": [{"file": "twice.cc"}])" +
         of_variant + "}]}";
}

TEST_F(OptionAxisTest, AManifestSaysThemAndWhatIsWrongIsOneLine) {
  auto load = [&](const std::string& manifest) {
    std::ofstream(folder_.path() + "/twice.cc") << kTwice;
    std::ofstream(folder_.path() + "/manifest.json") << manifest;
    return Bundle::Load(folder_.path());
  };
  const std::string fast = R"([{"name": "use_fast_math", "kind": "option", "values": [false, true]}])";
  const std::string rest = R"(, "baseline": {"use_fast_math": false}, "tolerance": {"relative": 1e-3})";
  Result<Bundle> bundle = load(Manifest(fast, rest));
  ASSERT_OK(bundle);
  Result<TunedKernel> kernel = TunedKernel::Create(bundle->definition(), policy_);
  ASSERT_OK(kernel);
  EXPECT_EQ(Launch(*kernel), 2 * 1.0001f);
  struct Case {
    std::string manifest;
    const char* message;
  };
  auto axis = [](const char* name, const char* values) {
    return Manifest(std::string("[{\"name\": \"") + name + "\", \"kind\": \"option\", \"values\": " + values + "}]",
                    ", \"tolerance\": {}");
  };
  const Case cases[] = {
      {Manifest(fast, R"(, "baseline": {"use_fast_math": false})"), "the option axis 'use_fast_math' may change the"},
      {axis("maxregs", "[0, 1]"),
       ":5: axes[0]: the compiler option 'maxregs' cannot be an axis; the options that can are:"},
      {axis("opt-level", "[false, true]"), "takes whole numbers from 0 to 65535, but not false"},
      {axis("opt-level", "[0.5]"),
       ":5: axes[0].values: the values of a compiler option must be whole numbers, false and true"},
      {axis("use_fast_math", "[0, 1]"), "takes false and true, but not 0"},
      {axis("maxrregcount", "[0, 32]"), "axes: no variant's compiler takes the option 'maxrregcount'"},
      {axis("use_fast_math", "[true]"), "an axis of booleans must have the values [false, true]"},
  };
  for (const Case& each : cases) {
    EXPECT_ERROR(load(each.manifest), StatusCode::kInvalidArgument, each.message);
  }
  // An option of the variant that is an axis, too, is said when it would be compiled.
  bundle = load(Manifest(fast, rest, R"(, "options": ["-ffast-math"])"));
  ASSERT_OK(bundle);
  kernel = TunedKernel::Create(bundle->definition(), policy_);
  ASSERT_OK(kernel);
  DeviceBuffer x = Floats(std::vector<float>(kElements, 1)), y = Floats(std::vector<float>(kElements, 0));
  EXPECT_ERROR(kernel->Launch(stream_->get(), View(x), View(y)), StatusCode::kInternal,
               "and by an axis: remove one of them");
}

/// A tileiras for the CPU device, which reads the options and not the bytecode. y = x + n, in less work and
/// less exactly where they allow it.
class FakeTileiras final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kTileIr; }
  bool uses_hints() const override { return true; }
  Result<std::string> Version() const override { return host_.Version(); }
  std::string Description() const override { return "fake tileiras"; }

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints&, const Target& target,
                             const WaitLimits& limits) const override {
    KernelSource kernel = KernelSource::CpuCpp(R"(
extern "C" __attribute__((weak)) long tuneonce_test_work;
static void math(const tuneonce_block&, const float* x, int count, int, float* y, int, int, void*, int, int, float n) {
  for (int i = 0; i < count; ++i) y[i] = (x[i] + n) * (1 + 1e-4f * FTZ + 1e-3f * APPROX);
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, 100 >> 2 * (FTZ + APPROX), __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(math);)",
                                               "math");
    auto has = [&](const char* option) {
      return std::count(source.options.begin(), source.options.end(), option) > 0 ? 1 : 0;
    };
    kernel.Define("FTZ", has("--ftz")).Define("APPROX", has("--approx"));
    return host_.Compile(kernel, Hints(), target, limits);
  }

  CommandToolchain host_{kHostCompiler, testing::Tools()};
};

/// Axes ftz and approx of the bytecode in math.13.3.tileir.
KernelDefinition MathByTileIr(const Tolerance& tolerance, bool has_axes = true) {
  SearchSpace space;
  IntAxis occupancy = space.AddHintAxis("occupancy", {1});
  std::vector<AxisAssignment> baseline = {{occupancy, 1}};
  if (has_axes) {
    baseline.emplace_back(space.AddBoolOptionAxis("ftz"), false);
    baseline.emplace_back(space.AddBoolOptionAxis("approx"), false);
  }
  space.SetBaseline(baseline);
  KernelDefinition definition("math");
  definition
      .Parameters(
          {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), InOut("z", kFloat16, {"N"}), Scalar<float>("n")})
      .Space(space)
      .Grid(Grid::Fixed(1))
      .AddVariant(TileIrFiles(TUNEONCE_TEST_DATA "/tile_ir/math.13.3.tileir", "math")
                      .ForTarget([](const Target&) { return true; })
                      .Assuming({Aligned("x", 16), StrideIs("x", 0, 1), Aligned("y", 16), StrideIs("y", 0, 1),
                                 Aligned("z", 16), StrideIs("z", 0, 1)}))
      .VerifyWithin(tolerance);
  return definition;
}

TEST_F(OptionAxisTest, MathOfTileIrIsRacedWithinTheDeclaredTolerance) {
  RuntimeOptions options;
  options.toolchains = std::make_shared<const ToolchainSet>(
      std::vector<std::shared_ptr<const Toolchain>>{std::make_shared<FakeTileiras>()});
  policy_.search.runtime = testing::MakeRuntime(std::move(options));
  DeviceBuffer x = Floats(std::vector<float>(kElements, 1)), y = Floats(std::vector<float>(kElements, 0));
  DeviceBuffer z = Floats(std::vector<float>(kElements / 2, 0));
  const TensorView half = TensorView::Contiguous(z.data(), DType::kFloat16, {static_cast<std::int64_t>(kElements)});
  struct Case {
    Tolerance tolerance;
    bool has_axes;
    const char* winner;
  };
  const Case cases[] = {{{0, 1e-2, 0}, true, "occupancy=1, ftz=true, approx=true"},
                        {{0, 5e-4, 0}, true, "occupancy=1, ftz=true, approx=false"},
                        {{0, 1e-6, 0}, true, "occupancy=1, ftz=false, approx=false"},
                        {{0, 1e-2, 0}, false, "occupancy=1"}};
  SqliteStoreOptions stored;
  stored.path = folder_.path() + "/s/store.db";
  for (const Case& each : cases) {
    for (int tunes : {1, 0}) {  // The second process finds what the first one tuned, and not that of another case.
      policy_.store = *SqliteStore::Open(stored);
      Result<TunedKernel> kernel = TunedKernel::Create(MathByTileIr(each.tolerance, each.has_axes), policy_);
      ASSERT_OK(kernel);
      ASSERT_OK(kernel->Launch(stream_->get(), View(x), View(y), half, 1.0f));
      EXPECT_EQ(kernel->counters().tunes, tunes) << each.winner;
      EXPECT_NEAR(Read(y)[0], 2, 2 * each.tolerance.relative) << each.winner;
    }
    Result<std::vector<TuningRecord>> records = policy_.store->List();
    ASSERT_OK(records);
    const bool is_there = std::any_of(records->begin(), records->end(), [&](const TuningRecord& record) {
      return record.best.config.ToString() == each.winner;
    });
    EXPECT_TRUE(is_there) << each.winner;
  }
}

/// y = x, by the call's types.
constexpr char kCopy[] = R"(
static void copy(const tuneonce_block&, const X* x, Y* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = static_cast<Y>(x[i]);
}
TUNEONCE_CPU_KERNEL(copy);)";

TEST_F(OptionAxisTest, TypesFollowTheDTypesOfTheCallByCppAndByManifest) {
  KernelDefinition definition("copy");
  definition.Parameters({In("x", {"N"}), Out("y", {"N"}), DimValue("N")})
      .Key(KeyOf("N").NextPow2())
      .Grid(Grid::Fixed(1))
      .AddVariant(CpuCpp(kCopy, "copy").DefineType("X", DTypeOf("x")).DefineType("Y", DTypeOf("y")));
  std::ofstream(folder_.path() + "/copy.cc") << kCopy;
  auto load = [&](const std::string& types) {
    std::ofstream(folder_.path() + "/manifest.json") << R"({"tuneonce_bundle": 1, "name": "copy", "version": "1",
  "dims": ["N"], "axes": [{"name": "W", "values": ["int32"]}, {"name": "I", "values": [1]}],
  "parameters": [{"name": "x", "kind": "tensor", "access": "in", "dims": ["N"]},
                 {"name": "y", "kind": "tensor", "access": "out", "dims": ["N"]}, {"kind": "dim", "dim": "N"}],
  "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "copy", "grid": {"pattern": "fixed", "blocks": [1]},
                "defines": ["I"], "artifacts": [{"file": "copy.cc"}],
                "types": )" + types + "}]}";
    return Bundle::Load(folder_.path());
  };
  Result<Bundle> bundle = load(R"({"X": {"dtype_of": "x"}, "Y": {"dtype_of": "y"}, "Z": {"axis": "W"}})");
  ASSERT_OK(bundle);
  for (const KernelDefinition& each : {definition, bundle->definition()}) {
    Result<TunedKernel> kernel = TunedKernel::Create(each, policy_);
    ASSERT_OK(kernel);
    DeviceBuffer x = Floats({1, 2, 3, 4}), y = Floats({0, 0, 0, 0, 0, 0, 0, 0});
    std::vector<double> wide(4);
    for (int launch = 0; launch < 2; ++launch) {
      ASSERT_OK(kernel->Launch(stream_->get(), View(x), TensorView::Contiguous(y.data(), DType::kFloat64, {4})));
      ASSERT_OK(y.CopyToHost(wide.data(), 32));
      ASSERT_OK(stream_->view().Synchronize());
      EXPECT_EQ(wide, (std::vector<double>{1, 2, 3, 4}));
      std::vector<std::int8_t> narrow(4);
      ASSERT_OK(kernel->Launch(stream_->get(), View(x), TensorView::Contiguous(y.data(), DType::kInt8, {4})));
      ASSERT_OK(y.CopyToHost(narrow.data(), 4));
      ASSERT_OK(stream_->view().Synchronize());
      EXPECT_EQ(narrow, (std::vector<std::int8_t>{1, 2, 3, 4}));
    }
    EXPECT_EQ(kernel->counters().tunes, 2);
  }
  struct Case {
    const char* types;
    const char* message;
  };
  const Case cases[] = {
      {R"({"X": {"dtype_of": "z"}})", "DefineType('X') names no tensor parameter: 'z' is not one"},
      {R"({"X": {"dtype": "x"}})", ":7: variants[0].types.X.dtype: unknown field"},
      {R"({"X": {}})", ":7: variants[0].types.X: expected one of dtype_of and axis"},
      {R"({"X": {"axis": "W", "dtype_of": "x"}})", "expected one of dtype_of and axis"},
      {R"({"X": {"axis": "I"}})", ":7: variants[0].types.X.axis: axis 'I' has no strings as values"},
      {R"({"X": {"axis": "Q"}})", "unknown axis 'Q'"},
      {R"({"1X": {"axis": "W"}})", ":7: variants[0].types.1X: cannot define the macro '1X'"},
      {R"({"I": {"axis": "W"}})", "'I' is also given in \"defines\": give the macro once"},
      {R"(["X"])", "variants[0].types: expected"},
  };
  for (const Case& each : cases) EXPECT_ERROR(load(each.types), StatusCode::kInvalidArgument, each.message);
}

}  // namespace
}  // namespace tuneonce
