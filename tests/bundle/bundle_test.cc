#include "tuneonce/bundle.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "bundle/manifest.h"
#include "testing/device_test.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

std::string FolderOf(const std::string& name) { return std::string(TUNEONCE_BUNDLE_FOLDER) + "/" + name; }

TEST(BundleTest, AnExampleMayHaveSmallerDimsForTheCpuDevice) {
  Result<Bundle> bundle = Bundle::Load(FolderOf("matmul"));
  ASSERT_OK(bundle);
  EXPECT_EQ(bundle->example().dims, (std::map<std::string, std::int64_t>{{"M", 4096}, {"N", 4096}, {"K", 4096}}));
  EXPECT_EQ(bundle->example().cpu_dims, (std::map<std::string, std::int64_t>{{"M", 512}, {"N", 512}, {"K", 512}}));
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
  /// What is wrong with the artifacts of a manifest that can be loaded.
  Status CheckSources(const std::string& manifest) {
    EXPECT_OK(Load(manifest));
    Result<Bundle> bundle = Bundle::Load(folder_.path());
    warnings_.clear();
    return bundle.ok() ? bundle->CheckSources(&warnings_) : bundle.status();
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
  "where": ["N >= TILE"],
  "variants": [
    {"name": "cpu", "source": "cpu_cpp", "symbol": "k", "defines": ["TILE"],
     "grid": {"pattern": "one_d", "tiles": [["N", {"axis": "TILE"}]]},
     "assumptions": [{"tensor": "x", "aligned": 4}],
     "artifacts": [{"file": "k.cc"}]}
  ]
})";
  TemporaryFolder folder_ = *testing::MakeFolder();
  std::vector<std::string> warnings_;  // Of the last CheckSources.
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
      {"\"version\": \"1\",", "\"version\": \"1\", \"name\": \"k\",", ":4: the key 'name' appears twice"},
      {"\"dims\": [\"N\"],", "\"dims\": [\"N\"", "this is not JSON"},
      {"\"tuneonce_bundle\": 1", "\"tuneonce_bundle\": 1e400", ":2: this is not JSON: number overflow parsing '1e400'"},
      {"\"access\": \"in\"", "\"access\": \"read\"", ":7: parameters[0].access: expected in, out or inout, got 'read'"},
      {"\"dtype\": \"float32\"", "\"dtype\": \"float33\"", ":7: parameters[0].dtype: unknown dtype 'float33'"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"may_be_partial\": true",
       ":7: parameters[0].may_be_partial: may_be_partial is only for outputs"},
      {"\"kind\": \"dim\"", "\"kind\": \"dim\", \"tolerance\": {}",
       ":9: parameters[2].tolerance: tolerance is only for outputs"},
      {"\"access\": \"out\"", "\"access\": \"out\", \"may_be_partial\": 1",
       ":8: parameters[1].may_be_partial: expected"},
      {"\"access\": \"out\"", "\"access\": \"out\", \"tolerance\": {\"ulps\": -1}",
       ":8: parameters[1].tolerance.ulps: a tolerance must not be negative"},
      {"\"access\": \"out\"", "\"access\": \"out\", \"tolerance\": {\"ulp\": 1}",
       ":8: parameters[1].tolerance.ulp: unknown field"},
      {"\"dims\": [\"N\"]},", "\"dims\": [\"M\"]},", ":7: parameters[0].dims: unknown dim 'M'; the bundle has: N"},
      {"{\"kind\": \"dim\", \"dim\": \"N\"}", "{\"kind\": \"dim\", \"dim\": \"Q\"}",
       ":9: parameters[2].dim: unknown dim"},
      {"{\"kind\": \"dim\", \"dim\": \"N\"}", "{\"kind\": \"stride\", \"tensor\": \"x\", \"dimension\": 9}",
       ":9: parameters[2].dimension: dimension 9 is not within 0 to 7"},
      {"{\"kind\": \"dim\", \"dim\": \"N\"}", "{\"kind\": \"stride\", \"tensor\": \"x\"}",
       ":9: parameters[2]: the field 'dimension' is missing"},
      {"{\"kind\": \"dim\", \"dim\": \"N\"}", "{\"kind\": \"stride\", \"tensor\": \"x\", \"dimension\": 1}",
       "StrideValue('x', 1): 'x' has rank 1"},
      {"\"dtype\": \"float32\"", "\"dtype\": \"float32\", \"same_dtype_as\": \"y\"",
       ":7: parameters[0].same_dtype_as: a tensor takes \"dtype\" or \"same_dtype_as\", but not both"},
      {"\"dtype\": \"float32\"", "\"same_dtype_as\": \"z\"", "SameDTypeAs('z') names no tensor parameter"},
      {"\"aligned\": 4", "\"contiguous\": 1", "contiguous: expected"},
      {"[64, 128]", "[]", ":11: axes[0].values: an axis needs at least one value"},
      {"[64, 128]", "[64, \"x\"]", ":11: axes[0].values[1]: expected a whole number"},
      {"[64, 128]", "[true]", ":11: axes[0].values: an axis of booleans must have the values [false, true]"},
      {"{\"TILE\": 64}", "{\"TILE\": 65}", "65"},
      {"{\"TILE\": 64}", "{\"TIL\": 64}", ":12: baseline.TIL: unknown axis 'TIL'; the bundle has: TILE"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"warmup\": \"Q\"", ":7: parameters[0].warmup: unknown dim 'Q'"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"warmup\": {\"zeros\": 1}",
       ":7: parameters[0].warmup.zeros: unknown"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"warmup\": {}",
       "expected one of the fields iota, uniform and offsets"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"warmup\": {\"iota\": [0, 1], \"offsets\": [9, 1]}",
       "expected one of the fields iota, uniform and offsets"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"warmup\": {\"iota\": [1]}",
       "expected a list of two entries, each a number or the name of a dim"},
      {"\"access\": \"in\"", "\"access\": \"in\", \"warmup\": {\"uniform\": [1, 1]}",
       ":7: parameters[0].warmup: the warm-up range [1, 1) is empty"},
      {"\"access\": \"out\"", "\"access\": \"out\", \"warmup\": 1",
       ":8: parameters[1].warmup: an output that the kernel does not read"},
      {"\"kind\": \"dim\"", "\"kind\": \"dim\", \"warmup\": 1", ":9: parameters[2].warmup: unknown field"},
      {"N >= TILE", "N >= ",
       ":13: where[0]: invalid condition 'N >= ': expected a number, a name or '(', got the end at "
       "position 6"},
      {"N >= TILE", "N >= T", ":13: where[0]: condition 'N >= T': unknown dim 'T'; the kernel has: N"},
      {"\"cpu_cpp\"", "\"fortran\"", ":15: variants[0].source: expected tile_ir, tile_cpp, ptx"},
      {"\"one_d\"", "\"spiral\"", ":16: variants[0].grid.pattern: unknown grid pattern 'spiral'; expected "},
      {"{\"axis\": \"TILE\"}", "{\"axis\": \"T\"}", ":16: variants[0].grid.tiles[0][1].axis: unknown axis"},
      {"\"tensor\": \"x\", \"aligned\"", "\"tensor\": \"z\", \"aligned\"",
       "an assumption names 'z', which is not a tensor"},
      {"\"aligned\": 4", "\"aligned\": 0", "an assumption about 'x' has the value 0; at least 1 is possible"},
      {"\"k.cc\"", "\"none.cc\"", ":18: variants[0].artifacts[0].file: the artifact 'none.cc' does not exist"},
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

TEST_F(BundleFileTest, AnExtentMayBeAConstant) {
  std::string manifest = kManifest;
  auto with = [&](const std::string& dims) {
    std::string changed = manifest;
    const std::string from = "\"dims\": [\"N\"]},";
    return changed.replace(changed.find(from), from.size(), "\"dims\": " + dims + "},");
  };
  ASSERT_OK(Load(with("[\"N\", 4]")));
  Result<Bundle> bundle = Bundle::Load(folder_.path());
  const KernelDefinition& definition = bundle->definition();
  EXPECT_EQ(definition.parameters()[0].dims, In("x", kFloat32, {"N", 4}).dims);
  EXPECT_EQ(definition.dims(), std::vector<std::string>{"N"});
  EXPECT_ERROR(Load(with("[\"N\", 0]")), StatusCode::kInvalidArgument,
               ":7: parameters[0].dims[1]: a constant extent must be a whole number of at least 1");
  EXPECT_ERROR(Load(with("[\"N\", \"4\"]")), StatusCode::kInvalidArgument, ":7: parameters[0].dims: unknown dim '4'");
  EXPECT_ERROR(Load(with("[\"N\", \"=4\"]")), StatusCode::kInvalidArgument, "unknown dim '=4'");
  EXPECT_ERROR(Load(with("[\"N\", 4.5]")), StatusCode::kInvalidArgument, ":7: parameters[0].dims[1]: ");
}

TEST_F(BundleFileTest, StridesAndSharedDTypesAreRead) {
  std::string manifest = kManifest;
  auto replace = [&](const std::string& from, const std::string& to) {
    manifest.replace(manifest.find(from), from.size(), to);
  };
  replace(
      "{\"kind\": \"dim\", \"dim\": \"N\"}",
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

TEST_F(BundleFileTest, ALeastExtentIsAnAssumption) {
  ASSERT_OK(LoadWith("\"aligned\": 4", "\"dimension\": 0, \"extent_at_least\": 2"));
  Result<Bundle> bundle = Bundle::Load(folder_.path());
  ASSERT_OK(bundle);
  const Assumption& assumption = bundle->definition().variants()[0].assumptions[0];
  EXPECT_EQ(assumption.kind, Assumption::Kind::kExtentAtLeast);
  EXPECT_EQ(assumption.value, 2);
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
    {"name": "d", "kind": "scalar", "dtype": "int64", "warmup": "N"},
    {"name": "e", "kind": "tensor", "access": "in", "dtype": "int32", "dims": ["N"],
     "warmup": {"offsets": ["N", 1]}},)";
  std::string own = "\"parameters\": [";
  Write("k.cc",
        "static void k(const tuneonce_block&, int*, int*, bool*, long, const int*, const float*, float*, int) {}\n"
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
  EXPECT_EQ(parameters[4].warmup->kind, WarmupFill::Kind::kOffsets);
  EXPECT_EQ(parameters[4].warmup->first.dim, "N");
  EXPECT_EQ(parameters[4].warmup->second.value, 1);
  EXPECT_FALSE(parameters[5].warmup.has_value());
}

TEST_F(BundleFileTest, HostileFilesAreRefused) {
  EXPECT_ERROR(Load(std::string(5 << 20, ' ')), StatusCode::kInvalidArgument, "at most 4194304 are possible");
  EXPECT_ERROR(Load(std::string(100000, '[')), StatusCode::kInvalidArgument, "nested too deep");
  EXPECT_ERROR(Load(""), StatusCode::kInvalidArgument, "this is not JSON");
  EXPECT_ERROR(Load("[1]"), StatusCode::kInvalidArgument, "manifest.json:1: expected an object");
  EXPECT_ERROR(Load(R"({"tuneonce_bundle": 99999999999999999999})"), StatusCode::kInvalidArgument, "whole number");
  std::filesystem::create_symlink("/etc/passwd", folder_.path() + "/link.cc");
  EXPECT_ERROR(LoadWith("\"k.cc\"", "\"link.cc\""), StatusCode::kInvalidArgument, "lies outside the bundle");
  EXPECT_ERROR(Bundle::Load("/does/not/exist"), StatusCode::kNotFound, "no bundle folder");
  EXPECT_ERROR(Bundle::Load("/usr"), StatusCode::kNotFound, "it has no manifest.json");
}

TEST_F(BundleFileTest, AFieldThatTheGridsPatternDoesNotUseIsNamed) {
  struct Case {
    const char* grid;
    const char* message;  // "": it is good.
  };
  const Case cases[] = {
      {R"({"pattern": "tile_coverage", "tiles": [["N", 64], ["N", 1]]})", ""},
      {R"({"pattern": "persistent_tiles", "tiles": [["N", 64], ["N", 1]], "num_ctas": 1, "occupancy": 2})", ""},
      {R"({"pattern": "persistent_rows", "rows": "N", "occupancy": {"axis": "TILE"}})", ""},
      {R"({"pattern": "attention_2d", "tiles": [["N", 64]], "batch": 2, "heads": 3})", ""},
      {R"({"pattern": "fixed", "blocks": ["N", 2, 3]})", ""},
      {R"({"pattern": "one_d", "tiles": [["N", 64], ["N", 64]]})",
       ":16: variants[0].grid.tiles: the grid pattern one_d has one entry in tiles, not 2: for more dimensions use"},
      {R"({"pattern": "attention_2d", "tiles": [["N", 64], ["N", 64]], "batch": 2, "heads": 3})",
       ":16: variants[0].grid.tiles: the grid pattern attention_2d has one entry in tiles, not 2"},
      {R"({"pattern": "one_d", "tiles": [["N", 64]], "occupancy": 2})",
       ":16: variants[0].grid.occupancy: the grid pattern one_d does not use 'occupancy', only tiles"},
      {R"({"pattern": "tile_coverage", "tiles": [["N", 64]], "occupancy": 2})",
       ":16: variants[0].grid.occupancy: the grid pattern tile_coverage does not use 'occupancy', only tiles"},
      {R"({"pattern": "tile_coverage", "tiles": [["N", 64]], "batch": "N"})",
       "the grid pattern tile_coverage does not use 'batch', only tiles; a batch can be an entry of tiles: [\"B\", 1]"},
      {R"({"pattern": "tile_coverage", "tiles": [["N", 64]], "heads": 2})", "tile_coverage does not use 'heads'"},
      {R"({"pattern": "tile_coverage", "tiles": []})", "tile_coverage has one to three entries in tiles, not 0"},
      {R"({"pattern": "tile_coverage", "tiles": [["N", 1], ["N", 1], ["N", 1], ["N", 1]]})", "entries in tiles, not 4"},
      {R"({"pattern": "persistent_tiles", "tiles": [["N", 64]], "num_ctas": 1, "occupancy": 2, "batch": 2})",
       "persistent_tiles does not use 'batch', only tiles, num_ctas, occupancy"},
      {R"({"pattern": "persistent_rows", "rows": "N", "occupancy": 2, "tiles": [["N", 64]]})",
       "persistent_rows does not use 'tiles', only rows, occupancy"},
      {R"({"pattern": "fixed", "blocks": [2], "tiles": [["N", 64]]})", "fixed does not use 'tiles', only blocks"},
      {R"({"pattern": "fixed"})", ":16: variants[0].grid: the field 'blocks' is missing"},
      {R"({"pattern": "fixed", "blocks": [2, 0]})",
       "variants[0].grid: grid: the constant 0 is too small; at least 1 is possible"},
      {R"({"pattern": "one_d", "tiles": [["N", -64]]})",
       "variants[0].grid: grid: the constant -64 is too small; at least 1"},
      {R"({"pattern": "persistent_rows", "rows": "N", "occupancy": 0})",
       "grid: the constant 0 is too small; at least 1"},
  };
  for (const Case& each : cases) {
    Status status = LoadWith(R"({"pattern": "one_d", "tiles": [["N", {"axis": "TILE"}]]})", each.grid);
    EXPECT_EQ(status.ok(), *each.message == '\0') << each.grid << status.message();
    EXPECT_NE(status.message().find(each.message), std::string::npos)
        << "'" << each.message << "' is not in '" << status.message() << "'";
  }
}

TEST_F(BundleFileTest, AFieldThatIsNotUsedIsAnErrorElsewhereToo) {
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  const Case cases[] = {
      {"\"axes\"", R"("key": [{"dim": "N", "dtype_of": "x"}], "axes")", "key[0].dtype_of: unknown field"},
      {"\"axes\"", R"("key": [{"dtype_of": "x", "bucket": "next_pow2"}], "axes")", "key[0].bucket: unknown field"},
      {"{\"kind\": \"dim\", \"dim\": \"N\"}", R"({"kind": "dim", "dim": "N", "name": "size"})",
       "[2].name: unknown field"},
      {"{\"kind\": \"dim\", \"dim\": \"N\"}", R"({"kind": "scalar", "name": "N", "dtype": "int32", "dims": ["N"]})",
       "parameters[2].dims: unknown field"},
      {"\"aligned\": 4", "\"aligned\": 4, \"dimension\": 0",
       "assumptions[0].dimension: \"dimension\" is given, but no field assumes anything"},
      {"\"aligned\": 4", "\"stride\": 1", "assumptions[0]: the field 'dimension' is missing"},
  };
  for (const Case& each : cases) {
    Status status = LoadWith(each.from, each.to);
    EXPECT_FALSE(status.ok()) << each.to;
    EXPECT_NE(status.message().find(each.message), std::string::npos)
        << "'" << each.message << "' is not in '" << status.message() << "'";
  }
}

TEST_F(BundleFileTest, AMistakeInTheSpaceNamesItsField) {
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  const Case cases[] = {
      {"{\"TILE\": 64}", "{\"TILE\": 512}",
       "manifest.json:12: baseline: the baseline sets TILE=512, which is not one of {64, 128}"},
      {"\"where\"", R"("fallback": {"TILE": 512}, "where")",
       "manifest.json:13: fallback: the fallback sets TILE=512, which is not one of {64, 128}"},
      {"N >= TILE", "TILE > 64", "manifest.json:13: where: the baseline {TILE=64} breaks condition 'TILE > 64'"},
      {"  \"baseline\": {\"TILE\": 64},\n  \"where\": [\"N >= TILE\"],", "  \"where\": [\"TILE > 128\"],",
       "manifest.json:12: where: the search space is empty: condition 'TILE > 128' dropped 2 of 2 configs"},
  };
  for (const Case& each : cases) {
    EXPECT_ERROR(LoadWith(each.from, each.to), StatusCode::kInvalidArgument, each.message);
  }
  const std::string manifest = kManifest;
  EXPECT_ERROR(Load(manifest.substr(0, manifest.find("\"variants\"")) + "\"variants\": []}"),
               StatusCode::kInvalidArgument, "manifest.json:14: variants: expected at least one variant");
}

TEST_F(BundleFileTest, NumbersAreNotNarrowed) {
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  const Case cases[] = {
      {"\"source\": \"cpu_cpp\"", R"("source": "cuda_cpp", "targets": {"min_capability": 4294967386})",
       "no compute capability is within 4294967386 to 10000"},
      {"\"source\": \"cpu_cpp\"", R"("source": "cuda_cpp", "targets": {"min_capability": 90, "max_capability": 80})",
       "no compute capability is within 90 to 80"},
      {"\"values\": [64, 128]", "\"values\": [64, 128.5]", "expected a whole number"},
      {"{\"file\": \"k.cc\"}", "{\"file\": \"k.cc\", \"block\": 0}",
       "artifacts[0].block: the value must be at least 1"},
      {"{\"file\": \"k.cc\"}", "{\"file\": \"k.cc\", \"shared_memory\": -1}",
       "shared_memory: the value must be at least 0"},
      {"{\"file\": \"k.cc\"}", "{\"file\": \"k.cc\", \"cluster\": 0}",
       "artifacts[0].cluster: the value must be at least 1"},
      {"{\"file\": \"k.cc\"}", "{\"file\": \"k.cc\", \"cluster\": 17}", "cluster: at most 16 blocks are possible"},
      {"\"where\"", "\"tolerance\": {\"absolute\": 9007199254740993}, \"where\"",
       "9007199254740993 is not exact as a double"},
      {"\"where\"", "\"example\": {\"scalars\": {\"esp\": 1}}, \"where\"",
       "example.scalars.esp: the bundle has no parameter 'esp'"},
      {"\"where\"", "\"example\": {\"dtypes\": {\"z\": \"int8\"}}, \"where\"", "the bundle has no parameter 'z'"},
  };
  for (const Case& each : cases) {
    Status status = LoadWith(each.from, each.to);
    EXPECT_FALSE(status.ok()) << each.to;
    EXPECT_NE(status.message().find(each.message), std::string::npos)
        << "'" << each.message << "' is not in '" << status.message() << "'";
  }
}

TEST_F(BundleFileTest, MoreThanAnyKernelHasIsRefusedBeforeItIsLookedThrough) {
  auto list = [](std::size_t count, const std::string& each) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + each;
    return text + "]";
  };
  struct Case {
    const char* from;
    std::string to;
    const char* message;
  };
  const Case cases[] = {
      {"\"dims\": [\"N\"],", "\"dims\": " + list(5000, "0") + ",",
       "dims: the list has 5000 values; at most 12 are possible"},
      {"\"dims\": [\"N\"]},", "\"dims\": " + list(9, "\"N\"") + "},",
       "parameters[0].dims: the list has 9 values; at most 8"},
      {"\"axes\": [", "\"key\": " + list(141, "{}") + ", \"axes\": [",
       "key: the list has 141 values; at most 140 are possible"},
      {"[{\"name\": \"TILE\", \"values\": [64, 128]}]", list(33, "{}"), "axes: the list has 33 values; at most 32"},
      {"[\"N >= TILE\"]", list(513, "{}"), "where: the list has 513 values; at most 512"},
      {"[{\"tensor\": \"x\", \"aligned\": 4}]", list(1025, "{}"),
       "assumptions: the list has 1025 values; at most 1024"},
      {"\"where\"", "\"work\": {\"bytes\": " + list(65, "[1]") + "}, \"where\"", "work.bytes: the list has 65 values"},
  };
  for (const Case& each : cases) {
    Status status = LoadWith(each.from, each.to);
    EXPECT_FALSE(status.ok()) << each.message;
    EXPECT_NE(status.message().find(each.message), std::string::npos)
        << "'" << each.message << "' is not in '" << status.message().substr(0, 300) << "'";
  }
}

TEST_F(BundleFileTest, WhatAManifestSaysIsOneLineOfText) {
  Status status = LoadWith("\"axes\": [{\"name\": \"TILE\"", "\"axes\": [{\"na\\u001b[31m\\nme\": \"TILE\"");
  EXPECT_ERROR(status, StatusCode::kInvalidArgument, "na\\x1b[31m\\nme: unknown field");
  status = LoadWith("\"access\": \"in\"", "\"access\": \"" + std::string(1 << 20, 'x') + "\"");
  EXPECT_LT(status.message().size(), 2000u);
  EXPECT_LT(Load("{\"a\": " + std::string(1 << 20, 'x')).message().size(), 2000u);
}

/// The sizes that took minutes, one after the other, when each value counted the lines before it or each key was
/// compared with those before. The test's time limit tells.
TEST_F(BundleFileTest, ManifestsOfFourMegabytesAreReadInOnePass) {
  std::string zeros = "{\"dims\":[";
  while (zeros.size() < (std::size_t{4} << 20) - 16) zeros += "0,";
  EXPECT_ERROR(Load(zeros + "0]}"), StatusCode::kInvalidArgument,
               "manifest.json:1: the file has more than 500000 values");

  std::string keys = "{";
  for (int i = 0; i < 300000; ++i) keys += "\"k" + std::to_string(i) + "\":0,\n";
  EXPECT_ERROR(Load(keys + "\"k299999\":0}"), StatusCode::kInvalidArgument,
               ":300001: the key 'k299999' appears twice in one object");
  EXPECT_ERROR(Load(keys + "\"z\":0}"), StatusCode::kInvalidArgument, ":1: k0: unknown field");

  // A path that is as long as the document, in each of many values.
  std::string nested = "{\"" + std::string(1 << 20, 'p') + "\":[";
  for (int i = 0; i < 400000; ++i) nested += "0,";
  EXPECT_ERROR(Load(nested + "0]}"), StatusCode::kInvalidArgument, "unknown field");

  std::string values;
  for (int i = 1; i < 100000; ++i) values += std::to_string(i) + ",";
  EXPECT_ERROR(LoadWith("[64, 128]", "[" + values + "64]"), StatusCode::kInvalidArgument, "lists the value 64 twice");
  EXPECT_OK(LoadWith("[64, 128]", "[" + values + "0]"));
}

/// Each config is listed, and has an artifact of its own: to compare all with all would be 4 * 10^8 comparisons.
TEST_F(BundleFileTest, TwentyThousandConfigsAreLookedUp) {
  std::string values, configs, artifacts;
  for (int i = 1; i <= 20000; ++i) {
    std::string separator = i == 1 ? "" : ",", number = std::to_string(i);
    values += separator + number;
    configs += separator + "{\"TILE\":" + number + "}";
    artifacts += separator + "{\"config\":{\"TILE\":" + number + "},\"file\":\"k.cc\"}";
  }
  std::string manifest = kManifest;
  auto replace = [&](const std::string& from, const std::string& to) {
    manifest.replace(manifest.find(from), from.size(), to);
  };
  replace("[64, 128]}],", "[" + values + "]}], \"max_configs\": 100000, \"configs\": [" + configs + "],");
  replace("{\"file\": \"k.cc\"}", artifacts);
  EXPECT_OK(Load(manifest));
}

TEST_F(BundleFileTest, AKernelThatLooksDeclaredInAnotherOrderIsWarnedOf) {
  Write("bmm.cc",
        "// bmm(c, a, b): a comment is no declaration\n"
        "static void bmm(const tuneonce_block&, const float* a, const float* B, float* c /* out */, int n) {}\n"
        "TUNEONCE_CPU_KERNEL(bmm);\n");
  Write("bmm.cu",
        "extern \"C\" __global__ void __launch_bounds__(64) bmm(const float* __restrict__ a,\n"
        "    const float* __restrict__ B, float* c, int n) {\n}\n");
  auto load = [&](const std::string& source, const std::string& file, const std::string& names) {
    return CheckSources(R"({"tuneonce_bundle": 1, "name": "bmm", "version": "1", "dims": ["N"],
      "parameters": [{"name": "A", "kind": "tensor", "access": "in", "dims": ["N"]},
                     {"name": "B", "kind": "tensor", "access": "in", "dims": ["N"]},
                     {"name": "C", "kind": "tensor", "access": "out", "dims": ["N"]}, {"kind": "dim", "dim": "N"}],
      "variants": [{"name": "v", "source": ")" +
                        source + R"(", "symbol": "bmm", "parameters": )" + names + R"(,
        "grid": {"pattern": "one_d", "tiles": [["N", 64]]}, "artifacts": [{"file": ")" +
                        file + "\"}]}]}");
  };
  for (auto [source, file] : {std::pair("cpu_cpp", "bmm.cc"), std::pair("cuda_cpp", "bmm.cu")}) {
    EXPECT_OK(load(source, file, R"(["A", "B", "C", "N"])"));
    EXPECT_TRUE(warnings_.empty());
    for (auto [names, warning] : {std::pair(R"(["C", "A", "B", "N"])",
                                            "kernel 'bmm' takes (a, B, c, n), but is declared with (C, A, B, N): its "
                                            "parameter 1 is 'a', but gets 'C'"),
                                  {R"(["A", "B", "N", "C"])", "is 'c', but gets 'N'"},
                                  {R"(["A", "B", "C"])", "is declared with 3 parameters, but its code has 4"}}) {
      EXPECT_OK(load(source, file, names));
      ASSERT_EQ(warnings_.size(), 1u) << names;
      EXPECT_NE(warnings_[0].find(warning), std::string::npos) << warnings_[0];
    }
  }
}

TEST_F(BundleFileTest, AnArtifactSaysItsBlockSharedMemoryAndCluster) {
  ASSERT_OK(LoadWith("[{\"file\": \"k.cc\"}]",
                     R"([{"config": {"TILE": 64}, "file": "k.cc", "block": 96, "shared_memory": 512, "cluster": 4},
                         {"config": {"TILE": 128}, "file": "k.cc"}])"));
  Bundle bundle = *Bundle::Load(folder_.path());
  std::vector<Config> configs = *bundle.definition().space().Enumerate(Target());
  Problem problem;
  problem.dims = Dims(1);
  problem.dims[Dim{0}] = 640;
  const GeometryFn& geometry = bundle.definition().variants()[0].geometry;
  EXPECT_EQ(geometry(configs[0], problem).ToString(),
            "grid (40, 1, 1), block (96, 1, 1), cluster (4, 1, 1), 512 bytes of shared memory");
  EXPECT_EQ(geometry(configs[1], problem).ToString(), "grid (5, 1, 1), block (1, 1, 1)");
}

TEST_F(BundleFileTest, AVariantMayBelongToABackEndOfAnotherName) {
  const std::string name = "\"name\": \"cpu\"";
  ASSERT_OK(LoadWith(name, name + ", \"backend\": \"host\""));
  EXPECT_EQ(Bundle::Load(folder_.path())->definition().variants()[0].BackendName(), "host");
  ASSERT_OK(Load(kManifest));
  EXPECT_EQ(Bundle::Load(folder_.path())->definition().variants()[0].BackendName(), "cpu");
  // Of a config that names a back end, only that back end's variants need an artifact.
  for (const auto& [backend, code] :
       {std::pair("host", StatusCode::kInvalidArgument), std::pair("other", StatusCode::kOk)}) {
    std::string manifest = kManifest;
    manifest.replace(manifest.find("\"axes\": ["), 9, R"("axes": [{"name": "backend", "values": ["host"]}, )");
    manifest.replace(manifest.find("\"baseline\": {"), 13, R"("baseline": {"backend": "host", )");
    manifest.replace(manifest.find(name), name.size(), name + ", \"backend\": \"" + backend + "\"");
    std::size_t artifact = manifest.find("{\"file\"");
    EXPECT_EQ(Load(manifest.replace(artifact, 1, R"({"config": {"TILE": 64}, )")).code(), code) << backend;
  }
}

TEST_F(BundleFileTest, PtxParametersAreComparedBySize) {
  auto load = [&](const std::string& parameters, const std::string& convention) {
    Write("k.ptx", ".version 8.0\n.target sm_90\n.visible .entry k(" + parameters + ")\n{ ret; }\n");
    std::string manifest = kManifest;
    std::size_t at = manifest.find("\"cpu_cpp\", \"symbol\": \"k\", \"defines\": [\"TILE\"],");
    manifest.replace(at, 9, "\"ptx\", \"convention\": \"" + convention + "\"");
    at = manifest.find("\"k.cc\"");
    return CheckSources(manifest.replace(at, 6, "\"k.ptx\""));
  };
  const std::string good = ".param .u64 .ptr .global .align 1 p0, .param .u64 p1,\n.param .u32 p2";
  EXPECT_OK(load(good, "plain"));
  EXPECT_OK(load(good + ", .param .u64 p3", "triton"));
  EXPECT_OK(load(good + ", .param .u64 p3, .param .u64 p4", "triton"));
  EXPECT_ERROR(load(".param .u64 p0, .param .u32 p1, .param .u64 p2", "plain"), StatusCode::kInvalidArgument,
               "parameter 'y' (2 of 3 in the code): declared with 8 bytes, but the code has 4");
  EXPECT_ERROR(load(good + ", .param .align 8 .b8 p3[128]", "triton"), StatusCode::kInvalidArgument,
               "(4 of 4 in the code): declared with 8 bytes, but the code has 128");
  EXPECT_ERROR(load(good + ", .param .u64 p3", "plain"), StatusCode::kInvalidArgument,
               "is declared with 3 parameters, but its code has 4; declared are: x, y, N");
}

TEST_F(BundleFileTest, OnlyOptionsThatChangeTheCodeArePassedOn) {
  std::filesystem::create_directory(folder_.path() + "/include");
  std::filesystem::create_symlink("/usr/include", folder_.path() + "/link");
  struct Case {
    const char* source;
    std::vector<const char*> good;
    std::vector<const char*> bad;
  };
  const Case cases[] = {
      {"cpu_cpp",
       {"-O2", "-Ofast", "-std=c++20", "-DX", "-DX=a b(c)", "-UX", "-ffast-math", "-fno-math-errno",
        "-ffp-contract=fast", "-funroll-loops", "-march=native", "-mtune=znver4", "-mavx512f", "-mno-avx512f", "-Wall",
        "-Wno-error=unused", "-g", "-Iinclude", "-I."},
       {"-o",
        "-o/tmp/x",
        "-oother",
        "@file",
        "other.cc",
        "",
        "-",
        "-MF",
        "-MD",
        "-MMD",
        "-MFx",
        "-fplugin=x.so",
        "-fplugin-arg-x-y",
        "-save-temps",
        "-save-temps=obj",
        "-fdump-tree-all",
        "-fprofile-generate",
        "-ftime-trace",
        "-fdiagnostics-format=sarif-file",
        "-Wl,-o,x",
        "-Wp,-MD,x",
        "-Wa,-a=x",
        "-Xlinker",
        "-Xclang",
        "-B.",
        "-B/tmp",
        "-specs=x",
        "--sysroot=/",
        "-wrapper",
        "-L.",
        "-lx",
        "-include",
        "-isystem/usr/include",
        "-imacros",
        "-gsplit-dwarf",
        "-dumpdir",
        "-D",
        "-D=x",
        "-DX=\\n",
        "-I/usr/include",
        "-I../..",
        "-Iinclude/../..",
        "-Ilink",
        "-Inone",
        "-I",
        "-mllvm",
        "-flto",
        "-x",
        "-E",
        "-S",
        "-c",
        "-std=../x",
        "-march=/tmp/x",
        "--config=x",
        "-aux-info",
        "-fopt-info=x"}},
      {"cuda_cpp",
       {"--use_fast_math", "-DX=1", "--std=c++20", "--fmad=false", "--maxrregcount=64", "-Iinclude", "-lineinfo"},
       {"-o", "--pch", "--pch-dir=/tmp", "--create-pch=x", "--use-pch=x", "--time=/tmp/x", "--fdevice-time-trace=x",
        "--include-path=/usr", "-I/usr/include", "--pre-include=/etc/passwd", "-include=/x", "--ptxas-options=-o",
        "-Xptxas", "--options-file=x", "-optf", "--gpu-architecture=sm_80", "--maxrregcount", "--maxrregcount=x"}},
      {"ptx",
       {"-O3", "--opt-level=1", "--maxrregcount=64", "-v"},
       {"-o", "--output-file", "--output-file=/tmp/x", "--options-file", "-optf=x", "--keep", "--gpu-name=sm_80",
        "other.ptx", "-Iinclude", "-DX"}},
      {"tile_ir",
       {"-O2", "--opt-level=3", "--lineinfo", "--ftz", "--approx"},
       {"-o", "-o/tmp/x", "--output=x", "@x", "--gpu-name=x", "x.tileir", "--ftz=true", "--preview=x"}},
      {"tile_cpp",
       {"--opt-level=2", "-O3", "--lineinfo", "--std=c++23", "-DX=1", "-Iinclude", "--fmad=false", "-default-tile",
        "--ftz", "--approx"},
       {"-o", "--enable-tile", "--tile-only", "--pch", "--fdevice-time-trace=x", "--include-path=/usr",
        "-I/usr/include", "--gpu-architecture=sm_80", "--gpu-name=sm_80", "--maxrregcount=64", "-Ofc=max",
        "--opt-level=x"}},
      {"cubin", {}, {"-O2", "-o"}},
  };
  for (const Case& each : cases) {
    auto load = [&](std::string option) {
      std::string json;
      for (char c : option) json += c == '\n' ? std::string("\\n") : std::string(1, c);
      return LoadWith("\"cpu_cpp\"", std::string("\"") + each.source + "\", \"options\": [\"" + json + "\"]");
    };
    for (const char* option : each.good) {
      Status status = load(option);
      EXPECT_EQ(status.message().find("option"), std::string::npos) << status.message();
      EXPECT_EQ(status.message().find("outside"), std::string::npos) << status.message();
    }
    for (const char* option : each.bad) {
      Status status = load(option);
      EXPECT_FALSE(status.ok()) << each.source << " " << option;
      EXPECT_NE(status.message().find(":15: variants[0].options[0]: "), std::string::npos)
          << option << status.message();
    }
  }
  EXPECT_ERROR(LoadWith("\"cpu_cpp\"", "\"cpu_cpp\", \"options\": [\"-MFx\"]"), StatusCode::kInvalidArgument,
               "a bundle may not give the option '-MFx'; options that it may give, as one word each: ");
  EXPECT_ERROR(LoadWith("\"cpu_cpp\"", "\"cpu_cpp\", \"options\": [\"-Ilink\"]"), StatusCode::kInvalidArgument,
               "'link' lies outside the bundle");
}

TEST_F(BundleFileTest, AnIncludePathIsAFolderOfTheBundle) {
  std::filesystem::create_directory(folder_.path() + "/include");
  std::string manifest = kManifest;
  std::string with = "\"cpu_cpp\", \"options\": [\"-Iinclude\", \"-O1\"]";
  ASSERT_OK(LoadWith("\"cpu_cpp\"", with));
  Result<Bundle> bundle = Bundle::Load(folder_.path());
  ASSERT_OK(bundle);
  const KernelDefinition& definition = bundle->definition();
  Config config = definition.space().Enumerate(Target())->front();
  KernelSource source = definition.variants()[0].source(config, Problem());
  EXPECT_EQ(source.options, (std::vector<std::string>{"-I" + RealPath(folder_.path()) + "/include", "-O1"}));
}

TEST_F(BundleFileTest, WhatIsNoRegularFileIsNotRead) {
  EXPECT_ERROR(LoadWith("\"k.cc\"", "\".\""), StatusCode::kInvalidArgument, "it is a directory, not a file");
  ASSERT_EQ(mkfifo((folder_.path() + "/pipe.cc").c_str(), 0600), 0);
  EXPECT_ERROR(LoadWith("\"k.cc\"", "\"pipe.cc\""), StatusCode::kInvalidArgument, "it is a pipe, not a file");
  std::filesystem::remove(folder_.path() + "/manifest.json");
  std::filesystem::create_symlink("/dev/zero", folder_.path() + "/manifest.json");
  EXPECT_ERROR(Bundle::Load(folder_.path()), StatusCode::kInvalidArgument, "it is a device, not a file");
  std::filesystem::remove(folder_.path() + "/manifest.json");
  ASSERT_EQ(mkfifo((folder_.path() + "/manifest.json").c_str(), 0600), 0);
  EXPECT_ERROR(Bundle::Load(folder_.path()), StatusCode::kInvalidArgument, "it is a pipe, not a file");
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
               "(embedded softmax)/manifest.json: the manifest was not embedded into this program");
}

}  // namespace
}  // namespace tuneonce
