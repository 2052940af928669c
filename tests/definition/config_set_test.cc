#include <algorithm>
#include <random>
#include <set>

#include "definition/config_set_contents.h"
#include "testing/device_test.h"
#include "testing/public_spaces.h"
#include "testing/term_operations.h"
#include "tuneonce/config.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
namespace {

using testing::PublicSpace;

std::vector<std::string> TextsOf(const ConfigSet& set) {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < set.size(); ++i) texts.push_back(set.At(i).ToString());
  return texts;
}

/// A random space: axes of a few values, and conditions that read some of them.
class RandomSpace {
 public:
  explicit RandomSpace(unsigned seed) : random_(seed) {
    const int num_axes = Pick(2, 6);
    for (int i = 0; i < num_axes; ++i) {
      std::set<std::int64_t> values;
      const int size = Pick(1, 5);
      while (static_cast<int>(values.size()) < size) values.insert(Pick(-6, 12));
      std::vector<std::int64_t> shuffled(values.begin(), values.end());
      std::shuffle(shuffled.begin(), shuffled.end(), random_);
      const std::string name(1, static_cast<char>('A' + i));
      axes_.push_back(with_conditions.AddAxis(name, shuffled));
      without_conditions.AddAxis(name, shuffled);
    }
    const int num_conditions = Pick(1, 4);
    for (int i = 0; i < num_conditions; ++i) {
      conditions.push_back(*Condition::Parse(NextCondition(2).ToString()));
      with_conditions.Where("c" + std::to_string(i), conditions.back());
      without_conditions.Where("all", Condition());
    }
  }

  SearchSpace with_conditions;
  SearchSpace without_conditions;
  std::vector<Condition> conditions;

 private:
  int Pick(int first, int last) { return std::uniform_int_distribution<int>(first, last)(random_); }

  Condition NextCondition(int depth) {
    const int kind = Pick(0, depth == 0 ? 4 : 7);
    if (kind == 5) return NextCondition(depth - 1) && NextCondition(depth - 1);
    if (kind == 6) return NextCondition(depth - 1) || NextCondition(depth - 1);
    if (kind == 7) return !NextCondition(depth - 1);
    Term a = NextTerm(2), b = NextTerm(1);
    if (kind == 0) return a == b;
    if (kind == 1) return a != b;
    if (kind == 2) return a <= b;
    if (kind == 3) return a > b;
    return a % b == 0;
  }

  Term NextTerm(int depth) {
    if (depth == 0 || Pick(0, 3) == 0) {
      if (Pick(0, 3) == 0) return Term(Pick(-8, 20));
      return Term(D(std::string(1, static_cast<char>('A' + Pick(0, static_cast<int>(axes_.size()) - 1)))));
    }
    Term a = NextTerm(depth - 1), b = NextTerm(depth - 1);
    return testing::OperationOn(Pick(0, 7), a, b);
  }

  std::mt19937 random_;
  std::vector<IntAxis> axes_;
};

TEST(ConfigSetTest, RandomSpacesHaveTheConfigsForWhichTheirConditionsHoldInOrder) {
  const Target target = *Target::Named("sm_90");
  std::size_t pruned = 0, kept = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    RandomSpace random(seed);
    Result<ConfigSet> set = random.with_conditions.Configs(target);
    ASSERT_TRUE(set.ok()) << seed << ": " << set.status().message();
    Result<ConfigSet> all = random.without_conditions.Configs(target);
    ASSERT_OK(all);
    ASSERT_EQ(all->size(), random.without_conditions.NumPoints());
    std::vector<std::string> expected;
    for (std::int64_t i = 0; i < all->size(); ++i) {
      std::vector<std::pair<std::string, AxisValue>> values;
      const Config point = all->At(i);
      for (std::size_t axis = 0; axis < point.values().size(); ++axis) {
        values.emplace_back(point.AxisName(axis), point.values()[axis]);
      }
      const bool holds = random.with_conditions.ConfigNamed(values, target).ok();
      EXPECT_EQ(random.with_conditions.Contains(point, target).ok(), holds);
      if (holds) expected.push_back(point.ToString());
    }
    ASSERT_EQ(TextsOf(*set), expected) << seed << ": " << random.with_conditions.ToString();
    kept += expected.size();
    pruned += static_cast<std::size_t>(all->size()) - expected.size();
  }
  EXPECT_GT(kept, 10000u);
  EXPECT_GT(pruned, 10000u);
}

TEST(ConfigSetTest, PublicSpacesHaveTheNumberOfConfigsThatTheirAuthorsCount) {
  // Kernel Tuner 1.0's Searchspace counts the same, for dedispersion without the two axes that no condition reads.
  struct Case {
    PublicSpace space;
    std::int64_t points;
    std::int64_t configs;
  };
  for (const Case& c :
       {Case{testing::Gemm(), 26'244, 5'788}, Case{testing::WholeGemm(), 82'944, 17'956},
        Case{testing::Hotspot(), 22'200'000, 349'853}, Case{testing::Dedispersion(), 123'863'040, 16'851'135}}) {
    SearchSpace space = c.space.Make();
    EXPECT_EQ(space.NumPoints(), c.points);
    Result<ConfigSet> set = space.Configs(*Target::Named("sm_90"));
    ASSERT_OK(set);
    EXPECT_EQ(set->size(), c.configs);
    for (std::int64_t i : {std::int64_t{0}, c.configs / 3, c.configs - 1}) {
      EXPECT_OK(space.Contains(set->At(i), *Target::Named("sm_90")));
    }
    if (set->size() <= SearchSpace::kMostConfigs) continue;
    // Of more configs a search gets a sample: from all parts of the space, no config twice, the same each time.
    Result<std::vector<Config>> sample = space.Enumerate(*Target::Named("sm_90"));
    ASSERT_OK(sample);
    EXPECT_EQ(sample->size(), kSampledConfigs);
    EXPECT_EQ(*sample, *space.Enumerate(*Target::Named("sm_90")));
    std::set<std::string> texts;
    for (const Config& config : *sample) texts.insert(config.ToString());
    EXPECT_EQ(texts.size(), sample->size());
    EXPECT_OK(space.Contains(sample->at(sample->size() / 2), *Target::Named("sm_90")));
  }
}

TEST(ConfigSetTest, ASampleOfALargeSpaceIsFairAndHasTheBaseline) {
  SearchSpace space;
  IntAxis a = space.AddAxis("A", testing::Range(1, 2000)), b = space.AddAxis("B", testing::Range(1, 1000));
  space.SetBaseline({{a, 7}, {b, 9}});
  Result<std::vector<Config>> sample = space.Enumerate(Target());
  ASSERT_OK(sample);
  EXPECT_EQ((*sample)[0][a], 7);
  EXPECT_EQ((*sample)[0][b], 9);
  const auto in_half = [&](IntAxis axis, std::int64_t middle) {
    return std::count_if(sample->begin(), sample->end(), [&](const Config& c) { return c[axis] <= middle; });
  };
  EXPECT_NEAR(static_cast<double>(in_half(a, 1000)), 50'000, 1000);  // Six standard deviations.
  EXPECT_NEAR(static_cast<double>(in_half(b, 500)), 50'000, 1000);
}

TEST(ConfigSetTest, TheFirstConfigIsFoundWithoutEnumerating) {
  for (const PublicSpace& each : {testing::Gemm(), testing::WholeGemm(), testing::Hotspot(), testing::Dedispersion()}) {
    const SearchSpace space = each.Make();
    Result<Config> first = space.First(*Target::Named("sm_90"));
    ASSERT_OK(first);
    EXPECT_EQ(first->ToString(), space.Configs(*Target::Named("sm_90"))->At(0).ToString());
  }
  int asked = 0;
  SearchSpace space;
  IntAxis a = space.AddAxis("A", testing::Range(1, 100)), b = space.AddAxis("B", testing::Range(1, 100));
  space.Where("late", [&](const Config& config) { return ++asked > 0 && config[a] == 2 && config[b] == 3; });
  EXPECT_EQ(space.First(Target())->ToString(), "A=2, B=3");
  EXPECT_EQ(asked, 103);
}

TEST(ConfigSetTest, TheFirstConfigIsThatOfEnumerateForListsAndEmptySpacesToo) {
  SearchSpace listed;
  IntAxis a = listed.AddAxis("A", {1, 2, 3});
  listed.SetConfigs({{{a, 3}}, {{a, 2}}, {{a, 1}}});
  listed.Where("small", [a](const Config& config) { return config[a] < 3; });
  EXPECT_EQ(*listed.First(Target()), listed.Enumerate(Target())->front());
  SearchSpace empty;
  IntAxis b = empty.AddAxis("B", {1, 2});
  empty.Where("none", [b](const Config& config) { return config[b] > 2; });
  EXPECT_EQ(empty.First(Target()).status().ToString(), empty.Enumerate(Target()).status().ToString());
  empty.SetFallback({{b, 2}});
  EXPECT_EQ(empty.First(Target())->ToString(), "B=2");
  EXPECT_EQ(SearchSpace().First(Target())->values().size(), 0u);
}

TEST(ConfigSetTest, RandomSpacesHaveTheSameFirstConfig) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const SearchSpace space = RandomSpace(seed).with_conditions;
    Result<ConfigSet> all = space.Configs(Target());
    ASSERT_OK(all);
    Result<Config> first = space.First(Target());
    EXPECT_EQ(first.ok(), !all->empty());
    if (!first.ok()) continue;
    EXPECT_EQ(first->ToString(), all->At(0).ToString()) << space.ToString();
  }
}

TEST(ConfigSetTest, ExclusionsCountThePointsOfEachCondition) {
  SearchSpace space;
  space.AddAxis("A", testing::Range(1, 10));
  space.AddAxis("B", testing::Range(1, 10));
  for (const char* text : {"A <= 8", "A % 2 == 0", "B != 3"}) space.Where(text, *Condition::Parse(text));
  SearchSpace::Exclusions excluded;
  EXPECT_EQ(space.Configs(Target(), nullptr, &excluded)->size(), 36);
  EXPECT_EQ(excluded, (SearchSpace::Exclusions{
                          {"condition 'A <= 8'", 20}, {"condition 'A % 2 == 0'", 40}, {"condition 'B != 3'", 10}}));
}

TEST(ConfigSetTest, OperatorsMakeTheConditionsOfAPublicSpace) {
  const PublicSpace hotspot = testing::Hotspot();
  SearchSpace space;
  std::vector<IntAxis> axes;
  for (const auto& [name, values] : hotspot.axes) axes.push_back(space.AddAxis(name, values));
  const IntAxis block_x = axes[0], block_y = axes[1], tile_x = axes[2], tile_y = axes[3], tiling = axes[4];
  const IntAxis unroll = axes[6], power = axes[7], per_sm = axes[8];
  const Term shared = (block_x * tile_x + tiling * 2) * (block_y * tile_y + tiling * 2) * (2 + power) * 4;
  const std::vector<Condition> conditions = {block_x * block_y >= 32, tiling % unroll == 0, block_x * block_y <= 1024,
                                             shared <= 49152, per_sm == 0 || shared * per_sm <= 102400};
  ASSERT_EQ(conditions.size(), hotspot.conditions.size());
  for (std::size_t i = 0; i < conditions.size(); ++i) space.Where(hotspot.conditions[i], conditions[i]);
  for (const NamedCondition& each : space.conditions()) {
    EXPECT_EQ(each.condition, *Condition::Parse(each.name)) << each.condition.ToString();
  }
  EXPECT_EQ(space.Configs(Target())->size(), 349'853);
}

TEST(ConfigSetTest, FunctionsAreAskedAboutNoConfigThatDataExcludes) {
  SearchSpace space;
  IntAxis a = space.AddAxis("A", testing::Range(1, 100)), b = space.AddAxis("B", testing::Range(1, 100));
  int calls = 0;
  space.Where("counted", [&](const Config& config) { return ++calls > 0 && config[a] > 50; });
  space.Where("equal", a == b);
  EXPECT_EQ(space.Configs(Target())->size(), 50);
  EXPECT_EQ(calls, 100);
  // A function of the target alone is asked once.
  space.Where("somewhere", [&](const Target&) { return ++calls > 0; });
  calls = 0;
  EXPECT_EQ(space.Configs(Target())->size(), 50);
  EXPECT_EQ(calls, 101);
}

TEST(ConfigSetTest, AGuardIsAskedOnlyForAProblem) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {16, 32, 64});
  space.Where("whole tiles", D("M") % tile == 0);
  space.Where("fits", tile * 1024 <= SharedMemory());
  ASSERT_OK(space.Resolve(TermNames{{"M"}, {}}));
  Problem problem;
  problem.dims = Dims(1);
  problem.dims[Dim{0}] = 48;
  EXPECT_EQ(space.Configs(*Target::Named("sm_90"))->size(), 3);
  EXPECT_EQ(space.Configs(*Target::Named("sm_75"))->size(), 3);
  EXPECT_EQ(space.Configs(*Target::Named("sm_60"))->size(), 2);
  EXPECT_EQ(space.Configs(*Target::Named("sm_90"), &problem)->size(), 1);
  EXPECT_TRUE(space.Configs(*Target::Named("sm_90"))->At(2).values().front() == AxisValue(std::int64_t{64}));
}

TEST(ConfigSetTest, SpacesThatCannotBeListedAreRefused) {
  SearchSpace wide;
  IntAxis first = wide.AddAxis("A", testing::Range(1, 3000)), second = wide.AddAxis("B", testing::Range(1, 3000));
  wide.Where("never equal", first != second);
  EXPECT_ERROR(wide.Configs(Target()), StatusCode::kInvalidArgument,
               "the search space has more than 4000000 configs: remove axes or values, or add conditions");
  SearchSpace slow;
  for (char c = 'A'; c <= 'Z'; ++c) slow.AddAxis(std::string(1, c), testing::Range(0, 1));
  slow.AddAxis("FIRST", testing::Range(1, 20));
  slow.Where("a function", [](const Config&) { return false; });
  EXPECT_ERROR(slow.Configs(Target()), StatusCode::kInvalidArgument,
               "asks its conditions more than 200000000 times, or functions 1000000 times: remove axes or values");
  SearchSpace huge;
  for (int i = 0; i < 70; ++i) huge.AddAxis("A" + std::to_string(i), {1, 2});
  EXPECT_ERROR(huge.Configs(Target()), StatusCode::kInvalidArgument, "more than 2^63 configs");
}

TEST(ConfigSetTest, AnEmptySpaceNamesTheConditionThatPrunedMost) {
  SearchSpace space;
  IntAxis a = space.AddAxis("A", testing::Range(1, 10)), b = space.AddAxis("B", testing::Range(1, 10));
  space.Where("small", a + b <= 3).Where("large", a * Term(b) >= 50);
  EXPECT_TRUE(space.Configs(Target())->empty());
  EXPECT_ERROR(space.Enumerate(Target()), StatusCode::kInvalidArgument,
               "the search space is empty: condition 'small' (A + B <= 3) dropped ");
}

TEST(ConfigSetTest, ContainsNamesWhatIsWrong) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {16, 32});
  space.Where("small", tile < 32);
  auto with = [](const char* axis, std::int64_t value) { return Config::Of({{axis, AxisKind::kStructural, value}}); };
  EXPECT_OK(space.Contains(with("TILE", 16), Target()));
  EXPECT_ERROR(space.Contains(with("TILE", 32), Target()), StatusCode::kInvalidArgument,
               "{TILE=32} breaks condition 'small' (TILE < 32)");
  EXPECT_ERROR(space.Contains(with("TILE", 64), Target()), StatusCode::kInvalidArgument,
               "it has no such value of axis 'TILE'");
  EXPECT_ERROR(space.Contains(with("SIZE", 16), Target()), StatusCode::kInvalidArgument, "it has no axis 'TILE'");
}

TEST(ConfigSetTest, TheIdentityOfASpaceIsThatOfItsContents) {
  auto space = [](std::int64_t last, const char* condition) {
    SearchSpace made;
    made.AddAxis("TILE", {16, last});
    made.Where("c", *Condition::Parse(condition));
    return made;
  };
  EXPECT_EQ(space(32, "TILE < 64").Identity(), space(32, "TILE < 64").Identity());
  EXPECT_NE(space(32, "TILE < 64").Identity(), space(64, "TILE < 64").Identity());
  EXPECT_NE(space(32, "TILE < 64").Identity(), space(32, "TILE <= 64").Identity());
}

}  // namespace
}  // namespace tuneonce
