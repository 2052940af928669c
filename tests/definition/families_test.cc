#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "definition/family.h"
#include "testing/device_test.h"
#include "tuneonce/geometry.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
namespace {

const std::vector<std::string> kTargets = {"sm_80",  "sm_86",  "sm_87",  "sm_89",  "sm_90",
                                           "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"};

Target Named(const std::string& name) { return *Target::Named(name); }

std::vector<std::string> NamesOf(const std::vector<Config>& configs) {
  std::vector<std::string> names;
  for (const Config& config : configs) names.push_back(config.ToString());
  return names;
}

std::vector<std::string> NamesOn(const SearchSpace& space, const std::string& target) {
  Result<std::vector<Config>> configs = space.Enumerate(Named(target));
  EXPECT_TRUE(configs.ok()) << configs.status().ToString();
  return configs.ok() ? NamesOf(*configs) : std::vector<std::string>();
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Of extents by the names of a family's dims.
Problem ProblemOf(const std::vector<std::int64_t>& extents, const Target& target) {
  static std::list<Target> targets;  // The problems point to them.
  Problem problem;
  problem.target = &targets.emplace_back(target);
  problem.dims = Dims(static_cast<int>(extents.size()));
  for (std::size_t i = 0; i < extents.size(); ++i) problem.dims[Dim{static_cast<int>(i)}] = extents[i];
  return problem;
}

std::int64_t NumberOf(const Config& config, const char* axis) {
  const AxisValue* value = config.Find(axis);
  return value == nullptr ? 0 : std::get<std::int64_t>(*value);
}

/// Each family on each target that it runs on.
struct Place {
  const Family* family;
  std::string target;
};
std::vector<Place> Places(bool with_cpu) {
  std::vector<Place> places;
  for (const Family& family : AllFamilies()) {
    for (const std::string& target : kTargets) {
      if (Named(target).capability() >= family.least_capability) places.push_back({&family, target});
    }
    if (with_cpu) places.push_back({&family, "cpu"});
  }
  return places;
}

TEST(FamiliesTest, EveryFamilyHasOneToThirtyConfigsOnEveryTargetAndItsBaselineAmongThem) {
  for (const Place& place : Places(/*with_cpu=*/true)) {
    SCOPED_TRACE(std::string(place.family->name) + " on " + place.target);
    const SearchSpace space = place.family->Space();
    EXPECT_OK(space.status());
    const std::vector<std::string> names = NamesOn(space, place.target);
    EXPECT_GE(names.size(), 1u);
    EXPECT_LE(names.size(), 30u);
    EXPECT_EQ(space.max_configs(), SearchSpace::kDefaultMaxConfigs);
    std::optional<Config> baseline = space.BaselineOn(Named(place.target));
    ASSERT_TRUE(baseline.has_value());
    EXPECT_TRUE(Has(names, baseline->ToString())) << baseline->ToString();
    EXPECT_LE(NumberOf(*baseline, "num_ctas"), 1) << "a baseline is of one block";
  }
}

TEST(FamiliesTest, EveryConfigsHintsAreLegalOnItsTarget) {
  int num_clusters = 0;
  for (const Place& place : Places(/*with_cpu=*/false)) {
    const Target target = Named(place.target);
    SCOPED_TRACE(std::string(place.family->name) + " on " + place.target);
    const std::vector<Config> configs = *place.family->Space().Enumerate(target);
    for (const Config& config : configs) {
      EXPECT_OK(Hints::OfConfig(config).CheckFor(target));
      const std::int64_t num_ctas = NumberOf(config, "num_ctas");
      if (num_ctas > 1) ++num_clusters;
      EXPECT_TRUE(num_ctas <= 1 || (target.capability() >= 90 && target.capability() < 120)) << place.target;
    }
  }
  EXPECT_GT(num_clusters, 0);
}

TEST(FamiliesTest, ClustersAreForProductsFromSm100AndForElementsAndNeverForRows) {
  for (const Family& family : AllFamilies()) {
    const bool is_product = family.axes.size() >= 4;
    const bool is_elementwise = std::string_view(family.name) == "elementwise";
    std::int64_t most = 0;
    const std::vector<Config> configs = *family.Space().Enumerate(Named("sm_100"));
    for (const Config& config : configs) {
      most = std::max(most, NumberOf(config, "num_ctas"));
    }
    EXPECT_EQ(most >= 2, is_product || is_elementwise) << family.name;
  }
}

TEST(FamiliesTest, TheSpaceOfOneTargetIsTheSameThereInTheSameOrder) {
  for (const Place& place : Places(/*with_cpu=*/true)) {
    const SearchSpace its = place.family->Space(Named(place.target));
    EXPECT_EQ(NamesOn(its, place.target), NamesOn(place.family->Space(), place.target))
        << place.family->name << " on " << place.target;
    EXPECT_EQ(its.BaselineOn(Named(place.target))->ToString(),
              place.family->Space().BaselineOn(Named(place.target))->ToString());
  }
}

TEST(FamiliesTest, TargetsOfOneGenerationShareTheirTilesAsFarAsSharedMemoryGoes) {
  const SearchSpace space = families::DenseMatmul();
  EXPECT_EQ(NamesOn(space, "sm_100"), NamesOn(space, "sm_103"));
  EXPECT_EQ(NamesOn(space, "sm_86"), NamesOn(space, "sm_89"));
  const std::string deep = "TILE_M=128, TILE_N=128, TILE_K=128, occupancy=1, num_ctas=1";  // Two stages: 128 KiB.
  EXPECT_TRUE(Has(NamesOn(space, "sm_80"), deep));
  EXPECT_FALSE(Has(NamesOn(space, "sm_86"), deep)) << "99 KiB of shared memory";
}

TEST(FamiliesTest, Fp8NeedsAGpuThatHasIt) {
  EXPECT_ERROR(families::Fp8Matmul().Enumerate(Named("sm_86")), StatusCode::kInvalidArgument,
               "the search space is empty on sm_86: condition 'fp8_matmul needs sm_89'");
  EXPECT_OK(families::Fp8Matmul().Enumerate(Named("sm_89")));
}

TEST(FamiliesTest, SmallExtentsLeaveOutWhatWouldBePadding) {
  struct Case {
    const char* family;
    std::vector<std::int64_t> extents;
    const char* axis;
    std::int64_t most;  // Of the axis that is left.
    const char* baseline;
  };
  const Case cases[] = {
      {"dense_matmul", {1, 4096, 4096}, "TILE_M", 64, "TILE_M=64, TILE_N=64, TILE_K=64, occupancy=1, num_ctas=1"},
      {"dense_matmul", {4096, 65, 4096}, "TILE_N", 128, "TILE_M=128, TILE_N=128, TILE_K=64, occupancy=1, num_ctas=1"},
      {"dense_matmul", {4096, 64, 4096}, "TILE_N", 64, "TILE_M=64, TILE_N=64, TILE_K=64, occupancy=1, num_ctas=1"},
      {"dense_matmul", {4096, 4096, 48}, "TILE_K", 64, "TILE_M=128, TILE_N=128, TILE_K=64, occupancy=1, num_ctas=1"},
      {"persistent_matmul", {1, 1, 1}, "TILE_M", 64, "TILE_M=64, TILE_N=64, TILE_K=64, occupancy=1, num_ctas=1"},
      {"fp8_matmul", {17, 4096, 4096}, "TILE_M", 64, "TILE_M=64, TILE_N=128, TILE_K=128, occupancy=1, num_ctas=1"},
      {"grouped_gemm", {64, 4096, 4096}, "TILE_M", 64, "TILE_M=64, TILE_N=128, TILE_K=64, occupancy=1, num_ctas=1"},
      {"dual_gemm", {8, 8, 8}, "TILE_N", 128, "TILE_M=64, TILE_N=128, TILE_K=64, occupancy=1, num_ctas=1"},
      {"attention", {1, 4096, 128}, "TILE_M", 64, "TILE_M=64, TILE_N=64, occupancy=2, num_ctas=1"},
      {"attention", {4096, 4096, 256}, "TILE_M", 128, "TILE_M=128, TILE_N=128, occupancy=2, num_ctas=1"},
      {"attention", {4096, 4096, 128}, "TILE_M", 256, "TILE_M=128, TILE_N=128, occupancy=2, num_ctas=1"},
      {"varlen_attention", {64, 1, 512}, "TILE_M", 64, "TILE_M=64, TILE_N=64, occupancy=2, num_ctas=1"},
      {"norm_like", {128}, "TILE_N", 1024, "TILE_N=1024, occupancy=4"},
      {"reduction", {2049}, "TILE_N", 4096, "TILE_N=4096, occupancy=4"},
      {"elementwise", {1}, "TILE", 1024, "TILE=1024, occupancy=1, num_ctas=1"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(std::string(each.family) + " of " + std::to_string(each.extents[0]));
    SearchSpace space = (*FindFamily(each.family))->Space();
    const bool is_attention = std::string(each.family).find("attention") != std::string::npos;
    std::vector<std::string> dims = is_attention               ? std::vector<std::string>{"M", "N", "D"}
                                    : each.extents.size() == 1 ? std::vector<std::string>{"N"}
                                                               : std::vector<std::string>{"M", "N", "K"};
    ASSERT_OK(space.Resolve(TermNames{dims, {}}));
    const Problem problem = ProblemOf(each.extents, Named("sm_90"));
    std::int64_t most = 0;
    const std::vector<Config> configs = *space.Enumerate(*problem.target, &problem);
    for (const Config& config : configs) {
      most = std::max(most, NumberOf(config, each.axis));
    }
    EXPECT_EQ(most, each.most);
    Result<std::optional<Config>> baseline = space.BaselineFor(problem);
    ASSERT_OK(baseline);
    ASSERT_TRUE(baseline->has_value());
    EXPECT_EQ((*baseline)->ToString(), each.baseline);
  }
}

TEST(FamiliesTest, WhateverTheShapeABaselineFits) {
  for (const Place& place : Places(/*with_cpu=*/true)) {
    SearchSpace space = place.family->Space();
    const std::vector<std::string> dims = place.family->Dims();
    ASSERT_OK(space.Resolve(TermNames{dims, {}}));
    for (std::int64_t extent : {1, 63, 64, 65, 129, 4096}) {
      const Problem problem = ProblemOf(std::vector<std::int64_t>(dims.size(), extent), Named(place.target));
      EXPECT_TRUE(space.BaselineFor(problem)->has_value())
          << place.family->name << " on " << place.target << " of " << extent;
    }
  }
}

TEST(FamiliesTest, DimsAreFoundByTheNamesThatTheCallerGives) {
  auto validated = [](SearchSpace space) {
    return KernelDefinition("k")
        .Parameters({In("a", kFloat16, {"rows", "depth"}), Out("c", kFloat16, {"rows", "columns"})})
        .Space(std::move(space))
        .AddVariant(CpuCpp("", "k"))
        .Validate();
  };
  EXPECT_ERROR(validated(families::DenseMatmul()), StatusCode::kInvalidArgument,
               "condition 'more than half of TILE_M lies within M': unknown dim 'M'; the kernel has: rows, depth, "
               "columns");
  EXPECT_EQ(validated(families::DenseMatmul(std::nullopt, {"rows", "columns", "depth"})).message().find("condition"),
            std::string::npos);
  EXPECT_FALSE(families::DenseMatmul(std::nullopt, {"", "", ""}).has_guards());
}

TEST(FamiliesTest, AUserAddsAxesConstraintsAndConfigs) {
  SearchSpace space = families::DenseMatmul(Named("sm_90"));
  const std::size_t before = NamesOn(space, "sm_90").size();
  IntAxis tile_m = space.FindAxis("TILE_M"), tile_n = space.FindAxis("TILE_N"), tile_k = space.FindAxis("TILE_K");
  IntAxis occupancy = space.FindAxis("occupancy"), num_ctas = space.FindAxis("num_ctas");
  space.AddConfig({{tile_m, 192}, {tile_n, 128}, {tile_k, 64}, {occupancy, 1}, {num_ctas, 1}});
  space.Where("no 256", [=](const Config& config) { return config[tile_m] < 256; });
  space.AddAxis("SPLIT_K", {1, 2});
  space.MaxConfigs(60);
  const std::vector<std::string> names = NamesOn(space, "sm_90");
  EXPECT_LT(names.size(), 2 * before + 2);
  EXPECT_TRUE(Has(names, "TILE_M=192, TILE_N=128, TILE_K=64, occupancy=1, num_ctas=1, SPLIT_K=2"));
  EXPECT_EQ(space.BaselineOn(Named("sm_90"))->ToString(),
            "TILE_M=128, TILE_N=128, TILE_K=64, occupancy=1, num_ctas=1, SPLIT_K=1");
}

TEST(FamiliesTest, APersistentGridIsDividedByNumCtas) {
  SearchSpace space = families::PersistentMatmul();
  Grid grid = Grid::PersistentTiles({{"M", space.FindAxis("TILE_M")}, {"N", space.FindAxis("TILE_N")}},
                                    space.FindAxis("num_ctas"), space.FindAxis("occupancy"));
  ASSERT_OK(space.Resolve(TermNames{{"M", "N", "K"}, {}}));
  ASSERT_OK(grid.Resolve({"M", "N", "K"}));
  Target target = Named("sm_100");
  target.num_sms = 148;
  const Problem problem = ProblemOf({16384, 16384, 4096}, target);
  std::map<std::int64_t, std::int64_t> blocks;  // By num_ctas, at occupancy 1.
  const std::vector<Config> configs = *space.Enumerate(target, &problem);
  for (const Config& config : configs) {
    if (NumberOf(config, "occupancy") == 1) blocks[NumberOf(config, "num_ctas")] = grid(config, problem).x;
  }
  EXPECT_EQ(blocks, (std::map<std::int64_t, std::int64_t>{{1, 148}, {2, 74}, {4, 37}}));
}

TEST(TargetTest, IsNamedAsItNamesItself) {
  for (const std::string& name : kTargets) EXPECT_EQ(Named(name).name(), name);
  EXPECT_TRUE(Named("cpu").is_cpu_device);
  for (const char* wrong :
       {"", "sm_", "sm_9", "sm_090", "sm_90a", "sm_-10", "90", "CPU", "sm_1000", "sm_99999999999999999999"}) {
    EXPECT_ERROR(Target::Named(wrong), StatusCode::kInvalidArgument, "is unknown: use a name such as sm_90, or cpu");
  }
}

TEST(FamiliesTest, AnUnknownNameIsOneLineWithThoseThereAre) {
  EXPECT_ERROR(FindFamily("matmul"), StatusCode::kInvalidArgument,
               "unknown family of kernels 'matmul'; choose one of: fp8_matmul, dense_matmul, norm_like, reduction, "
               "in_place, and 7 more");
  for (const Family& family : AllFamilies()) EXPECT_EQ(*FindFamily(family.name), &family);
}

}  // namespace
}  // namespace tuneonce
