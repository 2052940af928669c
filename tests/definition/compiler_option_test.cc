// Compiler options as axes: what a space takes, what a source is given, what a definition must say.
#include "definition/compiler_option.h"

#include "base/file.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
namespace {

using Options = std::vector<std::string>;

Options Given(SourceKind kind, const std::string& name, AxisValue value) {
  KernelSource source;
  source.kind = kind;
  AddAxisOptions(
      Config::Of({{"TILE", AxisKind::kStructural, std::int64_t{1}}, {name, AxisKind::kOption, std::move(value)}}),
      &source);
  EXPECT_OK(source.Check());
  return source.options;
}

TEST(CompilerOptionTest, EachCompilerIsGivenWhatItTakesAsItSpellsIt) {
  struct Case {
    SourceKind kind;
    const char* name;
    AxisValue value;
    Options options;
  };
  const std::int64_t n = 64, zero = 0;
  const Case cases[] = {
      {SourceKind::kCudaCpp, "maxrregcount", n, {"--maxrregcount=64"}},
      {SourceKind::kCudaCpp, "maxrregcount", zero, {}},
      {SourceKind::kPtx, "maxrregcount", n, {"--maxrregcount=64"}},
      {SourceKind::kTileIr, "maxrregcount", n, {}},
      {SourceKind::kCubin, "maxrregcount", n, {}},
      {SourceKind::kCudaCpp, "ftz", true, {"--ftz=true"}},
      {SourceKind::kCudaCpp, "ftz", false, {"--ftz=false"}},
      {SourceKind::kTileIr, "ftz", true, {"--ftz"}},
      {SourceKind::kTileIr, "ftz", false, {}},
      {SourceKind::kCpuCpp, "ftz", true, {}},
      {SourceKind::kPtx, "ftz", true, {}},
      {SourceKind::kCudaCpp, "approx", true, {"--prec-div=false", "--prec-sqrt=false"}},
      {SourceKind::kCudaCpp, "approx", false, {}},
      {SourceKind::kTileIr, "approx", true, {"--approx"}},
      {SourceKind::kTileIr, "approx", false, {}},
      {SourceKind::kCudaCpp, "use_fast_math", true, {"--use_fast_math"}},
      {SourceKind::kCudaCpp, "use_fast_math", false, {}},
      {SourceKind::kCpuCpp, "use_fast_math", true, {"-ffast-math"}},
      {SourceKind::kCpuCpp, "fmad", true, {"-ffp-contract=fast"}},
      {SourceKind::kCpuCpp, "fmad", false, {"-ffp-contract=off"}},
      {SourceKind::kCpuCpp, "opt-level", zero, {"-O0"}},
      {SourceKind::kPtx, "opt-level", zero, {"--opt-level=0"}},
      {SourceKind::kTileIr, "opt-level", std::int64_t{2}, {"--opt-level=2"}},
      {SourceKind::kTileCpp, "opt-level", std::int64_t{2}, {"--opt-level=2"}},
      {SourceKind::kTileCpp, "fmad", false, {"--fmad=false"}},
      {SourceKind::kTileCpp, "ftz", true, {"--ftz"}},
      {SourceKind::kTileCpp, "approx", true, {"--approx"}},
      {SourceKind::kTileCpp, "maxrregcount", n, {}},
      {SourceKind::kPtx, "def-load-cache", std::string("cg"), {"--def-load-cache=cg"}},
      {SourceKind::kCudaCpp, "def-load-cache", std::string("cg"), {"--ptxas-options=--def-load-cache=cg"}},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(Given(each.kind, each.name, each.value), each.options) << SourceKindName(each.kind) << " " << each.name;
  }
  KernelSource hint;
  AddAxisOptions(Config::Of({{"ftz", AxisKind::kStructural, true}, {"fmad", AxisKind::kHint, std::int64_t{1}}}), &hint);
  EXPECT_EQ(hint.options, Options{}) << "axes of other kinds are none";
}

TEST(CompilerOptionTest, ASpaceRefusesWhatNoCompilerTakes) {
  struct Case {
    std::function<void(SearchSpace&)> add;
    const char* message;
  };
  const Case cases[] = {
      {[](SearchSpace& s) { s.AddOptionAxis("maxregs", {32}); },
       "the compiler option 'maxregs' cannot be an axis; the options that can are: maxrregcount, approx,"},
      {[](SearchSpace& s) {
         s.AddOptionAxis("ftz", {0, 1});
       },
       "the compiler option 'ftz' takes false and true, but not"},
      {[](SearchSpace& s) { s.AddBoolOptionAxis("maxrregcount"); },
       "takes whole numbers from 0 to 65535, but not false"},
      {[](SearchSpace& s) { s.AddOptionAxis("maxrregcount", {-1}); }, "but not -1"},
      {[](SearchSpace& s) {
         s.AddStringOptionAxis("def-load-cache", {"ca", "cg -o x"});
       },
       "but not cg -o x"},
      {[](SearchSpace& s) { s.AddStringOptionAxis("def-load-cache", {"ca,x"}); }, "takes words of letters"},
      {[](SearchSpace& s) {
         s.AddOptionAxis("maxrregcount", {32, 32});
       },
       "lists the value 32 twice"},
      {[](SearchSpace& s) {
         s.AddBoolOptionAxis("approx");
         s.AddBoolOptionAxis("prec-sqrt");
       },
       "the option axis 'approx' sets the same NVRTC options as 'prec-div' and 'prec-sqrt': keep either 'approx' or "
       "the other two"},
      {[](SearchSpace& s) {
         s.AddBoolOptionAxis("prec-div");
         s.AddBoolOptionAxis("approx");
       },
       "keep either 'approx' or the other two"},
  };
  for (const Case& each : cases) {
    SearchSpace space;
    each.add(space);
    EXPECT_ERROR(space.Enumerate(testing::Sm(90)), StatusCode::kInvalidArgument, each.message);
  }
  SearchSpace space;
  space.AddOptionAxis("maxrregcount", {0, 32});
  EXPECT_EQ(space.ToString(), "maxrregcount (option) in {0, 32}");
}

TEST(CompilerOptionTest, ABaselineIsNoneOfTheLessExactConfigs) {
  for (const char* option : {"ftz", "approx", "use_fast_math", "fmad", "prec-div"}) {
    for (bool value : {false, true}) {
      SearchSpace space;
      Axis<bool> axis = space.AddBoolOptionAxis(option);
      space.SetBaseline({{axis, value}});
      const std::string name = option;
      if (value && name != "fmad" && name != "prec-div") {
        EXPECT_ERROR(space.Enumerate(testing::Sm(90)), StatusCode::kInvalidArgument,
                     "the baseline has " + name +
                         "=true, but all results are verified against the baseline's, which must be exact: use " +
                         name + "=false");
      } else {
        EXPECT_OK(space.Enumerate(testing::Sm(90)));
      }
    }
  }
  // Where the baseline is one of several by target, only the target's own counts.
  SearchSpace space;
  Axis<bool> ftz = space.AddBoolOptionAxis("ftz");
  space.SetBaselines({{{{ftz, true}}, Capability() == 80}, {{{ftz, false}}}});
  EXPECT_OK(space.Enumerate(testing::Sm(90)));
  EXPECT_FALSE(space.Enumerate(testing::Sm(80)).ok());
}

TEST(CompilerOptionTest, AnOptionOfTheSourceIsNoAxisToo) {
  struct Case {
    SourceKind kind;
    const char *given, *axis, *message;
  };
  const Case cases[] = {
      {SourceKind::kTileIr, "--ftz", "ftz", "the option '--ftz' is given both by the source and by an axis"},
      {SourceKind::kCudaCpp, "--prec-sqrt=true", "approx", "the option '--prec-sqrt=' is given both"},
      {SourceKind::kCudaCpp, "--ptxas-options=--def-store-cache=cg", "ftz", nullptr}};
  for (const Case& each : cases) {
    KernelSource source;
    source.kind = each.kind;
    source.options = {each.given};
    AddAxisOptions(Config::Of({{each.axis, AxisKind::kOption, true}}), &source);
    if (each.message == nullptr) {
      EXPECT_OK(source.Check());
    } else {
      EXPECT_ERROR(source.Check(), StatusCode::kInvalidArgument, each.message);
    }
  }
}

TEST(CompilerOptionTest, AConfigsIdentityHasTheKindAndComesBack) {
  auto of = [](AxisKind kind) { return Config::Of({{"maxrregcount", kind, std::int64_t{32}}}); };
  Result<Config> again = Config::FromCanonical(of(AxisKind::kOption).Canonical());
  ASSERT_OK(again);
  EXPECT_EQ(again->Kind(0), AxisKind::kOption);
  EXPECT_TRUE(again->IsSame(of(AxisKind::kOption)));
  EXPECT_NE(of(AxisKind::kOption).Canonical(), of(AxisKind::kStructural).Canonical());
  EXPECT_NE(of(AxisKind::kOption).Canonical(), of(AxisKind::kHint).Canonical());
}

TEST(CompilerOptionTest, WhatMayChangeResultsNeedsADeclaredTolerance) {
  enum class Says { kNothing, kAll, kOne, kBoth };
  struct Case {
    std::function<void(SearchSpace&)> add;
    Says says;
    const char* message;  // Null: it is fine.
  };
  const auto ftz = [](SearchSpace& s) { s.AddBoolOptionAxis("ftz"); };
  const char* of_y = "the option axis 'ftz' may change the results of 'y': declare a tolerance";
  const Case cases[] = {
      {ftz, Says::kNothing, of_y},
      {ftz, Says::kAll, nullptr},
      {ftz, Says::kOne, "the option axis 'ftz' may change the results of 'z'"},
      {ftz, Says::kBoth, nullptr},
      {[](SearchSpace& s) {
         s.AddOptionAxis("maxrregcount", {0, 32});
       },
       Says::kNothing, nullptr},
      {[](SearchSpace& s) { s.AddOptionAxis("opt-level", {2}); }, Says::kNothing, nullptr},
      {[](SearchSpace& s) {
         s.AddOptionAxis("opt-level", {2, 3});
       },
       Says::kNothing, "the option axis 'opt-level'"},
  };
  for (const Case& each : cases) {
    SearchSpace space;
    each.add(space);
    Parameter y = Out("y", kFloat32, {"N"}), z = InOut("z", kFloat32, {"N"});
    if (each.says == Says::kOne || each.says == Says::kBoth) y.tolerance = Tolerance{0, 1e-3, 0};
    if (each.says == Says::kBoth) z.tolerance = Tolerance{};
    KernelDefinition definition("k");
    definition.Parameters({In("x", kFloat32, {"N"}), y, z})
        .Space(space)
        .Grid(Grid::Fixed(1))
        .AddVariant(CudaCpp("", "k"));
    if (each.says == Says::kAll) definition.VerifyWithin({0, 1e-3, 0});
    if (each.message == nullptr) {
      EXPECT_OK(definition.Validate());
    } else {
      EXPECT_ERROR(definition.Validate(), StatusCode::kInvalidArgument, each.message);
    }
  }
}

TEST(TypeMacroTest, AreThoseOfTheCallsDTypesAndOfAxes) {
  SearchSpace space;
  Axis<std::string> sum = space.AddStringAxis("SUM", {"float16", "my::type"});
  KernelDefinition definition("k");
  definition.Parameters({In("a", {"N"}), In("x", {"N"}), Out("y", SameDTypeAs("x"), {"N"})})
      .Space(space)
      .Grid(Grid::Fixed(1))
      .AddVariant(CudaCpp("", "k<T, SUM, ACC>", {}).DefineType("T", DTypeOf("x")).DefineType("ACC", sum))
      .AddVariant(CpuCpp("", "k", {}).DefineType("T", DTypeOf("y")).DefineType("ACC", sum));
  ASSERT_OK(definition.Validate());
  ASSERT_OK(definition.Validate());
  std::vector<Config> configs = *definition.space().Enumerate(testing::Sm(90));
  Problem problem;
  problem.dtypes.fill(DType::kAny);
  problem.dtypes[1] = problem.dtypes[2] = DType::kFloat16;
  const std::vector<Variant>& variants = definition.variants();
  EXPECT_EQ(variants[0].MakeSource(configs[0], problem).defines, (Options{"T=__half", "ACC=__half"}));
  EXPECT_EQ(variants[0].MakeSource(configs[1], problem).defines, (Options{"T=__half", "ACC=my::type"}));
  EXPECT_EQ(variants[1].MakeSource(configs[0], problem).defines, (Options{"T=_Float16", "ACC=_Float16"}));
  problem.dtypes[1] = DType::kInt64;
  EXPECT_EQ(variants[0].MakeSource(configs[1], problem).defines[0], "T=long long");
  problem.dtypes[1] = DType::kAny;
  EXPECT_ERROR(variants[0].MakeSource(configs[1], problem).Check(), StatusCode::kInvalidArgument,
               "cannot define the macro 'T': the dtype any has no C++ type in this kind of source");
}

TEST(TypeMacroTest, OfNoTensorAreErrors) {
  for (KeyPart of : {DTypeOf("z"), DTypeOf("s"), KeyOf("N")}) {
    KernelDefinition definition("k");
    definition.Parameters({In("x", {"N"}), Scalar<float>("s")})
        .Grid(Grid::Fixed(1))
        .AddVariant(CudaCpp("", "k").DefineType("T", of));
    EXPECT_ERROR(definition.Validate(), StatusCode::kInvalidArgument,
                 "variant 'cuda': DefineType('T') names no tensor parameter: '" + of.name + "' is not one");
  }
}

TEST(KernelSourceHeadersTest, FoldersAndTextsAreSaidOnceAndByThoseThatHaveThem) {
  KernelSource source = KernelSource::CudaCpp("", "k");
  source.Include("/a").Include("b");
  EXPECT_EQ(source.options, (Options{"-I/a", "-I" + AbsolutePath("b")}));
  struct Case {
    std::function<KernelSource()> make;
    const char* message;
  };
  const Case cases[] = {
      {[] { return KernelSource::Ptx("", "k").Include("/a"); },
       "cannot include from '/a': a ptx source has no headers"},
      {[] { return KernelSource::CudaCpp("", "k").Include(""); }, "a folder without a name"},
      {[] { return KernelSource::CpuCpp("", "k").Header("a.h", ""); },
       "only cuda_cpp and tile_cpp sources can include"},
      {[] { return KernelSource::CudaCpp("", "k").Header("", ""); }, "a header's name is empty"},
      {[] { return KernelSource::CudaCpp("", "k").Header("a\n.h", ""); }, "control characters"},
      {[] { return KernelSource::CudaCpp("", "k").Header("a.h", "1").Header("a.h", "2"); }, "'a.h' is given twice"},
      {[] { return KernelSource::CudaCpp("", "k").Header("a.h", std::string(1, '\0')); }, "a zero byte"},
  };
  for (const Case& each : cases) EXPECT_ERROR(each.make().Check(), StatusCode::kInvalidArgument, each.message);
  Variant variant = CudaCpp("", "k").Include("/inc").Header("a.h", "text");
  KernelSource made = variant.MakeSource(Config(), Problem());
  EXPECT_EQ(made.options, Options{"-I/inc"});
  ASSERT_EQ(made.headers.size(), 1u);
  EXPECT_EQ(made.headers[0].second, "text");
}

}  // namespace
}  // namespace tuneonce
