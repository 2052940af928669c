#include <gtest/gtest.h>

#include "definition/source_identity.h"

namespace tuneonce {
namespace {

TEST(NameExpressionTest, IsWhatIsMoreThanAName) {
  for (const char* name : {"", "k", "_Z1kPf", "k$1", "k.v2", "k@1"}) EXPECT_FALSE(IsNameExpression(name)) << name;
  for (const char* name : {"k<1>", "a::k", "k <T>", "::k"}) EXPECT_TRUE(IsNameExpression(name)) << name;
}

TEST(NameExpressionTest, TheKernelsNameIsTheWordBeforeItsArguments) {
  for (const char* name : {"k", "k<1>", "a::k", "a::b::k<c::d<1>, e::f>", "::k", "a:: k <T>"}) {
    EXPECT_EQ(KernelNameIn(name), "k") << name;
  }
  EXPECT_EQ(KernelNameIn("<1>"), "");
  EXPECT_EQ(KernelNameIn("a::"), "");
}

TEST(NameExpressionTest, MacrosThatItNamesAreArgumentsAndTheOthersStayMacros) {
  struct Case {
    const char* symbol;
    std::vector<std::string> defines;
    const char* text;
    std::vector<std::string> kept;
  };
  const Case cases[] = {
      {"k<TILE, float>", {"TILE=64", "OTHER=1"}, "k<64, float>", {"OTHER=1"}},
      {"k<TILE,TILE>", {"TILE=64"}, "k<64,64>", {}},
      {"k<TILE_M, M>", {"TILE_M=64", "TILE=3", "M=2"}, "k<64, 2>", {"TILE=3"}},
      {"k<T>", {"T=long long"}, "k<long long>", {}},
      {"k<a::T, T::b>", {"T=s", "b=t"}, "k<a::T, s::b>", {"b=t"}},
      {"k<2*TILE+1>", {"TILE=(-3)"}, "k<2*(-3)+1>", {}},
      {"TILE::k<1>", {"TILE=64", "k=2"}, "TILE::k<1>", {"TILE=64", "k=2"}},
      {"ns::k", {"TILE=64"}, "ns::k", {"TILE=64"}},
      {"k<FLAG>", {"FLAG"}, "k<FLAG>", {"FLAG"}},
      {"k<A=B>", {"A=B=C"}, "k<B=C=B>", {}},
  };
  for (const Case& each : cases) {
    NameExpression expression = NameExpression::Of(each.symbol, each.defines);
    EXPECT_EQ(expression.text, each.text);
    EXPECT_EQ(expression.defines, each.kept) << each.symbol;
  }
}

}  // namespace
}  // namespace tuneonce
