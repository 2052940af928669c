// Rules of the correctness contract for which combinations make no sense: one small test each, in the program of the
// crossing suite. crossings/mutations.py shows that each rule is tested.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "base/file.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/work_timer.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

class ContractTest : public testing::CpuDeviceTest {
 protected:
  struct Listener final : AutotuneObserver {
    void OnTuned(const std::string&, const std::string&, const TuningRecord& result) override { notes = result.notes; }
    std::vector<std::string> notes;
  };

  ContractTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.max_rounds = 1;
    policy_.search.timer = &timer_;
    policy_.observer = listener_;
  }
  ~ContractTest() override { EXPECT_EQ(system(("rm -rf '" + folder_ + "'").c_str()), 0); }

  /// The source of `k`, which takes `parameters` and runs `body`, in which CONFIG is the axis. CONFIG 0 takes 100, any
  /// other one takes its number.
  static std::string Source(const std::string& parameters, const std::string& body, const std::string& before = "") {
    return before +
           "\nextern \"C\" __attribute__((weak)) long tuneonce_test_work;\n"
           "static void k(const tuneonce_block&, " +
           parameters + ") {\n" + body +
           "\n  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, CONFIG == 0 ? 100 : CONFIG,"
           " __ATOMIC_RELAXED);\n}\nTUNEONCE_CPU_KERNEL(k);";
  }
  static SearchSpace Configs(std::vector<std::int64_t> configs) {
    SearchSpace space;
    IntAxis config = space.AddAxis("CONFIG", std::move(configs));
    space.SetBaseline({{config, 0}});
    return space;
  }
  /// y = 2 * x over N elements, by a kernel `k(const float* x, float* y, int n)` with this body.
  static KernelDefinition Doubled(const std::string& body, std::vector<std::int64_t> configs = {0, 1}) {
    return DoubledBy(CpuCpp(Source("const float* x, float* y, int n", body), "k"), std::move(configs));
  }
  static KernelDefinition DoubledBy(Variant variant, std::vector<std::int64_t> configs = {0, 1}) {
    KernelDefinition definition("k");
    definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"})})
        .Space(Configs(std::move(configs)))
        .Grid(Grid::Fixed(1))
        .AddVariant(std::move(variant).KernelArgs({"x", "y", "N"}));
    return definition;
  }

  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// Values of both signs, of which no two that follow each other are equal.
  static std::vector<float> Mixed(std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 7) - 3.5f;
    return values;
  }
  /// One launch of a kernel that doubles. Returns how many elements are not 2 * x.
  std::size_t NumWrong(TunedKernel& kernel, const std::vector<float>& values, std::size_t misaligned = 0) {
    std::vector<float> shifted(misaligned, 0);
    shifted.insert(shifted.end(), values.begin(), values.end());
    DeviceBuffer x = Floats(shifted), y = Floats(std::vector<float>(values.size(), -99));
    EXPECT_OK(kernel.Launch(stream_->get(),
                            TensorView::Contiguous(static_cast<float*>(x.data()) + misaligned, kFloat32,
                                                   {static_cast<std::int64_t>(values.size())}),
                            testing::View(y)));
    const std::vector<float> out = Read(y);
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) num_wrong += out[i] != 2 * values[i];
    return num_wrong;
  }

  std::string folder_ = "/tmp/tuneonce-test-XXXXXX";
  std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
  testing::WorkTimer timer_;
  AutotunePolicy policy_;
};

// Rule 1: a definition's identity has its key recipe. Both recipes have the key N<=64, for other buckets.
TEST_F(ContractTest, ARecordOfAnotherKeyRecipeDoesNotServe) {
  KernelDefinition definition = Doubled("for (int i = 0; i < n; ++i) y[i] = CONFIG == 1 && n <= 32 ? 0 : 2 * x[i];");
  KernelDefinition narrow = definition;
  TunedKernel maker = Create(narrow.Key(KeyOf("N").NextPow2()));
  EXPECT_EQ(NumWrong(maker, Mixed(48)), 0u);
  TunedKernel kernel = Create(definition.Key(KeyOf("N").Buckets({64})));
  EXPECT_EQ(NumWrong(kernel, Mixed(48)), 0u);
  EXPECT_EQ(NumWrong(kernel, Mixed(20)), 0u);
}

// Rule 1: a candidate's identity has each argument that depends on the config, at all dims that are verified. Here only
// the first element that a config computes tells them apart.
TEST_F(ContractTest, ConfigsWhoseArgumentsDifferAreNoDuplicates) {
  struct Case {
    const char* name;
    KeyPart key;
    std::int64_t first_equal;  ///< At this extent and above the arguments are equal.
  };
  const Case cases[] = {{"at the launch", KeyOf("N"), 65}, {"at other extents", KeyOf("N").NextPow2(), 60}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    KernelDefinition definition("k");
    SearchSpace space;
    IntAxis config = space.AddAxis("CONFIG", {0, 1});
    space.SetBaseline({{config, 0}});
    definition
        .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N"),
                     Derived("first",
                             [=](const Config& of, const Problem& problem) {
                               return of[config] == 1 && problem.dims[Dim{0}] < each.first_equal ? 1 : 0;
                             })})
        .Space(space)
        .Key(each.key)
        .Grid(Grid::Fixed(1))
        .AddVariant(CpuCpp("static void k(const tuneonce_block&, const float* x, float* y, int n, int first) {\n"
                           "  for (int i = first; i < n; ++i) y[i] = 2 * x[i];\n}\nTUNEONCE_CPU_KERNEL(k);",
                           "k", {}));
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(definition);
    EXPECT_EQ(NumWrong(kernel, Mixed(64)), 0u);
    EXPECT_EQ(NumWrong(kernel, Mixed(40)), 0u);
    Result<std::vector<TuningRecord>> records = policy_.store->List();
    ASSERT_OK(records);
    for (const TuningRecord& record : *records) {
      for (const CandidateOutcome& outcome : record.candidates) {
        EXPECT_NE(outcome.kind, OutcomeKind::kDuplicate) << outcome.config.ToString();
      }
    }
  }
}

// Rule 3: what is not an output element stays as it is. The output has rows of 8 elements, 16 apart.
TEST_F(ContractTest, WhatWritesOutsideOfItsOutputIsNotSelected) {
  constexpr std::int64_t kRows = 4, kColumns = 8, kStride = 16, kApart = -1;
  struct Case {
    const char* name;
    std::int64_t input;  ///< Where in the output's memory the input begins; kApart: it lies elsewhere.
    const char* write;
  };
  const Case cases[] = {
      {"behind the output", kApart, "y[(m - 1) * ys + n] = 1;"},
      {"in front of the output", kApart, "y[-1] = 1;"},
      {"in a gap between rows", kApart, "y[n] = 1;"},
      {"into an input", kApart, "const_cast<float*>(x)[0] = 1;"},
      {"into an input in the gaps of the output", 8, "if (x == y + 8) const_cast<float*>(x)[4] = 1;"},
      {"into the part of an input that the output does not overlap", 4,
       "if (x == y + 4) const_cast<float*>(x)[4] = 1;"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    KernelDefinition definition("k");
    definition
        .Parameters({In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M", "N"}), DimValue("M"), DimValue("N"),
                     StrideValue("x", 0), StrideValue("y", 0)})
        .Space(Configs({0, 1}))
        .Grid(Grid::Fixed(1));
    // Columns with even numbers are not read: what is written there changes no output.
    definition.AddVariant(CpuCpp(Source("const float* x, float* y, int m, int n, int xs, int ys",
                                        "  for (int i = 0; i < m; ++i) {\n"
                                        "    for (int j = 0; j < n; ++j) y[i * ys + j] = 2 * x[i * xs + (j | 1)];\n"
                                        "  }\n  if (CONFIG == 1) { " +
                                            std::string(each.write) + " }"),
                                 "k"));
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(definition);
    constexpr std::int64_t kBefore = 16, kCount = kBefore + (kRows + 1) * kStride;
    std::vector<float> of_y = Mixed(kCount), of_x = Mixed(kCount);
    DeviceBuffer y = Floats(of_y), x = Floats(of_x);
    const std::int64_t shape[] = {kRows, kColumns}, strides[] = {kStride, 1};
    float* const output = static_cast<float*>(y.data()) + kBefore;
    float* const input = each.input == kApart ? static_cast<float*>(x.data()) : output + each.input;
    EXPECT_OK(kernel.Launch(stream_->get(), TensorView::Strided(input, kFloat32, shape, strides, 2),
                            TensorView::Strided(output, kFloat32, shape, strides, 2)));
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < kColumns; ++j) {
        const float* const from = each.input == kApart ? of_x.data() : &of_y[kBefore + each.input];
        of_y[static_cast<std::size_t>(kBefore + i * kStride + j)] = 2 * from[i * kStride + (j | 1)];
      }
    }
    EXPECT_EQ(Read(y), of_y);
    EXPECT_EQ(Read(x), of_x);
  }
}

// Rule 4: what was selected on data that can show no error, where none can be generated, serves one process only.
TEST_F(ContractTest, ASelectionOnIndicesThatShowNoErrorIsNotStored) {
  KernelDefinition definition("k");
  definition.Parameters({In("x", kFloat32, {"N"}), In("index", kInt32, {"N"}), Out("y", kFloat32, {"N"})})
      .Space(Configs({0, 1}))
      .Grid(Grid::Fixed(1))
      .AddVariant(CpuCpp(Source("const float* x, const int* index, float* y, int n",
                                "for (int i = 0; i < n; ++i) y[i] = 2 * x[CONFIG == 0 ? index[i] : 0];"),
                         "k")
                      .KernelArgs({"x", "index", "y", "N"}));
  constexpr std::int64_t kCount = 48;
  const std::vector<float> values = Mixed(kCount);
  DeviceBuffer x = Floats(values), y = Floats(values);
  for (bool is_telling : {false, true}) {
    std::vector<std::int32_t> indices(kCount, 0);
    for (std::size_t i = 0; is_telling && i < indices.size(); ++i) indices[i] = static_cast<std::int32_t>(i);
    Result<DeviceBuffer> index = DeviceBuffer::Allocate(stream_->view(), kCount * sizeof(std::int32_t));
    ASSERT_OK(index);
    ASSERT_OK(index->CopyFromHost(indices.data(), index->bytes()));
    TunedKernel kernel = Create(definition);  // As in another process.
    ASSERT_OK(kernel.Launch(stream_->get(), testing::View(x), TensorView::Contiguous(index->data(), kInt32, {kCount}),
                            testing::View(y)));
    const std::vector<float> out = Read(y);
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], 2 * values[is_telling ? i : 0]) << i;
  }
}

// Rules 2 and 4: where the first launch's data can show no error, generated data are used at its extent and at the
// bucket's bound, too.
TEST_F(ContractTest, AnErrorAtTheFirstExtentIsFoundOnGeneratedData) {
  for (std::int64_t incorrect_at : {48, 64}) {
    SCOPED_TRACE(incorrect_at);
    KernelDefinition definition = Doubled(
        "for (int i = 0; i < n; ++i) y[i] = CONFIG == 1 && n == " + std::to_string(incorrect_at) + " ? 0 : 2 * x[i];");
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(definition.Key(KeyOf("N").NextPow2()));
    EXPECT_EQ(NumWrong(kernel, std::vector<float>(48, 0)), 0u);
    EXPECT_EQ(NumWrong(kernel, Mixed(static_cast<std::size_t>(incorrect_at))), 0u);
  }
}

// Rule 2: dims that the key rounds are verified where only one of them has a partial tile.
TEST_F(ContractTest, APathForFullTilesOfOneDimThatForgetsTheOtherIsFound) {
  KernelDefinition definition("k");
  definition.Parameters({In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M", "N"})})
      .Space(Configs({0, 1}))
      .Key(KeyOf("M").NextPow2(), KeyOf("N").NextPow2())
      .Grid(Grid::Fixed(1))
      .AddVariant(CpuCpp(Source("const float* x, float* y, int m, int n",
                                "const int rows = CONFIG == 1 && n % 16 == 0 ? m / 16 * 16 : m;\n"
                                "for (int i = 0; i < rows * n; ++i) y[i] = 2 * x[i];"),
                         "k")
                      .KernelArgs({"x", "y", "M", "N"}));
  TunedKernel kernel = Create(definition);
  for (const std::int64_t m : {32, 30}) {
    const std::vector<float> values = Mixed(static_cast<std::size_t>(m * 32));
    DeviceBuffer x = Floats(values), y = Floats(std::vector<float>(values.size()));
    ASSERT_OK(kernel.Launch(stream_->get(), TensorView::Contiguous(x.data(), kFloat32, {m, 32}),
                            TensorView::Contiguous(y.data(), kFloat32, {m, 32})));
    const std::vector<float> result = Read(y);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(result[i], 2 * values[i]) << "M=" << m << ", " << i;
  }
}

// Rule 5: an error is measured against the elements around it.
TEST_F(ContractTest, AnErrorInSmallElementsIsSeenNextToLargeOnes) {
  TunedKernel kernel = Create(
      Doubled("for (int i = 0; i < n; ++i) y[i] = (CONFIG == 1 && x[i] < 100 && x[i] > -100 ? 2.5f : 2.0f) * x[i];"));
  std::vector<float> values = Mixed(512);
  for (std::size_t i = 0; i < 256; ++i) values[i] *= 1e6f;
  EXPECT_EQ(NumWrong(kernel, values), 0u);
}

// Rule 6: code that is not what was verified is compared with the baseline before it serves.
TEST_F(ContractTest, AHeaderThatBecomesIncorrectIsFound) {
  KernelDefinition definition = DoubledBy(CpuCpp(
      Source("const float* x, float* y, int n", "for (int i = 0; i < n; ++i) y[i] = (CONFIG == 0 ? 2 : FACTOR) * x[i];",
             "#include \"" + folder_ + "/factor.h\""),
      "k"));
  for (const char* text : {"#define FACTOR 2\n", "#define FACTOR 3\n"}) {
    ASSERT_OK(WriteFile(folder_ + "/factor.h", text));
    TunedKernel kernel = Create(definition);
    EXPECT_EQ(NumWrong(kernel, Mixed(48)), 0u) << text;
  }
}

// Rule 6: what other keys verified is predicted without a comparison only if the code is still the same.
TEST_F(ContractTest, AHeaderThatBecomesIncorrectIsNotPredicted) {
  KernelDefinition definition = DoubledBy(CpuCpp(
      Source("const float* x, float* y, int n", "for (int i = 0; i < n; ++i) y[i] = (CONFIG == 0 ? 2 : FACTOR) * x[i];",
             "#include \"" + folder_ + "/factor.h\""),
      "k"));
  policy_.on_new_key = AutotunePolicy::OnNewKey::kPredict;
  ASSERT_OK(WriteFile(folder_ + "/factor.h", "#define FACTOR 2\n"));
  TunedKernel maker = Create(definition);
  for (std::size_t n : {200, 264}) EXPECT_EQ(NumWrong(maker, Mixed(n)), 0u);
  EXPECT_EQ(maker.counters().tunes, 1) << "264 is of the class of 200, but larger";
  ASSERT_OK(WriteFile(folder_ + "/factor.h", "#define FACTOR 3\n"));
  TunedKernel kernel = Create(definition);
  EXPECT_EQ(NumWrong(kernel, Mixed(136)), 0u) << "the code is compiled again";
  // From here on the store has the new code under the artifact's key.
  EXPECT_EQ(NumWrong(kernel, Mixed(72)), 0u);
  TunedKernel stored_only = [&] {
    policy_.mode = AutotunePolicy::Mode::kStoredOnly;
    return Create(definition);
  }();
  EXPECT_EQ(NumWrong(stored_only, Mixed(104)), 0u);
  EXPECT_EQ(stored_only.counters().predictions, 0);
}

// Rule 7: a header that did not exist, and would have been read, invalidates what was compiled.
TEST_F(ContractTest, AHeaderThatAppearsIsCompiled) {
  struct Case {
    const char* name;
    const char* before;
    const char* appears;
  };
  const Case cases[] = {
      {"in an earlier folder", "#include <value.h>\n", "first/value.h"},
      {"where the source asks for it",
       "#if __has_include(<asked.h>)\n#include <asked.h>\n#else\n#include <value.h>\n"
       "#endif\n",
       "first/asked.h"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const std::string folder = folder_ + "/" + each.appears;
    ASSERT_EQ(system(("mkdir -p '" + folder + "/first' '" + folder + "/second'").c_str()), 0);
    ASSERT_OK(WriteFile(folder + "/second/value.h", "#define VALUE 1\n"));
    Variant variant([&](const Config& config, const Problem&) {
      KernelSource source = KernelSource::CpuCpp(Source("float* y", "*y = VALUE;", each.before), "k");
      source.options = {"-I" + folder + "/first", "-I" + folder + "/second"};
      return source.Define("CONFIG", std::get<std::int64_t>(*config.Find("CONFIG")));
    });
    KernelDefinition definition("k");
    definition.Parameters({Out("y", kFloat32, {"N"})}).Space(Configs({0, 1})).Grid(Grid::Fixed(1)).AddVariant(variant);
    policy_.store = std::make_shared<MemoryStore>();
    DeviceBuffer y = Floats({0});
    for (float value : {1, 2}) {
      if (value == 2) ASSERT_OK(WriteFile(folder + "/" + each.appears, "#define VALUE 2\n"));
      TunedKernel kernel = Create(definition);
      ASSERT_OK(kernel.Launch(stream_->get(), testing::View(y)));
      EXPECT_EQ(Read(y)[0], value);
    }
  }
}

// Rule 8: a parameter list that only the compiler understands is not refused.
TEST_F(ContractTest, ASourceThatOnlyTheCompilerUnderstandsIsTuned) {
  TunedKernel kernel = Create(DoubledBy(CpuCpp(Source("PARAMETERS", "for (int i = 0; i < n; ++i) y[i] = 2 * x[i];",
                                                      "#define PARAMETERS const float *x, float *y, int n"),
                                               "k")));
  EXPECT_EQ(NumWrong(kernel, Mixed(48)), 0u);
}

// Rule 9: a launch that does not suit what a variant assumes runs another one, or is refused.
TEST_F(ContractTest, ALaunchThatTheCodeDoesNotAssumeRunsOtherCode) {
  const std::string parameters = "const float* x, float* y, int n";
  for (bool has_general : {true, false}) {
    SCOPED_TRACE(has_general);
    Variant fast =
        CpuCpp(Source(parameters,
                      "const bool suits = reinterpret_cast<unsigned long long>(x) % 64 == 0 && n % 16 == 0;\n"
                      "for (int i = 0; i < n; ++i) y[i] = suits ? 2 * x[i] : 0;"),
               "k");
    KernelDefinition definition =
        DoubledBy(std::move(fast).Named("fast").Assuming({Aligned("x", 64), ExtentDivisibleBy("x", 0, 16)}));
    definition.Key(KeyOf("N").NextPow2());
    if (has_general) {
      Variant general = CpuCpp(Source(parameters, "for (int i = 0; i < n; ++i) y[i] = 2 * x[i];"), "k");
      definition.AddVariant(std::move(general).Named("general").KernelArgs({"x", "y", "N"}));
    }
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(definition);
    EXPECT_EQ(NumWrong(kernel, Mixed(48)), 0u);
    DeviceBuffer x = Floats(Mixed(97)), y = Floats(std::vector<float>(48, -99));
    auto at = [&](std::int64_t n, std::int64_t offset, std::int64_t stride) {
      return TensorView::Strided(static_cast<float*>(x.data()) + offset, kFloat32, &n, &stride, 1);
    };
    if (has_general) {
      EXPECT_EQ(NumWrong(kernel, Mixed(48), /*misaligned=*/1), 0u);
      EXPECT_EQ(NumWrong(kernel, Mixed(40)), 0u);
    } else {
      EXPECT_ERROR(kernel.Launch(stream_->get(), at(48, 1, 1), testing::View(y)), StatusCode::kInvalidArgument, "'x'");
      const TensorView short_y = TensorView::Contiguous(y.data(), kFloat32, {40});
      EXPECT_ERROR(kernel.Launch(stream_->get(), at(40, 0, 1), short_y), StatusCode::kInvalidArgument, "'x'");
    }
    // Neither takes strides.
    EXPECT_ERROR(kernel.Launch(stream_->get(), at(48, 0, 2), testing::View(y)), StatusCode::kInvalidArgument, "'x'");
    EXPECT_EQ(Read(y), std::vector<float>(48, -99));
  }
}

// Rule 10: a baseline from which all others differ, and these not from each other, is reported.
TEST_F(ContractTest, ALonelyBaselineIsReported) {
  TunedKernel kernel = Create(Doubled("for (int i = 0; i < n; ++i) y[i] = (CONFIG == 0 ? 3 : 2) * x[i];", {0, 1, 2}));
  DeviceBuffer x = Floats(Mixed(48)), y = Floats(Mixed(48));
  EXPECT_OK(kernel.Launch(stream_->get(), testing::View(x), testing::View(y)));
  const std::string note =
      "the baseline {CONFIG=0} differs from 2 candidates that agree with each other: it may be incorrect";
  EXPECT_EQ(listener_->notes, std::vector<std::string>{note});
}

}  // namespace
}  // namespace tuneonce
