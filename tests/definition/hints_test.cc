#include <gtest/gtest.h>

#include "testing/device_test.h"
#include "testing/targets.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
namespace {

using testing::Sm;

TEST(HintsTest, AHintIsAWholeNumber) {
  EXPECT_FALSE((std::is_constructible_v<std::pair<const std::string, HintValues::mapped_type>, const char*, double>));
  EXPECT_FALSE((std::is_constructible_v<HintValues::mapped_type, bool>));
  EXPECT_TRUE((std::is_constructible_v<HintValues::mapped_type, int>));
}

TEST(HintsTest, HintAxesBecomeHints) {
  SearchSpace space;
  space.AddAxis("TILE", {64});
  space.AddHintAxis("occupancy", {2, kHintNotSet});
  std::vector<Config> configs = *space.Enumerate(Target());
  EXPECT_EQ(Hints::OfConfig(configs[0]).ToString(Target()), "occupancy=2");
  EXPECT_TRUE(Hints::OfConfig(configs[1]).empty());
  EXPECT_TRUE(Hints().empty());
  EXPECT_EQ(Hints().ToString(Sm(90)), "");
}

TEST(HintsTest, ATargetsOwnValueBeatsTheDefaultsOneByOne) {
  Hints hints(ByTarget<HintValues>({{"default", {{"occupancy", 1}, {"num_ctas", 2}}}, {"sm_90", {{"occupancy", 4}}}}));
  EXPECT_EQ(hints.ToString(Sm(90)), "num_ctas=2, occupancy=4");
  EXPECT_EQ(hints.ToString(Sm(100)), "num_ctas=2, occupancy=1");
}

TEST(HintsTest, GoodValuesPass) {
  for (const HintValues& values : std::vector<HintValues>{{},
                                                          {{"occupancy", 1}},
                                                          {{"occupancy", 32}},
                                                          {{"num_ctas", 8}},
                                                          {{"num_cta_in_cga", 2}},
                                                          {{"num_worker_warps", 1}},
                                                          {{"num_worker_warps_per_cta", 32}}}) {
    EXPECT_OK(Hints(values).CheckFor(Sm(90)));
  }
}

TEST(HintsTest, BadValuesAreErrorsThatNameThem) {
  struct Case {
    const char* target;
    HintValues values;
    const char* message;
  };
  for (const Case& c : std::vector<Case>{
           {"default", {{"occupancy", 0}}, "occupancy=0 is not within 1 to 32"},
           {"default", {{"occupancy", 33}}, "occupancy=33"},
           {"default", {{"occupancy", -1}}, "occupancy=-1"},
           {"default", {{"num_ctas", 3}}, "num_cta_in_cga=3 is not a power of two"},
           {"default", {{"num_ctas", 0}}, "num_cta_in_cga=0"},
           {"default", {{"num_ctas", 16}}, "allow non-portable clusters"},
           {"default", {{"num_ctas", 32}}, "num_cta_in_cga=32"},
           {"default", {{"num_worker_warps", 3}}, "num_worker_warps_per_cta=3"},
           {"default", {{"num_worker_warps", 64}}, "num_worker_warps_per_cta=64"},
           {"default", {{"ocupancy", 2}}, "unknown hint 'ocupancy'; known are occupancy"},
           {"default", {{"num_ctas", 2}, {"num_cta_in_cga", 2}}, "is given twice, by both of its names"},
           {"sm90", {{"occupancy", 2}}, "'sm90': a target is 'default' or like 'sm_90'"},
           {"sm_", {{"occupancy", 2}}, "'sm_'"},
           {"sm_9x", {{"occupancy", 2}}, "'sm_9x'"},
           {"sm_80", {{"occupancy", 0}}, "hints for sm_80"},
       }) {
    Hints hints(ByTarget<HintValues>(std::map<std::string, HintValues>{{c.target, c.values}}));
    EXPECT_ERROR(hints.Check(), StatusCode::kInvalidArgument, c.message);
  }
  EXPECT_OK(Hints(HintValues{{"num_ctas", 16}}).AllowNonPortableClusters().Check());
}

TEST(HintsTest, ClustersNeedAGpuThatHasThem) {
  Hints two(HintValues{{"num_ctas", 2}});
  for (int capability : {90, 100, 103, 110}) EXPECT_OK(two.CheckFor(Sm(capability)));
  for (int capability : {80, 86, 89, 120, 121}) {
    EXPECT_ERROR(two.CheckFor(Sm(capability)), StatusCode::kInvalidArgument, "no clusters of more than one block");
    EXPECT_OK(Hints(HintValues{{"num_ctas", 1}}).CheckFor(Sm(capability)));
  }
  // Only what acts on the target counts.
  Hints by_target(ByTarget<HintValues>({{"default", {{"num_ctas", 2}}}, {"sm_80", {{"num_ctas", 1}}}}));
  EXPECT_OK(by_target.CheckFor(Sm(80)));
}

}  // namespace
}  // namespace tuneonce
