// What both runners of candidates must do alike: in this process, and in a worker.
#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "testing/kinds_test.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;

class RunnerConformanceTest : public testing::KindsTest, public ::testing::WithParamInterface<Isolation> {
 protected:
  RunnerConformanceTest() { options_.isolation = GetParam(); }

  bool is_isolated() const { return GetParam() == Isolation::kRequired; }
  void ExpectWhereItRan(const TuningRecord& result) const {
    EXPECT_EQ(result.is_isolated, is_isolated());
    EXPECT_EQ(result.cost.workers_replaced, 0);
  }
};

INSTANTIATE_TEST_SUITE_P(, RunnerConformanceTest, ::testing::Values(Isolation::kOff, Isolation::kRequired),
                         [](const auto& where) { return where.param == Isolation::kOff ? "InProcess" : "Isolated"; });

TEST_P(RunnerConformanceTest, TheFastestOfTheRightOnesWins) {
  Result<TuningRecord> result = Search(Kinds("twice();", {0, 1}));
  ASSERT_OK(result);
  ExpectWhereItRan(*result);
  EXPECT_EQ(result->best.config.ToString(), "KIND=1");
  EXPECT_EQ(result->successes().size(), 2u);
  EXPECT_EQ(result->timer, "events");
  EXPECT_GT(*result->speedup_over_baseline, 1.02);
  ASSERT_TRUE(result->best.largest_difference.has_value()) << "its output was compared";
  EXPECT_EQ(result->best.largest_difference->absolute, 0);
  EXPECT_GE(result->cost.num_launches, 6);
  EXPECT_GT(result->cost.peak_bytes, kN * sizeof(float)) << "scratch, at least";
  EXPECT_TRUE(result->notes.empty()) << result->notes.front();
}

TEST_P(RunnerConformanceTest, ABaselineThatIsAloneWithItsOutputIsReported) {
  auto note_of = [&](const std::string& body, std::vector<std::int64_t> kinds) {
    Result<TuningRecord> result = Search(Kinds(body, std::move(kinds)));
    EXPECT_OK(result);
    if (!result.ok()) return std::string();
    ExpectWhereItRan(*result);
    EXPECT_LE(result->notes.size(), 1u);
    return result->notes.empty() ? std::string() : result->notes.front();
  };
  const std::string wrong_alone = "twice(); if (KIND == 0) y[3] = 5;";
  EXPECT_EQ(note_of(wrong_alone, {0, 1, 2, 3}),
            "the baseline {KIND=0} differs from 3 candidates that agree with each other: it may be incorrect");
  EXPECT_EQ(note_of(wrong_alone, {0, 1}), "") << "one against one";
  // Whichever comes first, and whatever a third one computes.
  for (std::int64_t odd : {1, 2, 3}) {
    EXPECT_EQ(note_of(wrong_alone + " if (KIND == " + std::to_string(odd) + ") y[4] = 5;", {0, 1, 2, 3}),
              "the baseline {KIND=0} differs from 2 candidates that agree with each other: it may be incorrect");
  }
  EXPECT_EQ(note_of("twice(); y[3] = KIND;", {0, 1, 2, 3}), "") << "no two agree";
  for (std::int64_t same : {1, 2, 3}) {
    EXPECT_EQ(note_of("twice(); if (KIND == 0 || KIND == " + std::to_string(same) + ") y[3] = 5;", {0, 1, 2, 3}), "")
        << "the baseline is not alone";
  }
  EXPECT_EQ(note_of("twice(); if (KIND != 0) y[n] = 5;", {0, 1, 2}), "") << "they fail for something else";
}

TEST_P(RunnerConformanceTest, AGivenReferenceThatIsAloneIsReported) {
  DeviceBuffer wrong = Floats(std::vector<float>(kN, 5));
  options_.reference = {View(wrong)};
  EXPECT_ERROR(Search(Kinds("twice();", {0, 1})), StatusCode::kInternal,
               "the given reference differs from 2 candidates that agree with each other: it may be incorrect");
  Result<TuningRecord> result =
      Search(Kinds("twice(); if (KIND == 1) for (int i = 0; i < n; ++i) y[i] = 5;", {0, 1, 2}));
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config.ToString(), "KIND=1");
  EXPECT_TRUE(result->notes.empty()) << result->notes.front();
}

// KIND=7, which wins, takes long enough that KIND=5, which takes nothing, is in the race when it turns wrong, however
// busy the machine is.
TEST_P(RunnerConformanceTest, WhatACandidateDoesWrongIsFoundAndNamed) {
  Result<TuningRecord> result = Search(Kinds(R"(
    if (KIND == 1) { twice(); y[5] += 1; }
    else if (KIND == 2) { twice(); y[n] = 1; }
    else if (KIND == 3) { for (int i = 0; i < n - 1; ++i) y[i] = 2 * x[i]; }
    else if (KIND == 4) { twice(); x[7] = 1; }
    else if (KIND == 5) { twice(); if (runs > 6) y[0] = 0; }
    else if (KIND == 6) { twice(); work[16] = 1; }
    else { for (volatile int i = 0; i < 500000; i = i + 1) {} twice(); })",
                                             {0, 1, 2, 3, 4, 5, 6, 7, 1000}));
  ASSERT_OK(result);
  ExpectWhereItRan(*result);
  EXPECT_EQ(result->best.config.ToString(), "KIND=7");
  std::map<std::string, std::string> failures = Failures(*result);
  EXPECT_EQ(failures.size(), 7u);
  auto expect = [&](const std::string& config, const std::string& how) {
    EXPECT_EQ(failures[config].substr(0, how.size()), how);
  };
  expect("KIND=1", "wrong result: output 'y': 1 of 1000 elements differ from the reference, the first at 5");
  expect("KIND=2", "out of bounds: it wrote behind 'y'");
  expect("KIND=3", "not written: output 'y': 1 of 1000 elements were not written, the first at 999");
  expect("KIND=4", "wrote an input: the kernel wrote to its input 'x'");
  expect("KIND=5", "wrong result: after the race: output 'y': 1 of 1000");
  expect("KIND=6", "out of bounds: it wrote behind workspace 1");
  expect("KIND=1000", "resources: ");
}

TEST_P(RunnerConformanceTest, WithoutABaselinesOutputsNothingWins) {
  Result<TuningRecord> result = Search(Kinds("if (KIND == 0) y[n] = 1; twice();", {0, 1}));
  EXPECT_ERROR(result, StatusCode::kInternal, "not verified: the candidate's outputs cannot be compared");
}

TEST_P(RunnerConformanceTest, AGivenReferenceIsComparedWith) {
  DeviceBuffer wanted = Floats(std::vector<float>(kN, 6));
  options_.reference = {View(wanted)};
  Result<TuningRecord> result = Search(Kinds("twice(); if (KIND != 1) y[3] = 0;", {0, 1, 2}));
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config.ToString(), "KIND=1");
  EXPECT_EQ(result->failures().size(), 2u);
}

TEST_P(RunnerConformanceTest, AnInOutStartsFromItsOriginalAndSharedMemoryStaysShared) {
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1});
  space.SetBaseline({{kind, 0}});
  const std::string source = R"(
static void k(const tuneonce_block&, float* y, const float* same, float* seen, int n) {
  for (int i = 0; i < n; ++i) { y[i] = y[i] + 1; seen[i] = same[i]; }
}
TUNEONCE_CPU_KERNEL(k);)";
  KernelDefinition definition("k");
  definition
      .Parameters(
          {InOut("y", kFloat32, {"N"}), In("same", kFloat32, {"N"}), Out("seen", kFloat32, {"N"}), DimValue("N")})
      .Space(space)
      .AddVariant(Variant([=](const Config& c, const Problem&) {
                    return KernelSource::CpuCpp(source, "k").Define("KIND", c[kind]);
                  }).Grid(Grid::Fixed(1)));
  DeviceBuffer y = Floats(std::vector<float>(kN, 41)), seen = Floats(std::vector<float>(kN, 0));
  DeviceBuffer wanted_y = Floats(std::vector<float>(kN, 42)), wanted_seen = Floats(std::vector<float>(kN, 42));
  options_.reference = {View(wanted_y), View(wanted_seen)};
  const TensorView y_view = View(y), seen_view = View(seen);
  Result<TuningRecord> result = exhaustive_search(definition, stream_->get(), {y_view, y_view, seen_view}, options_);
  ASSERT_OK(result);
  EXPECT_TRUE(result->failures().empty()) << result->failures().front().message;
  EXPECT_TRUE(Read(y) == std::vector<float>(kN, 41));
}

TEST_P(RunnerConformanceTest, EveryKindOfParameterArrives) {
  SearchSpace space;
  IntAxis rows = space.AddAxis("ROWS", {4, 2});
  space.SetBaseline({{rows, 4}});
  const std::string source = R"(
static void k(const tuneonce_block& block, tuneonce_tensor_map map, float* y, double factor, bool flag, long long m,
              int n, int stride, int product, float third, char* work) {
  unsigned rows = map.box[1];
  for (unsigned r = block.x * rows; r < (block.x + 1) * rows && r < m; ++r) {
    const float* x = (const float*)((const char*)map.address + r * map.stride_bytes[0]);
    for (int i = 0; i < n; ++i) y[r * n + i] = x[i] * factor * (flag && product == m * n && stride == n ? third : 0);
  }
  work[block.x] = 1;
}
TUNEONCE_CPU_KERNEL(k);)";
  KernelDefinition definition("k");
  definition
      .Parameters({In("x", kFloat32, {"M", "N"}), Descriptor("map", "x", TensorMap{{rows, 8}}),
                   Out("y", kFloat32, {"M", "N"}), Scalar<double>("factor"), Scalar<bool>("flag"),
                   DimValue("M", DType::kInt64), DimValue("N"), StrideValue("x", 0),
                   Derived("product", Term("M") * "N"),
                   Derived("third", [](const Config&, const Problem& p) { return p.dims[Dim{0}] > 0 ? 0.5f : 0.0f; }),
                   Workspace("work", CeilDiv("M", rows))})
      .Space(space)
      .AddVariant(Variant([=](const Config& c, const Problem&) {
                    return KernelSource::CpuCpp(source, "k").Define("ROWS", c[rows]);
                  })
                      .Grid(Grid::OneD({"M", rows}))
                      .KernelArgs({"map", "y", "factor", "flag", "M", "N", "x_stride_0", "product", "third", "work"}));
  DeviceBuffer x = Floats(std::vector<float>(64, 3)), y = Floats(std::vector<float>(64, 0));
  DeviceBuffer wanted = Floats(std::vector<float>(64, 6));
  options_.reference = {View(wanted)};
  options_.reference[0] = TensorView::Contiguous(wanted.data(), DType::kFloat32, {8, 8});
  const TensorView x_view = TensorView::Contiguous(x.data(), DType::kFloat32, {8, 8});
  const TensorView y_view = TensorView::Contiguous(y.data(), DType::kFloat32, {8, 8});
  const double factor = 4;
  const bool flag = true;
  Result<TuningRecord> result = exhaustive_search(definition, stream_->get(), {x_view, y_view, factor, flag}, options_);
  ASSERT_OK(result);
  EXPECT_EQ(result->successes().size() + result->duplicates().size(), 2u);
  EXPECT_TRUE(result->failures().empty()) << result->failures().front().message;
}

TEST_P(RunnerConformanceTest, ASearchWithoutADefinitionHasArgumentsPerConfig) {
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1});
  space.SetBaseline({{kind, 0}});
  DeviceBuffer x = Floats(std::vector<float>(kN, 3)), other = Floats(std::vector<float>(kN, 3));
  DeviceBuffer y = Floats(std::vector<float>(kN, 7));
  const std::string source = R"(
static void k(const tuneonce_block&, const float* x, float* y, float factor, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] * factor + 0 * KIND;
}
TUNEONCE_CPU_KERNEL(k);)";
  Result<TuningRecord> result = exhaustive_search(
      space, stream_->get(), [](const Config&) { return Geometry(); },
      [&](const Config& c) { return KernelSource::CpuCpp(source, "k").Define("KIND", c[kind]); },
      [&](const Config& c) {
        void* input = c[kind] == 0 ? x.data() : other.data();
        return std::vector<TrialArgument>{TrialArgument::In(input, x.bytes()), TrialArgument::Out(y.data(), y.bytes()),
                                          2.0f, static_cast<int>(kN)};
      },
      nullptr, options_);
  ASSERT_OK(result);
  ExpectWhereItRan(*result);
  EXPECT_TRUE(result->failures().empty()) << result->failures().front().message;
  EXPECT_TRUE(Read(y) == std::vector<float>(kN, 7));
}

TEST_P(RunnerConformanceTest, ParametersThatDifferAreNamed) {
  SearchSpace space;
  KernelDefinition definition("k");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"})})
      .Space(space)
      .AddVariant(
          Variant([](const Config&, const Problem&) {
            return KernelSource::CpuCpp(
                "static void k(const tuneonce_block&, const float* x, float* y, int n) { (void)x; (void)y; (void)n; }\n"
                "TUNEONCE_CPU_KERNEL(k);",
                "k");
          }).Grid(Grid::Fixed(1)));
  EXPECT_ERROR(Search(definition), StatusCode::kInternal,
               "load: kernel 'k' is declared with 2 parameters, but its code has 3");
}

TEST_P(RunnerConformanceTest, ACancelledSearchEnds) {
  std::atomic<bool> cancelled{true};
  options_.cancelled = &cancelled;
  EXPECT_ERROR(Search(Kinds("twice();", {0, 1})), StatusCode::kCancelled, "");
}

}  // namespace
}  // namespace tuneonce
