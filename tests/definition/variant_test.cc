// Variants and what a definition completes for them: dims, geometry, parameters.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "definition/source_identity.h"
#include "testing/expect_status.h"
#include "testing/targets.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
namespace {

/// TILE (structural), backend (structural, names the variant), occupancy (hint).
struct Space {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {64, 128});
  Axis<std::string> backend = space.AddStringAxis("backend", {"cuda"});
  IntAxis occupancy = space.AddHintAxis("occupancy", {2});

  /// TILE = 64.
  Config First() const { return space.Enumerate(Target())->front(); }
};

Problem At(const std::vector<std::int64_t>& dims) {
  Problem problem;
  problem.dims.Reset(static_cast<int>(dims.size()));
  for (std::size_t i = 0; i < dims.size(); ++i) problem.dims[Dim{static_cast<int>(i)}] = dims[i];
  return problem;
}

KernelSource None(const Config&) { return KernelSource(); }

std::vector<Parameter> Matmul() {
  return {In("a", kFloat16, {"M", "K"}), In("b", kFloat16, {"K", "N"}), Out("c", kFloat16, {"M", "N"})};
}

TEST(DimsTest, AreTheShapesInOrderOfAppearance) {
  KernelDefinition definition("matmul");
  definition.Parameters(Matmul());
  EXPECT_EQ(definition.dims(), (std::vector<std::string>{"M", "K", "N"})) << "before Validate, for who asks DimOf";
  definition.Parameters({In("x", {"B"})});
  EXPECT_EQ(definition.dims(), (std::vector<std::string>{"B"})) << "of the parameters that it has now";
}

TEST(DimsTest, StandInTheCallersOrderWhereItGivesOne) {
  for (bool before : {true, false}) {
    KernelDefinition definition("matmul");
    if (before) definition.DimsInOrder({"M", "N", "K"});
    definition.Parameters(Matmul());
    if (!before) definition.DimsInOrder({"M", "N", "K"});
    definition.AddVariant(Variant(None).Grid(Grid::Fixed(1)));
    ASSERT_OK(definition.Validate());
    EXPECT_EQ(definition.dims(), (std::vector<std::string>{"M", "N", "K"}));
  }
}

TEST(DimsTest, ThatNoShapeHasAreErrors) {
  const struct {
    std::vector<std::string> order;
    std::vector<KeyPart> key;
    const char* message;
  } kCases[] = {
      {{"M", "N", "K", "B"}, {}, "no tensor parameter has the dim 'B', so its extent would never be known"},
      {{"M", "N"}, {}, "parameter 'a' names the dim 'K', but the kernel's dims are: M, N"},
      {{}, {KeyOf("B")}, "KeyOf('B') names no dim; the kernel's dims are: M, K, N"},
  };
  for (const auto& [order, key, message] : kCases) {
    KernelDefinition definition("matmul");
    definition.Parameters(Matmul()).AddVariant(Variant(None).Grid(Grid::Fixed(1)));
    if (!order.empty()) definition.DimsInOrder(order);
    if (!key.empty()) definition.Key(key);
    EXPECT_ERROR(definition.Validate(), StatusCode::kInvalidArgument, message);
  }
}

TEST(ParametersTest, AreDeclaredWithTheirDTypeBeforeTheirDims) {
  Parameter x = In("x", kFloat16, {"M", "N"});
  EXPECT_EQ(x.dtype, DType::kFloat16);
  EXPECT_EQ(x.dims, (std::vector<std::string>{"M", "N"}));
  EXPECT_EQ(Out("y", SameDTypeAs("x"), {"M"}).same_dtype_as, "x");
  EXPECT_EQ(InOut("z", {"M"}).dtype, DType::kAny);
  EXPECT_TRUE(In("table", {}).dims.empty());
  Parameter eps = Scalar<float>("eps").ForWarmup(1e-5f);
  EXPECT_EQ(eps.dtype, DType::kFloat32);
  EXPECT_EQ(eps.kind, ParameterKind::kScalar);
  EXPECT_EQ(Scalar<std::int64_t>("n").dtype, DType::kInt64);
}

TEST(VariantTest, WithoutAGridHasTheDefinitionsAndKeepsItsOwnBlock) {
  KernelDefinition definition("k");
  definition.Parameters({In("x", {"N"})})
      .Grid(GeometryFn(Grid::OneD({"N", 64})).Block(32))
      .AddVariant(Variant(None).Named("plain"))
      .AddVariant(Variant(None).Named("wide").Block(256))
      .AddVariant(Variant(None).Named("own").Block(128).Grid(Grid::Fixed(7)))
      .AddVariant(Variant(None).Named("custom").Grid([](const Config&, const Problem&) { return Geometry(); }));
  ASSERT_OK(definition.Validate());
  ASSERT_OK(definition.Validate());
  const struct {
    const char* variant;
    std::int64_t grid, block;
  } kCases[] = {{"plain", 4, 32}, {"wide", 4, 256}, {"own", 7, 128}, {"custom", 1, 1}};
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    ASSERT_EQ(definition.variants()[i].name, kCases[i].variant);
    Geometry geometry = definition.variants()[i].geometry(Config(), At({256}));
    EXPECT_EQ(geometry.grid.x, kCases[i].grid) << kCases[i].variant;
    EXPECT_EQ(geometry.block.x, kCases[i].block) << kCases[i].variant;
  }
}

TEST(VariantTest, ABlockBesideAFunctionThatSaysItAllIsAnError) {
  auto function = [](const Config&, const Problem&) { return Geometry(); };
  KernelDefinition own("k"), before("k"), of_definition("k");
  own.Parameters({In("x", {"N"})}).AddVariant(Variant(None).Grid(function).Block(256));
  before.Parameters({In("x", {"N"})}).AddVariant(Variant(None).Block(256).Grid(function));
  of_definition.Parameters({In("x", {"N"})}).Grid(function).AddVariant(Variant(None).Block(256));
  for (KernelDefinition* definition : {&own, &before, &of_definition}) {
    EXPECT_ERROR(definition->Validate(), StatusCode::kInvalidArgument,
                 "the geometry is a function, so a separate block");
  }
}

TEST(VariantTest, ASourceFunctionTakesAConfigAloneOrWithTheProblem) {
  auto of_config = [](const Config&) { return KernelSource::Ptx("config", "k"); };
  auto of_both = [](const Config&, const Problem&) { return KernelSource::Ptx("both", "k"); };
  EXPECT_EQ(Variant(of_config).source(Config(), Problem()).content, "config");
  EXPECT_EQ(Variant(of_both).source(Config(), Problem()).content, "both");
  EXPECT_EQ(Variant(of_both).name, "default");
}

TEST(VariantTest, AnIdentityThatComesWithASourceGoesWithIt) {
  Space s;
  const std::vector<Config> configs = *s.space.Enumerate(Target());
  auto of = [&](const Variant& variant, DType dtype = DType::kFloat16) {
    Problem problem;
    problem.dtypes.fill(dtype);
    return VariantFingerprint(variant, configs, problem);
  };
  int num_made = 0;
  auto identified = [&](const char* text) {
    Variant variant([](const Config&) { return KernelSource(); });
    variant.source = IdentifiedSource{
        [&num_made](const Config&, const Problem&) { return ++num_made, KernelSource::CudaCpp("text", "k"); },
        [text] { return Fingerprinter().Add(text).Finish(); }};
    variant.hints = HintsOfAxes{true};
    return variant;
  };
  const Variant variant = identified("one");
  EXPECT_EQ(of(variant), of(identified("one")));
  EXPECT_EQ(num_made, 0);
  EXPECT_EQ(variant.source(configs[0], Problem()).content, "text");
  std::vector<Variant> others(7, variant);
  others[0] = identified("other");
  others[1].hints = HintsOfAxes{false};
  others[2].hints = nullptr;
  others[3].source = [](const Config&, const Problem&) { return KernelSource::CudaCpp("text", "k"); };
  others[4].Header("h.h", "its text");  // Of each source, whoever makes it.
  others[5].backend = "other";
  others[6].types = {{"T", DTypeOf("x"), std::nullopt, 0}};
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_NE(of(others[i]), of(variant)) << i;
  EXPECT_EQ(of(variant, DType::kFloat32), of(variant)) << "no macro is the dtype";
  EXPECT_NE(of(others[6], DType::kFloat32), of(others[6]));
}

TEST(VariantTest, OfCppSourcesHasItsStructuralAxesAsMacros) {
  Space s;
  const struct {
    Variant variant;
    SourceKind kind;
    bool on_cpu;
    std::vector<std::string> defines;
  } kCases[] = {
      {CudaCpp("text", "k"), SourceKind::kCudaCpp, false, {"TILE=64"}},
      {TileCpp("text", "k"), SourceKind::kTileCpp, false, {"TILE=64"}},
      {TileCpp("text", "k", {"occupancy"}), SourceKind::kTileCpp, false, {"occupancy=2"}},
      {CpuCpp("text", "k"), SourceKind::kCpuCpp, true, {"TILE=64"}},
      {CpuCpp("text", "k", {}), SourceKind::kCpuCpp, true, {}},
      {CudaCpp("text", "k", {"occupancy"}), SourceKind::kCudaCpp, false, {"occupancy=2"}},
  };
  for (const auto& c : kCases) {
    KernelSource source = c.variant.source(s.First(), Problem());
    EXPECT_EQ(source.kind, c.kind);
    EXPECT_EQ(source.symbol, "k");
    EXPECT_EQ(source.defines, c.defines);
    EXPECT_EQ(c.variant.runs_on.HoldsOn(testing::CpuTarget()), c.on_cpu) << c.variant.name;
    EXPECT_EQ(c.variant.runs_on.HoldsOn(testing::Sm(90)), !c.on_cpu) << c.variant.name;
  }
}

TEST(VariantTest, AnAxisInBracesIsAPartOfTheSymbol) {
  Space s;
  for (const Variant& variant : {CudaCpp("text", "ns::k_{TILE}<{backend}>"), TileCpp("text", "ns::k_{TILE}<{backend}>"),
                                 CpuCpp("text", "ns::k_{TILE}<{backend}>", {})}) {
    EXPECT_EQ(variant.source(s.First(), Problem()).symbol, "ns::k_64<cuda>");
  }
  EXPECT_ERROR(CudaCpp("text", "k_{NONE}").source(s.First(), Problem()).Check(), StatusCode::kInvalidArgument,
               "'k_{NONE}' names the axis 'NONE', but the config {");
  EXPECT_ERROR(TileCpp("text", "k_{TILE").source(s.First(), Problem()).Check(), StatusCode::kInvalidArgument,
               "has an opening brace without a closing one");
}

TEST(VariantTest, OfTileCppMergesItsHintAxesIntoTheHintsOfTheText) {
  Space s;
  Variant variant = TileCpp("text", "k");
  EXPECT_EQ(variant.name, "tile_cpp");
  EXPECT_EQ(variant.convention, CallingConvention::kPlain);
  Hints hints = variant.hints(s.First());
  EXPECT_EQ(hints.ToString(testing::Sm(90)), "occupancy=2");
  EXPECT_EQ(hints.update(), Hints::Update::kMerge);
}

TEST(VariantTest, ThatTakesADimByNameIsTheOnlyOneThatGetsIt) {
  KernelDefinition definition("k");
  definition.Parameters({In("x", kFloat32, {"M", "N"}), DimValue("M", kInt64)})
      .Grid(Grid::Fixed(1))
      .AddVariant(Variant(None).Named("all"))
      .AddVariant(Variant(None).Named("some").KernelArgs({"x", "M", "N"}));
  ASSERT_OK(definition.Validate());
  ASSERT_OK(definition.Validate());
  ASSERT_EQ(definition.parameters().size(), 3u);
  EXPECT_EQ(definition.parameters()[1].dtype, DType::kInt64) << "as it was declared";
  EXPECT_EQ(definition.parameters()[2].name, "N");
  EXPECT_EQ(definition.parameters()[2].dtype, DType::kInt32);
  EXPECT_EQ(definition.variants()[0].parameters, (std::vector<std::string>{"x", "M"}));
}

TEST(TileIrFilesTest, ReadsTheFileOfAConfigAndFindsItsKernel) {
  SearchSpace space;
  space.AddStringAxis("NAME", {"softmax.13.3", "softmax.two_entries", "absent"});
  std::vector<Config> configs = *space.Enumerate(Target());
  const std::string folder = TUNEONCE_TEST_DATA "/tile_ir/";
  Variant variant = TileIrFiles(folder + "{NAME}.tileir");
  EXPECT_EQ(variant.convention, CallingConvention::kCutilePython);
  EXPECT_FALSE(variant.runs_on.HoldsOn(testing::CpuTarget()));

  KernelSource source = variant.source(configs[0], Problem());
  ASSERT_OK(source.Check());
  EXPECT_EQ(source.kind, SourceKind::kTileIr);
  EXPECT_EQ(source.content, *ReadFile(folder + "softmax.13.3.tileir"));
  EXPECT_EQ(source.symbol, "softmax");

  EXPECT_ERROR(variant.source(configs[1], Problem()).Check(), StatusCode::kInvalidArgument,
               "{NAME}.tileir: the bytecode has 2 kernels (softmax_1024, softmax_4096)");
  EXPECT_ERROR(variant.source(configs[2], Problem()).Check(), StatusCode::kNotFound, folder + "absent.tileir");
  EXPECT_ERROR(TileIrFiles("x.{TILE}.tileir").source(configs[0], Problem()).Check(), StatusCode::kInvalidArgument,
               "names the axis 'TILE', but the config");
  KernelSource named = TileIrFiles(folder + "{NAME}.tileir", "second").source(configs[1], Problem());
  ASSERT_OK(named.Check());
  EXPECT_EQ(named.symbol, "second");
}

}  // namespace
}  // namespace tuneonce
