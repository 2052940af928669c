// Terms, scalars, baselines by target and descriptors of a manifest: read, refused, and launched on the CPU device.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/temporary_folder.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
namespace {

class BundleTermsTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_.path() + "/" + name) << text; }
  /// The manifest with each `from` replaced by its `to`.
  Result<Bundle> Load(const std::vector<std::pair<std::string, std::string>>& changes) {
    std::string manifest = kManifest;
    for (const auto& [from, to] : changes) {
      std::size_t at = manifest.find(from);
      EXPECT_NE(at, std::string::npos) << from;
      manifest.replace(at, from.size(), to);
    }
    Write("k.cc",
          "static void k(const tuneonce_block&, const float*, float*, bool, int, float*, int) {}\n"
          "TUNEONCE_CPU_KERNEL(k);\n");
    Write("manifest.json", manifest);
    return Bundle::Load(folder_.path());
  }
  static constexpr char kManifest[] = R"({
  "tuneonce_bundle": 1, "name": "k", "version": "1", "dims": ["M", "N"],
  "parameters": [
    {"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["M", "N"]},
    {"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["M", "N"]},
    {"name": "causal", "kind": "scalar", "dtype": "bool", "warmup": true},
    {"name": "tiles", "kind": "derived", "value": {"ceil_div": ["N", "TILE"]}},
    {"name": "scratch", "kind": "workspace", "dtype": "float32", "elements": {"product": ["M", 2]}},
    {"kind": "dim", "dim": "N"}
  ],
  "axes": [{"name": "TILE", "values": [64, 128]}],
  "baseline": {"TILE": 64},
  "where": ["causal"],
  "work": {"bytes": [[8, "M", "N"]]},
  "variants": [
    {"name": "cpu", "source": "cpu_cpp", "symbol": "k",
     "grid": {"pattern": "fixed", "blocks": [{"product": [{"ceil_div": ["M", {"axis": "TILE"}]}, {"ceil_div": ["N", "TILE"]}]}]},
     "assumptions": [{"scalar": "causal", "is": true}],
     "artifacts": [{"file": "k.cc"}]}
  ]
})";
  TemporaryFolder folder_ = *testing::MakeFolder();
};

TEST_F(BundleTermsTest, WhatAManifestSaysIsWhatTheDefinitionHas) {
  Result<Bundle> bundle = Load({});
  ASSERT_OK(bundle);
  const KernelDefinition& definition = bundle->definition();
  bool causal = true;
  Problem problem;
  problem.dims = Dims(2);
  problem.dims[Dim{0}] = 100;
  problem.dims[Dim{1}] = 200;
  problem.values = {};
  problem.values[2] = &causal;
  Config config = definition.space().Enumerate(Target())->front();
  EXPECT_EQ(definition.variants()[0].geometry(config, problem).grid, (Dim3{2 * 4, 1, 1}));
  EXPECT_EQ(*definition.parameters()[3].term->Evaluate(config, problem), 4);
  EXPECT_EQ(*definition.parameters()[4].term->Evaluate(config, problem), 800) << "bytes";
  EXPECT_EQ(definition.WorkBytes(problem), 8.0 * 100 * 200);
  EXPECT_TRUE(definition.space().GuardsHold(config, problem));
  problem.dims[Dim{0}] = std::int64_t{1} << 60;
  EXPECT_TRUE(std::isnan(definition.WorkBytes(problem))) << "it does not fit 64 bits";
  problem.dims[Dim{0}] = 100;
  causal = false;
  EXPECT_ERROR(definition.space().CheckGuards(config, problem), StatusCode::kFailedPrecondition,
               "condition 'causal != 0' does not hold");
}

TEST_F(BundleTermsTest, EveryFormOfATermIsRead) {
  struct Case {
    const char* term;
    std::int64_t value;  // At M=100, N=200, TILE=64, causal.
  };
  const Case cases[] = {{"5", 5},
                        {"\"N\"", 200},
                        {"\"TILE\"", 64},
                        {"{\"axis\": \"TILE\"}", 64},
                        {"\"causal\"", 1},
                        {R"({"floor_div": ["N", "TILE"]})", 3},
                        {R"({"sum": ["N", -1, 3]})", 202},
                        {R"({"min": ["M", "N", 7]})", 7},
                        {R"({"max": ["M", {"product": ["causal", "N"]}]})", 200},
                        {R"([[2, "M", "N"], [3, "TILE"]])", 2 * 100 * 200 + 3 * 64},
                        {R"({"min": [{"product": [{"device": "num_sms"}, 2]}, 99]})", 64}};
  bool causal = true;
  Problem problem;
  problem.dims = Dims(2);
  problem.dims[Dim{0}] = 100;
  problem.dims[Dim{1}] = 200;
  Target target;
  target.num_sms = 32;
  problem.target = &target;
  problem.values = {};
  problem.values[2] = &causal;
  for (const Case& each : cases) {
    Result<Bundle> bundle = Load({{R"({"ceil_div": ["N", "TILE"]}})", std::string(each.term) + "}"}});
    ASSERT_OK(bundle);
    Config config = bundle->definition().space().Enumerate(Target())->front();
    EXPECT_EQ(*bundle->definition().parameters()[3].term->Evaluate(config, problem), each.value) << each.term;
  }
}

TEST_F(BundleTermsTest, WhatIsWrongIsNamedWithFileLineAndField) {
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  const char* value = R"({"ceil_div": ["N", "TILE"]}})";
  const char* where = "[\"causal\"]";
  const Case cases[] = {
      {value, R"({"ceil_div": ["N"]}})", ":7: parameters[3].value.ceil_div: expected [dividend, divisor]"},
      {value, R"({"ceil_div": ["N", "Q"]}})",
       ":7: parameters[3].value.ceil_div[1]: unknown dim 'Q'; dims of the bundle: M, N; scalars: causal; axes: TILE"},
      {value, R"({"sum": ["N"]}})", ":7: parameters[3].value.sum: expected two to 16 terms"},
      {value, R"({"ceiling": ["N", 2]}})",
       ":7: parameters[3].value.ceiling: unknown field 'ceiling'; a term must have one of: ceil_div, "},
      {value, R"({"sum": [1, 2], "product": [1, 2]}})",
       "a term must have exactly one field, but this one has 2; the fields are: axis, device, "},
      {value, R"({"device": "sms"}})", "expected num_sms, got 'sms'"},
      {value, R"([[0.5, "N"]]})", "value[0][0]: expected a whole number"},
      {value, R"(true})", "parameters[3].value: expected a whole number, a name"},
      {"\"kind\": \"derived\"", "\"kind\": \"derived\", \"dtype\": \"float32\"",
       "the dtype of a term must be int32 or int64"},
      {"\"dtype\": \"float32\", \"elements\"", "\"elements\"",
       ":8: parameters[4]: a workspace with \"elements\" needs a \"dtype\""},
      {"\"dtype\": \"float32\", \"elements\"", "\"bytes\": 4, \"elements\"",
       ":8: parameters[4].elements: unknown field"},
      {"\"dtype\": \"bool\"", "\"dtype\": \"float32\"", "the scalar 'causal' is a float32; terms take only integers"},
      {where, "[\"q\"]", "where[0]: condition 'q != 0': unknown dim 'q'; the kernel has: M, N, and the scalars causal"},
      {where, "[\"M % 2 = 0\"]",
       "where[0]: invalid condition 'M % 2 = 0': expected '==' for a comparison, got '=' at position 7"},
      {where, "[{\"name\": \"a\"}]", "where[0]: the field 'condition' is missing"},
      {where, "[{\"condition\": \"M > 1\", \"nmae\": \"a\"}]", "where[0].nmae: unknown field"},
      {where, "[4]", "where[0]: expected a string"},
      {"[[8, \"M\", \"N\"]]", "[[8, \"TILE\"]]", "work.bytes: the work of a run may depend on dims and scalars"},
      {"{\"scalar\": \"causal\", \"is\": true}],\n     \"art", "{\"scalar\": \"causal\"}],\n     \"art",
       "assumptions[0]: an assumption needs a field"},
      {"{\"scalar\": \"causal\", \"is\": true}],\n     \"art", "{\"scalar\": \"causal\", \"is\": 2}],\n     \"art",
       "an assumption sets a value for 'causal', a bool that this dtype cannot represent"},
      {"{\"scalar\": \"causal\", \"is\": true}],\n     \"art", "{\"scalar\": \"causal\", \"aligned\": 2}],\n     \"art",
       "assumptions[0].aligned: unknown field"},
      {"\"baseline\": {\"TILE\": 64}", "\"baseline\": []", "baseline: expected at least one baseline"},
      {"\"baseline\": {\"TILE\": 64}", "\"baseline\": [{\"TILE\": 64}]", "baseline[0].TILE: unknown field"},
      {"\"baseline\": {\"TILE\": 64}", "\"baseline\": [{\"config\": {\"TILE\": 64}, \"where\": \"device.sm > 1\"}]",
       "baseline[0].where: invalid condition 'device.sm > 1': expected a property of the device ("},
      {"\"baseline\": {\"TILE\": 64}", "\"fallback\": {\"TILE\": 65}", "65"},
      {R"({"kind": "dim", "dim": "N"})", R"({"kind": "descriptor", "name": "m", "tensor": "x", "box": [1]})",
       "parameter 'm': the box of the tensor map has 1 entries, but 'x' has rank 2"},
      {R"({"kind": "dim", "dim": "N"})",
       R"({"kind": "descriptor", "name": "m", "tensor": "x", "box": [1, 4], "swizzle": "256B"})",
       "parameters[5].swizzle: expected one of none, 32B, 64B, 128B; got '256B'"},
      {R"({"kind": "dim", "dim": "N"})",
       R"({"kind": "descriptor", "name": "m", "tensor": "x", "box": [1, 4], "fill": "nan"})",
       "parameters[5].fill: unknown"},
  };
  for (const Case& each : cases) {
    Result<Bundle> bundle = Load({{each.from, each.to}});
    EXPECT_FALSE(bundle.ok()) << each.to;
    EXPECT_NE(bundle.status().message().find(each.message), std::string::npos)
        << "'" << each.message << "' is not in '" << bundle.status().message() << "'";
  }
}

TEST_F(BundleTermsTest, ANameOfAnAxisAndADimSaysWhich) {
  const std::vector<std::pair<std::string, std::string>> with_axis = {
      {"\"values\": [64, 128]}", "\"values\": [64, 128]}, {\"name\": \"M\", \"values\": [1]}"},
      {"\"baseline\": {\"TILE\": 64}", "\"baseline\": {\"TILE\": 64, \"M\": 1}"}};
  Result<Bundle> bundle = Load(with_axis);
  EXPECT_ERROR(bundle, StatusCode::kInvalidArgument,
               "'M' is an axis and a dim: rename one, or write {\"axis\": \"M\"} for the axis");
}

TEST_F(BundleTermsTest, AHintThatNoTargetTakesIsAnErrorAtLoad) {
  struct Case {
    const char* name;
    const char* value;
    const char* message;
  };
  const Case cases[] = {{"num_ctas", "16", "hints for default: "},
                        {"occupnacy", "2", "hints for default: unknown hint 'occupnacy'; known are occupancy"},
                        {"num_ctas", "3", "hints for default: "},
                        {"num_worker_warps", "-1", "hints for default: "}};
  const std::string folder = TUNEONCE_BUNDLE_FOLDER "/rms_norm";
  std::filesystem::copy(folder, folder_.path(),
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  std::ifstream file(folder + "/manifest.json");
  const std::string good((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const Case& each : cases) {
    const std::string axes = "\"axes\": [", config = "{\"backend\": ";
    const std::string name = std::string("{\"") + each.name + "\": " + each.value + ", ";
    std::string manifest = good;
    manifest.insert(
        manifest.find(axes) + axes.size(),
        std::string("{\"name\": \"") + each.name + "\", \"kind\": \"hint\", \"values\": [" + each.value + "]}, ");
    for (std::size_t at = manifest.find(config); at != std::string::npos;
         at = manifest.find(config, at + name.size())) {
      manifest.replace(at, 1, name);  // Configs and baselines.
    }
    Write("manifest.json", manifest);
    Status status = Bundle::Load(folder_.path()).status();
    EXPECT_FALSE(status.ok()) << each.name;
    EXPECT_NE(status.message().find(each.message), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("manifest.json:"), std::string::npos) << status.message();
  }
}

TEST_F(BundleTermsTest, BaselinesAndConfigsAreByTarget) {
  Result<Bundle> bundle = Load({{"\"baseline\": {\"TILE\": 64}",
                                 R"("fallback": {"TILE": 64},
     "baseline": [{"config": {"TILE": 128}, "where": "device.capability >= 100"},
                  {"config": {"TILE": 128}, "where": "device.capability == 0"},
                  {"config": {"TILE": 64}, "where": "device.capability > 0 && device.capability <= 90"}],
     "where": ["causal", "TILE != 64 || device.capability > 0 && device.capability <= 90"])"},
                                {"  \"where\": [\"causal\"],\n", ""}});
  ASSERT_OK(bundle);
  const SearchSpace& space = bundle->definition().space();
  auto target = [](int capability) {
    Target made;
    made.is_cpu_device = capability == 0;
    made.capability_major = capability / 10;
    return made;
  };
  struct Case {
    int capability;
    const char* baseline;
    std::size_t configs;
  };
  for (const Case& each : {Case{0, "TILE=128", 1}, Case{90, "TILE=64", 2}, Case{100, "TILE=128", 1}}) {
    EXPECT_EQ(space.BaselineOn(target(each.capability))->ToString(), each.baseline) << each.capability;
    Result<std::vector<Config>> configs = space.Enumerate(target(each.capability));
    ASSERT_OK(configs);
    EXPECT_EQ(configs->size(), each.configs) << each.capability;
  }
  EXPECT_EQ(space.fallback()->ToString(), "TILE=64");
}

}  // namespace
}  // namespace tuneonce
