#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "testing/device_test.h"
#include "testing/term_operations.h"
#include "tuneonce/config.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
namespace {

/// A space with an axis of each type, and the dims M and N, whose values are 48 and 7.
class ConditionTest : public ::testing::Test {
 protected:
  ConditionTest() {
    problem_.dims = Dims(2);
    problem_.dims[Dim{0}] = 48;
    problem_.dims[Dim{1}] = 7;
    problem_.target = &target_;
  }

  /// Returns what the condition is for TILE=32, VEC=4, SKIP=0, swap=true, layout=row, scale=0.5.
  Result<std::optional<bool>> ValueOf(Condition condition) {
    SearchSpace space = space_;
    space.Where("it", std::move(condition));
    TUNEONCE_RETURN_IF_ERROR(space.status());
    TUNEONCE_RETURN_IF_ERROR(space.Resolve(names_));
    Config config = *SearchSpace(space_).ConfigNamed({{"TILE", std::int64_t{32}},
                                                      {"VEC", std::int64_t{4}},
                                                      {"SKIP", std::int64_t{0}},
                                                      {"swap", true},
                                                      {"layout", std::string("row")},
                                                      {"scale", 0.5},
                                                      {"opt-level", std::int64_t{3}}},
                                                     *problem_.target);
    return space.conditions().front().condition.Value(config, problem_);
  }
  std::string Shown(const Condition& condition) {
    Result<std::optional<bool>> value = ValueOf(condition);
    if (!value.ok()) return value.status().message();
    return !*value ? "undefined" : **value ? "true" : "false";
  }
  std::string ShownText(const std::string& text) {
    Result<Condition> condition = Condition::Parse(text);
    return condition.ok() ? Shown(*condition) : condition.status().message();
  }

  SearchSpace space_;
  IntAxis tile_ = space_.AddAxis("TILE", {16, 32, 64});
  IntAxis vec_ = space_.AddAxis("VEC", {1, 2, 4});
  IntAxis skip_ = space_.AddAxis("SKIP", {0, 1});
  Axis<bool> swap_ = space_.AddBoolAxis("swap");
  Axis<std::string> layout_ = space_.AddStringAxis("layout", {"row", "column"});
  Axis<double> scale_ = space_.AddDoubleAxis("scale", {0.5, 1});
  IntAxis level_ = space_.AddOptionAxis("opt-level", {2, 3});
  TermNames names_ = {{"M", "N"}, {}};
  const Target target_ = *Target::Named("sm_90");
  Problem problem_;
};

TEST_F(ConditionTest, OperatorsMakeWhatTheTextSays) {
  struct Case {
    Condition condition;
    const char* text;
    const char* value;
  };
  const Case cases[] = {
      {D("M") % tile_ == 0 || vec_ <= 2, "M % TILE == 0 || VEC <= 2", "false"},
      {tile_ * vec_ * 2 <= SharedMemory(), "TILE * VEC * 2 <= device.shared_memory", "true"},
      {!(tile_ == 32 && swap_), "!(TILE == 32 && swap != 0)", "false"},
      {layout_ == "row" && layout_ != "column", "layout == \"row\" && layout != \"column\"", "true"},
      {scale_ == 0.5 && scale_ != 1, "scale == 0.5 && scale != 1.0", "true"},
      {Term(tile_) - (vec_ - Term(skip_)) > 27, "TILE - (VEC - SKIP) > 27", "true"},
      {Max(tile_, 40) >= CeilDiv("M", 2) + Min(vec_, 9), "max(TILE, 40) >= ceil_div(M, 2) + min(VEC, 9)", "true"},
      {level_ != 3, "`opt-level` != 3", "false"},
      {Term(tile_) / (vec_ * Term(2)) < 4, "TILE / (VEC * 2) < 4", "false"},
      {CapabilityRange(80, 90), "device.capability >= 80 && device.capability <= 90", "true"},
      {OnCpuDevice() || !OnGpu(), "device.capability == 0 || !(device.capability > 0)", "false"},
  };
  for (const Case& c : cases) {
    SearchSpace space = space_;
    space.Where("it", c.condition);
    ASSERT_OK(space.status());
    const Condition bound = space.conditions().front().condition;
    EXPECT_EQ(bound.ToString(), c.text);
    EXPECT_EQ(Shown(c.condition), c.value) << c.text;
    EXPECT_EQ(ShownText(c.text), c.value) << c.text;
    EXPECT_EQ(*Condition::Parse(c.text), bound) << c.text;
    EXPECT_EQ(Condition::Parse(c.text)->Hash(), bound.Hash()) << c.text;
  }
}

TEST_F(ConditionTest, DivisionRoundsDownAndTheRemainderHasTheSignOfTheDivisor) {
  for (std::int64_t a = -9; a <= 9; ++a) {
    for (std::int64_t b = -4; b <= 4; ++b) {
      if (b == 0) continue;
      const auto floor = static_cast<std::int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
      const auto ceil = static_cast<std::int64_t>(std::ceil(static_cast<double>(a) / static_cast<double>(b)));
      EXPECT_EQ((Term(a) / b).Value(Config(), Problem()), floor) << a << " / " << b;
      EXPECT_EQ((Term(a) % b).Value(Config(), Problem()), a - floor * b) << a << " % " << b;
      EXPECT_EQ(CeilDiv(a, b).Value(Config(), Problem()), ceil) << a << " / " << b;
    }
  }
  constexpr std::int64_t kLowest = Term::kNoValue + 1;
  EXPECT_EQ((Term(kLowest) / -1).Value(Config(), Problem()), -kLowest);
  EXPECT_EQ((Term(kLowest) % -1).Value(Config(), Problem()), 0);
}

TEST_F(ConditionTest, AnUndefinedConditionDoesNotHoldAndNeitherDoesItsNegation) {
  const std::pair<const char*, const char*> cases[] = {
      {"M / SKIP == 0", "undefined"},
      {"!(M / SKIP == 0)", "undefined"},
      {"M % SKIP == 0", "undefined"},
      {"ceil_div(M, SKIP) >= 0", "undefined"},
      {"M * 9223372036854775807 > 0", "undefined"},
      {"!(M * 9223372036854775807 > 0)", "undefined"},
      {"M / SKIP == 0 || TILE == 32", "true"},
      {"TILE == 32 || M / SKIP == 0", "true"},
      {"M / SKIP == 0 || TILE == 64", "undefined"},
      {"M / SKIP == 0 && TILE == 32", "undefined"},
      {"TILE == 64 && M / SKIP == 0", "false"},
      {"!(TILE == 64 && M / SKIP == 0)", "true"},
      {"SKIP != 0 && M % SKIP == 0", "false"},
  };
  for (const auto& [text, value] : cases) EXPECT_EQ(ShownText(text), value) << text;
  Config config = space_.Configs(*problem_.target)->At(0);
  EXPECT_FALSE((Term(1) / 0 == 0).Holds(config, problem_));
  EXPECT_FALSE((!(Term(1) / 0 == 0)).Holds(config, problem_));
}

TEST_F(ConditionTest, TextsAreRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"swap", "true"},
      {"!swap", "false"},
      {"not swap or TILE == 32 and VEC != 2", "true"},
      {"swap == true && (false || true)", "true"},
      {"VEC - 4", "false"},
      {"-VEC == 0 - 4 && - 4 == -VEC", "true"},
      {"0.5 == scale", "true"},
      {"scale == 5e-1", "true"},
      {"scale != -0.5", "true"},
      {"layout == \"col\\\"umn\"", "false"},
      {"  TILE\t*\n2==64 ", "true"},
      {"2 + 3 * 4 == 14 && 20 - 6 - 4 == 10 && 24 / 4 / 2 == 3", "true"},
      {"axis(TILE) == 32 && dim(M) == 48", "true"},
      {"true", "true"},
      {"device.num_sms >= 1 && device.warp_size == 32 && device.max_threads_per_sm == 2048", "true"},
  };
  for (const auto& [text, value] : cases) EXPECT_EQ(ShownText(text), value) << text;
}

TEST_F(ConditionTest, AMistakeInATextIsOneLineWithItsPosition) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "invalid condition '': expected a number, a name or '(', got the end at position 1"},
      {"TILE <", "expected a number, a name or '(', got the end at position 7"},
      {"TILE = 4", "expected '==' for a comparison, got '=' at position 6"},
      {"TILE == 4)", "expected an operator or the end, got ')' at position 10"},
      {"(TILE == 4", "expected ')', got the end at position 11"},
      {"1 < TILE < 4", "comparisons cannot be chained, write a < b && b < c; at position 10"},
      {"TILE & 4", "expected an operator or the end, got '&' at position 6"},
      {"sqrt(TILE) == 4", "unknown function 'sqrt'; the functions are ceil_div, min and max, and for requirements "},
      {"min(TILE) == 4", "expected ',', got ')' at position 9"},
      {"device.sms > 1", "expected a property of the device ("},
      {"9223372036854775808 > 1", "expected a number that fits 64 bits, got '9223372036854775808' at position 1"},
      {"TILE == 4x", "expected a number that fits 64 bits, got '4x' at position 9"},
      {"TILE * 0.5 == 4",
       "expected a whole number or a name, got '0.5', which only == and != compare with an axis, at"},
      {"scale < 0.5", "expected a whole number or a name, got '0.5', which only == and != compare with an axis, at"},
      {"layout == \"row", "a quote that is not closed, \", at position 11"},
      {"(TILE == 4) + 1 == 2", "expected a number, got a condition at position 1"},
      {"layout", "the values of axis 'layout' are strings: compare it by == or != with one, such as \"row\""},
      {"scale == 1", "the values of axis 'scale' are floating-point numbers: compare it by == or != with one"},
      {"TILE == \"row\"", "the values of axis 'TILE' are whole numbers or booleans: compare it with a whole number"},
      {"K == \"row\"", "unknown axis 'K'; the space has: "},
      {"K == 4", "condition 'it': unknown dim 'K'; the kernel has: M, N"},
      {std::string(65, '(') + "1", "the condition is too complex at position 65"},
      {std::string(5000, ' '), "the condition has 5000 characters; at most 4096 are possible"},
  };
  for (const auto& [text, message] : cases) {
    const std::string shown = ShownText(text);
    EXPECT_NE(shown.find(message), std::string::npos) << text << ": " << shown;
    EXPECT_EQ(shown.find('\n'), std::string::npos) << shown;
  }
}

TEST_F(ConditionTest, AnAxisAndADimOfOneNameAreToldApart) {
  names_.dims = {"TILE", "N"};  // TILE is 48 as a dim, and 32 as an axis.
  EXPECT_EQ(ShownText("TILE == 32"),
            "condition 'it': 'TILE' is an axis and a dim: rename one, or write axis(TILE) or dim(TILE)");
  EXPECT_EQ(ShownText("axis(TILE) == 32 && dim(TILE) == 48"), "true");
  EXPECT_EQ(Shown(tile_ == 32 && D("TILE") == 48), "true");
  SearchSpace space = space_;
  space.Where("it", tile_ < D("TILE"));
  ASSERT_OK(space.Resolve(names_));
  EXPECT_EQ(space.conditions().front().condition.ToString(), "axis(TILE) < dim(TILE)");
  for (const char* text : {"axis(TILE) < dim(TILE)", "N + axis(TILE) > 5000 || TILE == 256"}) {
    Result<Condition> unbound = Condition::Parse(text);
    ASSERT_OK(unbound);
    EXPECT_EQ(unbound->ToString(), text);
  }
}

TEST_F(ConditionTest, AConditionKnowsWhatItReads) {
  auto reads = [&](Condition condition) {
    SearchSpace space = space_;
    space.Where("it", std::move(condition));
    EXPECT_OK(space.Resolve(TermNames{{"M"}, {{"alpha", DType::kInt32, 1}}}));
    return space.conditions().front().condition.reads();
  };
  EXPECT_EQ(reads(vec_ * Term(tile_) < 8 || layout_ == "row").axes, (std::vector<int>{0, 1, 4}));
  EXPECT_FALSE(reads(vec_ < 8).target);
  EXPECT_TRUE(reads(vec_ < NumSms()).target);
  EXPECT_TRUE(reads(D("M") < 8).problem());
  EXPECT_FALSE(reads(D("M") < 8).scalars);
  EXPECT_TRUE(reads(D("alpha") < 8).scalars);
  EXPECT_TRUE((D("M") < 8).reads().unresolved);
  EXPECT_FALSE(reads(D("M") < 8).unresolved);
  const ConditionReads of_config = reads([](const Config&) { return true; });
  EXPECT_TRUE(of_config.function && of_config.any_axis && !of_config.target && !of_config.problem());
  const ConditionReads of_target = reads([](const Target&) { return true; });
  EXPECT_TRUE(of_target.function && !of_target.any_axis && of_target.target && !of_target.problem());
  const ConditionReads of_dims = reads([](const Config&, const Dims&) { return true; });
  EXPECT_TRUE(of_dims.function && of_dims.dims && !of_dims.scalars && !of_dims.target);
  const ConditionReads of_problem = reads([](const Config&, const Problem&) { return true; });
  EXPECT_TRUE(of_problem.function && of_problem.dims && of_problem.scalars && of_problem.target);
}

TEST_F(ConditionTest, FunctionsAreComparedByIdentity) {
  const Condition one = [](const Config&) { return true; };
  const Condition copy = one;
  const Condition other = [](const Config&) { return true; };
  EXPECT_EQ(one, copy);
  EXPECT_NE(one, other);
  EXPECT_EQ(one && Term(1) == 1, copy && Term(1) == 1);
  EXPECT_FALSE(Condition::Parse(one.ToString()).ok() && *Condition::Parse(one.ToString()) == one);
}

TEST_F(ConditionTest, ForOneConfigWhatDependsOnItIsFolded) {
  Config config = space_.Configs(*problem_.target)->At(0);  // TILE=16, VEC=1, SKIP=0.
  EXPECT_EQ((D("M") % (tile_ * Term(vec_)) == 0 && vec_ == 1).For(config).ToString(), "M % 16 == 0");
  EXPECT_TRUE((vec_ == 1 || D("M") < 4).For(config).IsAlways());
  EXPECT_EQ((vec_ == 2 && D("M") < 4).For(config).ToString(), "false");
  EXPECT_EQ((Term(tile_) / skip_ == 1 || D("M") < 4).For(config).ToString(), "undefined || M < 4");
}

/// Makes random expressions from a seed.
class RandomCondition {
 public:
  explicit RandomCondition(unsigned seed) : random_(seed) {}

  Condition Next(int depth) {
    switch (depth == 0 ? Pick(6) : Pick(9)) {
      case 0:
        return NextTerm(depth) == NextTerm(depth);
      case 1:
        return NextTerm(depth) != NextTerm(depth);
      case 2:
        return NextTerm(depth) < NextTerm(depth);
      case 3:
        return NextTerm(depth) <= NextTerm(depth);
      case 4:
        return NextTerm(depth) > NextTerm(depth);
      case 5:
        return NextTerm(depth) >= NextTerm(depth);
      case 6:
        return Next(depth - 1) && Next(depth - 1);
      case 7:
        return Next(depth - 1) || Next(depth - 1);
      default:
        return !Next(depth - 1);
    }
  }

 private:
  int Pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  Term NextTerm(int depth) {
    static const char* const kNames[] = {"TILE", "VEC", "SKIP", "swap", "M", "N", "opt-level", "min"};
    if (depth == 0 || Pick(4) == 0) {
      switch (Pick(4)) {
        case 0:
          return Term(Pick(41) - 20);
        case 1:
          return SharedMemory();
        default:
          return D(kNames[Pick(8)]);
      }
    }
    Term a = NextTerm(depth - 1), b = NextTerm(depth - 1);
    return testing::OperationOn(Pick(8), a, b);
  }

  std::mt19937 random_;
};

TEST_F(ConditionTest, ZeroHasOneValueAndTheLeastNumberNone) {
  for (const std::vector<double>& values : {std::vector<double>{0.0, 1.0}, {-0.0, 1.0}, {1.0, 0.0, -0.0}}) {
    for (const char* text : {"A == 0.0", "A == -0.0", "!(A != -0.0)", "A == 0.0 && A != 1.0"}) {
      SearchSpace space;
      space.AddDoubleAxis("A", values);
      space.Where(text, *Condition::Parse(text));
      Result<std::vector<Config>> configs = space.Enumerate(Target());
      ASSERT_OK(configs);
      EXPECT_EQ(configs->size(), values.size() - 1) << text;
      for (const Config& config : *configs) EXPECT_EQ(std::get<double>(*config.Find("A")), 0) << text;
    }
  }
  SearchSpace zeros;
  const Axis<double> axis = zeros.AddDoubleAxis("A", {-0.0, 1.0});
  const Condition is_zero = axis == 0.0;  // Evaluated for one config, as at a launch.
  const std::vector<Config> configs = *zeros.Enumerate(Target());
  EXPECT_TRUE(is_zero.Holds(configs[0], Problem()));
  EXPECT_FALSE(is_zero.Holds(configs[1], Problem()));
  SearchSpace space;
  space.AddAxis("A", {std::numeric_limits<std::int64_t>::min(), std::int64_t{5}});
  space.Where("small", *Condition::Parse("A < 0"));
  EXPECT_ERROR(space.Enumerate(Target()), StatusCode::kInvalidArgument,
               "axis 'A' lists the value -9223372036854775808, which conditions take for undefined");
  EXPECT_ERROR(Condition::Parse("A == -9223372036854775808"), StatusCode::kInvalidArgument,
               "expected a number that fits 64 bits");
}

TEST_F(ConditionTest, TooManyNestedOperationsAreAnError) {
  for (const auto& [depth, is_possible] : {std::pair(900, true), std::pair(1100, false), std::pair(100000, false)}) {
    SCOPED_TRACE(depth);
    SearchSpace space;
    const IntAxis axis = space.AddAxis("A", {1, 2});
    Term term(axis), extent("N");
    Condition condition = axis > 0;
    for (int i = 0; i < depth; ++i) {
      term = std::move(term) + 1;
      extent = std::move(extent) + 1;
      condition = std::move(condition) && axis > 0;
    }
    const std::string words = "a term has more than 1000 nested operations";
    SearchSpace deep = space, wide = space;
    for (const Result<std::vector<Config>>& configs : {deep.Where("deep", std::move(term) > 0).Enumerate(Target()),
                                                       wide.Where("wide", condition).Enumerate(Target())}) {
      if (is_possible) {
        ASSERT_OK(configs);
        EXPECT_EQ(configs->size(), 2u);
      } else {
        EXPECT_ERROR(configs, StatusCode::kInvalidArgument, words);
      }
    }
    KernelDefinition definition("deep");
    definition.Parameters({Out("y", kFloat32, {"N"})}).AddVariant(Variant([](const Config&, const Problem&) {
                                                                    return KernelSource::CpuCpp("", "deep");
                                                                  }).Grid(Grid::Fixed(std::move(extent))));
    if (is_possible) {
      EXPECT_OK(definition.Validate());
    } else {
      EXPECT_ERROR(definition.Validate(), StatusCode::kInvalidArgument, words);
    }
  }
}

TEST(RequirementConditionTest, AssumptionsPrintReadBackAndFoldForAConfig) {
  SearchSpace space;
  auto vec = space.AddAxis("VEC", {1, 2, 4});
  KernelDefinition definition("k");
  Variant variant([](const Config&) { return KernelSource::Ptx("", "k"); });
  variant.Requires(vec == 1 || (Aligned("x", 4 * vec) && StrideDivisibleBy("x", 0, vec)));
  definition.Parameters({In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M"}), Scalar<float>("f")})
      .Space(space)
      .Grid(Grid::Fixed(1))
      .AddVariant(variant);
  ASSERT_OK(definition.Validate());
  EXPECT_EQ(definition.variants()[0].requirement.ToString(),
            "VEC == 1 || aligned(x, 4 * VEC) && stride_divisible_by(x, 0, VEC)");
  std::vector<std::string> atoms;
  for (const Condition& atom : definition.requirement_atoms()) atoms.push_back(atom.ToString());
  EXPECT_EQ(atoms, (std::vector<std::string>{"aligned(x, 16)", "aligned(x, 8)", "stride_divisible_by(x, 0, 2)",
                                             "stride_divisible_by(x, 0, 4)"}));
  EXPECT_TRUE(definition.has_config_requirements());
}

TEST(RequirementConditionTest, PlainAssumptionsAreThoseOfTheVariant) {
  Variant variant;
  variant.Requires(Aligned("x", 16) && D("N") % 8 == 0).Requires(Contiguous("y"));
  ASSERT_EQ(variant.assumptions.size(), 2u);
  EXPECT_EQ(variant.assumptions[0].kind, Assumption::Kind::kAligned);
  EXPECT_EQ(variant.assumptions[0].value, 16);
  EXPECT_EQ(variant.assumptions[1].kind, Assumption::Kind::kContiguous);
  EXPECT_EQ(variant.requirement.ToString(), "N % 8 == 0");
}

TEST(RequirementConditionTest, EachAssumptionHasAText) {
  const std::vector<std::pair<Condition, const char*>> texts = {
      {Aligned("x", 16), "aligned(x, 16)"},
      {StrideIs("x", 1, 1), "stride_is(x, 1, 1)"},
      {StrideDivisibleBy("x", 0, 8), "stride_divisible_by(x, 0, 8)"},
      {ExtentIs("x", 1, 64), "extent_is(x, 1, 64)"},
      {ExtentDivisibleBy("x", 1, 4), "extent_divisible_by(x, 1, 4)"},
      {ExtentAtLeast("x", 0, 1), "extent_at_least(x, 0, 1)"},
      {Contiguous("x"), "contiguous(x)"},
      {NoOverlap("x", "y"), "no_overlap(x, y)"},
      {ScalarIs("n", 3), "scalar_is(n, 3)"},
      {ScalarIs("f", 0.5), "scalar_is(f, 0.5)"},
      {ScalarIs("f", -2.0), "scalar_is(f, -2.0)"},
      {ScalarDivisibleBy("n", 2), "scalar_divisible_by(n, 2)"},
      {ScalarAtLeast("n", -1), "scalar_at_least(n, -1)"},
      {DTypeIn("x", {kFloat16, kBFloat16}), "dtype_in(x, float16, bfloat16)"},
      {!Condition(Aligned("x", 16)) && D("aligned") == 1, "!aligned(x, 16) && aligned == 1"}};
  for (const auto& [condition, text] : texts) {
    EXPECT_EQ(condition.ToString(), text);
    Result<Condition> again = Condition::Parse(text);
    ASSERT_TRUE(again.ok()) << text << ": " << again.status().message();
    EXPECT_EQ(*again, condition);
    EXPECT_TRUE(again->reads().assumptions);
  }
}

TEST(RequirementConditionTest, InvalidTextsNameThePosition) {
  const std::vector<std::pair<const char*, const char*>> errors = {
      {"aligned(x)", "expected ',', got ')' at position 10"},
      {"aligned(16, x)", "expected the name of a tensor or scalar, got '16'"},
      {"stride_is(x, M, 1)", "expected the number of a dimension, got 'M'"},
      {"aligned(x, 2.5)", "expected a whole number or a name, got '2.5'"},
      {"dtype_in(x, half)", "expected a dtype, got 'half'"},
      {"4 * aligned(x, 16)", "expected a number, got a condition"},
      {"alined(x, 16)", "unknown function 'alined'"}};
  for (const auto& [text, error] : errors) EXPECT_ERROR(Condition::Parse(text), StatusCode::kInvalidArgument, error);
}

TEST_F(ConditionTest, WhatIsPrintedReadsBackAsTheSame) {
  RandomCondition random(42);
  for (int i = 0; i < 5000; ++i) {
    const Condition condition = random.Next(3);
    const std::string text = condition.ToString();
    if (text.size() > 4096) continue;
    Result<Condition> again = Condition::Parse(text);
    ASSERT_TRUE(again.ok()) << text << ": " << again.status().message();
    ASSERT_EQ(again->ToString(), text);
    ASSERT_EQ(*again, condition) << text;
    ASSERT_EQ(again->Hash(), condition.Hash()) << text;
  }
}

}  // namespace
}  // namespace tuneonce
