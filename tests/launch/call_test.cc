// From Launch's arguments to the kernel's parameters: CallBinder and ParameterLayout.
#include <limits>

#include "launch/assumption.h"
#include "launch/call_binder.h"
#include "launch/parameter_block.h"
#include "testing/device_test.h"

namespace tuneonce {
namespace {

class CallTest : public ::testing::Test {
 protected:
  CallTest() {
    definition_.Key(KeyOf("M").NextPow2(), DTypeOf("x"), ValueOf("flag"))
        .Parameters({In("x", {"M", "N"}), In("w", kFloat32, {"N"}), Out("y", {"M", "N"}), Scalar<float>("eps"),
                     Scalar<std::int32_t>("flag")})
        .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
    EXPECT_OK(definition_.Validate());
  }

  Status Bind(std::vector<Argument> arguments) {
    return CallBinder(definition_).Bind(arguments.data(), arguments.size(), &call_);
  }

  KernelDefinition definition_{"norm"};
  BoundCall call_;
  float memory_[64];
  float eps_ = 0.5f;
  int flag_ = 3;
  TensorView x_ = TensorView::Contiguous(memory_, DType::kFloat16, {3, 8});
  TensorView w_ = TensorView::Contiguous(memory_, DType::kFloat32, {8});
};

TEST_F(CallTest, DimsBindFromShapes) {
  ASSERT_OK(Bind({x_, w_, x_, eps_, flag_}));
  EXPECT_EQ(call_.problem.dims[Dim{0}], 3);
  EXPECT_EQ(call_.problem.dims[Dim{1}], 8);
  EXPECT_EQ(call_.problem.dtype(0), DType::kFloat16);
  CallBinder binder(definition_);
  std::vector<std::uint64_t> words(binder.num_key_words());
  binder.KeyWords(call_, words.data());
  ASSERT_EQ(words.size(), 5u) << "the recipe's three, and the dtypes that it does not name";
  EXPECT_EQ(words[0], 4u);
  EXPECT_EQ(words[1], static_cast<std::uint64_t>(DType::kFloat16));
  EXPECT_EQ(words[2], 3u);
}

TEST_F(CallTest, AConstantExtentIsCheckedAndIsNoDim) {
  definition_ = KernelDefinition("quads");
  definition_
      .Parameters(
          {In("x", kFloat32, {"N", 4}), Out("y", kFloat32, {4, "N"}), In("table", kFloat32, {2, 3}), DimValue("N")})
      .AddVariant(Variant(testing::NoSource).Grid(Grid::OneD({"N", 1})));
  ASSERT_OK(definition_.Validate());
  EXPECT_EQ(definition_.dims(), std::vector<std::string>{"N"});
  auto of = [&](std::initializer_list<std::int64_t> shape) { return TensorView::Contiguous(memory_, kFloat32, shape); };
  // Arguments point to views, which live as long as the call.
  auto check = [&](const TensorView& x, const TensorView& y, const TensorView& table) -> Status {
    TUNEONCE_RETURN_IF_ERROR(Bind({x, y, table}));
    return AssumptionChecks::CheckConstantExtents(definition_, call_);
  };
  ASSERT_OK(check(of({5, 4}), of({4, 5}), of({2, 3})));
  EXPECT_EQ(call_.problem.dims[Dim{0}], 5);
  EXPECT_ERROR(check(of({5, 3}), of({4, 5}), of({2, 3})), StatusCode::kInvalidArgument,
               "kernel 'quads', parameter 'x', dimension 1: extent 3 differs from the declared extent 4");
  EXPECT_ERROR(check(of({5, 4}), of({5, 5}), of({2, 3})), StatusCode::kInvalidArgument,
               "parameter 'y', dimension 0: extent 5 differs from the declared extent 4");
  EXPECT_ERROR(check(of({5, 4}), of({4, 5}), of({2, 0})), StatusCode::kInvalidArgument,
               "parameter 'table', dimension 1: extent 0 differs from the declared extent 3");
  EXPECT_ERROR(check(of({5, 4}), of({4, 6}), of({2, 3})), StatusCode::kInvalidArgument,
               "'y', dimension 1 ('N'): extent 6 disagrees with N=5");
}

TEST_F(CallTest, ArgumentsThatDoNotFitAreNamed) {
  TensorView other_n = TensorView::Contiguous(memory_, DType::kFloat32, {9});
  TensorView half = TensorView::Contiguous(memory_, DType::kFloat16, {8});
  TensorView empty = TensorView::Contiguous(memory_, DType::kFloat16, {0, 8});
  TensorView negative = x_, least = x_;
  negative.shape[0] = -3;
  least.shape[0] = std::numeric_limits<std::int64_t>::min();
  TensorView null = TensorView::Contiguous(nullptr, DType::kFloat16, {3, 8});
  struct Case {
    std::vector<Argument> arguments;
    const char* message;
  };
  const Case cases[] = {
      {{x_, w_, x_, eps_}, "kernel 'norm' takes 5 arguments, got 4"},
      {{}, "takes 5 arguments, got 0"},
      {{x_, w_, x_, eps_, flag_, flag_}, "takes 5 arguments, got 6"},
      {{x_, other_n, x_, eps_, flag_}, "parameter 'w', dimension 0 ('N'): extent 9 disagrees with N=8 of an earlier"},
      {{x_, half, x_, eps_, flag_}, "parameter 'w': expected a float32 tensor of rank 1, got float16[8]"},
      {{w_, w_, x_, eps_, flag_}, "parameter 'x': expected a tensor of rank 2, got float32[8]"},
      {{x_, w_, x_, flag_, flag_}, "parameter 'eps': expected a float32 scalar, got a int32 scalar"},
      {{x_, w_, x_, x_, flag_}, "parameter 'eps': expected a float32 scalar, got float16[3, 8]"},
      {{x_, eps_, x_, eps_, flag_}, "parameter 'w': expected a float32 tensor of rank 1, got a float32 scalar"},
      {{empty, w_, x_, eps_, flag_}, "parameter 'y', dimension 0 ('M'): extent 3 disagrees with M=0 of an earlier"},
      {{negative, w_, negative, eps_, flag_}, "parameter 'x', dimension 0 ('M'): extent -3 is negative"},
      {{least, w_, least, eps_, flag_}, "extent -9223372036854775808 is negative"},
      {{null, w_, x_, eps_, flag_}, "parameter 'x': the tensor is a null pointer"},
  };
  for (const Case& c : cases) EXPECT_ERROR(Bind(c.arguments), StatusCode::kInvalidArgument, c.message);
}

TEST_F(CallTest, ACallWhoseOutputsHaveNoElementsIsEmptyIfAllElseFits) {
  TensorView empty = TensorView::Contiguous(nullptr, DType::kFloat16, {0, 8});
  TensorView no_columns = TensorView::Contiguous(nullptr, DType::kFloat16, {3, 0});
  TensorView no_weights = TensorView::Contiguous(nullptr, DType::kFloat32, {0});
  TensorView null_weights = TensorView::Contiguous(nullptr, DType::kFloat32, {8});
  struct Case {
    std::vector<Argument> arguments;
    bool is_empty;
    const char* message;
  };
  const Case cases[] = {
      {{empty, w_, empty, eps_, flag_},
       true,
       "'x', dimension 0 ('M'): extent 0 is not positive, so there is nothing to"},
      {{no_columns, no_weights, no_columns, eps_, flag_}, true, "'x', dimension 1 ('N'): extent 0 is not positive"},
      {{empty, w_, empty, flag_, flag_}, false, "parameter 'eps': expected a float32 scalar, got a int32 scalar"},
      {{empty, empty, empty, eps_, flag_}, false, "parameter 'w': expected a float32 tensor of rank 1"},
      {{empty, null_weights, empty, eps_, flag_}, false, "parameter 'w': the tensor is a null pointer"},
      {{empty, w_, no_columns, eps_, flag_}, false, "extent 3 disagrees with M=0"},
  };
  for (const Case& c : cases) {
    bool is_empty = false;
    EXPECT_ERROR(CallBinder(definition_).Bind(c.arguments.data(), c.arguments.size(), &call_, &is_empty),
                 StatusCode::kInvalidArgument, c.message);
    EXPECT_EQ(is_empty, c.is_empty) << c.message;
  }
}

TEST_F(CallTest, AnOutputThatHasElementsMakesAnExtentOfZeroAnError) {
  // The sum of no products is 0, which somebody must write.
  KernelDefinition matmul("matmul");
  matmul.DimsInOrder({"M", "N", "K"})
      .Parameters({In("a", {"M", "K"}), In("b", {"K", "N"}), Out("c", {"M", "N"})})
      .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  ASSERT_OK(matmul.Validate());
  TensorView a = TensorView::Contiguous(nullptr, DType::kFloat32, {3, 0});
  TensorView b = TensorView::Contiguous(nullptr, DType::kFloat32, {0, 8});
  TensorView c = TensorView::Contiguous(memory_, DType::kFloat32, {3, 8});
  const Argument arguments[] = {a, b, c};
  bool is_empty = false;
  EXPECT_ERROR(
      CallBinder(matmul).Bind(arguments, 3, &call_, &is_empty), StatusCode::kInvalidArgument,
      "parameter 'a', dimension 1 ('K'): extent 0 leaves no input elements to compute 'c' from: fill the output");
  EXPECT_FALSE(is_empty);
}

TEST_F(CallTest, RawMemoryWithoutElementsMayBeNull) {
  KernelDefinition raw("raw");
  raw.Parameters({In("x", {"N"}), InOut("table", {})}).AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  ASSERT_OK(raw.Validate());
  TensorView none = TensorView::Contiguous(nullptr, DType::kFloat32, {0});
  TensorView unknown = TensorView::Raw(nullptr, 0);
  auto bind = [&](const TensorView& table) {
    const Argument arguments[] = {w_, table};
    return CallBinder(raw).Bind(arguments, 2, &call_);
  };
  EXPECT_OK(bind(none));
  EXPECT_EQ(call_.problem.dims[Dim{0}], 8);
  EXPECT_ERROR(bind(unknown), StatusCode::kInvalidArgument, "parameter 'table': the tensor is a null pointer");
}

TEST_F(CallTest, AHitAndTheStoreRoundAlike) {
  for (const KeyPart& part :
       {KeyOf("N").NextPow2(), KeyOf("N").Buckets({1}), KeyOf("N").Buckets({3, 4, 24, 33}),
        KeyOf("N").Buckets({2, 9, 20}), KeyOf("N").Nearest({7}), KeyOf("N").Nearest({2, 5, 6, 31, 40})}) {
    KernelDefinition fill("fill");
    fill.Key(part).Parameters({Out("y", kFloat32, {"N"})}).AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
    ASSERT_OK(fill.Validate());
    CallBinder binder(fill);
    ASSERT_EQ(binder.num_varying_key_words(), 1u);
    for (std::int64_t n = 1; n < 100; ++n) {
      const TensorView row = TensorView::Contiguous(memory_, DType::kFloat32, {n});
      const Argument y = row;  // It points to the view.
      ASSERT_OK(binder.Bind(&y, 1, &call_));
      std::uint64_t stored[2], ready = 0;
      binder.KeyWords(call_, stored);
      binder.AddVaryingKeyWords(call_, [&](std::uint64_t word) { ready = word; });
      EXPECT_EQ(ready, stored[0]) << part.ToString(n);
      EXPECT_EQ(stored[0], static_cast<std::uint64_t>(part.Round(n)));
    }
  }
}

TEST_F(CallTest, ADTypeThatMustBeAnothersIs) {
  KernelDefinition copy("copy");
  copy.Key(KeyOf("N"))
      .Parameters({In("x", {"N"}), Out("y", SameDTypeAs("x"), {"N"}), In("w", {"N"})})
      .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  ASSERT_OK(copy.Validate());
  CallBinder binder(copy);
  EXPECT_EQ(binder.num_key_words(), 3u) << "N, and the dtypes of x and w";
  EXPECT_EQ(binder.num_varying_key_words(), 2u) << "x's dtype is the leading one";
  EXPECT_TRUE(binder.key_decides_problem());
  TensorView half = TensorView::Contiguous(memory_, DType::kFloat16, {8});
  auto bind = [&](const TensorView& x, const TensorView& y) {
    const Argument arguments[] = {x, y, w_};
    return binder.Bind(arguments, 3, &call_);
  };
  EXPECT_OK(bind(half, half));
  EXPECT_EQ(binder.LeadingDType(call_), static_cast<std::uint64_t>(kFloat16));
  EXPECT_OK(bind(w_, w_));
  EXPECT_EQ(binder.LeadingDType(call_), static_cast<std::uint64_t>(kFloat32));
  EXPECT_ERROR(bind(w_, half), StatusCode::kInvalidArgument,
               "parameter 'y': expected a float32 tensor, the dtype of 'x', got float16[8]");
}

TEST_F(CallTest, ADimThatOccursTwiceInOneTensorMustAgree) {
  KernelDefinition square("square");
  square.Parameters({In("a", {"N", "N"})}).AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  ASSERT_OK(square.Validate());
  Argument argument(x_);
  EXPECT_ERROR(CallBinder(square).Bind(&argument, 1, &call_), StatusCode::kInvalidArgument,
               "extent 8 disagrees with N=3");
}

TEST(ScalarTest, EveryCppTypeHasItsDType) {
  EXPECT_EQ(ScalarDType<bool>(), DType::kBool);
  EXPECT_EQ(ScalarDType<long long>(), DType::kInt64);
  EXPECT_EQ(ScalarDType<long>(), DType::kInt64);
  EXPECT_EQ(ScalarDType<unsigned>(), DType::kUInt32);
  EXPECT_EQ(ScalarDType<short>(), DType::kInt16);
  EXPECT_EQ(ScalarDType<double>(), DType::kFloat64);
}

class LayoutTest : public CallTest {
 protected:
  /// The words that a launch passes.
  std::vector<std::uint64_t> Words(const KernelDefinition& definition, CallingConvention convention,
                                   const std::vector<std::size_t>& bytes) {
    Result<ParameterLayout> layout = ParameterLayout::Create(definition, convention);
    EXPECT_OK(layout);
    ParameterBlock block;
    std::uint64_t workspaces[] = {0xabc};
    EXPECT_OK(layout->Fill(call_, Config(), workspaces, &block));
    EXPECT_EQ(layout->num_parameters(), bytes.size());
    std::vector<std::uint64_t> words;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, block.pointers()[i], bytes[i]);
      words.push_back(word);
    }
    return words;
  }
};

TEST_F(LayoutTest, PlainParametersAreInOrder) {
  KernelDefinition definition("k");
  definition
      .Parameters({DimValue("N"), In("x", {"M", "N"}), Scalar<float>("eps"),
                   Derived("twice", [](const Config&, const Problem& p) { return 2 * p.dims[Dim{0}]; }),
                   Workspace("scratch",
                             [](const Config&, const Problem& p) -> std::size_t {
                               return 4 * static_cast<std::size_t>(p.dims[Dim{1}]);
                             }),
                   Descriptor("map", 16,
                              [](const Config&, const Problem&, const TensorView* const* tensors, void* bytes) {
                                std::memcpy(bytes, &tensors[1]->data, 8);
                                return Status();
                              })})
      .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  ASSERT_OK(definition.Validate());
  std::vector<Argument> arguments = {x_, eps_};
  ASSERT_OK(CallBinder(definition).Bind(arguments.data(), arguments.size(), &call_));
  auto address = reinterpret_cast<std::uint64_t>(static_cast<void*>(memory_));
  EXPECT_EQ(Words(definition, CallingConvention::kPlain, {4, 8, 4, 8, 8, 8}),
            (std::vector<std::uint64_t>{8, address, 0x3f000000, 6, 0xabc, address}));
  Result<ParameterLayout> layout = ParameterLayout::Create(definition, CallingConvention::kPlain);
  EXPECT_EQ(*layout->WorkspaceBytes(Config(), call_.problem), std::vector<std::size_t>{32});
  EXPECT_TRUE(layout->has_workspace());
  EXPECT_OK(layout->CheckAgainst({4, 8, 4, 8, 8, 16}));
  EXPECT_ERROR(layout->CheckAgainst({4, 8, 4, 8, 8}), StatusCode::kInvalidArgument,
               "declared with 6 parameters, but its code has 5");
  EXPECT_ERROR(layout->CheckAgainst({4, 8, 4, 8, 8, 16, 8}), StatusCode::kInvalidArgument, "its code has 7");
  EXPECT_ERROR(layout->CheckAgainst({4, 8, 8, 8, 8, 16}), StatusCode::kInvalidArgument,
               "parameter 'eps' (3 of 6 in the code): declared with 4 bytes, but the code has 8");
}

TEST_F(LayoutTest, StridesArePassedAsTheyAre) {
  KernelDefinition definition("k");
  definition.Parameters({In("x", {"M", "N"}), StrideValue("x", 0), StrideValue("x", 1, DType::kInt64)})
      .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  ASSERT_OK(definition.Validate());
  std::int64_t shape[] = {3, 8};
  std::int64_t strides[] = {16, 2};
  TensorView strided = TensorView::Strided(memory_, DType::kFloat16, shape, strides, 2);
  Argument argument(strided);
  ASSERT_OK(CallBinder(definition).Bind(&argument, 1, &call_));
  auto address = reinterpret_cast<std::uint64_t>(static_cast<void*>(memory_));
  for (CallingConvention convention : {CallingConvention::kPlain, CallingConvention::kTriton}) {
    std::vector<std::size_t> bytes = {8, 4, 8};
    std::vector<std::uint64_t> words = {address, 16, 2};
    if (convention == CallingConvention::kTriton) {
      bytes.insert(bytes.end(), {8, 8});
      words.insert(words.end(), {0, 0});
    }
    EXPECT_EQ(Words(definition, convention, bytes), words);
  }
  Result<ParameterLayout> layout = ParameterLayout::Create(definition, CallingConvention::kPlain);
  EXPECT_OK(layout->CheckAgainst({8, 4, 8}));
  EXPECT_ERROR(layout->CheckAgainst({8, 8, 8}), StatusCode::kInvalidArgument, "parameter 'x_stride_0' (2 of 3");
}

TEST_F(LayoutTest, TheCutileConventionSpreadsArrays) {
  KernelDefinition definition("k");
  definition.Parameters({In("x", {"M", "N"})}).AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  ASSERT_OK(definition.Validate());
  std::int64_t shape[] = {3, 8};
  std::int64_t strides[] = {16, 1};
  TensorView strided = TensorView::Strided(memory_, DType::kFloat16, shape, strides, 2);
  Argument argument(strided);
  ASSERT_OK(CallBinder(definition).Bind(&argument, 1, &call_));
  auto address = reinterpret_cast<std::uint64_t>(static_cast<void*>(memory_));
  EXPECT_EQ(Words(definition, CallingConvention::kCutilePython, {8, 4, 4, 4, 4}),
            (std::vector<std::uint64_t>{address, 3, 8, 16, 1}));
  Result<ParameterLayout> layout = ParameterLayout::Create(definition, CallingConvention::kCutilePython);
  EXPECT_OK(layout->CheckAgainst({8, 4, 4, 4, 4, 128}, /*may_hide=*/true));  // Those of a cubin may follow.
  EXPECT_ERROR(layout->CheckAgainst({8, 4, 4, 4, 4, 128}), StatusCode::kInvalidArgument,
               "its code has 6; declared are: x, extent 0 of x, extent 1 of x, stride 0 of x, stride 1 of x");
  EXPECT_ERROR(layout->CheckAgainst({8, 4, 4, 8, 4}), StatusCode::kInvalidArgument,
               "parameter 'stride 0 of x' (4 of 5 in the code): declared with 4 bytes, but the code has 8");
  strided.strides[0] = std::int64_t{1} << 31;
  ParameterBlock block;
  EXPECT_ERROR(layout->Fill(call_, Config(), nullptr, &block), StatusCode::kInvalidArgument,
               "parameter 'x': 2147483648 does not fit the kernel's int32");
}

}  // namespace
}  // namespace tuneonce
