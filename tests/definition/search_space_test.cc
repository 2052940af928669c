#include "tuneonce/search_space.h"

#include <cmath>

#include "testing/comma_locale.h"
#include "testing/device_test.h"

namespace tuneonce {
namespace {

const Target kCpu = [] {
  Target target;
  target.is_cpu_device = true;
  return target;
}();

Target Gpu(int capability) {
  Target target;
  target.capability_major = capability / 10;
  target.capability_minor = capability % 10;
  return target;
}

std::vector<std::string> Names(const Result<std::vector<Config>>& configs) {
  std::vector<std::string> names;
  EXPECT_OK(configs);
  if (configs.ok()) {
    for (const Config& config : *configs) names.push_back(config.ToString());
  }
  return names;
}

TEST(SearchSpaceTest, ConfigsComeInTheOrderOfTheOdometer) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {64, 128});
  IntAxis occupancy = space.AddHintAxis("occupancy", {1, 2});
  EXPECT_EQ(space.NumPoints(), 4);
  EXPECT_EQ(Names(space.Enumerate(kCpu)), (std::vector<std::string>{"TILE=64, occupancy=1", "TILE=64, occupancy=2",
                                                                    "TILE=128, occupancy=1", "TILE=128, occupancy=2"}));
  Config last = space.Enumerate(kCpu)->back();
  EXPECT_EQ(last[tile], 128);
  EXPECT_EQ(last[occupancy], 2);
  EXPECT_EQ(last.Kind(0), AxisKind::kStructural);
  EXPECT_EQ(last.Kind(1), AxisKind::kHint);
}

TEST(SearchSpaceTest, AListOfConfigsIsTheSpaceInItsOrder) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {64, 128, 256});
  IntAxis occupancy = space.AddHintAxis("occupancy", {1, 2, 4});
  space.SetConfigs({{{tile, 128}, {occupancy, 4}}, {{tile, 64}, {occupancy, 1}}, {{occupancy, 2}, {tile, 256}}});
  space.Where("small", [=](const Config& c) { return c[tile] < 256; }).SetBaseline({{tile, 64}, {occupancy, 1}});
  EXPECT_EQ(space.NumPoints(), 3);
  const std::vector<std::string> expected = {"TILE=128, occupancy=4", "TILE=64, occupancy=1"};
  EXPECT_EQ(Names(space.Enumerate(kCpu)), expected);
  SearchSpace copy = space, assigned;
  assigned = copy;
  EXPECT_EQ(Names(copy.Enumerate(kCpu)), expected);
  EXPECT_EQ(Names(assigned.Enumerate(kCpu)), expected);
  // A config of a copy that is asked for a foreign axis is the copy's business.
  EXPECT_EQ(copy.Enumerate(kCpu)->front()[SearchSpace().AddAxis("A", {1})], 0);
  EXPECT_OK(space.Enumerate(kCpu));
  EXPECT_EQ(copy.Enumerate(kCpu).status().code(), StatusCode::kInvalidArgument);
  EXPECT_OK(
      space.ConfigNamed({{"TILE", AxisValue(std::int64_t{64})}, {"occupancy", AxisValue(std::int64_t{1})}}, kCpu));
  EXPECT_ERROR(
      space.ConfigNamed({{"TILE", AxisValue(std::int64_t{64})}, {"occupancy", AxisValue(std::int64_t{2})}}, kCpu),
      StatusCode::kInvalidArgument, "{TILE=64, occupancy=2} breaks the list of configs on cpu");
  space.SetBaseline({{tile, 64}, {occupancy, 2}});
  EXPECT_ERROR(space.Enumerate(kCpu), StatusCode::kInvalidArgument,
               "the baseline {TILE=64, occupancy=2} breaks the list of configs on cpu");
}

TEST(SearchSpaceTest, AListOfConfigsMayLieInASpaceThatCouldNotBeWalked) {
  SearchSpace space;
  std::vector<AxisAssignment> config;
  for (int i = 0; i < 40; ++i) {
    config.emplace_back(space.AddAxis("A" + std::to_string(i), {1, 2, 3, 4}), 3);
  }
  space.SetConfigs({config});
  EXPECT_EQ(Names(space.Enumerate(kCpu)).size(), 1u);
}

TEST(SearchSpaceTest, AMistakeInAListOfConfigsIsNamed) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {64, 128});
  IntAxis occupancy = space.AddHintAxis("occupancy", {1, 2});
  auto error = [&](const std::vector<std::vector<AxisAssignment>>& list) {
    return SearchSpace(space).SetConfigs(list).status().message();
  };
  EXPECT_EQ(error({}), "the list of configs is empty");
  EXPECT_EQ(error({{{tile, 64}}}), "the list of configs gives no value for axis occupancy");
  EXPECT_EQ(error({{{tile, 65}, {occupancy, 1}}}), "the list of configs sets TILE=65, which is not one of {64, 128}");
  EXPECT_EQ(error({{{tile, 64}, {occupancy, 1}}, {{occupancy, 1}, {tile, 64}}}),
            "the list of configs has {TILE=64, occupancy=1} twice");
}

TEST(SearchSpaceTest, AxesHaveTypes) {
  SearchSpace space;
  auto scale = space.AddDoubleAxis("scale", {0.5});
  auto flag = space.AddBoolAxis("flag");
  auto layout = space.AddStringAxis("layout", {"row"});
  auto powers = space.AddPowerOfTwoAxis("P", 2, 8);
  std::vector<Config> configs = *space.Enumerate(kCpu);
  ASSERT_EQ(configs.size(), 6u);
  EXPECT_EQ(configs[0].ToString(), "scale=0.5, flag=false, layout=row, P=2");
  EXPECT_EQ(configs[5][scale], 0.5);
  EXPECT_TRUE(configs[5][flag]);
  EXPECT_EQ(configs[5][layout], "row");
  EXPECT_EQ(configs[5][powers], 8);
  EXPECT_EQ(*configs[0].Find("P"), AxisValue(std::int64_t{2}));
  EXPECT_EQ(configs[0].Find("none"), nullptr);
}

TEST(SearchSpaceTest, ASpaceWithoutAxesHasOnePoint) {
  SearchSpace space;
  EXPECT_EQ(Names(space.Enumerate(kCpu)), std::vector<std::string>{"(no axes)"});
}

TEST(SearchSpaceTest, ConditionsDropConfigsByAxesTargetAndProblem) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {32, 64, 128});
  space.Where("at least 64", [=](const Config& c) { return c[tile] >= 64; });
  space.Where("128 needs sm_90", tile < 128 || CapabilityRange(90, 129));
  space.Where("divides N", [=](const Config& c, const Dims& dims) { return dims[Dim{0}] % c[tile] == 0; });
  EXPECT_EQ(Names(space.Enumerate(Gpu(90))), (std::vector<std::string>{"TILE=64", "TILE=128"}));
  EXPECT_EQ(Names(space.Enumerate(Gpu(80))), (std::vector<std::string>{"TILE=64"}));
  Problem problem;
  problem.dims = Dims(1);
  problem.dims[Dim{0}] = 64;
  EXPECT_EQ(Names(space.Enumerate(Gpu(90), &problem)), (std::vector<std::string>{"TILE=64"}));
  Config large = space.Enumerate(Gpu(90))->back();
  EXPECT_FALSE(space.GuardsHold(large, problem));
  EXPECT_ERROR(space.CheckGuards(large, problem), StatusCode::kFailedPrecondition,
               "condition 'divides N' does not hold for config {TILE=128}");
}

TEST(SearchSpaceTest, MistakesAreReportedByName) {
  struct Case {
    void (*build)(SearchSpace&);
    const char* message;
  };
  const Case cases[] = {
      {[](SearchSpace& s) { s.AddAxis("A", std::vector<std::int64_t>{}); }, "axis 'A' has no values"},
      {[](SearchSpace& s) { s.AddAxis("", {1}); }, "an axis needs a name"},
      {[](SearchSpace& s) { s.AddAxis("A", {1}), s.AddHintAxis("A", {2}); }, "two axes are named 'A'"},
      {[](SearchSpace& s) {
         s.AddAxis("A", {1, 2, 1});
       },
       "axis 'A' lists the value 1 twice"},
      {[](SearchSpace& s) { s.AddPowerOfTwoAxis("A", 3, 8); }, "'A': 3 to 8 is not a range of powers of two"},
      {[](SearchSpace& s) {
         s.SetBaseline({{s.AddAxis("A", {1}), 2}});
       },
       "the baseline sets A=2, which is not one of {1}"},
      {[](SearchSpace& s) {
         s.AddAxis("A", {1, 2}), s.SetBaseline({});
       },
       "the baseline gives no value for axis A"},
      {[](SearchSpace& s) {
         SearchSpace other;
         s.AddAxis("A", {1}), s.SetFallback({{other.AddAxis("A", {1}), 1}});
       },
       "the fallback names an axis of another space"},
      {[](SearchSpace& s) { s.AddAxis("A", {1}), s.FindAxis("B"); },
       "the search space has no axis 'B'; its axes are: A"},
      {[](SearchSpace& s) { s.AddStringAxis("A", {"x"}), s.FindAxis("A"); },
       "the axis 'A' has no whole numbers as values"},
      {[](SearchSpace& s) {
         s.SetConfigs({{{s.AddAxis("A", {1}), 1}}});
         for (char c = 'B'; c <= 'Z'; ++c) s.AddAxis(std::string(1, c), {1, 2});
       },
       "the list of configs has more than 10000 with axis 'O': remove axes or values"},
      {[](SearchSpace& s) {
         s.AddConfig({{s.AddAxis("A", {1}), 2}});
       },
       "AddConfig needs a list of configs"},
      {[](SearchSpace& s) {
         s.AddAxis("A", {1, 2}), s.Where("never", [](const Config&) { return false; });
       },
       "the search space is empty on cpu: condition 'never' dropped 2 of 2 configs"},
      {[](SearchSpace& s) { s.AddAxis("A", {1}), s.Where("odd", [](const Config&) -> bool { throw 1; }); },
       "condition 'odd' threw"},
  };
  for (const Case& c : cases) {
    SearchSpace space;
    c.build(space);
    EXPECT_ERROR(space.Enumerate(kCpu), StatusCode::kInvalidArgument, c.message);
  }
}

TEST(SearchSpaceTest, AnAxisThatComesLaterMultipliesTheListAndTheBaselineTakesItsFirstValue) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {32, 64});
  space.SetConfigs({{{tile, 64}}, {{tile, 32}}});
  space.SetBaselines({{{{tile, 64}}}, {{{tile, 32}}}});
  space.SetFallback({{tile, 32}});
  Axis<std::string> layout = space.AddStringAxis("LAYOUT", {"row", "column"});
  EXPECT_EQ(Names(space.Enumerate(kCpu)), (std::vector<std::string>{"TILE=64, LAYOUT=row", "TILE=64, LAYOUT=column",
                                                                    "TILE=32, LAYOUT=row", "TILE=32, LAYOUT=column"}));
  EXPECT_EQ(space.baseline()->ToString(), "TILE=64, LAYOUT=row");
  EXPECT_EQ(space.fallback()->ToString(), "TILE=32, LAYOUT=row");
  space.AddConfig({{tile, 128}, {layout, "column"}});
  EXPECT_EQ(Names(space.Enumerate(kCpu)).back(), "TILE=128, LAYOUT=column");
  EXPECT_EQ(space.NumPoints(), 5);
  EXPECT_EQ(space.Enumerate(kCpu)->back()[space.FindAxis("TILE")], 128);
  space.AddConfig({{tile, 128}, {layout, "column"}});
  EXPECT_ERROR(space.Enumerate(kCpu), StatusCode::kInvalidArgument,
               "the list of configs has {TILE=128, LAYOUT=column} twice");
}

TEST(SearchSpaceTest, ACopyIsAddedToAlone) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {32, 64});
  space.SetConfigs({{{tile, 64}}});
  SearchSpace copy = space;
  copy.AddConfig({{tile, 16}});
  copy.AddAxis("STAGES", {2, 3});
  EXPECT_EQ(Names(space.Enumerate(kCpu)), (std::vector<std::string>{"TILE=64"}));
  EXPECT_EQ(space.ToString(), "TILE in {32, 64}");
  EXPECT_EQ(copy.NumPoints(), 4);
}

TEST(SearchSpaceTest, AConditionOfANamedDimIsAskedOfThatDim) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {32, 64});
  space.Where("fits N", tile <= D("N"));
  Problem problem;
  problem.dims = Dims(2);
  problem.dims[Dim{0}] = 16;
  problem.dims[Dim{1}] = 32;
  EXPECT_ERROR(
      space.Enumerate(kCpu, &problem), StatusCode::kInvalidArgument,
      "condition 'fits N' (TILE <= N) names a dim or scalar that the search space does not know: call Resolve");
  EXPECT_ERROR(space.Resolve(TermNames{{"M", "K"}, {}}), StatusCode::kInvalidArgument,
               "condition 'fits N': unknown dim 'N'; the kernel has: M, K");
  ASSERT_OK(space.Resolve(TermNames{{"M", "N"}, {}}));
  EXPECT_EQ(Names(space.Enumerate(kCpu, &problem)), (std::vector<std::string>{"TILE=32"}));
  ASSERT_OK(space.Resolve(TermNames{{"N", "M"}, {}}));
  EXPECT_ERROR(space.Enumerate(kCpu, &problem), StatusCode::kInvalidArgument,
               "condition 'fits N' (TILE <= N) dropped 2 of 2 configs");
}

TEST(SearchSpaceTest, ASpaceAboveMaxConfigsIsEnumeratedForAStrategyToChooseFrom) {
  SearchSpace space;
  space.AddAxis("A", {1, 2, 3, 4, 5, 6});
  space.AddAxis("B", {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(space.max_configs(), 30);
  EXPECT_EQ(space.Enumerate(kCpu)->size(), 36u);
}

TEST(SearchSpaceTest, ABaselineThatAGuardExcludesTakesNoPartAndMustKeepConstraints) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {32, 64});
  space.Where("never 64", [=](const Config& c, const Dims&) { return c[tile] != 64; });
  space.SetBaseline({{tile, 64}});
  Problem problem;
  EXPECT_EQ(Names(space.Enumerate(kCpu, &problem)), (std::vector<std::string>{"TILE=32"}));
  EXPECT_FALSE(*space.BaselineFor(problem));
  space.SetBaselines({{{{tile, 64}}}, {{{tile, 32}}}});
  EXPECT_EQ((*space.BaselineFor(problem))->ToString(), "TILE=32");
  EXPECT_EQ(space.baseline()->ToString(), "TILE=64");
  space.Where("small", [=](const Config& c) { return c[tile] < 64; });
  EXPECT_ERROR(space.Enumerate(kCpu), StatusCode::kInvalidArgument,
               "the baseline {TILE=64} breaks condition 'small' on cpu");
}

TEST(SearchSpaceTest, AnEmptySpaceRunsItsFallback) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {32, 64});
  space.Where("GPUs only", OnGpu());
  space.SetFallback({{tile, 64}});
  EXPECT_EQ(Names(space.Enumerate(kCpu)), std::vector<std::string>{"TILE=64"});
}

TEST(SearchSpaceTest, AForeignAxisGivesADefaultAndIsReportedOnce) {
  SearchSpace space;
  SearchSpace other;
  space.AddAxis("A", {7});
  IntAxis foreign = other.AddAxis("A", {8});
  Config config = space.Enumerate(kCpu)->front();
  EXPECT_EQ(config[foreign], 0);
  EXPECT_ERROR(space.TakeMisuse(), StatusCode::kInvalidArgument, "an axis of another search space");
  EXPECT_OK(space.TakeMisuse());
  EXPECT_EQ(config[IntAxis()], 0);
  EXPECT_FALSE(space.TakeMisuse().ok());
  space.Where("uses it", [=](const Config& c) { return c[foreign] == 0; });
  EXPECT_ERROR(space.Enumerate(kCpu), StatusCode::kInvalidArgument, "an axis of another search space");
}

TEST(SearchSpaceTest, ACopyIsASpaceOfItsOwn) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {1, 2});
  SearchSpace copy = space;
  copy.AddAxis("MORE", {1, 2});
  EXPECT_EQ(space.NumPoints(), 2);
  EXPECT_EQ(copy.NumPoints(), 4);
  EXPECT_EQ(copy.Enumerate(kCpu)->back()[tile], 2);
}

TEST(SearchSpaceTest, PrintsItself) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {1, 2});
  space.AddHintAxis("occupancy", {1});
  space.Where("c", [](const Config&) { return true; });
  space.Where("g", [](const Config&, const Dims&) { return true; });
  EXPECT_EQ(space.ToString(), "TILE in {1, 2} x occupancy (hint) in {1}; where c; where g");
  static_cast<void>(tile);
}

TEST(ByTargetTest, ATargetsOwnValueBeatsTheDefault) {
  ByTarget<int> values(std::map<std::string, int>{{"default", 1}, {"sm_90", 2}});
  EXPECT_EQ(*values.Find(Gpu(90)), 2);
  EXPECT_EQ(*values.Find(Gpu(80)), 1);
  EXPECT_EQ(ByTarget<int>(std::map<std::string, int>{{"sm_90", 2}}).Find(kCpu), nullptr);
  EXPECT_EQ(*ByTarget<int>(5).Find(kCpu), 5);
}

TEST(ConfigTest, ADoublePrintsWithAsManyDigitsAsBringItBack) {
  SearchSpace space;
  space.AddDoubleAxis("A", {0.12345671, 0.12345672, 0.1, 1.0, -0.0, 1e300, 0.1 + 0.2});
  std::vector<Config> configs = *space.Enumerate(Target());
  std::vector<std::string> texts;
  for (const Config& config : configs) texts.push_back(config.ToString());
  EXPECT_EQ(texts, (std::vector<std::string>{"A=0.12345671", "A=0.12345672", "A=0.1", "A=1", "A=-0", "A=1e+300",
                                             "A=0.30000000000000004"}));
}

TEST(ConfigTest, ADoublePrintsWithAPointUnderALocaleWithADecimalComma) {
  SearchSpace space;
  space.AddDoubleAxis("A", {1.5e-30, 1.5e300});
  std::vector<Config> configs = *space.Enumerate(Target());
  TUNEONCE_COMMA_LOCALE_OR_SKIP();
  EXPECT_EQ(configs[0].ToString(), "A=1.5e-30");
  EXPECT_EQ(configs[1].ToString(), "A=1.5e+300");
}

TEST(ConfigTest, TheCanonicalFormTellsEveryTypeBitNameAndKindApart) {
  auto of = [](const std::string& name, AxisValue value, AxisKind kind = AxisKind::kStructural) {
    return Config::Of({{name, kind, std::move(value)}});
  };
  const Config configs[] = {
      Config(),
      of("A", std::int64_t{1}),
      of("A", 1.0),
      of("A", true),
      of("A", std::string("1")),
      of("A", std::string("1\0", 2)),
      of("A", std::string()),
      of("B", std::int64_t{1}),
      of("A", std::int64_t{1}, AxisKind::kHint),
      of("A", 0.0),
      of("A", -0.0),
      of("A", 0.12345671),
      of("A", 0.12345672),
      of("A", std::string("1, B=1")),
      Config::Of({{"A", AxisKind::kStructural, std::string("1")}, {"B", AxisKind::kStructural, std::string("1")}}),
  };
  for (const Config& a : configs) {
    Result<Config> again = Config::FromCanonical(a.Canonical());
    ASSERT_OK(again);
    EXPECT_TRUE(again->IsSame(a)) << a.ToString();
    EXPECT_EQ(again->Canonical(), a.Canonical());
    for (const Config& b : configs) {
      Result<Config> beside = Config::FromCanonical(a.Canonical(), b);
      ASSERT_OK(beside);
      EXPECT_TRUE(beside->IsSame(a)) << a.ToString() << ", read beside " << b.ToString();
      EXPECT_EQ(a.IsSame(b), &a == &b) << a.ToString() << " and " << b.ToString();
      EXPECT_EQ(a.Canonical() == b.Canonical(), &a == &b) << a.ToString() << " and " << b.ToString();
      EXPECT_EQ(a == b, &a == &b) << a.ToString() << " and " << b.ToString();
    }
  }
  std::string whole = configs[14].Canonical();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Config::FromCanonical(whole.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(Config::FromCanonical(whole + "x").ok());
}

TEST(ConfigTest, TheSpaceIsNoPartOfTheCanonicalForm) {
  SearchSpace one;
  SearchSpace two;
  for (SearchSpace* space : {&one, &two}) {
    space->AddAxis("TILE", {64});
    space->AddHintAxis("occupancy", {2});
  }
  Config a = one.Enumerate(Target())->front();
  Config b = two.Enumerate(Target())->front();
  EXPECT_EQ(a.Canonical(), b.Canonical());
  EXPECT_TRUE(a.IsSame(b));
  EXPECT_FALSE(a == b) << "an axis of one reads nothing of the other";
  EXPECT_EQ(Config::FromCanonical(a.Canonical(), b)->space_id(), 0u) << "read beside a config of a space it is of none";
}

TEST(SearchSpaceTest, ANanIsNoValueAndZeroHasTwo) {
  SearchSpace nan;
  nan.AddDoubleAxis("A", {1, std::nan("")});
  EXPECT_ERROR(nan.Enumerate(Target()), StatusCode::kInvalidArgument, "axis 'A' lists a NaN");
  SearchSpace zeros;
  Axis<double> axis = zeros.AddDoubleAxis("A", {0.0, -0.0});
  zeros.SetBaseline({{axis, -0.0}});
  Result<std::vector<Config>> configs = zeros.Enumerate(Target());
  ASSERT_OK(configs);  // They print differently, so they make different code.
  ASSERT_EQ(configs->size(), 2u);
  EXPECT_FALSE((*configs)[0] == *zeros.baseline());
  EXPECT_TRUE((*configs)[1] == *zeros.baseline());
  SearchSpace twice;
  twice.AddDoubleAxis("A", {-0.0, 1, -0.0});
  EXPECT_ERROR(twice.Enumerate(Target()), StatusCode::kInvalidArgument, "twice");
}

}  // namespace
}  // namespace tuneonce
