// A fast variant for aligned arguments and a slow one behind it that takes any: each has selections of its own,
// whatever came first, in exact keys and in buckets that have shapes of both.
#include <algorithm>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/work_timer.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

extern "C" {
/// 100 for the fast variant, plus the value of its axis.
__attribute__((visibility("default"), used)) inline int tuneonce_alignment_ran = 0;
}

namespace tuneonce {
namespace {

using Mode = AutotunePolicy::Mode;

class VariantByAlignmentTest : public testing::CpuDeviceTest {
 protected:
  VariantByAlignmentTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.timer = &timer_;
    policy_.search.max_rounds = 1;
  }
  /// y = 2 x, of M rows of N elements. `fast` is best with WAY=1, `any`, which takes rows of any length, with WAY=2;
  /// the baseline is WAY=3.
  KernelDefinition Doubled() const {
    SearchSpace space;
    auto way = space.AddAxis("WAY", {1, 2, 3});
    space.SetBaseline({{way, 3}});
    KernelDefinition definition("doubled");
    definition.Parameters({In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M", "N"}), DimValue("M"), DimValue("N")})
        .Space(space)
        .Grid(Grid::Fixed(1));
    for (bool is_fast : {true, false}) {
      Variant variant([=](const Config& c, const Problem&) {
        return KernelSource::CpuCpp(R"(
extern "C" __attribute__((weak)) long tuneonce_test_work;
extern "C" __attribute__((weak)) int tuneonce_alignment_ran;
static void doubled(const tuneonce_block&, const float* x, float* y, int m, int n) {
  for (int i = 0; i < m * n; ++i) y[i] = 2 * x[i];
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, WORK, __ATOMIC_RELAXED);
  if (&tuneonce_alignment_ran != nullptr) __atomic_store_n(&tuneonce_alignment_ran, MARK, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(doubled);)",
                                    "doubled")
            .Define("WORK", c[way] == (is_fast ? 1 : 2) ? 10 : 100)
            .Define("MARK", (is_fast ? 100 : 0) + c[way]);
      });
      if (is_fast) variant.Named("fast").Assuming({Aligned("x", 16), StrideDivisibleBy("x", 0, 8)});
      if (!is_fast) variant.Named("any");
      definition.AddVariant(variant);
    }
    return definition;
  }
  KernelDefinition InBuckets() const { return Doubled().Key(KeyOf("M"), KeyOf("N").NextPow2()); }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// What ran for rows of `n` elements, `offset` behind an aligned address: 101, say, for WAY=1 by `fast`.
  int Launch(TunedKernel& kernel, std::int64_t n, std::int64_t offset = 0) {
    DeviceBuffer x = Floats(std::vector<float>(static_cast<std::size_t>(2 * n + offset), 3));
    DeviceBuffer y = Floats(std::vector<float>(static_cast<std::size_t>(2 * n), 0));
    TensorView rows = TensorView::Contiguous(static_cast<float*>(x.data()) + offset, DType::kFloat32, {2, n});
    EXPECT_OK(kernel.Launch(stream_->get(), rows, TensorView::Contiguous(y.data(), DType::kFloat32, {2, n})));
    EXPECT_EQ(Read(y), std::vector<float>(static_cast<std::size_t>(2 * n), 6));
    return tuneonce_alignment_ran;
  }
  /// "N<=4096 at M=2, N=4096", "N=4001, without fast at ...", sorted.
  std::vector<std::string> Records() const {
    const std::vector<TuningRecord> records = *policy_.store->List();
    std::vector<std::string> lines;
    for (const TuningRecord& record : records) {
      const std::string& key = record.key.key_text;
      const bool is_without = key.find(", without fast") != std::string::npos;
      lines.push_back(key.substr(5, key.find(", x:") - 5) + (is_without ? " without fast" : "") + " at " +
                      record.tuned_at);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  testing::WorkTimer timer_;
  AutotunePolicy policy_;
};

TEST_F(VariantByAlignmentTest, RowsOf4001ElementsAreTunedForWhatTakesThemWhateverCameFirst) {
  for (const std::vector<std::int64_t>& order : {std::vector<std::int64_t>{4001, 4000, 4096}, {4096, 4000, 4001}}) {
    for (const KernelDefinition& definition : {Doubled(), InBuckets()}) {
      policy_.store = std::make_shared<MemoryStore>();
      TunedKernel kernel = Create(definition);
      for (int i = 0; i < 2; ++i) {
        for (std::int64_t n : order) EXPECT_EQ(Launch(kernel, n), n == 4001 ? 2 : 101) << n << " after " << order[0];
      }
      EXPECT_EQ(kernel.counters().fallbacks, 0);
    }
    EXPECT_EQ(Records(), (std::vector<std::string>{"N<=4096 at M=2, N=4096", "N<=4096 without fast at M=2, N=4096"}));
  }
}

TEST_F(VariantByAlignmentTest, AnAlignedShapeLosesNothing) {
  TunedKernel alone = Create(Doubled());
  Launch(alone, 4096);
  TunedKernel kernel = Create(Doubled());
  Launch(kernel, 4001);
  Launch(kernel, 4096);
  EXPECT_EQ(kernel.counters().stored_hits, 1) << "its key is what it was";
  EXPECT_EQ(Records(), (std::vector<std::string>{"N=4001 without fast at M=2, N=4001", "N=4096 at M=2, N=4096"}));
}

TEST_F(VariantByAlignmentTest, AnUnalignedAddressHasASelectionOfItsOwnInABucket) {
  TunedKernel kernel = Create(InBuckets());
  EXPECT_EQ(Launch(kernel, 4096), 101);
  EXPECT_EQ(Launch(kernel, 4096, 1), 2);
  EXPECT_EQ(Launch(kernel, 4001), 2);
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  TunedKernel restarted = Create(InBuckets());
  EXPECT_EQ(Launch(restarted, 4000, 1), 2);
  EXPECT_EQ(Launch(restarted, 4000), 101);
  EXPECT_EQ(restarted.counters().stored_hits, 2);
}

TEST_F(VariantByAlignmentTest, AStoredPinOfAlignedCallsServesUnalignedOnesUntilTheyHaveAMeasuredRecord) {
  const TunedKernel::Shape aligned = {{"M", 2}, {"N", 4096}};
  auto pin = [&](TunedKernel& kernel) { return kernel.Pin(aligned, {{"WAY", 3}}, TunedKernel::PinFor::kStore); };
  TunedKernel pins = Create(InBuckets());
  ASSERT_OK(pin(pins));
  TunedKernel restarted = Create(InBuckets());
  EXPECT_EQ(Launch(restarted, 4096), 103);
  EXPECT_EQ(Launch(restarted, 4096, 1), 3) << "the pin speaks of shapes, not of variants";
  EXPECT_EQ(restarted.counters().tunes, 0);
  policy_.store = std::make_shared<MemoryStore>();
  TunedKernel measures = Create(InBuckets());
  EXPECT_EQ(Launch(measures, 4096, 1), 2);
  ASSERT_OK(pin(measures));
  TunedKernel later = Create(InBuckets());
  EXPECT_EQ(Launch(later, 4096), 103);
  EXPECT_EQ(Launch(later, 4096, 1), 2) << "what was measured for the calls themselves goes before it";
  EXPECT_EQ(later.counters().stored_hits, 2);
}

TEST_F(VariantByAlignmentTest, WhereTheBoundIsUnalignedAnAlignedShapeIsTunedAtItsOwn) {
  TunedKernel kernel = Create(Doubled().Key(KeyOf("M"), KeyOf("N").Buckets({100, 4001})));
  EXPECT_EQ(Launch(kernel, 4000), 101);
  EXPECT_EQ(Launch(kernel, 4001), 2);
  EXPECT_EQ(Launch(kernel, 3999), 2);
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(Records(), (std::vector<std::string>{"N<=4001 at M=2, N=4000", "N<=4001 without fast at M=2, N=4001"}));
}

TEST_F(VariantByAlignmentTest, AWarmUpOfAnUnalignedShapeIsWhatItsLaunchesFindFrozenAndCaptured) {
  for (const KernelDefinition& definition : {Doubled(), InBuckets()}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(definition);
    ASSERT_OK(kernel.Warmup(stream_->get(), {{{"M", 2}, {"N", 4001}}}));
    kernel.Freeze();
    EXPECT_EQ(Launch(kernel, 4001), 2);
    Status captured;
    DeviceBuffer x = Floats(std::vector<float>(8002, 3)), y = Floats(std::vector<float>(8002, 0));
    TensorView in = TensorView::Contiguous(x.data(), DType::kFloat32, {2, 4001});
    TensorView out = TensorView::Contiguous(y.data(), DType::kFloat32, {2, 4001});
    Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) {
      captured = kernel.Launch(stream, in, out);
      return Status();
    });
    ASSERT_OK(graph);
    EXPECT_OK(captured);
    EXPECT_EQ(kernel.counters().hits, 2);
    EXPECT_EQ(kernel.counters().frozen_misses, 0);
    // What was not warmed is listed by what it needs.
    EXPECT_EQ(Launch(kernel, 4096), 103);
    ASSERT_EQ(kernel.frozen_misses().size(), 1u);
    EXPECT_EQ(kernel.frozen_misses()[0].find("without"), std::string::npos);
    EXPECT_EQ(*kernel.IsReady({in, out}), true);
  }
}

TEST_F(VariantByAlignmentTest, FrozenAnUnalignedCallOfAnAlignedKeyRunsTheFallbackThatTakesItAndIsListed) {
  TunedKernel kernel = Create(InBuckets());
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"M", 2}, {"N", 4096}}}));
  kernel.Freeze();
  EXPECT_EQ(Launch(kernel, 4001), 3);
  EXPECT_EQ(kernel.counters().frozen_misses, 1);
  ASSERT_EQ(kernel.frozen_misses().size(), 1u);
  EXPECT_EQ(kernel.frozen_misses()[0], "M=2, N<=4096, x:float32, y:float32, without fast");
}

TEST_F(VariantByAlignmentTest, AFallbackOfUnalignedCallsIsNotThatOfAlignedOnes) {
  policy_.mode = Mode::kFallbackOnly;
  TunedKernel kernel = Create(InBuckets());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Launch(kernel, 4001), 3);
    EXPECT_EQ(Launch(kernel, 4096), 103) << "by the fast variant, whichever came first";
  }
}

TEST_F(VariantByAlignmentTest, InTheBackgroundBothWaitAndAreTunedOnFillsForWhatTakesThem) {
  policy_.mode = Mode::kTuneDeferred;
  TunedKernel kernel = Create(InBuckets());
  EXPECT_EQ(Launch(kernel, 4096), 103);
  EXPECT_EQ(Launch(kernel, 4096, 1), 3) << "fills are aligned, and its selection is not for those";
  EXPECT_EQ(kernel.counters().now.pending_keys, 2);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(kernel.counters().now.pending_keys, 0);
  EXPECT_EQ(Launch(kernel, 4096), 101);
  EXPECT_EQ(Launch(kernel, 4096, 1), 2);
  EXPECT_EQ(kernel.counters().tunes, 2);
  policy_.mode = Mode::kStoredOnly;
  TunedKernel stored_only = Create(InBuckets());
  EXPECT_EQ(Launch(stored_only, 4001), 2);
  EXPECT_EQ(Launch(stored_only, 4096), 101);
}

TEST_F(VariantByAlignmentTest, VariantsThatNoCallOfTheKeySuitsAreNoPartOfIt) {
  // Each for one N, which the key has exactly; M is in buckets.
  KernelDefinition definition("fill");
  SearchSpace space;
  definition.Parameters({Out("y", kFloat32, {"M", "N"}), DimValue("M"), DimValue("N")})
      .Key(KeyOf("M").NextPow2(), KeyOf("N"))
      .Grid(Grid::Fixed(1));
  for (int n : {64, 128}) {
    definition.AddVariant(Variant([=](const Config&, const Problem&) {
                            return KernelSource::CpuCpp(
                                       "static void fill(const tuneonce_block&, float* y, int m, int n) {\n  for (int "
                                       "i = 0; i < m * n; ++i) y[i] = VALUE;\n}\nTUNEONCE_CPU_KERNEL(fill);",
                                       "fill")
                                .Define("VALUE", n);
                          })
                              .Named("of_" + std::to_string(n))
                              .Assuming({ExtentIs("y", 1, n)}));
  }
  TunedKernel kernel = Create(definition);
  DeviceBuffer y = Floats(std::vector<float>(1024, 0));
  for (std::int64_t n : {64, 128, 64, 128}) {
    ASSERT_OK(kernel.Launch(stream_->get(), TensorView::Contiguous(y.data(), DType::kFloat32, {5, n})));
    EXPECT_EQ(Read(y)[0], static_cast<float>(n));
  }
  EXPECT_EQ(kernel.counters().tunes, 2);
  for (const TuningRecord& record : std::vector<TuningRecord>(*policy_.store->List())) {
    EXPECT_EQ(record.key.key_text.find("without"), std::string::npos) << record.key.key_text;
  }
}

TEST_F(VariantByAlignmentTest, ABucketThatHasNoAlignedExtentIsOneKey) {
  KernelDefinition definition = Doubled();
  Variant fast = definition.variants()[0], any = definition.variants()[1];
  KernelDefinition by_rows("doubled");
  by_rows.Parameters(definition.parameters()).Space(definition.space()).Grid(Grid::Fixed(1));
  by_rows.AddVariant(fast.Assuming({ExtentDivisibleBy("x", 1, 16)})).AddVariant(any);
  struct Case {
    KeyPart part;
    std::vector<std::int64_t> unaligned;  // One key, as no extent of the bucket is a multiple of 16.
    bool is_without;
  };
  for (const Case& each :
       {Case{KeyOf("N").NextPow2(), {5, 6, 8}, false}, Case{KeyOf("N").NextPow2(), {9, 15}, true},
        Case{KeyOf("N").Buckets({16, 24, 40}), {17, 24}, false}, Case{KeyOf("N").Buckets({16, 24, 40}), {25, 33}, true},
        Case{KeyOf("N").Nearest({4, 7, 40}), {7, 12}, true}, Case{KeyOf("N").Nearest({4, 7, 40}), {3, 5}, false},
        Case{KeyOf("N"), {17}, false}}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(by_rows.Key(KeyOf("M"), each.part));
    for (std::int64_t n : each.unaligned) EXPECT_EQ(Launch(kernel, n), 2) << n;
    EXPECT_EQ(kernel.counters().tunes, 1);
    ASSERT_EQ(Records().size(), 1u);
    EXPECT_EQ(Records()[0].find("without") != std::string::npos, each.is_without) << Records()[0];
  }
}

TEST_F(VariantByAlignmentTest, AtMost32VariantsArePossible) {
  KernelDefinition definition = Doubled();
  while (definition.variants().size() <= KernelDefinition::kMaxVariants) {
    definition.AddVariant(definition.variants().back());
  }
  EXPECT_ERROR(TunedKernel::Create(definition, policy_), StatusCode::kInvalidArgument,
               "kernel 'doubled': the kernel has 33 variants; at most 32 are possible");
}

TEST_F(VariantByAlignmentTest, CodeThatWasVerifiedForUnalignedRowsIsNotVerifiedForAlignedOnes) {
  TunedKernel tuned = Create(Doubled());
  for (std::int64_t n : {1024, 2048}) EXPECT_EQ(Launch(tuned, n, /*offset=*/1), 2);
  policy_.on_new_key = AutotunePolicy::OnNewKey::kPredict;
  policy_.mode = AutotunePolicy::Mode::kTuneDeferred;
  TunedKernel kernel = Create(Doubled());
  EXPECT_EQ(Launch(kernel, 1280), 103) << "the fallback";
  EXPECT_EQ(kernel.counters().predictions, 0);
}

TEST_F(VariantByAlignmentTest, APredictionRunsNoCodeThatWasVerifiedForLaunchesOfAnotherVariant) {
  TunedKernel tuned = Create(Doubled());
  for (std::int64_t n : {1024, 2048}) EXPECT_EQ(Launch(tuned, n), 101);
  policy_.on_new_key = AutotunePolicy::OnNewKey::kPredict;
  policy_.mode = AutotunePolicy::Mode::kTuneDeferred;
  TunedKernel kernel = Create(Doubled());
  EXPECT_EQ(Launch(kernel, 1280), 101);
  EXPECT_EQ(kernel.counters().predictions, 1);
  EXPECT_LT(Launch(kernel, 1280, /*offset=*/1), 100)
      << "the fallback: nothing is verified, and nothing may be compared";
  EXPECT_EQ(kernel.counters().predictions, 1);
  policy_.mode = AutotunePolicy::Mode::kTuneOnMiss;
  TunedKernel compares = Create(Doubled());
  EXPECT_LT(Launch(compares, 1280, /*offset=*/1), 100);
  EXPECT_EQ(compares.counters().predictions, 1) << "what runs faster for aligned rows is compared with the baseline";
  EXPECT_EQ(compares.counters().tunes, 0);
  for (std::int64_t n : {1024, 2048}) EXPECT_LT(Launch(tuned, n, /*offset=*/1), 100);
  policy_.mode = AutotunePolicy::Mode::kTuneDeferred;
  TunedKernel verified = Create(Doubled());
  EXPECT_EQ(Launch(verified, 1280, /*offset=*/1), 2);
  EXPECT_EQ(Launch(verified, 1280), 101);
  EXPECT_EQ(verified.counters().predictions, 2);
}

}  // namespace
}  // namespace tuneonce
