// The field "where" of a manifest with the conditions of public spaces, and what is compiled for them.
#include <fstream>

#include "base/temporary_folder.h"
#include "testing/device_test.h"
#include "testing/public_spaces.h"
#include "testing/tools.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
namespace {

class BundleConditionsTest : public ::testing::Test {
 protected:
  /// Loads a bundle with one source and these axes and conditions.
  Result<Bundle> Load(const testing::PublicSpace& space, int max_configs) {
    std::string axes, where;
    for (const auto& [name, values] : space.axes) {
      axes += (axes.empty() ? "" : ", ") + ("{\"name\": \"" + name + "\", \"values\": [");
      for (std::size_t i = 0; i < values.size(); ++i) axes += (i == 0 ? "" : ", ") + std::to_string(values[i]);
      axes += "]}";
    }
    for (const std::string& condition : space.conditions) where += (where.empty() ? "\"" : ", \"") + condition + "\"";
    std::ofstream(folder_.path() + "/k.cc")
        << "static void k(const tuneonce_block&, const float*, float*) {}\nTUNEONCE_CPU_KERNEL(k);\n";
    std::ofstream(folder_.path() + "/manifest.json")
        << R"({"tuneonce_bundle": 1, "name": "k", "version": "1", "dims": ["M"], "parameters": [
 {"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["M"]},
 {"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["M"]}],
"axes": [)"
        << axes << "], \"where\": [" << where << "], \"max_configs\": " << max_configs << R"(,
"variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "k", "grid": {"pattern": "fixed", "blocks": [1]},
 "artifacts": [{"file": "k.cc"}]}]})";
    return Bundle::Load(folder_.path());
  }

  TemporaryFolder folder_ = *testing::MakeFolder();
};

TEST_F(BundleConditionsTest, PublicSpacesHaveTheConfigsThatTheirConditionsKeep) {
  Result<Bundle> gemm = Load(testing::Gemm(), 6000);
  ASSERT_OK(gemm);
  EXPECT_EQ(gemm->definition().space().Enumerate(*Target::Named("cpu"))->size(), 5788u);
  testing::PublicSpace dedispersion = testing::Dedispersion();
  dedispersion.axes.resize(6);  // Without the two axes that no condition reads.
  Result<Bundle> bundle = Load(dedispersion, 200'000);
  ASSERT_OK(bundle);
  EXPECT_EQ(bundle->definition().space().Configs(*Target::Named("cpu"))->size(), 160'487);
  EXPECT_OK(Load(testing::WholeGemm(), 30));  // A search chooses from 17956 configs.
}

TEST_F(BundleConditionsTest, WhatAConditionReadsDecidesWhetherAConfigNeedsAnArtifact) {
  testing::PublicSpace space = {{{"TILE", {16, 32, 64, 128}}, {"STAGES", {1, 2}}},
                                {"TILE < 128", "TILE != 64 || device.capability >= 90", "M >= TILE"}};
  Result<Bundle> bundle = Load(space, 6);
  ASSERT_OK(bundle);  // 128 is nowhere. 64 is on some devices, and each shape has its own.
  const SearchSpace& loaded = bundle->definition().space();
  EXPECT_EQ(loaded.Configs(*Target::Named("cpu"))->size(), 4);
  EXPECT_EQ(loaded.Configs(*Target::Named("sm_90"))->size(), 6);
  Problem problem;
  problem.dims = Dims(1);
  problem.dims[Dim{0}] = 20;
  const Target target = *Target::Named("sm_90");
  problem.target = &target;
  EXPECT_EQ(loaded.Configs(target, &problem)->size(), 2);
}

}  // namespace
}  // namespace tuneonce
