// What lies in and around the buffers of a trial and is no element of an output: gaps between rows, inputs in these
// gaps, inputs that overlap an output. A kernel that writes there cannot win, and one that does not is never blamed.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "testing/device_test.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

/// One kernel per value of the axis KIND, over `float* a, float* b` and the stride `s` of b's rows: 0 is the baseline,
/// and slow. Tensors are views of one buffer of floats that are 1, of M rows.
class UntouchedMemoryTest : public testing::CpuDeviceTest {
 protected:
  static constexpr std::int64_t kM = 32;    ///< Rows.
  static constexpr std::int64_t kN = 8;     ///< Columns of a tensor,
  static constexpr std::int64_t kRow = 16;  ///< and of the buffer.

  void SetUp() override {
    CpuDeviceTest::SetUp();
    buffer_.emplace(Floats(std::vector<float>(kM * kRow * 2, 1)));
  }
  /// A view of the buffer from element `offset` on.
  TensorView Rows(std::int64_t offset, std::int64_t row = kRow, std::int64_t column = 1, std::int64_t rows = kM) {
    std::int64_t shape[] = {rows, kN}, strides[] = {row, column};
    return TensorView::Strided(static_cast<float*>(buffer_->data()) + offset, kFloat32, shape, strides, 2);
  }
  /// `body` is what each row `m` does, over `const float* a` and `float* b`.
  KernelDefinition Define(const std::string& body, std::vector<Parameter> parameters) {
    std::string source = R"(
static void k(const tuneonce_block& block, const float* ca, float* b, int s, int, int) {
  float* a = const_cast<float*>(ca);
  (void)a;
  const int m = block.x;
  for (volatile int i = 0; i < (KIND == 0 ? 20000 : 0); i = i + 1) {}
)" + body + "}\nTUNEONCE_CPU_KERNEL(k);";
    SearchSpace space;
    IntAxis kind = space.AddAxis("KIND", {0, 1, 2});
    space.SetBaseline({{kind, 0}});
    KernelDefinition definition("k");
    const std::string a = parameters[0].name, b = parameters[1].name;
    for (const Parameter& stride : {StrideValue(b, 0), StrideValue(b, 1), StrideValue(a, 0)}) {
      parameters.push_back(stride);
    }
    definition.Parameters(std::move(parameters))
        .Space(space)
        .AddVariant(Variant([kind, source](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(source, "k").Define("KIND", c[kind]);
                    }).Grid(Grid::Fixed(kM)));
    return definition;
  }
  Result<TuningRecord> Search(const KernelDefinition& definition, const TensorView& a, const TensorView& b) {
    for (Isolation isolation : {Isolation::kRequired, Isolation::kOff}) {
      SearchOptions options;
      options.quiet = true;
      options.isolation = isolation;
      options.max_rounds = 3;
      Result<TuningRecord> result = exhaustive_search(definition, stream_->get(), {a, b}, options);
      EXPECT_EQ(Read(*buffer_), std::vector<float>(kM * kRow * 2, 1)) << "the caller's memory was written";
      if (isolation == Isolation::kOff) return result;
      in_worker_ = result.ok() ? Failures(*result) : std::map<std::string, std::string>();
    }
    return InternalError("not reached");
  }
  std::map<std::string, std::string> Failures(const TuningRecord& result) {
    std::map<std::string, std::string> failures;
    for (const CandidateOutcome& failure : result.failures()) {
      failures[failure.config.ToString()] = std::string(OutcomeName(failure.kind)) + ": " + failure.message;
    }
    return failures;
  }
  /// EXPECTs that KIND=1 alone fails, with this message, also in a worker. Empty: that none fails.
  void ExpectFails(const Result<TuningRecord>& result, const std::string& message) {
    ASSERT_OK(result);
    auto failures = Failures(*result);
    EXPECT_EQ(failures.size(), message.empty() ? 0u : 1u) << (failures.empty() ? "" : failures.begin()->second);
    EXPECT_EQ(failures.empty() ? "" : failures.begin()->second, message);
    EXPECT_TRUE(failures.empty() || failures.count("KIND=1") == 1);
    EXPECT_EQ(in_worker_, failures);
  }

  static std::vector<Parameter> InAndOut(Parameter b = Out("y", kFloat32, {"M", "N"})) {
    return {In("x", kFloat32, {"M", "N"}), std::move(b)};
  }
  /// A kernel that is correct, but that KIND=1 does `extra` as well.
  static std::string Twice(const std::string& extra) {
    return "for (int i = 0; i < 8; ++i) b[m * s + i] = 2 * a[m * 8 + i];\nif (KIND == 1) { " + extra + " }\n";
  }

  std::optional<DeviceBuffer> buffer_;
  std::map<std::string, std::string> in_worker_;
};

TEST_F(UntouchedMemoryTest, AWriteBetweenTheRowsOfAnOutputFails) {
  TensorView x = Rows(kM * kRow, kN), y = Rows(0);
  ExpectFails(
      Search(Define(Twice("if (m < 31) for (int i = 8; i < 16; ++i) b[m * s + i] = -7;"), InAndOut()), x, y),
      "out of bounds: the kernel wrote between the rows of 'y': 992 bytes, the first 32 bytes after its beginning");
  ExpectFails(
      Search(Define(Twice("if (m == 30) b[m * s + 15] = -7;"), InAndOut()), x, y),
      "out of bounds: the kernel wrote between the rows of 'y': 4 bytes, the first 1980 bytes after its beginning");
  ExpectFails(Search(Define(Twice(""), InAndOut()), x, y), "");
}

TEST_F(UntouchedMemoryTest, WhatIsWrittenThereMayBeWhatMemoryWasFilledWith) {
  for (const char* bits : {"-1", "0x34343434"}) {
    ExpectFails(
        Search(Define(Twice(std::string("if (m == 3) ((int*)b)[m * s + 9] = ") + bits + ";"), InAndOut()),
               Rows(kM * kRow, kN), Rows(0)),
        "out of bounds: the kernel wrote between the rows of 'y': 4 bytes, the first 228 bytes after its beginning");
  }
}

TEST_F(UntouchedMemoryTest, AWriteBetweenTheRowsOfAnInOutFails) {
  std::vector<Parameter> parameters = InAndOut(InOut("y", kFloat32, {"M", "N"}));
  TensorView x = Rows(kM * kRow, kN), y = Rows(0);
  ExpectFails(
      Search(Define(Twice("if (m == 5) b[m * s + 8] = -7;"), parameters), x, y),
      "out of bounds: the kernel wrote between the rows of 'y': 4 bytes, the first 352 bytes after its beginning");
  ExpectFails(Search(Define(Twice(""), parameters), x, y), "");
}

TEST_F(UntouchedMemoryTest, AnOutputWithGapsThatMayBePartialIsLookedAtToo) {
  std::vector<Parameter> parameters = InAndOut(Out("y", kFloat32, {"M", "N"}).MayBePartial());
  TensorView x = Rows(kM * kRow, kN), y = Rows(0);
  std::string half = "for (int i = 0; i < 4; ++i) b[m * s + i] = 2 * a[m * 8 + i];\n";
  ExpectFails(
      Search(Define(half + "if (KIND == 1 && m == 5) b[m * s + 8] = -7;", parameters), x, y),
      "out of bounds: the kernel wrote between the rows of 'y': 4 bytes, the first 352 bytes after its beginning");
  ExpectFails(Search(Define(half, parameters), x, y), "");
}

TEST_F(UntouchedMemoryTest, AnInputInTheGapsOfAnOutputIsAnInput) {
  TensorView x = Rows(kN), y = Rows(0);
  std::string copy = "for (int i = 0; i < 8; ++i) b[m * s + i] = 2 * a[m * s + i];\n";
  ExpectFails(Search(Define(copy + "if (KIND == 1 && m == 2) a[m * s + 7] = 9;", InAndOut()), x, y),
              "wrote an input: the kernel wrote to its input 'x', which shares memory with 'y'");
  ExpectFails(Search(Define(copy, InAndOut()), x, y), "");
}

TEST_F(UntouchedMemoryTest, AnInputThatOverlapsAnOutputIsAnInputWhereItDoesNot) {
  // x is rows 0 to 31, y is rows 28 to 59: they share four rows. Each row of x is read before y's row may be written.
  TensorView x = Rows(0, kN), y = Rows(28 * kN, kN);
  std::string set = "for (int i = 0; i < 8; ++i) b[m * s + i] = m + i;\n";
  ExpectFails(
      Search(Define(set + "if (KIND == 1 && m == 0) for (int i = 0; i < 28 * 8; ++i) a[i] = 9;", InAndOut()), x, y),
      "wrote an input: the kernel wrote to its input 'x', which shares memory with 'y'");
  ExpectFails(Search(Define(set, InAndOut()), x, y), "");
}

TEST_F(UntouchedMemoryTest, AWriteBetweenTheElementsOfAColumnFails) {
  // Every second element of a row is y's.
  TensorView x = Rows(kM * kRow, kN), y = Rows(0, kRow, 2);
  std::string set = "for (int i = 0; i < 8; ++i) b[m * s + 2 * i] = a[m * 8 + i] + i;\n";
  ExpectFails(
      Search(Define(set + "if (KIND == 1 && m == 1) b[m * s + 3] = 9;", InAndOut()), x, y),
      "out of bounds: the kernel wrote between the elements of 'y': 4 bytes, the first 76 bytes after its beginning");
  ExpectFails(Search(Define(set, InAndOut()), x, y), "");
}

TEST_F(UntouchedMemoryTest, ATransposedOutputWithGapsIsLookedAtToo) {
  // Columns of 32 elements, 40 apart.
  TensorView x = Rows(kM * kRow, kN), y = Rows(0, 1, 40);
  std::string set = "for (int i = 0; i < 8; ++i) b[m * s + 40 * i] = a[m * 8 + i] + i;\n";
  ExpectFails(
      Search(Define(set + "if (KIND == 1 && m == 1) b[39] = 9;", InAndOut()), x, y),
      "out of bounds: the kernel wrote between the elements of 'y': 4 bytes, the first 156 bytes after its beginning");
  ExpectFails(Search(Define(set, InAndOut()), x, y), "");
}

TEST_F(UntouchedMemoryTest, AnOutputWhoseRowsAreOneRowIsRefused) {
  // A stride of 0: all rows are the same, so that 256 elements have 15 places.
  EXPECT_ERROR(
      Search(Define("for (int i = 0; i < 8; ++i) b[2 * i] = i;\n", InAndOut()), Rows(kM * kRow, kN), Rows(0, 0, 2)),
      StatusCode::kInvalidArgument,
      "parameter 'y': float32[32, 8] has more elements than its 60 bytes: pass an output whose elements do not "
      "share memory");
}

TEST_F(UntouchedMemoryTest, ABaselineThatWritesGapsIsNoReference) {
  Result<TuningRecord> result =
      Search(Define("for (int i = 0; i < (m < 31 ? 16 : 8); ++i) b[m * s + i] = 2;", InAndOut()), Rows(kM * kRow, kN),
             Rows(0));
  EXPECT_ERROR(result, StatusCode::kInternal, "out of bounds: the kernel wrote between the rows of 'y': 992 bytes");
}

TEST_F(UntouchedMemoryTest, OutputsInEachOthersGapsMustBeWrittenToo) {
  // What was in the caller's memory would be correct.
  std::vector<Parameter> parameters = {Out("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M", "N"})};
  std::string set =
      "for (int i = 0; i < 8; ++i) { if (KIND != 1 || m != 3 || i != 2) a[m * s + i] = 1; b[m * s + i] = 1; }\n";
  ExpectFails(Search(Define(set, parameters), Rows(kN), Rows(0)),
              "not written: output 'x': 1 of 256 elements were not written, the first at 26; if that is intended, "
              "declare the output MayBePartial");
}

TEST_F(UntouchedMemoryTest, AnInputThatOverlapsATensorByPointersIsAnInputWhereItDoesNot) {
  // x is 32 rows of 8; the first of y's tensors is rows 8 to 15 of it.
  std::vector<TensorView> tensors = {Rows(8 * kN, kN, 1, 8), Rows(kM * kRow, kN, 1, 8)};
  std::vector<std::uint64_t> addresses;
  for (const TensorView& tensor : tensors) addresses.push_back(reinterpret_cast<std::uintptr_t>(tensor.data));
  DeviceBuffer table = *DeviceBuffer::Allocate(stream_->view(), 2 * sizeof(std::uint64_t));
  ASSERT_OK(table.CopyFromHost(addresses.data(), table.bytes()));
  ASSERT_OK(stream_->view().Synchronize());
  PointerTable y = PointerTable::Of(table.data(), tensors.data(), tensors.size());
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1});
  space.SetBaseline({{kind, 0}});
  KernelDefinition definition("k");
  definition.Parameters({In("x", kFloat32, {"R", "N"}), Out("y", kFloat32, {"E", "M", "N"}).ByPointers()})
      .Space(space)
      .AddVariant(Variant([kind](const Config& c, const Problem&) {
                    return KernelSource::CpuCpp(R"(
static void k(const tuneonce_block& block, const float* x, float* const* y) {
  for (volatile int i = 0; i < (KIND == 0 ? 200000 : 0); i = i + 1) {}
  for (int i = 0; i < 64; ++i) y[block.x][i] = i;
  if (KIND == 1 && block.x == 0) const_cast<float*>(x)[200] = 9;
}
TUNEONCE_CPU_KERNEL(k);)",
                                                "k")
                        .Define("KIND", c[kind]);
                  }).Grid(Grid::Fixed(2)));
  SearchOptions options;
  options.quiet = true;
  Result<TuningRecord> result = exhaustive_search(definition, stream_->get(), {Rows(0, kN), y}, options);
  ASSERT_OK(result);
  EXPECT_EQ(result->failures().size(), 1u);
  EXPECT_EQ(Failures(*result)["KIND=1"],
            "wrote an input: the kernel wrote to its input 'x', which shares memory with 'y' (tensor 0)");
  EXPECT_EQ(Read(*buffer_), std::vector<float>(kM * kRow * 2, 1));
}

TEST_F(UntouchedMemoryTest, AnOutputWithoutGapsCostsNoMemory) {
  auto peak = [&](const TensorView& y) {
    Result<TuningRecord> result = Search(Define(Twice(""), InAndOut()), Rows(kM * kRow, kN), y);
    EXPECT_OK(result);
    return result->cost.peak_bytes;
  };
  std::size_t dense = peak(Rows(0, kN));
  EXPECT_EQ(dense, peak(Rows(0, kN))) << "nothing but its own";
  EXPECT_GT(peak(Rows(0)), dense);
}

}  // namespace
}  // namespace tuneonce
