#include "tuneonce/kernel_definition.h"

#include "testing/device_test.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
namespace {

KernelDefinition Good() {
  KernelDefinition definition("norm");
  definition.Parameters({In("x", {"M", "N"}), Out("y", {"M", "N"}), Scalar<float>("eps"), DimValue("N")})
      .AddVariant(Variant(testing::NoSource).Grid(Grid::OneD({"M", 1})));
  return definition;
}

TEST(KernelDefinitionTest, AGoodOneValidates) {
  KernelDefinition definition = Good();
  ASSERT_OK(definition.Validate());
  // The default key: every dim exactly, every tensor's dtype.
  ASSERT_EQ(definition.key().size(), 4u);
  EXPECT_EQ(definition.key()[0].ToString(7), "M=7");
  EXPECT_EQ(definition.key()[3].ToString(static_cast<int>(DType::kBFloat16)), "y:bfloat16");
  ASSERT_OK(definition.Validate());
  EXPECT_EQ(definition.key().size(), 4u) << "validating twice changes nothing";
  Dims dims(2);
  dims[Dim{0}] = 3;
  dims[Dim{1}] = 4;
  EXPECT_EQ(definition.DimsString(dims), "M=3, N=4");
}

TEST(KernelDefinitionTest, EveryTensorsDTypeIsPartOfAnExplicitKey) {
  KernelDefinition definition = Good();
  definition.Key(DTypeOf("y"), KeyOf("M").NextPow2());
  ASSERT_OK(definition.Validate());
  ASSERT_OK(definition.Validate());
  std::vector<std::string> parts;
  for (const KeyPart& part : definition.key()) parts.push_back(part.ToString(1));
  EXPECT_EQ(parts, (std::vector<std::string>{"y:bool", "M<=1", "x:bool"}));
}

TEST(KernelDefinitionTest, MistakesAreReportedWithTheKernelsName) {
  struct Case {
    void (*change)(KernelDefinition&);
    const char* message;
  };
  const Case cases[] = {
      {[](KernelDefinition& d) { d = KernelDefinition(""); }, "a kernel needs a name"},
      {[](KernelDefinition& d) { d = KernelDefinition("a\x1b[31m"); }, "its name has control characters"},
      {[](KernelDefinition& d) { d = KernelDefinition("a").Version("1\n2"); }, "its version has control characters"},
      {[](KernelDefinition& d) { d = KernelDefinition(std::string(300, 'a')); }, "its name has 300 characters"},
      {[](KernelDefinition& d) {
         d.DimsInOrder({"M", "N", "\x7f"});
       },
       "a dim's name has control characters"},
      {[](KernelDefinition& d) {
         d.DimsInOrder({"M", "N", ""});
       },
       "a dim has no name"},
      {[](KernelDefinition& d) {
         d.DimsInOrder({"M", "N", "4"});
       },
       "the dim '4' is not a name: names start with a letter; a constant extent is a number, as in {\"N\", 4}"},
      {[](KernelDefinition& d) {
         d.Parameters({In("x", {"M", "N"}), In("y", {"N", 0})});
       },
       "parameter 'y', dimension 1: the constant extent '0' is not a whole number of at least 1"},
      {[](KernelDefinition& d) {
         d.Parameters({In("x", {"M", "N"}), In("y", {-4})});
       },
       "parameter 'y', dimension 0: the constant extent '-4' is not a whole number of at least 1"},
      {[](KernelDefinition& d) {
         d.Parameters({In("x", {"M", "N"}), In("y", {2, "N", 4}).ByPointers({"=4"})});
       },
       "parameter 'y': ByPointers lets the extent '=4' vary, but it is a constant"},
      {[](KernelDefinition& d) {
         d.DimsInOrder({"M", "M", "N"});
       },
       "the kernel declares the same dim twice"},
      {[](KernelDefinition& d) {
         d.DimsInOrder({"M", "N", "K"});
       },
       "no tensor parameter has the dim 'K'"},
      {[](KernelDefinition& d) { d.DimsInOrder({"M"}); },
       "parameter 'x' names the dim 'N', but the kernel's dims are: M"},
      {[](KernelDefinition& d) {
         d.Parameters({In("x", {"M", "N"}), In("x", {"M"})});
       },
       "two parameters are named 'x'"},
      {[](KernelDefinition& d) {
         d.Parameters({In("x", {"M", "N"}), DimValue("Q")});
       },
       "DimValue names the dim 'Q'"},
      {[](KernelDefinition& d) {
         d.Parameters({In("x", {"M", "N"}), DimValue("M", DType::kFloat32)});
       },
       "DimValue('M') must be int32 or int64"},
      {[](KernelDefinition& d) {
         d.Parameters({In("", {"M", "N"})});
       },
       "a parameter has no name"},
      {[](KernelDefinition& d) {
         d.Parameters({In("x", {"M", "N"}), Descriptor("d", 999, nullptr)});
       },
       "descriptor 'd' has 999 bytes"},
      {[](KernelDefinition& d) {
         d.Parameters({In("x", {"M", "N"}), StrideValue("y", 0)});
       },
       "StrideValue('y', 0) names no tensor parameter with dims"},
      {[](KernelDefinition& d) {
         d.Parameters({In("x", {"M", "N"}), StrideValue("x", 2)});
       },
       "StrideValue('x', 2): 'x' has rank 2"},
      {[](KernelDefinition& d) {
         d.Parameters({In("x", {"M", "N"}), StrideValue("x", 0, DType::kInt16)});
       },
       "StrideValue('x', 0) must be int32 or int64"},
      {[](KernelDefinition& d) {
         d.Parameters({In("x", SameDTypeAs("z"), {"M", "N"})});
       },
       "parameter 'x': SameDTypeAs('z') names no tensor parameter"},
      {[](KernelDefinition& d) {
         d.Parameters({In("x", SameDTypeAs("x"), {"M", "N"})});
       },
       "SameDTypeAs('x') names a tensor whose dtype is itself declared by SameDTypeAs"},
      {[](KernelDefinition& d) { d.Key(KeyOf("Q")); }, "KeyOf('Q') names no dim"},
      {[](KernelDefinition& d) { d.Key(DTypeOf("eps")); }, "DTypeOf('eps') names no tensor parameter"},
      {[](KernelDefinition& d) { d.Key(ValueOf("x")); }, "ValueOf('x') names no scalar parameter"},
      {[](KernelDefinition& d) { d.AddVariant(Variant().Named("default").Grid(Grid::Fixed(1))); },
       "the variant has neither a source function nor a launcher"},
      {[](KernelDefinition& d) {
         d.AddVariant(Variant(testing::NoSource).Grid(Grid::OneD({"Q", 1})));
       },
       "grid: unknown dim 'Q'"},
      {[](KernelDefinition& d) {
         SearchSpace s;
         s.AddAxis("A", std::vector<std::int64_t>{});
         d.Space(s);
       },
       "axis 'A' has no values"},
  };
  for (const Case& c : cases) {
    KernelDefinition definition = Good();
    c.change(definition);
    EXPECT_ERROR(definition.Validate(), StatusCode::kInvalidArgument, c.message);
    EXPECT_EQ(definition.Validate().message().rfind("kernel '", 0), 0u);
  }
  KernelDefinition no_variant("k");
  EXPECT_ERROR(no_variant.Validate(), StatusCode::kInvalidArgument, "the kernel has no variant");
}

TEST(KernelDefinitionTest, VariantsForATargetKeepTheirOrder) {
  KernelDefinition definition = Good();
  KernelDefinition gpu_only("gpu_only");
  Variant variant;
  variant.name = "cuda";
  variant.source = testing::NoSource;
  variant.runs_on = OnGpu();
  gpu_only.AddVariant(variant);
  ASSERT_OK(definition.Validate());
  ASSERT_OK(gpu_only.Validate());
  Target cpu;
  cpu.is_cpu_device = true;
  EXPECT_EQ(definition.VariantsFor(cpu)->front()->name, "default");
  EXPECT_OK(gpu_only.VariantsFor(*Target::Named("sm_90")));
  EXPECT_ERROR(gpu_only.VariantsFor(cpu), StatusCode::kUnimplemented, "no variant for cpu; it has: cuda");
}

TEST(KeyRecipeTest, BucketsRoundUpToPowersOfTwo) {
  KeyPart bucket = KeyOf("M").NextPow2();
  for (auto [value, rounded] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1},
                                                          {2, 2},
                                                          {3, 4},
                                                          {4, 4},
                                                          {1000, 1024},
                                                          {1024, 1024},
                                                          {1025, 2048},
                                                          {(std::int64_t{1} << 61) + 1, std::int64_t{1} << 62},
                                                          {(std::int64_t{1} << 62) + 1, (std::int64_t{1} << 62) + 1}}) {
    EXPECT_EQ(bucket.Round(value), rounded) << value;
    EXPECT_EQ(KeyOf("M").Round(value), value);
  }
  EXPECT_EQ(bucket.ToString(1024), "M<=1024");
  EXPECT_EQ(ValueOf("causal").ToString(1), "causal=1");
}

TEST(KernelSourceTest, EveryFieldIsInTheFingerprint) {
  KernelSource base = KernelSource::CudaCpp("text", "k");
  KernelSource define = base;
  define.Define("TILE", 4);
  KernelSource option = base;
  option.options.push_back("-O1");
  for (const KernelSource& other : {KernelSource::CpuCpp("text", "k"), KernelSource::CudaCpp("text2", "k"),
                                    KernelSource::CudaCpp("text", "k2"), define, option}) {
    EXPECT_NE(other.Fingerprint(), base.Fingerprint());
  }
  EXPECT_EQ(KernelSource::CudaCpp("text", "k").Fingerprint(), base.Fingerprint());
}

TEST(TensorViewTest, BytesAreWhatTheViewSpans) {
  float data[1];
  EXPECT_EQ(TensorView::Contiguous(data, DType::kFloat16, {3, 5}).bytes, 30u);
  std::int64_t shape[] = {3, 5};
  std::int64_t strides[] = {8, 1};
  TensorView strided = TensorView::Strided(data, DType::kFloat32, shape, strides, 2);
  EXPECT_EQ(strided.bytes, (2 * 8 + 4 + 1) * 4u);
  EXPECT_EQ(strided.ToString(), "float32[3, 5]");
  EXPECT_EQ(TensorView::Contiguous(data, DType::kInt8, {3, 0}).bytes, 0u);
  EXPECT_EQ(TensorView::Raw(data, 12).bytes, 12u);
  strides[0] = -8;
  EXPECT_EQ(TensorView::Strided(data, DType::kFloat32, shape, strides, 2).bytes, 5 * 4u) << "from data on";
  EXPECT_FALSE(TensorView::Contiguous(nullptr, DType::kInt8, {3, 0}).HasElements());
  EXPECT_TRUE(TensorView::Raw(data, 12).HasElements());
}

TEST(TensorViewTest, StretchesAreWhatLiesBetweenGaps) {
  auto stretches = [](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    TensorView view =
        TensorView::Strided(nullptr, DType::kInt8, shape.data(), strides.data(), static_cast<int>(shape.size()));
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    ForEachStretch(view, [&](std::int64_t offset, std::int64_t count) {
      found.emplace_back(offset, count);
      return found.size() < 5;
    });
    return found;
  };
  using Found = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(stretches({2, 3}, {3, 1}), (Found{{0, 6}}));
  EXPECT_EQ(stretches({}, {}), (Found{{0, 1}}));
  EXPECT_EQ(stretches({2, 3}, {4, 1}), (Found{{0, 3}, {4, 3}}));
  EXPECT_EQ(stretches({2, 2}, {1, 2}), (Found{{0, 1}, {2, 1}, {1, 1}, {3, 1}}));
  EXPECT_EQ(stretches({2, 1, 3}, {3, 77, 1}), (Found{{0, 6}}));
  EXPECT_EQ(stretches({2, 2, 3}, {20, 4, 1}), (Found{{0, 3}, {4, 3}, {20, 3}, {24, 3}}));
  EXPECT_EQ(stretches({9}, {2}).size(), 5u) << "until told to stop";
}

}  // namespace
}  // namespace tuneonce
