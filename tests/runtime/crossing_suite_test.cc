// Verified means launched: keys, faults of the fastest config, variants, data of the first launch, records and
// isolation, in pairs. Each case tunes a kernel whose fastest config is incorrect somewhere, launches it at every
// extent of a small bucket on data that show errors, and compares with a plain computation. TUNEONCE_CROSSINGS=all runs
// every combination.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "runtime/crossings/crossing.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "testing/tile_toolchain.h"
#include "testing/work_timer.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::CrossedKey;
using testing::CrossedVariant;
using testing::Crossing;
using testing::Data;
using testing::Fault;
using testing::Isolated;
using testing::RecordOrigin;

// CONFIG 0 is the baseline, 1 a faster one that is correct, 2 the fastest, which is not. What they take is their work
// (WorkTimer). kDerivedValue: 1 and 2 have the same code, and 2 gets another `first`.
constexpr char kSource[] = R"(
extern "C" __attribute__((weak)) long tuneonce_test_work;
#if STRIDED
static void cross(const tuneonce_block&, const float* x, float* y, float factor, int n, int first, int work,
                  int stride) {
#else
static void cross(const tuneonce_block&, const float* x, float* y, float factor, int n, int first, int work) {
  const int stride = 1;
#endif
  const bool is_aligned = reinterpret_cast<unsigned long long>(x) % 256 == 0;
  const bool wrong = FAULT == 1 ? n % 16 != 0 : FAULT == 2 ? n % 32 == 16 : FAULT == 3 ? n % 2 != 0
                   : FAULT == 4 ? n % 12 == 6 : FAULT == 7 ? true : FAULT == 8 ? factor != 2 : FAULT == 9 && !is_aligned;
  const int end = FAULT == 5 ? (n + 15) / 16 * 16 : n;
  for (int i = first; i < end; ++i) {
    const float value = i < n ? x[i * stride] : 0;
    y[i] = wrong ? 0 : FAULT == 6 && value < 0 ? 0 : value * factor;
  }
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, work, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(cross);)";

constexpr int kGuard = 64;  // Elements around each output that must stay.

class CrossingSuiteTest : public testing::CpuDeviceTest {
 protected:
  struct Kernel {
    Fault fault;
    std::string name = "cross";
    double tolerance = -1;  // Negative: the default.
    bool has_other_configs = false;
  };

  static std::int64_t WorkOf(std::int64_t config) { return config == 0 ? 100 : config == 1 ? 50 : 1; }

  static KernelDefinition Define(const Crossing& c, const Kernel& kernel) {
    SearchSpace space;
    IntAxis config = space.AddAxis(
        "CONFIG", kernel.has_other_configs ? std::vector<std::int64_t>{0, 2} : std::vector<std::int64_t>{0, 1, 2});
    // A tile that the source does not use, whose odd factor decides which extents are of one class.
    IntAxis tile = space.AddAxis("TILE", std::vector<std::int64_t>{24});
    space.SetBaseline({{config, 0}, {tile, 24}});
    if (c.searched() == testing::Searched::kGuided) space.MaxConfigs(1);
    const bool is_strided = c.variant() == CrossedVariant::kStrided;
    const bool is_tile = c.variant() == CrossedVariant::kTileCpp;
    const Fault fault = kernel.fault;
    KernelDefinition definition(kernel.name);
    std::vector<Parameter> parameters = {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor")};
    if (c.variant() != CrossedVariant::kCallable) {
      parameters.push_back(DimValue("N"));
      parameters.push_back(Derived("first", [=](const Config& each, const Problem&) {
        return fault == Fault::kDerivedValue && each[config] == 2 ? 1 : 0;
      }));
      parameters.push_back(
          Derived("work", [=](const Config& each, const Problem&) { return static_cast<int>(WorkOf(each[config])); }));
    }
    if (is_strided) parameters.push_back(StrideValue("x", 0));
    definition.Parameters(std::move(parameters)).Space(space);
    switch (c.key()) {
      case CrossedKey::kExact:
        definition.Key(KeyOf("N"));
        break;
      case CrossedKey::kNextPow2:
        definition.Key(KeyOf("N").NextPow2());
        break;
      case CrossedKey::kBounds:
        definition.Key(KeyOf("N").Buckets({32, 64}));
        break;
      case CrossedKey::kNearest:
        definition.Key(KeyOf("N").Nearest({16, 48}));
        break;
      case CrossedKey::kOmitted:
        definition.Key(DTypeOf("x"));
        break;
    }
    if (kernel.tolerance >= 0) definition.VerifyWithin(Tolerance{kernel.tolerance, kernel.tolerance, 0});
    if (c.variant() == CrossedVariant::kCallable) {
      return definition.AddVariant(Callable([=](CUstream stream, const Config& each, const CallArguments& arguments) {
        TUNEONCE_RETURN_IF_ERROR(StreamView(OpenDevice("cpu")->api(), stream).Synchronize());
        return Compute(fault, each[config], arguments);
      }));
    }
    Variant variant([=](const Config& each) {
      // The derived value alone tells configs 1 and 2 apart where that is the fault.
      const bool is_faulty = each[config] == 2 && fault != Fault::kDerivedValue;
      KernelSource source = is_tile ? KernelSource::TileCpp(kSource, "cross") : KernelSource::CpuCpp(kSource, "cross");
      return source.Define("FAULT", is_faulty ? static_cast<int>(fault) : 0).Define("STRIDED", is_strided);
    });
    return definition.AddVariant(variant.Grid(Grid::Fixed(1)));
  }

  /// The same by the host, on the device's memory: the CPU device's can be read by its process.
  static Status Compute(Fault fault, std::int64_t config, const CallArguments& arguments) {
    const auto* x = static_cast<const float*>(arguments.tensor("x").data);
    auto* y = static_cast<float*>(arguments.tensor("y").data);
    const std::int64_t n = arguments.dim("N");
    const auto factor = arguments.scalar<float>("factor");
    const bool is_faulty = config == 2;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(x) % 256 == 0;
    auto is = [&](Fault each) { return is_faulty && fault == each; };
    const bool wrong = (is(Fault::kRaggedTail) && n % 16 != 0) || (is(Fault::kOddTiles) && n % 32 == 16) ||
                       (is(Fault::kOddExtents) && n % 2 != 0) || (is(Fault::kMultipleOf6) && n % 12 == 6) ||
                       is(Fault::kEverything) || (is(Fault::kOtherScalar) && factor != 2) ||
                       (is(Fault::kOtherAddress) && !is_aligned);
    const std::int64_t end = is(Fault::kBehindOutput) ? (n + 15) / 16 * 16 : n;
    for (std::int64_t i = 0; i < end; ++i) {
      const float value = i < n ? x[i] : 0;
      y[i] = wrong || (is(Fault::kNegatives) && value < 0) ? 0 : value * factor;
    }
    tuneonce_test_work += WorkOf(config);
    return Status();
  }

  static float Value(Data data, std::size_t i) {
    switch (data) {
      case Data::kMixed:
        break;
      case Data::kZero:
        return 0;
      case Data::kPositive:
        return static_cast<float>(i % 7 + 1);
      case Data::kNotANumber:
        return std::numeric_limits<float>::quiet_NaN();
    }
    const float magnitude = static_cast<float>(i % 7 + 1);
    return i % 3 == 0 ? -magnitude : magnitude;
  }

  /// The Runtime whose only compiler is for CrossedVariant::kTileCpp.
  static std::shared_ptr<Runtime> TileRuntime() {
    static const auto* const runtime = new std::shared_ptr<Runtime>(
        testing::RuntimeWith(std::make_shared<testing::TileToolchain>(std::vector<std::string>{
            "tile<ptr<f32>>", "tile<ptr<f32>>", "tile<f32>", "tile<i32>", "tile<i32>", "tile<i32>"})));
    return *runtime;
  }

  AutotunePolicy PolicyOf(const Crossing& c, const std::shared_ptr<RecordStore>& store) {
    AutotunePolicy policy;
    if (c.variant() == CrossedVariant::kTileCpp) policy.search.runtime = TileRuntime();
    policy.store = store;
    policy.search.timer = &timer_;
    policy.search.max_rounds = 1;
    if (c.isolated() == Isolated::kYes) {
      policy.search.timer = nullptr;  // A worker has timers of its own.
      policy.search.isolation = Isolation::kRequired;
    }
    if (c.origin() == RecordOrigin::kSharedSelection) policy.selection_group = "crossed";
    if (c.new_key() == testing::NewKey::kPredict) policy.on_new_key = AutotunePolicy::OnNewKey::kPredict;
    return policy;
  }

  static TunedKernel Create(const KernelDefinition& definition, const AutotunePolicy& policy) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }

  /// One launch; true if it returned OK. What it computed is compared if `shows_errors`.
  void Launch(TunedKernel& kernel, std::size_t n, Data data, float factor, std::size_t misaligned, bool compares) {
    std::vector<float> values(n + misaligned), out(n + 2 * kGuard, -99);
    for (std::size_t i = 0; i < n; ++i) values[misaligned + i] = Value(data, i);
    DeviceBuffer x = Floats(values), y = Floats(out);
    const auto extent = static_cast<std::int64_t>(n);
    const Status launched = kernel.Launch(
        stream_->get(), TensorView::Contiguous(static_cast<float*>(x.data()) + misaligned, kFloat32, {extent}),
        TensorView::Contiguous(static_cast<float*>(y.data()) + kGuard, kFloat32, {extent}), factor);
    EXPECT_OK(launched);
    out = Read(y);
    if (!compares || !launched.ok()) return;
    std::size_t num_wrong = 0, num_foreign = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool is_output = i >= kGuard && i < kGuard + n;
      if (is_output) num_wrong += out[i] != values[misaligned + i - kGuard] * factor;
      if (!is_output) num_foreign += out[i] != -99;
    }
    EXPECT_EQ(num_wrong, 0u) << "N=" << n << ", factor " << factor << ", misaligned by " << misaligned;
    EXPECT_EQ(num_foreign, 0u) << "N=" << n;
  }

  /// Puts what the case has of records into the store.
  void MakeRecords(const Crossing& c, const std::shared_ptr<RecordStore>& store) {
    Kernel kernel{c.fault()};
    AutotunePolicy policy = PolicyOf(c, store);
    switch (c.origin()) {
      case RecordOrigin::kNothing:
        return;
      case RecordOrigin::kSameKernel:
        break;
      case RecordOrigin::kNotVerified:
        policy.search.verify = Verify::kOff;
        break;
      case RecordOrigin::kLooseTolerance:
        kernel.tolerance = 1e9;
        break;
      case RecordOrigin::kOtherConfigs:
        kernel.has_other_configs = true;
        break;
      case RecordOrigin::kSharedSelection:
        kernel.fault = Fault::kNone;  // There the fastest config is correct.
        kernel.name = "other";
        break;
      case RecordOrigin::kCorrectCodeBefore:
        kernel.fault = Fault::kNone;
        break;
    }
    TunedKernel first = Create(Define(c, kernel), policy);
    Launch(first, kFirst, Data::kMixed, 2, 0, /*compares=*/false);
  }

  static constexpr std::size_t kFirst = 48;  // A multiple of 16 and 3, in the buckets (32, 64] and around 48.
  testing::WorkTimer timer_;
};

class CrossingTest : public CrossingSuiteTest, public ::testing::WithParamInterface<Crossing> {};

TEST_P(CrossingTest, WhatIsLaunchedIsCorrect) {
  const Crossing& c = GetParam();
  auto store = std::make_shared<MemoryStore>();
  MakeRecords(c, store);
  TunedKernel kernel = Create(Define(c, Kernel{c.fault()}), PolicyOf(c, store));
  Launch(kernel, kFirst, c.data(), 2, 0, /*compares=*/c.data() == Data::kMixed);
  for (std::size_t n = 33; n <= 64; ++n) Launch(kernel, n, Data::kMixed, 2, 0, true);
  // What the key does not name may differ, too.
  Launch(kernel, kFirst, Data::kMixed, 3, 0, true);
  Launch(kernel, kFirst, Data::kMixed, 2, 4, true);
  kernel.Freeze();
  for (std::size_t n = 33; n <= 64; ++n) Launch(kernel, n, Data::kMixed, 2, 0, true);
}

TEST_P(CrossingTest, TheFastestCorrectConfigIsSelected) {
  const Crossing& c = GetParam();
  if (c.isolated() == Isolated::kYes) GTEST_SKIP() << "times of a worker are the machine's";
  auto store = std::make_shared<MemoryStore>();
  MakeRecords(c, store);
  TunedKernel kernel = Create(Define(c, Kernel{c.fault()}), PolicyOf(c, store));
  Launch(kernel, kFirst, Data::kMixed, 2, 0, true);
  if (c.new_key() == testing::NewKey::kPredict) {
    ASSERT_OK(kernel.TunePending(stream_->get()));
  }
  Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {{"N", static_cast<std::int64_t>(kFirst)}});
  ASSERT_OK(plan);
  ASSERT_TRUE(plan->config);
  const std::int64_t selected = std::get<std::int64_t>(*plan->config->Find("CONFIG"));
  // With an exact key other extents are other keys: a fault that is not at kFirst does not concern this one.
  const bool is_exact = c.key() == CrossedKey::kExact || c.key() == CrossedKey::kOmitted;
  const bool is_elsewhere = c.fault() == Fault::kRaggedTail || c.fault() == Fault::kOddExtents ||
                            c.fault() == Fault::kMultipleOf6 || c.fault() == Fault::kBehindOutput;
  const bool may_be_faulty = c.fault() == Fault::kNone || (is_exact && is_elsewhere);
  EXPECT_EQ(selected, may_be_faulty ? 2 : 1) << plan->config->ToString();
}

INSTANTIATE_TEST_SUITE_P(Crossings, CrossingTest,
                         ::testing::ValuesIn(testing::Crossings(std::getenv("TUNEONCE_CROSSINGS") != nullptr)),
                         [](const auto& param) { return param.param.Name(); });

}  // namespace
}  // namespace tuneonce
