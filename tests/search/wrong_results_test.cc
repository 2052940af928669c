// Kernels that compute wrong results, or harm what is not theirs: none of them may win, and nothing of the caller's may
// change.
#include <cstring>
#include <map>

#include "testing/device_test.h"
#include "testing/work_timer.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

/// One kernel per value of the axis KIND; 0 is the baseline, and slow.
class WrongResultsTest : public testing::CpuDeviceTest {
 protected:
  static constexpr int kN = 1000;
  /// How kernels say how slow they are, to WorkTimer: what wins does not depend on what else the machine does.
  static inline const std::string kCountWork = R"(extern "C" __attribute__((weak)) long tuneonce_test_work;
static void count_work(long work) {
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, work, __ATOMIC_RELAXED);
}
)";

  /// `body`: of one run, over `const T* x, T* y, int n`; `runs` counts them from 1 on.
  KernelDefinition Define(const std::string& body, std::vector<std::int64_t> kinds, DType dtype = DType::kFloat32,
                          bool has_baseline = true) {
    std::string type = dtype == DType::kFloat32   ? "float"
                       : dtype == DType::kFloat16 ? "unsigned short"  // Halves by their bits.
                                                  : "unsigned char";
    std::string source = kCountWork + "static void k(const tuneonce_block&, const " + type + "* cx, " + type +
                         R"(* y, int n) {
  static int runs = 0;
  ++runs;
  auto* x = const_cast<)" +
                         type +
                         R"(*>(cx);
  (void)x;
  count_work(KIND == 0 ? 100 : 0);
)" + body + "}\nTUNEONCE_CPU_KERNEL(k);";
    SearchSpace space;
    IntAxis kind = space.AddAxis("KIND", kinds);
    if (has_baseline) space.SetBaseline({{kind, 0}});
    KernelDefinition definition("k");
    definition.Parameters({In("x", dtype, {"N"}), Out("y", dtype, {"N"}), DimValue("N")})
        .Space(space)
        .AddVariant(Variant([kind, source](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(source, "k").Define("KIND", c[kind]);
                    }).Grid(Grid::Fixed(1)));
    return definition;
  }
  Result<TuningRecord> Search(const KernelDefinition& definition, DType dtype = DType::kFloat32) {
    SearchOptions options;
    options.timer = &timer_;
    options.quiet = true;
    std::size_t bytes = kN * DTypeBytes(dtype);
    DeviceBuffer x = *DeviceBuffer::Allocate(stream_->view(), bytes),
                 y = *DeviceBuffer::Allocate(stream_->view(), bytes);
    EXPECT_OK(x.Fill(0x40));  // As floats 3.00390625, as float8 (E4M3) 2.
    EXPECT_OK(y.Fill(0x11));
    EXPECT_OK(stream_->view().Synchronize());
    TensorView x_view = TensorView::Contiguous(x.data(), dtype, {kN}), y_view = x_view;
    y_view.data = y.data();
    Result<TuningRecord> result = exhaustive_search(definition, stream_->get(), {x_view, y_view}, options);
    EXPECT_TRUE(Bytes(x) == std::vector<char>(bytes, 0x40)) << "the caller's input is damaged";
    EXPECT_TRUE(Bytes(y) == std::vector<char>(bytes, 0x11)) << "the caller's output is damaged";
    return result;
  }
  std::vector<char> Bytes(const DeviceBuffer& buffer) {
    Result<std::vector<char>> bytes = ReadDeviceMemory(stream_->view(), buffer.get(), buffer.bytes());
    EXPECT_OK(bytes);
    return bytes.ok() ? *std::move(bytes) : std::vector<char>();
  }
  /// Failures by config: "wrote an input: it wrote ...".
  std::map<std::string, std::string> Failures(const TuningRecord& result) {
    std::map<std::string, std::string> failures;
    for (const CandidateOutcome& failure : result.failures()) {
      failures[failure.config.ToString()] = std::string(OutcomeName(failure.kind)) + ": " + failure.message;
    }
    return failures;
  }
  /// EXPECTs that KIND=1, which is fast, failed so, and that others did not.
  void ExpectFails(const Result<TuningRecord>& result, const std::string& how) {
    ASSERT_OK(result);
    EXPECT_NE(result->best.config.ToString(), "KIND=1");
    auto failures = Failures(*result);
    EXPECT_EQ(failures.size(), 1u);
    EXPECT_NE(failures["KIND=1"].find(how), std::string::npos) << failures["KIND=1"];
  }

  static constexpr char kTwice[] = "for (int i = 0; i < n; ++i) y[i] = 2 * x[i];\n";

 private:
  testing::WorkTimer timer_;
};

TEST_F(WrongResultsTest, WhatNoConfigCoversIsAFailureAndNoReference) {
  for (bool has_baseline : {true, false}) {
    KernelDefinition definition =
        Define("for (int i = 0; i < n - 1; ++i) y[i] = 2 * x[i];", {0, 1}, DType::kFloat32, has_baseline);
    Result<TuningRecord> result = Search(definition);
    EXPECT_FALSE(result.ok()) << "nobody wrote the last element";
    EXPECT_ERROR(result, StatusCode::kInternal,
                 "not written: output 'y': 1 of 1000 elements were not written, the first at 999");
  }
}

TEST_F(WrongResultsTest, AnElementIsMissedAlsoWhereItsValueWouldBeThePoison) {
  for (int value : {0xCB, 0x34, 0xA5, 0, 0xFF, 0x7B, 0xFB}) {
    std::string body = "for (int i = 0; i < n; ++i) if (KIND != 1 || i != 5) y[i] = " + std::to_string(value) + ";";
    ExpectFails(Search(Define(body, {0, 1, 2}, DType::kUInt8), DType::kUInt8),
                "not written: output 'y': 1 of 1000 elements were not written, the first at 5");
  }
}

TEST_F(WrongResultsTest, ARightHalfIsNotMissedThoughItIsWhatMemoryWasFilledWith) {
  // Of 16 million halves that a matmul makes, a few are the filling, and a step off the baseline's.
  for (const char* bits : {"0x3434", "0xCBCB", "0x7B7B", "0xFBFB"}) {
    std::string body = std::string("for (int i = 0; i < n; ++i) y[i] = KIND == 1 ? ") + bits + " : " + bits + " + 1;";
    Result<TuningRecord> result = Search(Define(body, {0, 1}, DType::kFloat16), DType::kFloat16);
    ASSERT_OK(result);
    EXPECT_TRUE(result->failures().empty()) << result->failures().front().message;
    body = std::string("for (int i = 0; i < n; ++i) if (KIND != 1 || i != 5) y[i] = ") + bits + ";";
    ExpectFails(Search(Define(body, {0, 1, 2}, DType::kFloat16), DType::kFloat16),
                "not written: output 'y': 1 of 1000 elements were not written, the first at 5");
  }
}

TEST_F(WrongResultsTest, AnOutputThatIsReadBeforeItIsWrittenIsSeenWhateverIsDoneWithIt) {
  for (const char* update : {"__builtin_fmaxf(y[i], v)", "__builtin_fminf(y[i], v)", "y[i] + v", "0 * y[i] + v"}) {
    std::string body =
        "for (int i = 0; i < n; ++i) { float v = 2 * x[i]; y[i] = KIND == 1 ? " + std::string(update) + " : v; }";
    // What still holds the filling was not written, for all that the outputs show.
    ExpectFails(Search(Define(body, {0, 1})), "output 'y': 1000 of 1000 elements");
  }
}

TEST_F(WrongResultsTest, ACandidateThatWritesItsInputFailsAloneAndHarmsNothing) {
  std::string body = std::string(kTwice) + "if (KIND == 1) x[3] = 9;";
  for (std::vector<std::int64_t> kinds : {std::vector<std::int64_t>{0, 1, 2}, {1, 0, 2}, {2, 1, 0}}) {
    ExpectFails(Search(Define(body, kinds)), "wrote an input: the kernel wrote to its input 'x'");
  }
}

TEST_F(WrongResultsTest, ABaselineThatWritesItsInputIsNoReference) {
  EXPECT_ERROR(Search(Define(std::string(kTwice) + "if (KIND == 0) x[3] = 9;", {0, 1})), StatusCode::kInternal,
               "wrote an input: the kernel wrote to its input 'x'");
}

TEST_F(WrongResultsTest, FarWritesAreSeen) {
  for (const char* where : {"y[-4096]", "y[n + 4096]", "x[-4096]", "x[n + 4096]", "y[-1]", "x[n]"}) {
    ExpectFails(Search(Define(std::string(kTwice) + "if (KIND == 1) " + where + " = 1;", {0, 1, 2})),
                "out of bounds: ");
  }
}

TEST_F(WrongResultsTest, AWriteBehindAWorkspaceIsSeen) {
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1, 2});
  space.SetBaseline({{kind, 0}});
  KernelDefinition definition("k");
  definition.Parameters({Out("y", kFloat32, {"N"}), Workspace("w", [](const Config&, const Problem&) { return 400; })})
      .Space(space)
      .AddVariant(Variant([kind](const Config& c, const Problem&) {
                    return KernelSource::CpuCpp(R"(
static void k(const tuneonce_block&, float* y, float* w) {
  for (volatile int i = 0; i < (KIND == 0 ? 300000 : 0); i = i + 1) {}
  for (int i = 0; i < 100; ++i) w[i] = 1;
  y[0] = w[99];
  if (KIND == 1) w[100] = 2;
}
TUNEONCE_CPU_KERNEL(k);)",
                                                "k")
                        .Define("KIND", c[kind]);
                  }).Grid(Grid::Fixed(1)));
  DeviceBuffer y = Floats({7});
  TensorView y_view = testing::View(y);
  SearchOptions options;
  options.quiet = true;
  ExpectFails(exhaustive_search(definition, stream_->get(), {y_view}, options),
              "out of bounds: it wrote behind workspace");
}

TEST_F(WrongResultsTest, AKernelThatIsRightAtFirstAndWrongLaterCannotWin) {
  // What comes back every second or third time: at each phase, since how many runs a race has is not fixed.
  for (const char* wrong :
       {"runs > 3", "runs > 2 && runs % 2 == 0", "runs > 2 && runs % 2 == 1", "runs > 3 && runs % 3 == 0",
        "runs > 3 && runs % 3 == 1", "runs > 3 && runs % 3 == 2", "runs > 5"}) {
    SCOPED_TRACE(wrong);
    std::string body = std::string(kTwice) + "if (KIND == 1 && " + wrong + ") y[7] = 0;";
    // Beside the slow baseline alone: it is sure to be a finalist.
    ExpectFails(Search(Define(body, {0, 1})), "wrong result: ");
  }
}

TEST_F(WrongResultsTest, AKernelThatStopsWritingItsOutputCannotWin) {
  // What is there from the run before would be right.
  ExpectFails(Search(Define(std::string("if (KIND == 1 && runs > 2) return;\n") + kTwice, {0, 1})), "not written");
}

TEST_F(WrongResultsTest, WhenTheWinnerIsWrongTheNextBestIsTaken) {
  // 1 and 2 are the fastest, and wrong; 3 is next; the baseline is far behind.
  std::string body =
      "count_work(KIND);\n" + std::string(kTwice) + "if ((KIND == 1 || KIND == 2) && runs > 3) y[7] = 0;";
  Result<TuningRecord> result = Search(Define(body, {0, 1, 2, 30}));
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config.ToString(), "KIND=30");
  EXPECT_GT(*result->speedup_over_baseline, 1.0);
  EXPECT_EQ(result->successes().size() + result->failures().size(), 4u);
  EXPECT_NE(Failures(*result)["KIND=1"], "");
  // Without a baseline as well.
  result = Search(Define(std::string(kTwice) + "count_work(KIND);\n" + "if (KIND < 3 && runs > 4) x[0] = 0;",
                         {1, 2, 30}, DType::kFloat32, /*has_baseline=*/false));
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config.ToString(), "KIND=30");
}

TEST_F(WrongResultsTest, AFloat8ThatIsTwoStepsOffIsWrong) {
  // 2 (0x40) and its neighbours, 2.25 (0x41) and 2.5 (0x42): 12.5 % apart each.
  auto search = [&](const char* value) {
    return Search(Define(std::string("for (int i = 0; i < n; ++i) y[i] = KIND == 1 ? ") + value + " : 0x40;", {0, 1, 2},
                         DType::kFloat8E4M3),
                  DType::kFloat8E4M3);
  };
  ExpectFails(search("0x42"), "wrong result: output 'y': 1000 of 1000 elements differ");
  EXPECT_TRUE(search("0x41")->failures().empty()) << "another rounding";
}

TEST_F(WrongResultsTest, AnOutlierHidesErrorsOnlyInItsOwnBlock) {
  // The tolerance of a block with 1e6 in it is 15. Of 1000 elements the first 256 are such a block.
  for (const char* outlier : {"1e6f", "1e30f"}) {
    ExpectFails(Search(Define(std::string("for (int i = 0; i < n; ++i) y[i] = i == 5 ? ") + outlier +
                                  " : KIND == 1 ? 0 : i % 7 + 1;",
                              {0, 1, 2})),
                "wrong result: output 'y': 744 of 1000 elements differ");
  }
}

TEST_F(WrongResultsTest, SumsThatCancelMayDifferByAShareOfTheirNeighbours) {
  // Each fourth element is a sum that cancels: what is left of it is rounding.
  ExpectFails(Search(Define("for (int i = 0; i < n; ++i) y[i] = i % 4 == 0 ? (KIND == 1 ? 1e-3f : KIND == 2 ? 1e-6f : "
                            "-1e-6f) : (i % 7 + 1);",
                            {0, 1, 2})),
              "wrong result: output 'y': 250 of 1000 elements differ");
}

/// Memory while searching.
class TrialMemoryTest : public testing::CpuDeviceTest {
 protected:
  static constexpr std::size_t kTensor = std::size_t{1} << 20;
  static constexpr std::size_t kWorkspace = std::size_t{4} << 20;

  /// `num` configs that take a workspace each, over two tensors. `least_free`: during the search.
  Result<TuningRecord> Search(std::int64_t num, std::size_t* least_free) {
    constexpr std::int64_t kN = kTensor / 4;
    SearchSpace space;
    std::vector<std::int64_t> kinds(static_cast<std::size_t>(num));
    for (std::int64_t i = 0; i < num; ++i) kinds[static_cast<std::size_t>(i)] = i;
    IntAxis kind = space.AddAxis("KIND", kinds);
    space.SetBaseline({{kind, 0}});
    KernelDefinition definition("k");
    definition
        .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N"),
                     Workspace("w", [](const Config&, const Problem&) { return kWorkspace; })})
        .Space(space)
        .AddVariant(Variant([kind](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(R"(
static void k(const tuneonce_block&, const float* x, float* y, int n, float* w) {
  w[KIND] = 1;
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}
TUNEONCE_CPU_KERNEL(k);)",
                                                  "k")
                          .Define("KIND", c[kind]);
                    }).Grid(Grid::Fixed(1)));
    SearchOptions options;
    options.quiet = true;
    options.max_rounds = 3;
    options.on_progress = [&](const SearchProgress& progress) {
      if (progress.stage == SearchProgress::Stage::kMeasure) *least_free = std::min(*least_free, Free());
    };
    std::vector<float> values(kN, 1);
    DeviceBuffer x = Floats(values), y = Floats(values);
    TensorView x_view = testing::View(x), y_view = testing::View(y);
    *least_free = Free();
    return exhaustive_search(definition, stream_->get(), {x_view, y_view}, options);
  }
  std::size_t Free() {
    RelaxedDriver driver(api());
    std::size_t free = 0, total = 0;
    EXPECT_EQ(driver->MemGetInfo(&free, &total), CUDA_SUCCESS);
    return free;
  }
};

TEST_F(TrialMemoryTest, ASearchHoldsAtMostThreeTimesWhatItsLargestCandidateNeeds) {
  std::size_t least_free = 0;
  std::size_t before = Free() - 2 * kTensor;  // The caller's.
  ASSERT_OK(Search(8, &least_free));
  std::size_t needs = 2 * kTensor + kWorkspace;
  EXPECT_LE(before - least_free, 3 * needs) << "a candidate needs " << needs;
}

TEST_F(TrialMemoryTest, HalfOfWhatIsFreeStaysTheHosts) {
  // All but 32 MiB is the host's.
  RelaxedDriver driver(api());
  constexpr std::size_t kLeft = std::size_t{32} << 20;
  CUdeviceptr hosts = 0;
  ASSERT_EQ(driver->MemAlloc(&hosts, Free() - kLeft), CUDA_SUCCESS);
  std::size_t least_free = 0;
  Result<TuningRecord> result = Search(7, &least_free);
  EXPECT_EQ(driver->MemFree(hosts), CUDA_SUCCESS);
  ASSERT_OK(result);
  EXPECT_TRUE(result->failures().empty());
  EXPECT_GE(least_free, (kLeft - 2 * kTensor) / 2);
}

}  // namespace
}  // namespace tuneonce
