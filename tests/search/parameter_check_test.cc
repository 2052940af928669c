// What a kernel takes against what a definition passes, on the CPU device.
#include <algorithm>
#include <string>
#include <vector>

#include "testing/device_test.h"
#include "testing/tile_toolchain.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

class ParameterCheckTest : public testing::CpuDeviceTest {
 protected:
  /// Searches with one config; the kernel's own parameters are `parameters`, and it does nothing.
  Result<TuningRecord> Search(const std::string& parameters, const std::vector<std::string>& taken,
                              CallingConvention convention = CallingConvention::kPlain) {
    return SearchSource(
        "static void k(const tuneonce_block&, " + parameters + ") { static_cast<void>(0); }\nTUNEONCE_CPU_KERNEL(k);",
        taken, convention);
  }
  Result<TuningRecord> SearchSource(const std::string& text, const std::vector<std::string>& taken,
                                    CallingConvention convention = CallingConvention::kPlain,
                                    const SearchOptions& options = SearchOptions(),
                                    SourceKind kind = SourceKind::kCpuCpp) {
    KernelDefinition definition("k");
    Variant variant;
    variant.name = "cpu";
    variant.parameters = taken;
    variant.convention = convention;
    variant.geometry = Grid::Fixed(1);
    variant.hints = [](const Config&) { return Hints(); };
    variant.source = [=](const Config&, const Problem&) {
      return kind == SourceKind::kTileCpp ? KernelSource::TileCpp(text, "k") : KernelSource::CpuCpp(text, "k");
    };
    definition.Parameters({In("a", {"N"}), In("b", {"N"}), InOut("c", {"N"}), Scalar<float>("factor"), DimValue("N")})
        .AddVariant(variant);
    TensorView a = testing::View(*a_), b = testing::View(*b_), c = testing::View(*c_);
    return exhaustive_search(definition, stream_->get(), {a, b, c, factor_}, options);
  }
  /// The only config's failure.
  void ExpectLoadFailure(const std::string& parameters, const std::vector<std::string>& taken,
                         CallingConvention convention, const std::string& message) {
    Result<TuningRecord> result = Search(parameters, taken, convention);
    EXPECT_FALSE(result.ok()) << "k(" << parameters << ") ran";
    EXPECT_NE(result.status().message().find("load: kernel 'k'"), std::string::npos) << result.status().message();
    EXPECT_NE(result.status().message().find(message), std::string::npos) << result.status().message();
  }

  void SetUp() override {
    CpuDeviceTest::SetUp();
    for (auto* buffer : {&a_, &b_, &c_}) *buffer = Floats(std::vector<float>(8));
  }

  std::optional<DeviceBuffer> a_, b_, c_;
  const float factor_ = 2;
};

const std::vector<std::string> kAll = {"a", "b", "c", "factor", "N"};

TEST_F(ParameterCheckTest, WhatFitsRuns) {
  EXPECT_OK(Search("const float* a, const float* b, float* c, float factor, int n", kAll));
  EXPECT_OK(Search("const float* p, const float* q, float* r, float s, int t", kAll));  // Names of its own.
  EXPECT_OK(Search("const float* a, const float* b, float* c, float factor, int n, void* scratch, void* profile", kAll,
                   CallingConvention::kTriton));
  EXPECT_OK(Search("const float* a, const float* b, float* c, float factor, int n", kAll, CallingConvention::kTriton));
}

TEST_F(ParameterCheckTest, AKernelThatLooksDeclaredInAnotherOrderIsWarnedOf) {
  std::vector<std::string> warnings;
  RuntimeOptions of_runtime;
  of_runtime.log = [&](LogLevel level, const std::string& line) {
    if (level == LogLevel::kWarn) warnings.push_back(line);
  };
  SearchOptions options;
  options.runtime = *Runtime::Create(of_runtime);
  Result<TuningRecord> result = SearchSource(
      "static void k(const tuneonce_block&, const float* a, const float* b, float* c, float factor, int n) {}\n"
      "TUNEONCE_CPU_KERNEL(k);",
      {"c", "a", "b", "factor", "N"}, CallingConvention::kPlain, options);
  ASSERT_OK(result);
  const std::string warning =
      "kernel 'k' takes (a, b, c, factor, n), but is declared with (c, a, b, factor, N): its parameter 1 is 'a', but "
      "gets 'c'; check the declared parameters";
  EXPECT_EQ(std::count(warnings.begin(), warnings.end(), warning), 1) << result->notes.size();
  EXPECT_EQ(std::count(result->notes.begin(), result->notes.end(), warning), 1);
}

/// Text that only a compiler can read: what it shows at a glance is not what the kernel takes.
TEST_F(ParameterCheckTest, WhatTheCompilerAcceptsIsNotRefusedForItsText) {
  const std::string begin = "static void k(const tuneonce_block&, ", take = "TUNEONCE_CPU_KERNEL(k);\n";
  const std::string parameters = "const float* a, const float* b, float* c, float factor, int n";
  const std::string sources[] = {
      "#define DEFINE(a_, b_) static void a_##b_(const tuneonce_block&, " + parameters +
          ") {} TUNEONCE_CPU_KERNEL(a_##b_)\nDEFINE(, k);\n",
      begin +
          "const float* a,\n#ifdef WITH_BIAS\nconst float* bias,\n#endif\nconst float* b, float* c, float factor, "
          "int n) {}\n" +
          take,
      "#ifdef WITH_BIAS\n" + begin + "const float* bias, " + parameters + ") {}\n#else\n" + begin + parameters +
          ") {}\n#endif\n" + take,
      "#define NUMBER int\n" + begin + "const float* a, const float* b, float* c, float factor, NUMBER) {}\n" + take,
      "#if 0\n" + begin + "int n) {}\n#endif\n#define PARAMETERS " + parameters + "\n" + begin + "PARAMETERS) {}\n" +
          take,
      "static const char* text = R\"(\" void k(int a) {)\";\n" + begin + parameters + ") { (void)text; }\n" + take,
  };
  for (const std::string& source : sources) {
    SCOPED_TRACE(source);
    EXPECT_OK(SearchSource(source, kAll));
  }
  const Status without_kernel = SearchSource(begin + parameters + ") {}", kAll).status();
  EXPECT_NE(without_kernel.message().find("it has no kernel 'k'"), std::string::npos) << without_kernel.ToString();
}

TEST_F(ParameterCheckTest, ATileKernelIsCheckedByTheTypesOfItsCodeHereAndInAWorker) {
  const std::vector<std::string> good = {"tile<ptr<f32>>", "tile<ptr<f32>>", "tile<ptr<f32>>", "tile<f32>",
                                         "tile<i32>"};
  std::vector<std::string> swapped = good, more = good, half = good;
  std::swap(swapped[3], swapped[4]);
  more.push_back("tile<i32>");
  half[1] = "tile<ptr<f16>>";
  const struct {
    std::vector<std::string> types;
    const char* message;
  } kCases[] = {
      {good, ""},
      {swapped, "parameter 'factor' (4 of 5): declared as float32, but the code has tile<i32>; declared are: a, b, c,"},
      {more, "is declared with 5 parameters, but its code has 6; declared are: a, b, c, factor, N; its code takes ("},
      {half, "parameter 'b' (2 of 5): declared as a pointer to float32, but the code has tile<ptr<f16>>"},
  };
  for (Isolation isolation : {Isolation::kOff, Isolation::kRequired}) {
    for (const auto& each : kCases) {
      RuntimeOptions of_runtime;
      of_runtime.toolchains = std::make_shared<const ToolchainSet>(
          std::vector<std::shared_ptr<const Toolchain>>{std::make_shared<testing::TileToolchain>(each.types)});
      SearchOptions options;
      options.runtime = *Runtime::Create(of_runtime);
      options.isolation = isolation;
      const Status searched =
          SearchSource(
              "static void k(const tuneonce_block&, const float*, const float*, float* c, float f, int) { *c = "
              "f; }\nTUNEONCE_CPU_KERNEL(k);",
              kAll, CallingConvention::kPlain, options, SourceKind::kTileCpp)
              .status();
      EXPECT_EQ(searched.ok(), *each.message == '\0') << searched.ToString();
      EXPECT_NE(searched.message().find(each.message), std::string::npos) << searched.ToString();
    }
  }
}

TEST_F(ParameterCheckTest, ANumberBehindTheDeclaredOnesIsNoScratchPointer) {
  ExpectLoadFailure("const float* a, const float* b, float* c, float factor, int n, int more", kAll,
                    CallingConvention::kTriton, "6 of 6 in the code): declared with 8 bytes, but the code has 4");
}

TEST_F(ParameterCheckTest, TooFewTooManyAndOtherSizesAreLoadFailures) {
  ExpectLoadFailure("const float*, const float*, float*, float", kAll, CallingConvention::kPlain, "4");
  ExpectLoadFailure("const float*, const float*, float*, const float, const int, const int", kAll,
                    CallingConvention::kPlain, "6");
  ExpectLoadFailure("const float* a, const float* b, float* c, double factor, int n", kAll, CallingConvention::kPlain,
                    "parameter 'factor' (4 of 5 in the code): declared with 4 bytes, but the code has 8");
  ExpectLoadFailure("const float* a, const float* b, float* c, float factor, long n", kAll, CallingConvention::kPlain,
                    "parameter 'N' (5 of 5 in the code): declared with 4 bytes, but the code has 8");
}

}  // namespace
}  // namespace tuneonce
