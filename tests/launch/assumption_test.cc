// What code takes for granted of tensors: the quick form of the checks against the one that names what is wrong.
#include "launch/assumption.h"

#include <random>

#include "testing/device_test.h"

namespace tuneonce {
namespace {

/// A call of a kernel with two matrices over M and N, which lie nowhere.
class AssumptionChecksTest : public ::testing::Test {
 protected:
  AssumptionChecks Checks(std::vector<Assumption> assumptions, CallingConvention convention) {
    KernelDefinition definition("k");
    variant_.name = "v";
    variant_.source = testing::NoSource;
    variant_.geometry = Grid::Fixed(1);
    variant_.convention = convention;
    variant_.assumptions = std::move(assumptions);
    definition.Parameters({In("x", {"M", "N"}), Out("y", {"M", "N"}), DimValue("N")}).AddVariant(variant_);
    EXPECT_OK(definition.Validate());
    definition_.emplace(std::move(definition));
    Result<AssumptionChecks> checks = AssumptionChecks::Create(*definition_, definition_->variants().front());
    EXPECT_OK(checks);
    return *std::move(checks);
  }
  const BoundCall& Call() {
    std::vector<Argument> arguments = {x_, y_};
    EXPECT_OK(CallBinder(*definition_).Bind(arguments.data(), arguments.size(), &call_));
    return call_;
  }
  static TensorView Matrix(std::uintptr_t address, std::int64_t m, std::int64_t n, std::int64_t stride) {
    std::int64_t shape[] = {m, n}, strides[] = {stride, 1};
    return TensorView::Strided(reinterpret_cast<void*>(address), DType::kFloat32, shape, strides, 2);
  }

  Variant variant_;
  std::optional<KernelDefinition> definition_;
  TensorView x_ = Matrix(0x100000, 4, 8, 8), y_ = Matrix(0x200000, 4, 8, 8);
  BoundCall call_;
};

TEST_F(AssumptionChecksTest, AnInt32ParameterIsAnAssumption) {
  AssumptionChecks plain = Checks({}, CallingConvention::kPlain);
  x_ = y_ = Matrix(0x100000, 4, std::int64_t{1} << 31, std::int64_t{1} << 31);
  EXPECT_TRUE(plain.HoldApartFromExtents(Call()));
  EXPECT_FALSE(plain.Hold(Call())) << "but N";
  EXPECT_ERROR(plain.Verify(Call()), StatusCode::kInvalidArgument,
               "dimension 1 of 'x' has extent 2147483648, which does not fit an int32");

  AssumptionChecks spread = Checks({StrideDivisibleBy("x", 0, 8)}, CallingConvention::kCutilePython);
  x_ = y_ = Matrix(0x100000, 4, 8, (std::int64_t{1} << 31) - 8);
  EXPECT_TRUE(spread.Hold(Call()));
  x_.strides[0] = -8;
  EXPECT_FALSE(spread.Hold(Call())) << "what lies before the address is not known to be there";
  EXPECT_ERROR(spread.Verify(Call()), StatusCode::kInvalidArgument,
               "dimension 0 of 'x' has stride -8, which is negative: pass a copy");
  x_.shape[0] = y_.shape[0] = 1;
  EXPECT_TRUE(spread.Hold(Call())) << "no step is taken along one element";
  x_.strides[0] = -12;
  EXPECT_FALSE(spread.Hold(Call()));
  for (std::int64_t unused : {std::int64_t{1} << 31, -(std::int64_t{1} << 40)}) {
    x_.strides[0] = unused;
    EXPECT_TRUE(spread.Hold(Call())) << unused;
    EXPECT_OK(spread.Verify(Call()));
  }
  x_.shape[0] = y_.shape[0] = 2;
  x_.strides[0] = std::int64_t{1} << 31;
  EXPECT_FALSE(spread.HoldApartFromExtents(Call()));
  EXPECT_ERROR(spread.Verify(Call()), StatusCode::kInvalidArgument,
               "dimension 0 of 'x' has stride 2147483648, which does not fit an int32");
}

/// The quick form and the one that names the dimension, of a tensor x of this shape that lies so, taken by a bare
/// pointer and the strides of these dimensions.
std::string Contiguity(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::vector<int> taken) {
  KernelDefinition definition("k");
  std::vector<std::string> dims(shape.size());
  for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = std::string(1, static_cast<char>('A' + d));
  std::vector<Parameter> parameters = {In("x", dims)};
  for (int d : taken) parameters.push_back(StrideValue("x", d, DType::kInt64));
  definition.DimsInOrder(dims).Parameters(parameters).AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  EXPECT_OK(definition.Validate());
  Result<AssumptionChecks> checks = AssumptionChecks::Create(definition, definition.variants().front());
  EXPECT_OK(checks);
  TensorView x = TensorView::Strided(reinterpret_cast<void*>(0x1000), DType::kFloat32, shape.data(), strides.data(),
                                     static_cast<int>(shape.size()));
  Argument argument(x);
  BoundCall call;
  EXPECT_OK(CallBinder(definition).Bind(&argument, 1, &call));
  Status verified = checks->Verify(call);
  EXPECT_EQ(checks->Hold(call), verified.ok()) << verified.ToString();
  return verified.message();
}

TEST_F(AssumptionChecksTest, ABarePointerMeansContiguousMemory) {
  struct Case {
    std::vector<std::int64_t> shape, strides;
    std::vector<int> taken;
    const char* refusal;  // Null: it is taken.
  };
  const Case cases[] = {
      {{5}, {1}, {}, nullptr},
      {{5}, {2}, {}, "dimension 0 of 'x' has stride 2, not 1"},
      {{5}, {0}, {}, "dimension 0 of 'x' has stride 0, not 1"},
      {{5}, {-1}, {}, "dimension 0 of 'x' has stride -1, not 1"},
      {{1}, {7}, {}, nullptr},
      {{1}, {-7}, {}, nullptr},
      {{16, 1024}, {1024, 1}, {}, nullptr},
      {{16, 1024}, {2048, 1}, {}, "dimension 0 of 'x' has stride 2048, not 1024"},
      {{16, 16}, {1, 16}, {}, "dimension 1 of 'x' has stride 16, not 1"},
      {{1, 1024}, {2048, 1}, {}, nullptr},
      {{16, 1}, {1, 99}, {}, nullptr},
      {{16, 1}, {2, 1}, {}, "dimension 0 of 'x' has stride 2, not 1"},
      {{1, 1}, {-5, 99}, {}, nullptr},
      {{2, 3, 4}, {12, 4, 1}, {}, nullptr},
      {{2, 3, 4}, {24, 4, 1}, {}, "dimension 0 of 'x' has stride 24, not 12"},
      {{2, 3, 4}, {12, 8, 1}, {}, "dimension 1 of 'x' has stride 8, not 4"},
      {{2, 1, 4}, {4, 77, 1}, {}, nullptr},
      {{1, 3, 1}, {77, 1, 5}, {}, nullptr},
      {{16, 1024}, {2048, 1}, {0}, nullptr},
      {{16, 1024}, {2048, 2}, {0}, "dimension 1 of 'x' has stride 2, not 1"},
      {{16, 16}, {1, 16}, {0, 1}, nullptr},
      {{5}, {7}, {0}, nullptr},
      {{5}, {-7}, {0}, "dimension 0 of 'x' has stride -7, which is negative: pass a copy"},
      {{1}, {-7}, {0}, nullptr},
      {{2, 3, 4}, {24, 8, 1}, {1}, nullptr},  // Rows apart, matrices behind each other.
      {{2, 3, 4}, {25, 8, 1}, {1}, "dimension 0 of 'x' has stride 25, not 24"},
      {{2, 3, 4}, {25, 8, 1}, {0, 1}, nullptr},
      {{2, 3, 4}, {25, 8, 2}, {0, 1}, "dimension 2 of 'x' has stride 2, not 1"},
      {{3, std::int64_t{1} << 32}, {(std::int64_t{1} << 32) + (std::int64_t{1} << 31), 1}, {}, "dimension 0 of 'x'"},
  };
  for (const Case& c : cases) {
    std::string message = Contiguity(c.shape, c.strides, c.taken);
    if (c.refusal == nullptr) {
      EXPECT_EQ(message, "");
    } else {
      EXPECT_NE(message.find(c.refusal), std::string::npos) << message << " / " << c.refusal;
    }
  }
  EXPECT_NE(Contiguity({5}, {2}, {}).find("pass a contiguous copy, or add a variant that takes this stride"),
            std::string::npos);
}

TEST_F(AssumptionChecksTest, ContiguousCanBeDeclaredOfAKernelThatTakesStrides) {
  AssumptionChecks checks = Checks({Contiguous("x")}, CallingConvention::kCutilePython);
  EXPECT_TRUE(checks.Hold(Call()));
  y_.strides[0] = 16;
  EXPECT_TRUE(checks.Hold(Call()));
  x_.strides[0] = 16;
  EXPECT_FALSE(checks.Hold(Call()));
  EXPECT_ERROR(checks.Verify(Call()), StatusCode::kInvalidArgument, "dimension 0 of 'x' has stride 16, not 8");
}

TEST_F(AssumptionChecksTest, HoldAndVerifyAgree) {
  std::mt19937_64 random(7);
  auto one_of = [&](std::initializer_list<std::int64_t> values) { return values.begin()[random() % values.size()]; };
  auto any_assumption = [&] {
    std::string tensor = random() % 2 == 0 ? "x" : "y";
    int dimension = static_cast<int>(random() % 2);
    switch (random() % 7) {
      case 6:
        return ExtentIs(tensor, dimension, one_of({1, 6, 8}));
      case 5:
        return Contiguous(tensor);
      case 0:
        return Aligned(tensor, one_of({1, 4, 16, 24}));
      case 1:
        return StrideIs(tensor, dimension, one_of({1, 8}));
      case 2:
        return StrideDivisibleBy(tensor, dimension, one_of({1, 4, 12}));
      case 3:
        return ExtentDivisibleBy(tensor, dimension, one_of({1, 2, 3}));
      default:
        return NoOverlap("x", "y");
    }
  };
  int held = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Assumption> assumptions;
    for (std::uint64_t i = random() % 4; i > 0; --i) assumptions.push_back(any_assumption());
    AssumptionChecks checks =
        Checks(assumptions, random() % 2 == 0 ? CallingConvention::kPlain : CallingConvention::kCutilePython);
    for (int calls = 0; calls < 5; ++calls) {
      std::int64_t m = one_of({1, 2, 6, std::int64_t{1} << 32}), n = one_of({1, 6, 8});
      auto any_matrix = [&] {
        TensorView view = Matrix(static_cast<std::uintptr_t>(one_of({0x1000, 0x1008, 0x1018, 0x900000})), m, n,
                                 one_of({-8, 1, 8, 12, std::int64_t{1} << 31, -(std::int64_t{1} << 31)}));
        view.strides[1] = one_of({1, 1, 1, 4, 8});
        view.bytes = static_cast<std::size_t>(one_of({0, 8, 24, 0x10000}));
        return view;
      };
      x_ = any_matrix();
      y_ = any_matrix();
      bool holds = checks.Verify(Call()).ok();
      EXPECT_EQ(checks.Hold(Call()), holds) << round;
      held += static_cast<int>(holds);
    }
  }
  EXPECT_GT(held, 500);
  EXPECT_LT(held, 9500);
}

}  // namespace
}  // namespace tuneonce
