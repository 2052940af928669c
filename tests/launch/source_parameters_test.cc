#include "launch/source_parameters.h"

#include "testing/device_test.h"

namespace tuneonce {
namespace {

using Names = std::vector<std::string>;

TEST(SourceParametersTest, NamesAreReadWhereCppIsPlain) {
  struct Case {
    const char* text;
    std::optional<Names> names;
  };
  const Case cases[] = {
      {"__global__ void k(const float* x, float *y, int n) {}", Names{"x", "y", "n"}},
      {"__global__ void k(float* __restrict__ const x,\n  unsigned long n = f(1, 2)) {}", Names{"x", "n"}},
      {"template <int N> struct S {}; void k(S<1> a, A<B<int, 2>> b, float c[4]) {}", Names{"a", "b", "c"}},
      {"void k(float*, int) {}", std::nullopt},  // `int` alone could be a macro.
      {"void k(float*, const int) {}", Names{"", ""}},
      {"void k(float* x); void k(float* y) {}", Names{"y"}},
      {"void k() {}", Names{}},
      {"void k(void) {}", Names{}},
      {"// void k(int wrong) {}\n/* void k(int wrong) {} */ void k(int right /* ) */) {}", Names{"right"}},
      {"const char* t = \"void k(int wrong) {\"; void k(int right) {}", Names{"right"}},
      {"void kk(int a) {} void k (int b)\n{ k2(); }", Names{"b"}},
      {"#if A\nvoid k(int a) {}\n#else\nvoid k(int b) {}\n#endif", std::nullopt},
      {"void k(PARAMETERS) {}", std::nullopt},
      {"void k(TENSOR(x), int n) {}", std::nullopt},
      {"void k(int a,\n#ifdef WITH_BIAS\nint bias,\n#endif\nint n) {}", std::nullopt},
      {"void k(void (*f)(int), int n) {}", std::nullopt},
      {"void k(int a, ...) {}", Names{"a", ""}},
      {"void k(int a", std::nullopt},
      {"void other(int a) { k(a); }", std::nullopt},
      {"", std::nullopt},
      {"k", std::nullopt},
      {"k(", std::nullopt},
      {"\"", std::nullopt},
      {"/*", std::nullopt},
      {"int x = 1'000; void k(char c = '(', int d = 1) {}", Names{"c", "d"}},
  };
  for (const Case& each : cases) {
    std::optional<Names> names = ParameterNamesInCpp(KernelSource::CudaCpp(each.text, "k"));
    EXPECT_TRUE(names == each.names) << each.text << ": " << (names ? names->size() : 999);
  }
  EXPECT_EQ(ParameterNamesInCpp(KernelSource::CpuCpp("static void k(const tuneonce_block& b, int n) {}", "k")),
            Names{"n"});
  EXPECT_EQ(ParameterNamesInCpp(KernelSource::CpuCpp("static void k(int n) {}", "k")), std::nullopt) << "no kernel";
  EXPECT_EQ(ParameterNamesInCpp(KernelSource::CpuCpp("static void k(int n) {}", "")), std::nullopt);
}

/// 4 * 10^5 nested calls, each of which would be scanned to its end.
TEST(SourceParametersTest, NestedCallsAreReadOnce) {
  std::string text;
  for (int i = 0; i < 400000; ++i) text += "k(";
  std::string closed = text + std::string(400000, ')') + " void k(int a) {}";
  EXPECT_EQ(ParameterNamesInCpp(KernelSource::CudaCpp(closed, "k")), Names{"a"});
  EXPECT_EQ(ParameterNamesInCpp(KernelSource::CudaCpp(text, "k")), std::nullopt);
}

TEST(SourceParametersTest, AKernelMayNameItsParametersAsItLikes) {
  KernelDefinition definition("k");
  definition.Parameters({In("x", {"N"}), Out("X", {"N"}), Scalar<float>("factor"), DimValue("N")})
      .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  ASSERT_OK(definition.Validate());
  Result<ParameterLayout> layout = ParameterLayout::Create(definition, CallingConvention::kPlain);
  ASSERT_OK(layout);
  for (const Names& good : {Names{"x", "X", "factor", "N"}, Names{"x", "X", "Factor", "n"},
                            Names{"in", "out", "f", "size"}, Names{"", "", "", ""}}) {
    EXPECT_OK(layout->CheckNames(good));
  }
  for (const Names& bad :
       {Names{"X", "x", "factor", "N"}, Names{"in", "out", "n", "factor"}, Names{"in", "x", "f", "n"}}) {
    EXPECT_ERROR(layout->CheckNames(bad), StatusCode::kInvalidArgument, "but is declared with (x, X, factor, N): ");
  }
  for (const Names& bad : {Names{"x", "X", "factor"}, Names{"x", "X", "factor", "N", "more"}}) {
    EXPECT_ERROR(layout->CheckNames(bad), StatusCode::kInvalidArgument,
                 "is declared with 4 parameters, but its code has");
  }
  Result<ParameterLayout> spread = ParameterLayout::Create(definition, CallingConvention::kCutilePython, {"x", "N"});
  EXPECT_OK(spread->CheckNames({"x", "n", "stride", "N"}));  // An extent is called as the kernel likes.
  EXPECT_ERROR(spread->CheckNames({"factor", "n", "s", "N"}), StatusCode::kInvalidArgument,
               "is 'factor', but gets 'x'");
}

TEST(SourceParametersTest, ATileKernelsTypesAreComparedWithTheDeclaration) {
  KernelDefinition definition("k");
  definition
      .Parameters({In("x", {"M", "N"}), In("index", kInt32, {"M"}), Out("out", kFloat32, {"N"}),
                   Scalar<float>("factor"), DimValue("M"), DimValue("N", kInt64), Scalar<bool>("flag"),
                   Workspace("scratch", 16)})
      .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  ASSERT_OK(definition.Validate());
  Result<ParameterLayout> layout = ParameterLayout::Create(definition, CallingConvention::kPlain);
  ASSERT_OK(layout);
  Problem problem;
  problem.dtypes.fill(DType::kFloat32);
  problem.dtypes[0] = DType::kFloat16;
  problem.dtypes[1] = DType::kInt32;
  const Names good = {"tile<ptr<f16>>", "tile<ptr<i32>>", "tile<ptr<f32>>", "tile<f32>",
                      "tile<i32>",      "tile<i64>",      "tile<i1>",       "tile<ptr<i8>>"};
  EXPECT_OK(CheckTileTypes(*layout, definition, problem, good));
  const struct {
    std::size_t at;
    const char* type;
    const char* message;
  } kCases[] = {
      {0, "tile<ptr<f32>>",
       "parameter 'x' (1 of 8): declared as a pointer to float16, but the code has tile<ptr<f32>>"},
      {0, "tile<ptr<bf16>>", "declared as a pointer to float16, but the code has tile<ptr<bf16>>"},
      {0, "tile<i64>", "declared as a pointer to float16, but the code has tile<i64>"},
      {0, "tile<i32>", "declared with 8 bytes, but the code has 4"},
      {2, "tile<ptr<f64>>", "parameter 'out' (3 of 8)"},
      {3, "tile<i32>", "parameter 'factor' (4 of 8): declared as float32, but the code has tile<i32>"},
      {4, "tile<f32>", "parameter 'M' (5 of 8)"},
      {5, "tile<f64>", "parameter 'N' (6 of 8)"},
      {7, "tile<i64>", "parameter 'scratch' (8 of 8)"},
  };
  for (const auto& each : kCases) {
    Names types = good;
    types[each.at] = each.type;
    const Status differs = CheckTileTypes(*layout, definition, problem, types);
    EXPECT_ERROR(differs, StatusCode::kInvalidArgument, each.message);
    EXPECT_NE(differs.message().find("; its code takes (tile<"), std::string::npos) << differs.message();
  }
  for (const auto& [at, type] : {std::pair(0, "tile<ptr<i8>>"),
                                 {0, "tile<ptr<i16>>"},
                                 {1, "tile<ptr<i64>>"},
                                 {5, "tile<ptr<f32>>"},
                                 {7, "tile<ptr<f64>>"}}) {  // Bytes, words, an address as a number.
    Names types = good;
    types[static_cast<std::size_t>(at)] = type;
    EXPECT_OK(CheckTileTypes(*layout, definition, problem, types));
  }
  EXPECT_ERROR(CheckTileTypes(*layout, definition, problem, Names(good.begin(), good.end() - 1)),
               StatusCode::kInvalidArgument,
               "is declared with 8 parameters, but its code has 7; declared are: x, index");
}

TEST(SourceParametersTest, PtxIsReadAsItsGrammarSays) {
  using Sizes = std::vector<std::size_t>;
  const std::string list = "\t.param .u64 p0,\n\t.param .u64 p1,\n\t.param .u32 p2\n)\n{ ret; }\n";
  const std::pair<std::string, Sizes> cases[] = {
      {".visible .entry k( // const float* x, float* y, int n {\n" + list, {8, 8, 4}},
      {".entry k(\n.param .u64 p0, // x (a pointer)\n.param .u64 p1, /* y, ) */\n.param .u32 p2 // n (elements)\n)\n{}",
       {8, 8, 4}},
      {"// was: .visible .entry k(.param .u64 a)\n.visible .entry k(\n" + list, {8, 8, 4}},
      {"/* .entry k() */ .visible .entry k(\n" + list, {8, 8, 4}},
      {".entry k(\n// the .param space\n" + list, {8, 8, 4}},
      {".file 1 \"/x/.entry k(/a.cu\"\n.file 2 \"http://x\"\n.entry k(" + list, {8, 8, 4}},
      {".entry /* which */ k /* takes */ (" + list, {8, 8, 4}},
      {".visible.entry k(.param.u64 p0,.param.align 8.b8 p1[8],.param.f16 p2){}", {8, 8, 2}},
      {".visible .entry\r\nk\r\n(\r\n.param .b64 p0\r\n)\r\n{}", {8}},
      {"\xef\xbb\xbf.entry k(" + list, {8, 8, 4}},
      {".entry k$1(.param .u32 p)\n{}\n.entry k(" + list, {8, 8, 4}},
      {".entry k(.param .align 8 .b8 p0 [8], .param .b64 p1[1], .param .b8 p2[ 4 ][ 2 ])\n{}", {8, 8, 8}},
      {".entry k(.param .b8 p0[0x10], .param .b8 p1[2*4], .param .f16x2 p2)\n{}", {0, 0, 0}},
      {".entry k .maxntid 128, 1, 1 { .param .u64 inner; ret; }", {}},
      {".entry k\n{ .param .u64 inner; call f, (inner); }", {}},
  };
  for (const auto& [ptx, sizes] : cases) EXPECT_EQ(ParameterSizesInPtx(ptx, "k"), sizes) << ptx;
  for (const char* ptx : {"// .entry k()", "/* .entry k() */ .entry j() {}", ".file 1 \".entry k()\"", ".entry", "\"",
                          ".entryk() {}", ".func k() {}", "/*"}) {
    EXPECT_EQ(ParameterSizesInPtx(ptx, "k"), std::nullopt) << ptx;
  }
}

TEST(SourceParametersTest, PtxShowsSizes) {
  using Sizes = std::vector<std::size_t>;
  const std::string ptx =
      ".visible .entry first(\n\t.param .u64 first_0\n)\n{ ret; }\n"
      ".entry k (.param .u64 .ptr .global .align 16 k_0,\n.param .f32 k_1, .param .align 64 .b8 k_2[128],\n"
      ".param .u8 k_3, .param .bf16 k_4, .param .texref k_5)\n.maxntid 128, 1, 1\n{ .param .u64 inner; ret; }\n"
      ".entry none()\n{}";
  EXPECT_EQ(ParameterSizesInPtx(ptx, "first"), Sizes{8});
  EXPECT_EQ(ParameterSizesInPtx(ptx, "k"), (Sizes{8, 4, 128, 1, 2, 0}));
  EXPECT_EQ(ParameterSizesInPtx(ptx, "none"), Sizes{});
  EXPECT_EQ(ParameterSizesInPtx(ptx, "other"), std::nullopt);
  for (std::size_t i = 0; i < ptx.size(); ++i) static_cast<void>(ParameterSizesInPtx(ptx.substr(0, i), "k"));
}

}  // namespace
}  // namespace tuneonce
