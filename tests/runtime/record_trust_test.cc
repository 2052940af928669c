// A record serves a kernel only if what it was verified under is what the kernel demands, and if its code is what was
// verified.
#include <algorithm>
#include <fstream>
#include <optional>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/work_timer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

/// What a definition says; CONFIG 1 is the faster one, and computes `result`.
struct Says {
  std::string result = "2 * x[i]";
  std::string reference = "2 * x[i]";
  std::vector<KeyPart> key = {KeyOf("M"), KeyOf("N")};
  double tolerance = -1;
  bool may_be_partial = false;
  std::vector<std::int64_t> configs = {0, 1};
  std::int64_t baseline = 0;
  std::optional<std::int64_t> baseline_of_few_rows;  // Of up to eight.
  bool has_condition = false;                        // One that holds for all configs.
  std::string name = "k";
  Term grid = 1;
};

class RecordTrustTest : public testing::CpuDeviceTest {
 protected:
  RecordTrustTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.max_rounds = 1;
    policy_.search.timer = &timer_;
  }
  static KernelDefinition Define(const Says& says) {
    SearchSpace space;
    auto config = space.AddAxis("CONFIG", says.configs);
    std::vector<SearchSpace::Baseline> baselines;
    if (says.baseline_of_few_rows) {
      baselines.push_back(SearchSpace::Baseline{{{config, *says.baseline_of_few_rows}}, D("M") <= 8});
    }
    baselines.push_back(SearchSpace::Baseline{{{config, says.baseline}}, Condition()});
    space.SetBaselines(std::move(baselines));
    if (says.has_condition) space.Where("all", config >= 0);
    Parameter y = Out("y", kFloat32, {"M", "N"});
    if (says.may_be_partial) y = std::move(y).MayBePartial();
    const std::string source =
        "extern \"C\" __attribute__((weak)) long tuneonce_test_work;\n"
        "static void k(const tuneonce_block& block, const float* x, float* y, int m, int n) {\n"
        "  if (block.x > 0) return;\n"
        "  for (int i = 0; i < m * n; ++i) { if (CONFIG != 0) { y[i] = " +
        says.result + "; } else { y[i] = " + says.reference +
        "; } }\n"
        "  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, CONFIG == 0 ? 100 : 1, "
        "__ATOMIC_RELAXED);\n}\nTUNEONCE_CPU_KERNEL(k);";
    KernelDefinition definition(says.name);
    definition.Parameters({In("x", kFloat32, {"M", "N"}), std::move(y)})
        .Space(space)
        .Key(says.key)
        .Grid(Grid::Fixed(says.grid))
        .AddVariant(CpuCpp(source, "k").KernelArgs({"x", "y", "M", "N"}));
    if (says.tolerance >= 0) definition.VerifyWithin(Tolerance{says.tolerance, says.tolerance, 0});
    return definition;
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// One launch; the number of elements that are not 2 * x.
  std::size_t Launch(TunedKernel& kernel, std::int64_t m, std::int64_t n) {
    std::vector<float> values(static_cast<std::size_t>(m * n));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3.5f;
    DeviceBuffer x = Floats(values), y = Floats(std::vector<float>(values.size(), -99));
    EXPECT_OK(kernel.Launch(stream_->get(), TensorView::Contiguous(x.data(), kFloat32, {m, n}),
                            TensorView::Contiguous(y.data(), kFloat32, {m, n})));
    const std::vector<float> out = Read(y);
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) num_wrong += out[i] != 2 * values[i];
    return num_wrong;
  }
  /// Launches by one kernel that leaves a record, then by another one: what the latter computed incorrectly, and how.
  std::size_t AfterRecordOf(const Says& first, const Says& second, Counters* counters) {
    TunedKernel maker = Create(Define(first));
    Launch(maker, 16, 64);
    policy_.search.verify = Verify::kAgainstBaseline;
    TunedKernel kernel = Create(Define(second));
    const std::size_t num_wrong = Launch(kernel, 16, 64);
    *counters = kernel.counters();
    return num_wrong;
  }

  AutotunePolicy policy_;
  testing::WorkTimer timer_;
};

TEST_F(RecordTrustTest, ARecordWithoutVerificationServesNoKernelThatVerifies) {
  Says says;
  says.result = "0";
  policy_.search.verify = Verify::kOff;
  Counters counters;
  EXPECT_EQ(AfterRecordOf(says, says, &counters), 0u);
  EXPECT_EQ(counters.stored_hits, 0);
  EXPECT_EQ(counters.misses_refused, 1);
  EXPECT_EQ(counters.tunes, 1);
}

TEST_F(RecordTrustTest, ARecordWithVerificationServesAKernelThatDoesNotVerify) {
  Says says;
  TunedKernel maker = Create(Define(says));
  Launch(maker, 16, 64);
  policy_.search.verify = Verify::kOff;
  TunedKernel kernel = Create(Define(says));
  EXPECT_EQ(Launch(kernel, 16, 64), 0u);
  EXPECT_EQ(kernel.counters().stored_hits, 1);
}

TEST_F(RecordTrustTest, ARecordWithALooserToleranceIsAMissAndOneWithATighterServes) {
  Says loose, strict;
  loose.result = strict.result = "2.05f * x[i]";
  loose.tolerance = 0.5;
  Counters counters;
  EXPECT_EQ(AfterRecordOf(loose, strict, &counters), 0u);
  EXPECT_EQ(counters.stored_hits, 0);
  policy_.store = std::make_shared<MemoryStore>();
  Says tight, usual;
  tight.tolerance = 0;
  EXPECT_EQ(AfterRecordOf(tight, usual, &counters), 0u);
  EXPECT_EQ(counters.stored_hits, 1);
}

TEST_F(RecordTrustTest, ARecordWhoseOutputMayBePartialServesNoKernelWhoseOutputMayNot) {
  Says partial;
  partial.result = partial.reference = "i % 2 ? 2 * x[i] : y[i]";
  partial.may_be_partial = true;
  Says whole = partial;
  whole.may_be_partial = false;
  Counters counters;
  AfterRecordOf(partial, whole, &counters);
  EXPECT_EQ(counters.stored_hits, 0);
}

TEST_F(RecordTrustTest, AReorderedKeyRecipeIsAnotherDefinition) {
  Says first, second;
  first.result = second.result = "m < n ? 2 * x[i] : 0";
  second.key = {KeyOf("N"), KeyOf("M")};
  TunedKernel maker = Create(Define(first));
  EXPECT_EQ(Launch(maker, 16, 64), 0u);
  TunedKernel kernel = Create(Define(second));
  EXPECT_EQ(Launch(kernel, 64, 16), 0u);
  EXPECT_EQ(kernel.counters().stored_hits, 0);
}

TEST_F(RecordTrustTest, AnotherGridAtTheSameVersionIsAnotherDefinition) {
  Says first, second;
  first.grid = "M";
  for (const Term& grid : {Term(2), Term("N"), Term(Min("M", "N"))}) {
    policy_.store = std::make_shared<MemoryStore>();
    second.grid = grid;
    Counters counters;
    EXPECT_EQ(AfterRecordOf(first, second, &counters), 0u) << grid.ToString();
    EXPECT_EQ(counters.stored_hits, 0) << grid.ToString();
  }
}

TEST_F(RecordTrustTest, ARecordOfAnIncorrectBaselineDoesNotServeAfterTheBaselineIsReplaced) {
  Says first, second;
  first.result = second.result = "3 * x[i]";
  first.baseline = 1;
  Counters counters;
  EXPECT_EQ(AfterRecordOf(first, second, &counters), 0u);
  EXPECT_EQ(counters.misses_refused, 1);
  EXPECT_EQ(counters.tunes, 1);
  for (const AutotunePolicy::Mode mode : {AutotunePolicy::Mode::kStoredOnly, AutotunePolicy::Mode::kTuneDeferred}) {
    policy_.mode = AutotunePolicy::Mode::kTuneOnMiss;
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel maker = Create(Define(first));
    EXPECT_NE(Launch(maker, 16, 64), 0u);
    policy_.mode = mode;
    TunedKernel kernel = Create(Define(second));
    EXPECT_EQ(Launch(kernel, 16, 64), 0u) << "it compares nothing at a launch";
    EXPECT_EQ(kernel.counters().fallbacks, 1);
  }
}

TEST_F(RecordTrustTest, ACorrectRecordServesAfterItWasComparedWithTheNewBaseline) {
  Says first, second;
  first.baseline = 1;
  Counters counters;
  EXPECT_EQ(AfterRecordOf(first, second, &counters), 0u);
  EXPECT_EQ(counters.tunes, 0);
  EXPECT_EQ(counters.stored_hits, 1);
  EXPECT_GT(counters.tuning_gpu_seconds, 0);
  TunedKernel again = Create(Define(second));
  EXPECT_EQ(Launch(again, 16, 64), 0u);
  EXPECT_EQ(again.counters().stored_hits, 1);
  EXPECT_EQ(again.counters().tuning_gpu_seconds, 0) << "it was compared once";
}

TEST_F(RecordTrustTest, ARecordServesASpaceThatIsDefinedOtherwiseWithTheSameBaseline) {
  Says first, second;
  second.has_condition = true;
  Counters counters;
  EXPECT_EQ(AfterRecordOf(first, second, &counters), 0u);
  EXPECT_EQ(counters.stored_hits, 1);
  EXPECT_EQ(counters.tuning_gpu_seconds, 0);
}

TEST_F(RecordTrustTest, OnlyTheBaselinesThatTheKeysLaunchesCanHaveCount) {
  Says first, second;
  first.baseline_of_few_rows = 1;
  Counters counters;
  EXPECT_EQ(AfterRecordOf(first, second, &counters), 0u);
  EXPECT_EQ(counters.stored_hits, 1) << "a key of 16 rows";
  EXPECT_EQ(counters.tuning_gpu_seconds, 0);
  policy_.store = std::make_shared<MemoryStore>();
  first.key = second.key = {KeyOf("M").Buckets({64}), KeyOf("N")};
  EXPECT_EQ(AfterRecordOf(first, second, &counters), 0u);
  EXPECT_EQ(counters.stored_hits, 1);
  EXPECT_GT(counters.tuning_gpu_seconds, 0) << "it is compared, since some launches of the key had the other baseline";
}

TEST_F(RecordTrustTest, WhatAnotherBaselineRefusedIsTriedAgain) {
  Says first, second;
  first.result = second.result = "(CONFIG == 1 ? 3 : 2) * x[i]";
  first.configs = {0, 1, 2};
  first.baseline = 1;
  second.configs = {0, 1, 2, 3};
  Counters counters;
  EXPECT_EQ(AfterRecordOf(first, second, &counters), 0u);
  const std::vector<TuningRecord> records = *policy_.store->List();
  ASSERT_EQ(records.size(), 1u);
  ASSERT_EQ(records[0].failures().size(), 1u);
  EXPECT_EQ(records[0].failures()[0].config.ToString(), "CONFIG=1");
}

TEST_F(RecordTrustTest, ARecordOfAnotherListOfConfigsIsAMissOfOtherSource) {
  Says first, second;
  second.configs = {0, 1, 2};
  Counters counters;
  EXPECT_EQ(AfterRecordOf(first, second, &counters), 0u);
  EXPECT_EQ(counters.stored_hits, 0);
  EXPECT_EQ(counters.misses_other_source, 1);
  const std::vector<TuningRecord> records = *policy_.store->List();
  ASSERT_EQ(records.size(), 1u) << "the key is the same: the new record takes the old one's place";
  EXPECT_EQ(records[0].candidates.size(), 3u);
}

TEST_F(RecordTrustTest, AToleranceIsNoPartOfTheKeyAndTheListOfConfigsNeither) {
  Says first, second;
  second.tolerance = 1;
  second.configs = {0, 1, 2};
  std::vector<Fingerprint> kernels;
  for (const Says& says : {first, second}) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Define(says));
    Launch(kernel, 16, 64);
    kernels.push_back((*policy_.store->List()).front().key.kernel_fingerprint);
  }
  EXPECT_EQ(kernels[0], kernels[1]);
}

TEST_F(RecordTrustTest, AnotherKernelsSelectionIsVerifiedBeforeItServes) {
  policy_.selection_group = "both";
  Says first, incorrect, correct;
  incorrect.name = correct.name = "other";
  incorrect.result = "0";
  correct.result = "x[i] + x[i]";
  Counters counters;
  EXPECT_EQ(AfterRecordOf(first, incorrect, &counters), 0u);
  TunedKernel kernel = Create(Define(correct));
  EXPECT_EQ(Launch(kernel, 16, 64), 0u);
  policy_.store = std::make_shared<MemoryStore>();
  EXPECT_EQ(AfterRecordOf(first, correct, &counters), 0u);
  EXPECT_EQ(counters.stored_hits, 1) << "the selection is taken, once it was verified";
  EXPECT_EQ(counters.tunes, 0);
}

TEST_F(RecordTrustTest, CodeThatChangedUnderAHeaderIsComparedWithTheBaselineBeforeItServes) {
  const std::string folder = ::testing::TempDir() + "record_trust";
  ASSERT_EQ(std::system(("mkdir -p " + folder).c_str()), 0);
  auto write = [&](const std::string& result) {
    std::ofstream(folder + "/result.h") << "#define RESULT " << result << "\n";
  };
  Says says;
  says.result = "RESULT";
  KernelDefinition definition = Define(says);
  auto with_header = [&] {
    SearchSpace space = definition.space();
    KernelDefinition made("k");
    Says of_header = says;
    KernelDefinition base = Define(of_header);
    Variant variant = base.variants().front();
    auto inner = variant.source;
    variant.source = [inner, folder](const Config& c, const Problem& p) {
      KernelSource source = inner(c, p);
      source.content = "#include \"result.h\"\n" + source.content;
      return source.Include(folder);
    };
    made.Parameters({In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M", "N"})})
        .Space(space)
        .Key(says.key)
        .Grid(Grid::Fixed(1))
        .AddVariant(variant);
    return made;
  };
  write("(2 * x[i])");
  TunedKernel maker = Create(with_header());
  EXPECT_EQ(Launch(maker, 16, 64), 0u);
  write("(i == 5 ? 0 : 2 * x[i])");
  TunedKernel incorrect = Create(with_header());
  EXPECT_EQ(Launch(incorrect, 16, 64), 0u) << "the changed code is not what was verified";
  write("(x[i] + x[i])");
  policy_.store = std::make_shared<MemoryStore>();
  write("(2 * x[i])");
  TunedKernel again = Create(with_header());
  Launch(again, 16, 64);
  write("(x[i] + x[i] + 0)");
  TunedKernel changed = Create(with_header());
  EXPECT_EQ(Launch(changed, 16, 64), 0u);
  EXPECT_EQ(changed.counters().tunes, 0) << "it is compared with the baseline, not tuned again";
  EXPECT_EQ(changed.counters().stored_hits, 1);
}

TEST_F(RecordTrustTest, ARecordSaysWhatItWasVerifiedUnder) {
  Says says;
  says.key = {KeyOf("M").NextPow2(), KeyOf("N")};
  TunedKernel kernel = Create(Define(says));
  Launch(kernel, 100, 4);
  const TuningRecord record = (*policy_.store->List()).front();
  EXPECT_EQ(record.verification.level, Verification::Level::kReference);
  EXPECT_TRUE(record.verification.is_data_sufficient);
  ASSERT_EQ(record.verification.outputs.size(), 1u);
  EXPECT_EQ(record.verification.outputs[0].absolute, Tolerance::Of(kFloat32).absolute);
  ASSERT_EQ(record.verification.extents.size(), 1u);
  EXPECT_EQ(record.verification.extents[0].dim, "M");
  EXPECT_NE(record.best.identity, Fingerprint());
  for (const CandidateOutcome& outcome : record.candidates) EXPECT_NE(outcome.identity, Fingerprint());
}

}  // namespace
}  // namespace tuneonce
