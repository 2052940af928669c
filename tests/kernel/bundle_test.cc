#include "tuneonce/kernel/bundle.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "kernel/manifest.h"
#include "testing/device_test.h"

namespace tuneonce {
namespace {

const char* const kBundles[] = {"rms_norm", "softmax", "silu_and_mul", "rope", "matmul", "persistent_matmul"};
std::string FolderOf(const std::string& name) {
  return std::string(TUNEONCE_TEST_DATA) + "/../../docs/examples/bundles/" + name;
}

TEST(BundleTest, TheExamplesLoad) {
  for (const char* name : kBundles) {
    Result<Bundle> bundle = Bundle::Load(FolderOf(name));
    ASSERT_OK(bundle);
    EXPECT_EQ(bundle->definition().name(), name);
    ASSERT_EQ(bundle->definition().variants().size(), 3u) << name;
    EXPECT_EQ(bundle->definition().variants()[0].name, "tile");
    EXPECT_EQ(bundle->definition().variants()[2].name, "cpu");
    EXPECT_TRUE(bundle->definition().space().baseline().has_value());
    for (const std::string& dim : bundle->definition().dims()) EXPECT_EQ(bundle->example().dims.count(dim), 1u);
  }
}

/// A bundle of one host kernel, with a hole for what a test wants to be different.
class BundleFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_.path() + "/" + name) << text; }
  Status Load(const std::string& manifest) {
    Write("k.cc", "static void k(const tuneonce_block&, const float*, float*, int) {}\nTUNEONCE_CPU_KERNEL(k);\n");
    Write("manifest.json", manifest);
    return Bundle::Load(folder_.path()).status();
  }
  /// The good manifest with `from` replaced by `to`.
  Status LoadWith(const std::string& from, const std::string& to) {
    std::string manifest = kManifest;
    std::size_t at = manifest.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return Load(manifest.replace(at, from.size(), to));
  }

  static constexpr char kManifest[] = R"({
  "tuneonce_bundle": 1,
  "name": "k",
  "version": "1",
  "dims": ["N"],
  "parameters": [
    {"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["N"]},
    {"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]},
    {"kind": "dim", "dim": "N"}
  ],
  "axes": [{"name": "TILE", "values": [64, 128]}],
  "baseline": {"TILE": 64},
  "guards": [{"dim": "N", "at_least": "TILE"}],
  "variants": [
    {"name": "cpu", "source": "host_cpp", "symbol": "k", "defines": ["TILE"],
     "grid": {"pattern": "one_d", "tiles": [["N", {"axis": "TILE"}]]},
     "assumptions": [{"tensor": "x", "aligned": 4}],
     "artifacts": [{"file": "k.cc"}]}
  ]
})";
  TemporaryFolder folder_ = *TemporaryFolder::Create();
};

TEST_F(BundleFileTest, WhatIsWrongIsNamedWithFileLineAndField) {
  ASSERT_OK(Load(kManifest));
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  const Case cases[] = {
      {"\"tuneonce_bundle\": 1", "\"tuneonce_bundle\": 2", "manifest.json:2: tuneonce_bundle: this is format 2"},
      {"\"name\": \"k\",", "", "manifest.json:1: the field 'name' is missing"},
      {"\"name\": \"k\",", "\"name\": 5,", "manifest.json:3: name: expected a string"},
      {"\"version\": \"1\",", "\"version\": \"1\", \"verison\": 2,", "manifest.json:4: verison: unknown field"},
      {"\"version\": \"1\",", "\"version\": \"1\", \"name\": \"k\",", ":4: the key 'name' stands twice"},
      {"\"dims\": [\"N\"],", "\"dims\": [\"N\"", "this is not JSON"},
      {"\"access\": \"in\"", "\"access\": \"read\"", ":7: parameters[0].access: expected in, out or inout, got 'read'"},
      {"\"dtype\": \"float32\"", "\"dtype\": \"float33\"", ":7: parameters[0].dtype: unknown dtype 'float33'"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"may_be_partial\": true",
       ":7: parameters[0].may_be_partial: may_be_partial is for outputs"},
      {"\"kind\": \"dim\"", "\"kind\": \"dim\", \"tolerance\": {}",
       ":9: parameters[2].tolerance: tolerance is for outputs"},
      {"\"access\": \"out\"", "\"access\": \"out\", \"may_be_partial\": 1",
       ":8: parameters[1].may_be_partial: expected"},
      {"\"access\": \"out\"", "\"access\": \"out\", \"tolerance\": {\"ulps\": -1}",
       ":8: parameters[1].tolerance.ulps: a tolerance is not negative"},
      {"\"access\": \"out\"", "\"access\": \"out\", \"tolerance\": {\"ulp\": 1}",
       ":8: parameters[1].tolerance.ulp: unknown field"},
      {"\"dims\": [\"N\"]},", "\"dims\": [\"M\"]},", ":7: parameters[0].dims: unknown dim 'M'; the bundle has: N"},
      {"{\"kind\": \"dim\", \"dim\": \"N\"}", "{\"kind\": \"dim\", \"dim\": \"Q\"}",
       ":9: parameters[2].dim: unknown dim"},
      {"{\"kind\": \"dim\", \"dim\": \"N\"}", "{\"kind\": \"stride\", \"tensor\": \"x\", \"dimension\": 9}",
       ":9: parameters[2].dimension: a tensor has no such dimension"},
      {"{\"kind\": \"dim\", \"dim\": \"N\"}", "{\"kind\": \"stride\", \"tensor\": \"x\"}",
       ":9: parameters[2]: the field 'dimension' is missing"},
      {"{\"kind\": \"dim\", \"dim\": \"N\"}", "{\"kind\": \"stride\", \"tensor\": \"x\", \"dimension\": 1}",
       "StrideValue('x', 1): 'x' has rank 1"},
      {"\"dtype\": \"float32\"", "\"dtype\": \"float32\", \"same_dtype_as\": \"y\"",
       ":7: parameters[0].same_dtype_as: a tensor has a dtype or another's, not both"},
      {"\"dtype\": \"float32\"", "\"same_dtype_as\": \"z\"", "SameDTypeAs('z') names no tensor parameter"},
      {"\"aligned\": 4", "\"contiguous\": 1", "contiguous: expected"},
      {"[64, 128]", "[]", ":11: axes[0].values: an axis needs at least one value"},
      {"[64, 128]", "[64, \"x\"]", ":11: axes[0].values[1]: expected a whole number"},
      {"[64, 128]", "[true]", ":11: axes[0].values: an axis of truth values has the values [false, true]"},
      {"{\"TILE\": 64}", "{\"TILE\": 65}", "65"},
      {"{\"TILE\": 64}", "{\"TIL\": 64}", ":12: baseline.TIL: unknown axis 'TIL'; the bundle has: TILE"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"warmup\": \"Q\"", ":7: parameters[0].warmup: unknown dim 'Q'"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"warmup\": {\"zeros\": 1}", ":7: parameters[0].warmup.zeros: unknown"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"warmup\": {}", "expected one of the fields iota and uniform"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"warmup\": {\"iota\": [1]}", "expected two numbers, or dims' names"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"warmup\": {\"uniform\": [1, 1]}",
       ":7: parameters[0].warmup: its range for a warm-up, [1, 1), is empty"},
      {"\"access\": \"out\"", "\"access\": \"out\", \"warmup\": 1",
       ":8: parameters[1].warmup: an output that the kernel does not read"},
      {"\"kind\": \"dim\"", "\"kind\": \"dim\", \"warmup\": 1", ":9: parameters[2].warmup: only scalars, and tensors"},
      {"\"at_least\": \"TILE\"", "\"at_leats\": 1", ":13: guards[0].at_leats: unknown field"},
      {"\"at_least\": \"TILE\"", "\"at_least\": \"T\"", ":13: guards[0].at_least: unknown axis 'T'"},
      {"\"host_cpp\"", "\"fortran\"", ":15: variants[0].source: expected tile_ir, ptx"},
      {"\"symbol\": \"k\"", "\"symbol\": \"wrong\"", ":18: variants[0].artifacts[0]: it has no kernel 'wrong'"},
      {"\"one_d\"", "\"spiral\"", ":16: variants[0].grid.pattern: expected tile_coverage"},
      {"{\"axis\": \"TILE\"}", "{\"axis\": \"T\"}", ":16: variants[0].grid.tiles[0][1].axis: unknown axis"},
      {"\"tensor\": \"x\", \"aligned\"", "\"tensor\": \"z\", \"aligned\"",
       "it assumes something of 'z', which is no tensor"},
      {"\"aligned\": 4", "\"aligned\": 0", "it assumes 0 of 'x'; at least 1 is possible"},
      {"\"k.cc\"", "\"none.cc\"", ":18: variants[0].artifacts[0].file: the artifact 'none.cc' is not there"},
      {"\"k.cc\"", "\"../k.cc\"", "lies outside the bundle"},
      {"\"k.cc\"", "\"/etc/passwd\"", "lies outside the bundle"},
      {"{\"file\": \"k.cc\"}", "{\"config\": {\"TILE\": 64}, \"file\": \"k.cc\"}",
       "the config {TILE=128} has 0 artifacts; it needs exactly one"},
      {"{\"file\": \"k.cc\"}", "{\"file\": \"k.cc\"}, {\"file\": \"k.cc\"}", "has 2 artifacts"},
  };
  for (const Case& each : cases) {
    Status status = LoadWith(each.from, each.to);
    EXPECT_FALSE(status.ok()) << each.to;
    EXPECT_NE(status.message().find(each.message), std::string::npos)
        << "'" << each.message << "' is not in '" << status.message() << "'";
  }
}

TEST_F(BundleFileTest, StridesAndSharedDTypesAreRead) {
  std::string manifest = kManifest;
  auto replace = [&](const std::string& from, const std::string& to) {
    manifest.replace(manifest.find(from), from.size(), to);
  };
  replace("{\"kind\": \"dim\", \"dim\": \"N\"}",
          "{\"kind\": \"dim\", \"dim\": \"N\"}, {\"kind\": \"stride\", \"tensor\": \"y\", \"dimension\": 0}, {\"kind\": "
          "\"stride\", \"tensor\": \"x\", \"dimension\": 0, \"dtype\": \"int64\", \"name\": \"sx\"}");
  replace("\"dtype\": \"float32\"", "\"same_dtype_as\": \"y\"");
  replace("\"aligned\": 4", "\"contiguous\": true");
  ASSERT_OK(Load(manifest));
  Result<Bundle> bundle = Bundle::Load(folder_.path());
  const KernelDefinition& definition = bundle->definition();
  EXPECT_EQ(definition.parameters()[0].same_dtype_as, "y");
  EXPECT_EQ(definition.parameters()[0].dtype, DType::kFloat32) << "which y declares";
  const Parameter& y = definition.parameters()[3];
  EXPECT_EQ(y.kind, ParameterKind::kStride);
  EXPECT_EQ(y.name + " " + std::string(DTypeName(y.dtype)), "y_stride_0 int32");
  const Parameter& x = definition.parameters()[4];
  EXPECT_EQ(x.tensor + " " + x.name + " " + std::string(DTypeName(x.dtype)), "x sx int64");
  EXPECT_EQ(definition.variants()[0].assumptions[0].kind, Assumption::Kind::kContiguous);
}

TEST_F(BundleFileTest, AnOutputSaysHowItIsVerified) {
  ASSERT_OK(LoadWith("\"access\": \"out\"",
                     "\"access\": \"out\", \"may_be_partial\": true, \"tolerance\": {\"relative\": 0.5, \"ulps\": 2}"));
  Bundle bundle = *Bundle::Load(folder_.path());
  const Parameter& y = bundle.definition().parameters()[1];
  EXPECT_TRUE(y.may_be_partial);
  EXPECT_EQ(bundle.definition().ToleranceOf(y, DType::kFloat32).relative, 0.5);
  EXPECT_EQ(bundle.definition().ToleranceOf(y, DType::kFloat32).ulps, 2);
  const Parameter& x = bundle.definition().parameters()[0];
  EXPECT_EQ(bundle.definition().ToleranceOf(x, DType::kFloat32).relative, Tolerance::Of(DType::kFloat32).relative);
}

TEST_F(BundleFileTest, AWarmUpsValuesAreRead) {
  std::string manifest = kManifest;
  std::string tensors = R"("parameters": [
    {"name": "a", "kind": "tensor", "access": "in", "dtype": "int32", "dims": ["N"], "warmup": {"uniform": [0, "N"]}},
    {"name": "b", "kind": "tensor", "access": "inout", "dtype": "int32", "dims": ["N"], "warmup": {"iota": [1, 2.0]}},
    {"name": "c", "kind": "tensor", "access": "in", "dtype": "bool", "dims": ["N"], "warmup": true},
    {"name": "d", "kind": "scalar", "dtype": "int64", "warmup": "N"},)";
  std::string own = "\"parameters\": [";
  Write("k.cc", "static void k(const tuneonce_block&, int*, int*, bool*, long, const float*, float*, int) {}\n"
                "TUNEONCE_CPU_KERNEL(k);\n");
  Write("manifest.json", manifest.replace(manifest.find(own), own.size(), tensors));
  Result<Bundle> bundle = Bundle::Load(folder_.path());
  ASSERT_OK(bundle);
  const std::vector<Parameter>& parameters = bundle->definition().parameters();
  EXPECT_EQ(parameters[0].warmup->kind, WarmupFill::Kind::kUniform);
  EXPECT_EQ(parameters[0].warmup->second.dim, "N");
  EXPECT_EQ(parameters[1].warmup->kind, WarmupFill::Kind::kIota);
  EXPECT_EQ(parameters[1].warmup->first.value, 1);
  EXPECT_EQ(parameters[1].warmup->second.value, 2);
  EXPECT_EQ(parameters[2].warmup->first.value, 1);
  EXPECT_EQ(parameters[3].warmup->first.dim, "N");
  EXPECT_FALSE(parameters[4].warmup.has_value());
}

TEST_F(BundleFileTest, HostileFilesAreRefused) {
  EXPECT_ERROR(Load(std::string(5 << 20, ' ')), StatusCode::kInvalidArgument, "at most 4194304 are possible");
  EXPECT_ERROR(Load(std::string(100000, '[')), StatusCode::kInvalidArgument, "nested too deep");
  EXPECT_ERROR(Load(""), StatusCode::kInvalidArgument, "this is not JSON");
  EXPECT_ERROR(Load("[1]"), StatusCode::kInvalidArgument, "manifest.json:1: expected an object");
  EXPECT_ERROR(Load(R"({"tuneonce_bundle": 99999999999999999999})"), StatusCode::kInvalidArgument, "whole number");
  std::filesystem::create_symlink("/etc/passwd", folder_.path() + "/link.cc");
  EXPECT_ERROR(LoadWith("\"k.cc\"", "\"link.cc\""), StatusCode::kInvalidArgument, "lies outside the bundle");
  EXPECT_ERROR(Bundle::Load("/does/not/exist"), StatusCode::kNotFound, "there is no bundle folder");
  EXPECT_ERROR(Bundle::Load("/usr"), StatusCode::kNotFound, "it has no manifest.json");
}

TEST_F(BundleFileTest, EveryTruncationAndByteFlipOfAManifestIsRefusedOrRead) {
  std::string manifest = kManifest;
  for (std::size_t i = 0; i < manifest.size(); ++i) {
    EXPECT_FALSE(Load(manifest.substr(0, i)).ok()) << i;
    std::string flipped = manifest;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x15);
    static_cast<void>(Load(flipped));  // No crash; under ASan, no read outside.
  }
}

TEST(BundleArtifactTest, TileIrParametersAreComparedWithTheManifest) {
  Result<std::string> text = ReadFile(FolderOf("softmax") + "/manifest.json");
  ASSERT_OK(text);
  TemporaryFolder folder = *TemporaryFolder::Create();
  auto load = [&](const std::string& from, const std::string& to) {
    std::filesystem::copy(FolderOf("softmax"), folder.path(),
                          std::filesystem::copy_options::overwrite_existing | std::filesystem::copy_options::recursive);
    std::string manifest = *text;
    for (std::size_t at = manifest.find(from); at != std::string::npos; at = manifest.find(from, at + to.size())) {
      manifest.replace(at, from.size(), to);
    }
    std::ofstream(folder.path() + "/manifest.json") << manifest;
    return Bundle::Load(folder.path()).status();
  };
  ASSERT_OK(load("nothing of it", ""));
  EXPECT_ERROR(load("\"parameters\": [\"x\", \"y\"]", "\"parameters\": [\"x\"]"), StatusCode::kInvalidArgument,
               "kernel 'softmax' has 10 parameters; the manifest declares 5");
  EXPECT_ERROR(load("\"symbol\": \"softmax\"", "\"symbol\": \"soft\""), StatusCode::kInvalidArgument,
               "it has no kernel 'soft'; it has: softmax");
}

TEST(BundleEmbeddedTest, FilesOfAProgramAreReadAsAFolderIs) {
  Result<std::string> manifest = ReadFile(FolderOf("softmax") + "/manifest.json");
  ASSERT_OK(manifest);
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& file : std::filesystem::directory_iterator(FolderOf("softmax"))) {
    if (file.is_regular_file()) files.emplace_back(file.path().filename(), *ReadFile(file.path()));
  }
  std::vector<EmbeddedFile> embedded;
  for (const auto& [name, bytes] : files) {
    embedded.push_back({name.c_str(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
  }
  EXPECT_OK(Bundle::Load(EmbeddedBundle{"softmax", embedded.data(), embedded.size()}));
  EXPECT_ERROR(Bundle::Load(EmbeddedBundle{"softmax", embedded.data(), 0}), StatusCode::kNotFound,
               "(embedded softmax)/manifest.json: it was not embedded");
}

}  // namespace
}  // namespace tuneonce
