// What a kernel takes against what a definition passes, on the CPU device.
#include "testing/device_test.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/search_options.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
namespace {

class ParameterCheckTest : public testing::CpuDeviceTest {
 protected:
  /// Searches with one config; the kernel's own parameters are `parameters`, and it does nothing.
  Result<TuningResult> Search(const std::string& parameters, const std::vector<std::string>& taken,
                              CallingConvention convention = CallingConvention::kPlain) {
    KernelDefinition definition("k");
    Variant variant;
    variant.name = "cpu";
    variant.parameters = taken;
    variant.convention = convention;
    variant.geometry = Grid::Fixed(1);
    variant.hints = [](const Config&) { return Hints(); };
    variant.source = [parameters](const Config&, const Problem&) {
      return KernelSource::HostCpp("static void k(const tuneonce_block&, " + parameters +
                                       ") { static_cast<void>(0); }\n" + "TUNEONCE_CPU_KERNEL(k);",
                                   "k");
    };
    definition.Parameters({In("a", {"N"}), In("b", {"N"}), InOut("c", {"N"}), Scalar<float>("factor"), DimValue("N")})
        .AddVariant(variant);
    TensorView a = testing::View(*a_), b = testing::View(*b_), c = testing::View(*c_);
    return exhaustive_search(definition, stream_->get(), {a, b, c, factor_}, SearchOptions());
  }
  /// The only config's failure.
  void ExpectLoadFailure(const std::string& parameters, const std::vector<std::string>& taken,
                         CallingConvention convention, const std::string& message) {
    Result<TuningResult> result = Search(parameters, taken, convention);
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

TEST_F(ParameterCheckTest, AKernelDeclaredInAnotherOrderIsALoadFailure) {
  ExpectLoadFailure(
      "const float* a, const float* b, float* c, float factor, int n", {"c", "a", "b", "factor", "N"},
      CallingConvention::kPlain,
      "takes (a, b, c, factor, n), but is declared with (c, a, b, factor, N): its parameter 1 is 'a', but gets 'c'");
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
