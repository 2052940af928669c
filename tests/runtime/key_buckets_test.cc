// Buckets of a list, and nearest values: what they are tuned at, and what of it serves which launch.
#include <algorithm>

#include "runtime/tuned_kernel_on.h"
#include "testing/fault_injection.h"
#include "testing/pointed_group.h"
#include "testing/tuned_scale_test.h"
#include "testing/work_timer.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
namespace {

using testing::View;

class KeyBucketsTest : public testing::TunedScaleTest {
 protected:
  KeyBucketsTest() { policy_.search.timer = &timer_; }

  KernelDefinition Bucketed(KeyPart part) { return scale_.Definition().Key(std::move(part)); }
  static KeyPart Bounds() { return KeyOf("N").Buckets({100, 1000, 3000}); }
  static KeyPart Nearest() { return KeyOf("N").Nearest({100, 1000, 3000}); }
  /// "N<=100 at N=100, ...", sorted.
  std::vector<std::string> Records() const {
    std::vector<std::string> lines;
    const std::vector<TuningRecord> records = *policy_.store->List();
    for (const TuningRecord& record : records) {
      lines.push_back(record.key.key_text.substr(0, record.key.key_text.find(',')) + " at " + record.tuned_at);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  /// y = x[index], of `n` elements, with a guard of its own for what lies outside. `length`: what the kernel is told.
  KernelDefinition Gather(const Parameter& index, const Parameter& length) {
    SearchSpace space;
    auto work = space.AddAxis("WORK", {2, 1});
    space.SetBaseline({{work, 2}});
    return KernelDefinition("gather")
        .Parameters({In("x", kFloat32, {"N"}), index, Out("y", kFloat32, {"N"}), length})
        .Key(Nearest())
        .Space(space)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(
                                 "static void gather(const tuneonce_block&, const float* x, const int* index, "
                                 "float* y, int n) {\n  for (int w = 0; w < WORK; ++w)\n    for (int i = 0; i < n; "
                                 "++i) y[i] = x[index[i]];\n}\nTUNEONCE_CPU_KERNEL(gather);",
                                 "gather")
                          .Define("WORK", c[work]);
                    }).Grid(Grid::Fixed(1)));
  }
  static long NumFailed(const TuningRecord& record) {
    return std::count_if(record.candidates.begin(), record.candidates.end(),
                         [](const CandidateOutcome& each) { return each.failed(); });
  }
  /// Launches it on indices that reach the last element.
  void LaunchGather(TunedKernel& kernel, int n, bool passes_length) {
    std::vector<float> values(static_cast<std::size_t>(n)), expected(values.size());
    std::vector<int> backwards(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i % 9) - 4;
      backwards[i] = n - 1 - static_cast<int>(i);
    }
    std::reverse_copy(values.begin(), values.end(), expected.begin());
    DeviceBuffer x = Floats(values), y = Floats(std::vector<float>(values.size(), 0));
    DeviceBuffer from_last = testing::IntsOn(stream_->view(), backwards);
    TensorView indices = testing::IntView(from_last);
    ASSERT_OK(passes_length ? kernel.Launch(stream_->get(), View(x), indices, View(y), n)
                            : kernel.Launch(stream_->get(), View(x), indices, View(y)));
    EXPECT_EQ(Read(y), expected);
  }

  testing::WorkTimer timer_;
};

TEST_F(KeyBucketsTest, AllLaunchesOfABucketShareOneTuneAtItsBound) {
  TunedKernel kernel = Create(Bucketed(Bounds()));
  for (std::size_t n : {101, 1000, 555}) Launch(kernel, n);
  EXPECT_EQ(kernel.counters().tunes, 1);
  for (std::size_t n : {1, 100, 1001, 3001, 4096}) Launch(kernel, n);
  EXPECT_EQ(kernel.counters().tunes, 4);
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  EXPECT_EQ(Records(), (std::vector<std::string>{"N<=100 at N=100", "N<=1000 at N=1000", "N<=3000 at N=3000",
                                                 "N<=4096 at N=4096"}));
}

TEST_F(KeyBucketsTest, ALaunchRunsWhatTheNearestValueWasTunedForWhetherItHasLessOrMore) {
  TunedKernel kernel = Create(Bucketed(Nearest()));
  for (std::size_t n : {1300, 1000, 700, 2000}) Launch(kernel, n);  // 2000 is as near to 3000: the smaller.
  EXPECT_EQ(kernel.counters().tunes, 1);
  for (std::size_t n : {2001, 100000}) Launch(kernel, n);
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  EXPECT_EQ(Records(), (std::vector<std::string>{"N~1000 at N=1000", "N~3000 at N=3000"}));
  EXPECT_EQ((*policy_.store->List())[0].inputs, TunedInputs::kRepeated);
}

TEST_F(KeyBucketsTest, AWarmUpTunesWhereALaunchWouldAndItsRecordServesLaunchesAfterARestart) {
  for (const KeyPart& part : {Bounds(), Nearest()}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel warmed = Create(Bucketed(part));
    ASSERT_OK(warmed.Warmup(stream_->get(), {{{"N", 900}}, {{"N", 990}}}));
    std::vector<std::string> records = Records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0], part.ToString(1000) + " at N=1000");
    Launch(warmed, 950);
    EXPECT_EQ(warmed.counters().hits, 1);
    TunedKernel restarted = Create(Bucketed(part));
    for (std::size_t n : {800, 1000}) Launch(restarted, n);
    EXPECT_EQ(restarted.counters().stored_hits, 1);
    EXPECT_EQ(restarted.counters().hits, 1);
    EXPECT_EQ(restarted.counters().tunes, 0);
  }
}

TEST_F(KeyBucketsTest, FrozenABucketThatWasWarmedIsAHitAndAnotherIsListedByItsBound) {
  TunedKernel kernel = Create(Bucketed(Bounds()));
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}}));
  kernel.Freeze();
  Launch(kernel, 500);
  Launch(kernel, 2000);
  EXPECT_EQ(kernel.counters().hits, 1);
  EXPECT_EQ(kernel.counters().tunes, 1);
  ASSERT_EQ(kernel.frozen_misses().size(), 1u);
  EXPECT_EQ(kernel.frozen_misses()[0].find("N<=3000"), 0u) << kernel.frozen_misses()[0];
}

TEST_F(KeyBucketsTest, InTheBackgroundABucketIsTunedAtItsBoundAtTunePending) {
  policy_.mode = AutotunePolicy::Mode::kTuneDeferred;
  for (const KeyPart& part : {Bounds(), Nearest()}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Bucketed(part));
    for (std::size_t n : {1300, 1301}) Launch(kernel, n);
    EXPECT_EQ(kernel.counters().pending_keys, 1);
    ASSERT_OK(kernel.TunePending(stream_->get()));
    EXPECT_EQ(Records()[0], part.bucket == KeyPart::Bucket::kNearest ? "N~1000 at N=1000" : "N<=3000 at N=3000");
    Launch(kernel, 1302);
    EXPECT_EQ(kernel.counters().fallbacks, 2);
  }
}

TEST_F(KeyBucketsTest, AGuardIsAskedForTheLaunchsOwnDimsBelowAndAboveWhatWasTuned) {
  scale_.space.Where("at most 1100", [work = scale_.work](const Config& c, const Dims& dims) {
    return c[work] == 100 || dims[Dim{0}] <= 1100;
  });
  TunedKernel kernel = Create(Bucketed(Nearest()));
  Launch(kernel, 1100);
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  Launch(kernel, 1101);
  EXPECT_EQ(kernel.counters().fallbacks, 1) << "its key was tuned at 1000, where the winner may run";
  EXPECT_EQ(kernel.counters().tunes, 1);
  // And where the guard excludes the winner at the tuned shape, it is not chosen for what lies below either.
  policy_.store = std::make_shared<MemoryStore>();
  TunedKernel other = Create(Bucketed(KeyOf("N").Buckets({1000, 1200})));
  Launch(other, 1050);
  EXPECT_EQ((*policy_.store->List())[0].best.config[scale_.work], 100);
}

TEST_F(KeyBucketsTest, WithoutMemoryForTheBoundItIsTunedAtTheShapeAtHand) {
  Result<std::unique_ptr<FaultInjection>> faults = FaultInjection::Create(api());
  DeviceBuffer x = Floats(std::vector<float>(500, 3)), y = Floats(std::vector<float>(500, 0));
  Result<Device> device = Device::Get((*faults)->api(), 0);
  TunedKernel kernel = *TunedKernelOn::Create(*device, Bucketed(Bounds()), policy_);
  ASSERT_OK((*faults)->Plan({"MemAllocAsync", 2, CUDA_ERROR_OUT_OF_MEMORY, 0}));
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
  EXPECT_EQ(Records(), std::vector<std::string>{"N<=1000 at N=500"});
}

TEST_F(KeyBucketsTest, WorkspacesAndDerivedValuesAreOfTheLaunchsDimsAndOfTheBoundInATune) {
  SearchSpace space;
  auto work = space.AddAxis("WORK", {2, 1});
  space.SetBaseline({{work, 2}});
  for (const KeyPart& part : {Bounds(), Nearest()}) {
    policy_.store = std::make_shared<MemoryStore>();
    KernelDefinition definition("through_scratch");
    definition
        .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Workspace("scratch", Term(4) * "N"),
                     Derived("count", Term("N"), kInt32), Scalar<float>("factor")})
        .Key(part)
        .Space(space)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(
                                 "static void through_scratch(const tuneonce_block&, const float* x, float* y, "
                                 "float* scratch, int count, float factor) {\n"
                                 "  for (int w = 0; w < WORK; ++w)\n"
                                 "    for (int i = 0; i < count; ++i) scratch[i] = x[i] * factor;\n"
                                 "  for (int i = 0; i < count; ++i) y[i] = scratch[i];\n}\n"
                                 "TUNEONCE_CPU_KERNEL(through_scratch);",
                                 "through_scratch")
                          .Define("WORK", c[work]);
                    }).Grid(Grid::Fixed(1)));
    TunedKernel kernel = Create(definition);
    for (std::size_t n : {700, 1300, 900}) Launch(kernel, n);
    EXPECT_EQ(kernel.counters().failed_tunes, 0);
    EXPECT_EQ(kernel.counters().tunes, part.bucket == KeyPart::Bucket::kNearest ? 1 : 2);
  }
}

TEST_F(KeyBucketsTest, IndicesAreNotCutToSmallerTensors) {
  const Parameter bare = In("index", kInt32, {"N"});
  const Parameter filled = In("index", kInt32, {"N"}).ForWarmup(WarmupFill::Iota());
  struct Case {
    Parameter index;
    Parameter length;
    int n;
    const char* tuned_at;
    TunedInputs inputs;
  };
  const Case cases[] = {
      {filled, DimValue("N"), 1300, "N=1000", TunedInputs::kFill},
      {bare, DimValue("N"), 1300, "N=1300", TunedInputs::kCaller},
      // Less than what is tuned: repeated, an index stays one.
      {bare, DimValue("N"), 900, "N=1000", TunedInputs::kRepeated},
      // A number that the caller passes may be a length.
      {filled, Scalar<std::int32_t>("n").ForWarmup(WarmupFill::Constant("N")), 1300, "N=1000", TunedInputs::kFill},
      {filled, Scalar<std::int32_t>("n"), 1300, "N=1300", TunedInputs::kCaller},
  };
  for (const Case& each : cases) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Gather(each.index, each.length));
    LaunchGather(kernel, each.n, each.length.kind == ParameterKind::kScalar);
    ASSERT_EQ(policy_.store->List()->size(), 1u);
    EXPECT_EQ((*policy_.store->List())[0].tuned_at, each.tuned_at);
    EXPECT_EQ((*policy_.store->List())[0].inputs, each.inputs);
    EXPECT_EQ(kernel.counters().failed_tunes, 0);
  }
}

TEST_F(KeyBucketsTest, OffsetsDoNotFallWhereTheBoundHasMoreOfThem) {
  // Each length, and where there is none a number that depends on the config.
  SearchSpace space;
  auto work = space.AddAxis("WORK", {2, 1});
  space.SetBaseline({{work, 2}});
  auto definition = [&](DType dtype, const char* type) {
    return KernelDefinition("lengths")
        .Parameters({In("offsets", dtype, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
        .Key(KeyOf("N").NextPow2())
        .Space(space)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(
                                 "static void lengths(const tuneonce_block&, const TYPE* offsets, float* y, int n) {\n"
                                 "  y[n - 1] = 0;\n  for (int i = 0; i + 1 < n; ++i)\n    y[i] = offsets[i] <= "
                                 "offsets[i + 1] ? offsets[i + 1] - offsets[i] : -WORK;\n}\n"
                                 "TUNEONCE_CPU_KERNEL(lengths);",
                                 "lengths")
                          .Define("WORK", c[work])
                          .Define("TYPE", type);
                    }).Grid(Grid::Fixed(1)));
  };
  auto num_failed = [&](TunedKernel kernel, const TensorView& offsets) {
    DeviceBuffer y = Floats(std::vector<float>(static_cast<std::size_t>(offsets.shape[0]), 0));
    EXPECT_OK(kernel.Launch(stream_->get(), offsets, View(y)));
    const TuningRecord record = policy_.store->List()->back();
    EXPECT_EQ(record.inputs, TunedInputs::kRepeated);
    return NumFailed(record);
  };
  const DeviceBuffer narrow = testing::IntsOn(stream_->view(), {0, 3, 3, 10, 12});
  EXPECT_EQ(num_failed(Create(definition(kInt32, "int")), testing::IntView(narrow)), 0);
  policy_.store = std::make_shared<MemoryStore>();
  const std::vector<std::int64_t> far = {0, 5, 1LL << 40};
  const DeviceBuffer wide = *DeviceBuffer::Allocate(stream_->view(), 8 * far.size());
  ASSERT_OK(wide.CopyFromHost(far.data(), wide.bytes()));
  EXPECT_EQ(num_failed(Create(definition(kInt64, "long")), TensorView::Contiguous(wide.data(), kInt64, {3})), 0);
  // Numbers that fall by themselves are no offsets: they are repeated, and here the configs differ.
  policy_.store = std::make_shared<MemoryStore>();
  const DeviceBuffer falling = testing::IntsOn(stream_->view(), {0, 3, 2, 10, 12});
  EXPECT_EQ(num_failed(Create(definition(kInt32, "int")), testing::IntView(falling)), 1);
}

TEST_F(KeyBucketsTest, DeclaredOffsetsThatEndWithTheLaunchsRowsAreScaledToTheBounds) {
  // The number of each row's group; all rows must be written. Of eight rows the first group has three.
  SearchSpace space;
  auto work = space.AddAxis("WORK", {2, 1});
  space.SetBaseline({{work, 2}});
  auto definition = [&](KeyPart groups, const std::vector<Parameter>& more) {
    std::vector<Parameter> parameters = {In("offsets", kInt32, {"OFFSETS"}).ForWarmup(WarmupFill::Offsets("N")),
                                         Out("y", kFloat32, {"N"}), DimValue("OFFSETS")};
    parameters.insert(parameters.end(), more.begin(), more.end());
    return KernelDefinition("groups")
        .Parameters(parameters)
        .Key(KeyOf("N").NextPow2(), std::move(groups))
        .Space(space)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(
                                 "static void groups(const tuneonce_block&, const int* offsets, float* y, int n END {\n"
                                 "  for (int g = 0; g + 1 < n; ++g)\n    for (int i = offsets[g]; i < offsets[g + 1]; "
                                 "++i) y[i] = offsets[n - 1] == 8 && offsets[1] != 3 ? -WORK : g;\n}\n"
                                 "TUNEONCE_CPU_KERNEL(groups);",
                                 "groups")
                          .Define("WORK", c[work])
                          .Define("END", more.empty() ? ")" : ", int)");
                    }).Grid(Grid::Fixed(1)));
  };
  const DeviceBuffer offsets = testing::IntsOn(stream_->view(), {0, 2, 4, 4, 5});
  auto record_of = [&](const KernelDefinition& of, auto... more) {
    policy_.store = std::make_shared<MemoryStore>();
    DeviceBuffer y = Floats(std::vector<float>(5, 9));
    EXPECT_OK(Create(of).Launch(stream_->get(), testing::IntView(offsets), View(y), more...));
    EXPECT_EQ(Read(y), (std::vector<float>{0, 0, 1, 1, 3}));
    const TuningRecord record = policy_.store->List()->front();
    EXPECT_EQ(NumFailed(record), 0);
    return record;
  };
  EXPECT_EQ(record_of(definition(KeyOf("OFFSETS"), {})).inputs, TunedInputs::kRepeated);
  EXPECT_EQ(record_of(definition(KeyOf("OFFSETS").NextPow2(), {})).inputs, TunedInputs::kRepeated);
  // A number that is passed beside them may be the greatest length: then they stay, and the bound's rows are not all
  // written.
  const KernelDefinition with_length = definition(KeyOf("OFFSETS"), {Scalar<std::int32_t>("longest")});
  EXPECT_EQ(record_of(with_length, std::int32_t{2}).inputs, TunedInputs::kCaller);
}

TEST_F(KeyBucketsTest, AnExactKeyAndABucketOfTheSameValueDoNotShareARecord) {
  TunedKernel exact = Create(scale_.Definition());
  Launch(exact, 1000);
  TunedKernel bucketed = Create(Bucketed(Bounds()));
  Launch(bucketed, 1000);
  EXPECT_EQ(bucketed.counters().stored_hits, 0) << "it was verified at 1000 alone";
}

}  // namespace
}  // namespace tuneonce
