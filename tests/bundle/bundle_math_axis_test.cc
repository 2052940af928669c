// Axes `ftz` and `approx` of a shipped bundle that has a Tile IR and a CUDA C++ variant: one axis means the same in
// both.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
namespace {

constexpr char kAxes[] = R"("axes": [
    {"name": "ftz", "kind": "option", "values": [false, true]},
    {"name": "approx", "kind": "option", "values": [false, true]},)";
constexpr char kConfigs[] = R"("configs": [
    {"backend": "tile", "BLOCK": 1024, "UNROLL": 1, "ftz": false, "approx": false},
    {"backend": "tile", "BLOCK": 1024, "UNROLL": 1, "ftz": true, "approx": false},
    {"backend": "tile", "BLOCK": 1024, "UNROLL": 1, "ftz": true, "approx": true},
    {"backend": "cuda", "BLOCK": 1024, "UNROLL": 1, "ftz": true, "approx": false},
    {"backend": "cuda", "BLOCK": 1024, "UNROLL": 1, "ftz": true, "approx": true}
  ],
  )";
constexpr char kBaseline[] = R"("baseline": {"ftz": false, "approx": false, )";
constexpr char kTolerance[] = R"("tolerance": {"absolute": 1e-3},
  )";

class BundleMathAxisTest : public ::testing::Test {
 protected:
  BundleMathAxisTest() {
    std::filesystem::copy(TUNEONCE_BUNDLE_FOLDER "/vector_add", folder_.path(),
                          std::filesystem::copy_options::recursive);
  }

  /// vector_add with both axes, this baseline and these further fields. `of_tile`: of the Tile IR variant.
  Result<Bundle> Load(const std::string& baseline, const std::string& more, const std::string& of_tile = "") {
    std::string manifest = *ReadFile(TUNEONCE_BUNDLE_FOLDER "/vector_add/manifest.json");
    auto replace = [&](const std::string& from, const std::string& until, const std::string& to) {
      const std::size_t begin = manifest.find(from), end = manifest.find(until, begin);
      ASSERT_NE(end, std::string::npos) << from;
      manifest.replace(begin, end - begin, to);
    };
    replace("\"axes\": [", "\n", kAxes);
    replace("\"configs\": [", "\"baseline\"", kConfigs);
    replace("\"baseline\": {", "\"backend\"", more + baseline);
    replace("\"source\": \"tile_ir\"", ",", "\"source\": \"tile_ir\"" + of_tile);
    std::ofstream(folder_.path() + "/manifest.json") << manifest;
    return Bundle::Load(folder_.path());
  }

  /// The compiler options of each config on sm_90, by the first variant that builds it.
  static std::vector<std::vector<std::string>> OptionsOf(const Bundle& bundle) {
    std::vector<std::vector<std::string>> options;
    KernelDefinition definition = bundle.definition();
    EXPECT_OK(definition.Validate());
    Problem problem;
    problem.dims = Dims(1);
    const Target target = testing::Sm(90);
    problem.target = &target;
    problem.dtypes.fill(DType::kFloat32);
    problem.values.fill(nullptr);
    Result<std::vector<Config>> configs = definition.space().Enumerate(target);
    EXPECT_OK(configs);
    for (const Config& config : *configs) {
      const std::vector<Variant>& variants = definition.variants();
      auto variant =
          std::find_if(variants.begin(), variants.end(), [&](const Variant& each) { return each.IsBackendOf(config); });
      KernelSource source = variant->MakeSource(config, problem);
      options.push_back(source.Check().ok() ? source.options : std::vector<std::string>{source.Check().message()});
    }
    return options;
  }

  TemporaryFolder folder_ = *testing::MakeFolder();
};

TEST_F(BundleMathAxisTest, OneAxisServesTileIrAndCudaCpp) {
  Result<Bundle> bundle = Load(kBaseline, kTolerance);
  ASSERT_OK(bundle);
  EXPECT_EQ(OptionsOf(*bundle),
            (std::vector<std::vector<std::string>>{{},
                                                   {"--ftz"},
                                                   {"--ftz", "--approx"},
                                                   {"--ftz=true"},
                                                   {"--ftz=true", "--prec-div=false", "--prec-sqrt=false"}}));
}

TEST_F(BundleMathAxisTest, WhatIsWrongIsOneLine) {
  EXPECT_ERROR(Load(kBaseline, ""), StatusCode::kInvalidArgument,
               "the option axis 'ftz' may change the results of 'z': declare a tolerance");
  EXPECT_ERROR(Load(R"("baseline": {"ftz": true, "approx": false, )", kTolerance), StatusCode::kInvalidArgument,
               "the baseline has ftz=true, but all results are verified against the baseline's");
  EXPECT_ERROR(Load(kBaseline, kTolerance, R"(, "options": ["--ftz=true"])"), StatusCode::kInvalidArgument,
               "--ftz=true");
  // An option that is an axis too is found where a config is compiled.
  Result<Bundle> bundle = Load(kBaseline, kTolerance, R"(, "options": ["--ftz"])");
  ASSERT_OK(bundle);
  EXPECT_EQ(
      OptionsOf(*bundle)[0],
      std::vector<std::string>{"the option '--ftz' is given both by the source and by an axis: remove one of them"});
}

}  // namespace
}  // namespace tuneonce
