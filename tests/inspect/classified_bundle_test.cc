// Bundles as a whole: every one of ours, made-up ones whose spaces depart, and what the doctor says of Tile IR.
#include "inspect/classified_bundle.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "inspect/doctor.h"
#include "testing/device_test.h"

namespace tuneonce {
namespace {

Result<ClassifiedBundle> Classified(const std::string& folder, const ClassifiedBundle::Options& options = {}) {
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(folder));
  return ClassifiedBundle::Of(bundle, options);
}

TEST(ClassifiedBundleTest, EveryBundleIsWhatItIs) {
  const std::map<std::string, std::pair<const char*, Bound>> kBundles = {
      {"attention", {"attention", Bound::kCompute}},     {"dual_gemm", {"dual_gemm", Bound::kCompute}},
      {"elementwise", {"elementwise", Bound::kMemory}},  {"layer_norm", {"norm_like", Bound::kMemory}},
      {"matmul", {"dense_matmul", Bound::kCompute}},     {"persistent_matmul", {"persistent_matmul", Bound::kCompute}},
      {"rms_norm", {"norm_like", Bound::kMemory}},       {"rope", {"in_place", Bound::kMemory}},
      {"silu_and_mul", {"elementwise", Bound::kMemory}}, {"softmax", {"norm_like", Bound::kMemory}},
      {"vector_add", {"elementwise", Bound::kMemory}},
  };
  for (const auto& [name, expected] : kBundles) {
    Result<ClassifiedBundle> found = Classified(std::string(TUNEONCE_BUNDLE_FOLDER "/") + name);
    ASSERT_OK(found);
    EXPECT_STREQ(found->classification.name(), expected.first) << name;
    EXPECT_EQ(found->recommended, expected.first) << name;
    ASSERT_TRUE(found->bound) << name;
    EXPECT_EQ(*found->bound, expected.second) << name << " " << *found->intensity;
    for (const std::string& departure : found->departures) {
      EXPECT_NE(departure.find("no axis `occupancy`"), std::string::npos) << name << ": " << departure;
    }
  }
}

TEST(ClassifiedBundleTest, TheShapeDecidesTheIntensity) {
  ClassifiedBundle::Options options;
  options.dims = {{"M", 1}};
  Result<ClassifiedBundle> skinny = Classified(TUNEONCE_BUNDLE_FOLDER "/matmul", options);
  ASSERT_OK(skinny);
  EXPECT_EQ(*skinny->bound, Bound::kMemory);
  EXPECT_EQ(skinny->shape, "M=1, N=4096, K=4096");
  // 2 M N K operations, 2 (M K + K N + M N) bytes.
  EXPECT_NEAR(*skinny->intensity, 2.0 * 4096 * 4096 / (2.0 * (4096 + 4096.0 * 4096 + 4096)), 1e-12);
  options.dims = {{"Q", 1}};
  EXPECT_EQ(Classified(TUNEONCE_BUNDLE_FOLDER "/matmul", options).status().message(),
            "the bundle has no dim 'Q'; its dims are: M, N, K");
  options.dims = {{"M", 0}};
  EXPECT_EQ(Classified(TUNEONCE_BUNDLE_FOLDER "/matmul", options).status().message(),
            "the extent of M is 0, but must be at least 1");
}

/// A bundle of one file of `vector_add`'s bytecode, with a space of its own.
std::string WithSpace(const TemporaryFolder& folder, const std::string& axes, const std::string& artifacts) {
  const std::string code = *ReadFile(TUNEONCE_BUNDLE_FOLDER "/vector_add/vector_add.1024.tileir");
  EXPECT_OK(WriteFile(folder.path() + "/code.tileir", code));
  const std::string tensor = R"("kind": "tensor", "dtype": "float32", "dims": ["N"]})";
  const std::string manifest = R"({"tuneonce_bundle": 1, "name": "k", "version": "1", "dims": ["N"],
      "parameters": [{"name": "x", "access": "in", )" +
                               tensor + R"(, {"name": "y", "access": "in", )" + tensor +
                               R"(, {"name": "z", "access": "out", )" + tensor + R"(], "axes": )" + axes +
                               R"(, "variants": [{"name": "tile", "source": "tile_ir", "symbol": "vector_add",
      "parameters": ["x", "y", "z"], "grid": {"pattern": "one_d", "tiles": [["N", 1024]]}, "artifacts": )" +
                               artifacts + "}]}";
  EXPECT_OK(WriteFile(folder.path() + "/manifest.json", manifest));
  return folder.path();
}

TEST(ClassifiedBundleTest, WhereNoAxisChangesTheCodeOccupancyIsToBeTried) {
  Result<TemporaryFolder> folder = TemporaryFolder::Create("/tmp");
  ASSERT_OK(folder);
  Result<ClassifiedBundle> found =
      Classified(WithSpace(*folder, R"([{"name": "occupancy", "kind": "hint", "values": [1]}])",
                           R"([{"config": {}, "file": "code.tileir"}])"));
  ASSERT_OK(found);
  EXPECT_STREQ(found->classification.name(), "elementwise");
  EXPECT_EQ(found->recommended, "occupancy_only");
  EXPECT_TRUE(found->departures.empty()) << found->ToString();
}

TEST(ClassifiedBundleTest, ASpaceThatDepartsIsToldWhere) {
  Result<TemporaryFolder> folder = TemporaryFolder::Create("/tmp");
  ASSERT_OK(folder);
  std::string path = WithSpace(*folder, R"([{"name": "num_warps", "values": [4, 8]},
                                           {"name": "num_ctas", "kind": "hint", "values": [1, 2]}])",
                               R"([{"config": {"num_warps": 4}, "file": "code.tileir"},
                                   {"config": {"num_warps": 8}, "file": "code.tileir"}])");
  Result<ClassifiedBundle> found = Classified(path);
  ASSERT_OK(found);
  EXPECT_STREQ(found->classification.name(), "elementwise");
  EXPECT_FALSE(found->intensity) << "no work is declared";
  for (const char* part : {"has no baseline", "which ignores num_warps", "no axis `occupancy`"}) {
    EXPECT_NE(found->ToString().find(part), std::string::npos) << part << "\n" << found->ToString();
  }
  EXPECT_EQ(found->departures.size(), 3u) << "elementwise kernels may try num_ctas\n" << found->ToString();
  auto json = nlohmann::json::parse(found->Json());
  EXPECT_EQ(json["family"], "elementwise");
  EXPECT_TRUE(json["intensity"].is_null());
  EXPECT_EQ(json["departures"].size(), 3u);
  EXPECT_EQ(json["variants"][0]["sources"], 1);
}

TEST(ClassifiedBundleTest, StagesAreCodeInTheTileIrOfTriton) {
  Result<TemporaryFolder> folder = TemporaryFolder::Create("/tmp");
  ASSERT_OK(folder);
  const std::string artifacts = R"([{"config": {"num_stages": 2}, "file": "code.tileir"},
                                    {"config": {"num_stages": 4}, "file": "code.tileir"}])";
  for (const std::string convention : {R"(, "convention": "plain")", ""}) {
    Result<ClassifiedBundle> found =
        Classified(WithSpace(*folder, R"([{"name": "num_stages", "values": [2, 4]}])", artifacts + convention));
    ASSERT_OK(found);
    const bool is_named = found->ToString().find("which ignores num_stages") != std::string::npos;
    EXPECT_EQ(is_named, convention.empty()) << found->ToString();
  }
}

TEST(ClassifiedBundleTest, ClustersOfRowsAreNamed) {
  Result<Bundle> bundle = Bundle::Load(TUNEONCE_BUNDLE_FOLDER "/rms_norm");
  ASSERT_OK(bundle);
  Result<ClassifiedBundle> found = ClassifiedBundle::Of(*bundle, {});
  ASSERT_OK(found);
  SearchSpace space;
  space.AddHintAxis("occupancy", {1});
  space.AddHintAxis("num_ctas", {1, 2});
  std::vector<Config> configs = *space.Enumerate(found->target);
  EXPECT_EQ(SpaceDepartures(bundle->definition(), configs, *found),
            std::vector<std::string>{"the axis num_ctas has no use here, because the kernel is bound by memory and its "
                                     "blocks share no tile: remove the axis"});
}

TEST(ClassifiedBundleTest, ClustersThatDoNotEndAreNamed) {
  Result<Bundle> bundle = Bundle::Load(TUNEONCE_BUNDLE_FOLDER "/grouped_gemm");
  ASSERT_OK(bundle);
  Result<ClassifiedBundle> found = ClassifiedBundle::Of(*bundle, {});
  ASSERT_OK(found);
  const auto departures = [&](std::vector<std::int64_t> occupancies, std::vector<std::int64_t> clusters) {
    SearchSpace space;
    space.AddHintAxis("occupancy", std::move(occupancies));
    space.AddHintAxis("num_ctas", std::move(clusters));
    std::string all;
    for (const std::string& each : SpaceDepartures(bundle->definition(), *space.Enumerate(found->target), *found)) {
      all += each + "\n";
    }
    return all;
  };
  const char* kPart = "{occupancy=2, num_ctas=2} uses clusters at occupancy 2 in a kernel that loads the indices";
  EXPECT_NE(departures({1, 2}, {1, 2}).find(kPart), std::string::npos) << departures({1, 2}, {1, 2});
  EXPECT_EQ(departures({1}, {1, 2}).find("most such kernels hang"), std::string::npos);
  EXPECT_EQ(departures({1, 2}, {1}).find("most such kernels hang"), std::string::npos);
  found->target.capability_major = 10;
  EXPECT_EQ(departures({1, 2}, {1, 2}).find("most such kernels hang"), std::string::npos) << "it is not known there";
  found->target.capability_major = 9;
  found->variants.front().largest.num_loads_by_content = 0;
  const std::string others = departures({1, 2}, {1, 2});
  EXPECT_EQ(others.find("variant '" + found->variants.front().name + "': {occupancy"), std::string::npos) << others;
}

TEST(ClassifiedBundleTest, TilesThatAreAllTooSmallAreNamed) {
  Result<Bundle> bundle = Bundle::Load(TUNEONCE_BUNDLE_FOLDER "/matmul");
  ASSERT_OK(bundle);
  Result<ClassifiedBundle> found = ClassifiedBundle::Of(*bundle, {});
  ASSERT_OK(found);
  KernelEvidence& largest = found->variants.front().largest;
  EXPECT_EQ(largest.tile_m, 256) << "of all its configs";
  EXPECT_EQ(largest.tile_n, 256);
  largest.tile_m = 32;
  std::vector<Config> configs = *bundle->definition().space().Enumerate(found->target);
  EXPECT_EQ(SpaceDepartures(bundle->definition(), configs, *found),
            std::vector<std::string>{"variant 'tile': its largest tile has 32 along TILE_M, but every baseline of "
                                     "dense_matmul has at least 64 on sm_90: add larger tiles"});
}

TEST(ClassifiedBundleTest, ATensorInPlaceIsToBeDeclaredSo) {
  Result<Bundle> rope = Bundle::Load(TUNEONCE_BUNDLE_FOLDER "/rope");
  Result<Bundle> add = Bundle::Load(TUNEONCE_BUNDLE_FOLDER "/vector_add");
  ASSERT_OK(rope);
  ASSERT_OK(add);
  Result<ClassifiedBundle> found = ClassifiedBundle::Of(*rope, {});
  ASSERT_OK(found);
  EXPECT_TRUE(found->departures.empty()) << "x is inout";
  std::vector<std::string> departures = SpaceDepartures(add->definition(), {}, *found);  // Of which none is.
  ASSERT_FALSE(departures.empty());
  EXPECT_EQ(departures.back().rfind("a tensor is both read and written, but not declared inout", 0), 0u);
}

TEST(TileIrFindingTest, SaysWhetherItIsActiveAndWhyNot) {
  DeviceIdentity hopper;
  hopper.capability_major = 9;
  hopper.driver_version = 13000;
  DeviceIdentity old_driver = hopper;
  old_driver.driver_version = 12080;
  DeviceIdentity turing = hopper;
  turing.capability_major = 7;
  turing.capability_minor = 5;
  struct Case {
    bool has_tileiras;
    std::vector<DeviceIdentity> devices;
    bool enable_tile;
    bool is_active;
    const char* detail;
  };
  const Case kCases[] = {
      {true, {hopper}, true, true, "active on cuda:0"},
      {true, {hopper, turing}, true, true, "active on cuda:0; not on cuda:1: tileiras does not compile for sm_75"},
      {false, {hopper}, true, false, "not active; tileiras was not found"},
      {true, {old_driver}, true, false, "not active; not on cuda:0: its driver is for CUDA 12.8, older than 13.0"},
      {true, {hopper}, false, false, "not active; ENABLE_TILE=0, or TUNEONCE_ENABLE_TILE=0, disables it"},
      {true, {}, true, false, "not active; there is no GPU"},
  };
  for (const Case& each : kCases) {
    DoctorFinding finding = TileIrFinding(each.has_tileiras, each.devices, each.enable_tile);
    EXPECT_EQ(finding.found, each.is_active) << each.detail;
    EXPECT_EQ(finding.detail, each.detail);
    EXPECT_EQ(finding.advice.find("docs/performance.md") != std::string::npos, !each.is_active) << finding.advice;
  }
}

}  // namespace
}  // namespace tuneonce
