#include <cmath>
#include <limits>

#include "testing/device_test.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
namespace {

TEST(MacroTest, AnAxisOfAnyTypeCanBeOne) {
  SearchSpace space;
  auto scale = space.AddDoubleAxis("SCALE", {0.12345671});
  auto causal = space.AddBoolAxis("CAUSAL");
  auto type = space.AddStringAxis("TYPE", {"unsigned short"});
  Config config = space.Enumerate(Target())->front();
  KernelSource source;
  source.Define("SCALE", config[scale]).Define("CAUSAL", config[causal]).Define("TYPE", config[type]);
  const std::vector<std::string> expected = {"SCALE=0.12345671", "CAUSAL=0", "TYPE=unsigned short"};
  EXPECT_EQ(source.defines, expected);
  KernelSource by_value;
  for (std::size_t i = 0; i < 3; ++i) by_value.Define(config.AxisName(i), config.values()[i]);
  EXPECT_EQ(by_value.defines, expected);
  EXPECT_OK(source.Check());
}

TEST(MacroTest, WhatCannotBeOneIsKeptAndSaid) {
  struct Case {
    void (*define)(KernelSource&);
    const char* message;
  };
  const Case cases[] = {
      {[](KernelSource& s) { s.Define("A", std::nan("")); },
       "cannot define the macro 'A': the value is not a finite number"},
      {[](KernelSource& s) { s.Define("A", HUGE_VAL); }, "not a finite number"},
      {[](KernelSource& s) { s.Define("A", -HUGE_VALF); }, "not a finite number"},
      {[](KernelSource& s) { s.Define("A B", 1); },
       "cannot define the macro 'A B': the name of a macro must consist of letters"},
      {[](KernelSource& s) { s.Define("", 1); }, "the name of a macro"},
      {[](KernelSource& s) { s.Define("1A", 1); }, "the name of a macro"},
      {[](KernelSource& s) { s.Define("A", "1\n#include </etc/passwd>"); }, "a line break"},
  };
  for (const Case& each : cases) {
    KernelSource source = KernelSource::CpuCpp("x", "k");
    Fingerprint before = source.Fingerprint();
    each.define(source);
    EXPECT_TRUE(source.defines.empty());
    EXPECT_ERROR(source.Check(), StatusCode::kInvalidArgument, each.message);
    EXPECT_FALSE(source.Fingerprint() == before) << "it must not find the artifact of a source without the macro";
  }
}

TEST(MacroTest, WhatWouldNarrowDoesNotCompile) {
  EXPECT_FALSE((std::is_constructible_v<AxisAssignment, IntAxis, double>));
  EXPECT_TRUE((std::is_constructible_v<AxisAssignment, IntAxis, int>));
  EXPECT_TRUE((std::is_constructible_v<AxisAssignment, Axis<double>, int>));
  EXPECT_FALSE((std::is_constructible_v<Term, double>));
}

}  // namespace
}  // namespace tuneonce
