// What bundles are warned of by the bytecode of their Tile IR variants.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "compile/tile_cpp_toolchain.h"
#include "inspect/classified_bundle.h"
#include "testing/device_test.h"
#include "testing/tools.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
namespace {

using Lines = std::vector<std::string>;

class CodeWarningsTest : public ::testing::Test {
 protected:
  /// One variant for each NAME: FILE of tests/data/tile_ir.
  Result<ClassifiedBundle> Classify(const std::vector<std::pair<std::string, std::string>>& variants,
                                    const std::string& parameters, const std::string& passed, const std::string& symbol,
                                    const std::string& target = "sm_90") {
    std::string json;
    for (const auto& [name, file] : variants) {
      json += json.empty() ? "" : ",";
      json += R"({"name": ")" + name + R"(", "source": "tile_ir", "symbol": ")" + symbol + R"(", )" + passed +
              R"("grid": {"pattern": "fixed", "blocks": [1]}, "artifacts": [{"file": ")" + file + R"(.tileir"}]})";
      std::filesystem::copy_file(TUNEONCE_TEST_DATA "/tile_ir/" + file + ".tileir",
                                 folder_.path() + "/" + file + ".tileir",
                                 std::filesystem::copy_options::overwrite_existing);
    }
    std::ofstream(folder_.path() + "/manifest.json")
        << R"({"tuneonce_bundle": 1, "name": "k", "version": "1", "dims": ["M", "N", "K"], "parameters": [)"
        << parameters << R"(], "axes": [{"name": "A", "values": [1]}], "baseline": {"A": 1}, "variants": [)" << json
        << "]}";
    TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(folder_.path()));
    ClassifiedBundle::Options options;
    TUNEONCE_ASSIGN_OR_RETURN(options.target, Target::Named(target));
    return ClassifiedBundle::Of(bundle, options);
  }

  /// Warnings of the kernel in product.cu.
  Lines OfProduct(const std::vector<std::pair<std::string, std::string>>& variants,
                  const std::string& target = "sm_90") {
    Result<ClassifiedBundle> found =
        Classify(variants,
                 R"({"name": "a", "kind": "tensor", "access": "in", "dtype": "float16", "dims": ["M", "K"]},
           {"name": "b", "kind": "tensor", "access": "in", "dtype": "float16", "dims": ["K", "N"]},
           {"name": "c", "kind": "tensor", "access": "out", "dtype": "float16", "dims": ["M", "N"]},
           {"kind": "dim", "dim": "M", "dtype": "int32"}, {"kind": "dim", "dim": "N", "dtype": "int32"},
           {"kind": "dim", "dim": "K", "dtype": "int32"})",
                 R"("convention": "plain", )", "product", target);
    EXPECT_OK(found);
    return found.ok() ? found->warnings : Lines();
  }

  /// Warnings of a kernel in memory_kernels.py.
  Lines OfMemory(const std::string& file, const std::string& symbol) {
    Result<ClassifiedBundle> found =
        Classify({{"tile", file}},
                 R"({"name": "count", "kind": "tensor", "access": "inout", "dtype": "int32", "dims": ["M"]},
           {"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["N"]},
           {"name": "y", "kind": "tensor", "access": "inout", "dtype": "float32", "dims": ["K"]})",
                 "", symbol);
    EXPECT_OK(found);
    return found.ok() ? found->warnings : Lines();
  }

  TemporaryFolder folder_ = *testing::MakeFolder();
};

constexpr char kLoop[] =
    "variant 'tile': a matrix product stands in an unstructured loop, which tileiras does not pipeline (3.7x slower at "
    "4096^3 on an H100); loop over tiles::irange in Tile C++, over range in Python";
constexpr char kStrides[] =
    "variant 'tile': the compiler cannot see that strides of 'a', 'b', 'c' are multiples of 16 bytes, so that TMA does "
    "not copy their tiles; let the code assume it (tiles::assume_divisible in Tile C++, alignment in an exporter's "
    "declaration)";

TEST_F(CodeWarningsTest, LoopsAndStridesOfTileCpp) {
  EXPECT_EQ(OfProduct({{"tile", "product.range"}}), Lines{});
  EXPECT_EQ(OfProduct({{"tile", "product.for"}}), Lines{kLoop});
  EXPECT_EQ(OfProduct({{"tile", "product.unaligned"}}), Lines{kStrides});
  EXPECT_EQ(OfProduct({{"tile", "product.unaligned"}}, "sm_80"), Lines{}) << "it has no TMA";
  EXPECT_EQ(OfProduct({{"fast", "product.range"}, {"tile", "product.unaligned"}}), Lines{})
      << "the second is for what the first does not suit";
}

TEST_F(CodeWarningsTest, OneConfigOfTileCppIsLoweredAndRead) {
  if (!TileCppToolchain(testing::Tools()).Version().ok()) GTEST_SKIP() << "NVRTC 13.3 AND TILEIRAS ARE NOT INSTALLED";
  const std::string text = *ReadFile(TUNEONCE_TEST_DATA "/tile_ir/product.cu");
  std::ofstream(folder_.path() + "/manifest.json")
      << R"({"tuneonce_bundle": 1, "name": "k", "version": "1", "dims": ["M", "N", "K"], "parameters": [
           {"name": "a", "kind": "tensor", "access": "in", "dtype": "float16", "dims": ["M", "K"]},
           {"name": "b", "kind": "tensor", "access": "in", "dtype": "float16", "dims": ["K", "N"]},
           {"name": "c", "kind": "tensor", "access": "out", "dtype": "float16", "dims": ["M", "N"]},
           {"kind": "dim", "dim": "M", "dtype": "int32"}, {"kind": "dim", "dim": "N", "dtype": "int32"},
           {"kind": "dim", "dim": "K", "dtype": "int32"}], "axes": [{"name": "TILE", "values": [32, 64]}],
           "baseline": {"TILE": 32}, "variants": [{"name": "tile", "source": "tile_cpp", "symbol": "product",
           "defines": ["TILE"], "grid": {"pattern": "fixed", "blocks": [1]}, "artifacts": [{"file": "k.cu"}]}]})";
  auto classify = [&](const std::string& macros, const std::shared_ptr<const Runtime>& runtime) {
    std::ofstream(folder_.path() + "/k.cu") << macros << text;
    Result<Bundle> bundle = Bundle::Load(folder_.path());
    EXPECT_OK(bundle);
    ClassifiedBundle::Options options;
    options.target = *Target::Named("sm_90");
    options.runtime = runtime;
    Result<ClassifiedBundle> found = ClassifiedBundle::Of(*bundle, options);
    EXPECT_OK(found);
    return *std::move(found);
  };
  const ClassifiedBundle good = classify("#define ALIGNED\n", Runtime::Default());
  EXPECT_EQ(good.warnings, Lines{});
  EXPECT_EQ(good.variants[0].num_sources, 1);
  EXPECT_EQ(std::string(good.variants[0].classification.name()), "dense_matmul");
  const Lines assumed = {"the dim 'M' is a multiple of 16",        "the dim 'N' is a multiple of 16",
                         "the dim 'K' is a multiple of 16",        "the address of 'a' is a multiple of 16",
                         "the address of 'b' is a multiple of 16", "the address of 'c' is a multiple of 16"};
  EXPECT_EQ(good.variants[0].assumptions, assumed);
  EXPECT_NE(good.ToString().find("its code assumes that the dim 'M' is a multiple of 16, the dim 'N'"),
            std::string::npos);
  EXPECT_EQ(classify("#define ALIGNED\n#define FOR\n", Runtime::Default()).warnings, Lines{kLoop});
  EXPECT_EQ(classify("", Runtime::Default()).warnings, Lines{kStrides});
  EXPECT_EQ(classify("", nullptr).variants[0].no_evidence, "CUDA Tile C++ cannot be analyzed");
  const ClassifiedBundle bad = classify("#include \"none.h\"\n", Runtime::Default());
  EXPECT_EQ(bad.warnings, Lines{});
  EXPECT_NE(bad.variants[0].no_evidence.find("\"none.h\""), std::string::npos) << bad.variants[0].no_evidence;
}

TEST_F(CodeWarningsTest, OrderAndWaiting) {
  auto begins = [](const Lines& lines, const char* text) {
    return lines.size() == 1 && lines[0].rfind(text, 0) == 0 ? std::string() : ::testing::PrintToString(lines);
  };
  EXPECT_EQ(begins(OfMemory("shift.without_tokens", "shift"),
                   "variant 'tile': 'y' is loaded and stored without a token from one to the other"),
            "");
  EXPECT_EQ(begins(OfMemory("last_block_relaxed", "last_block_relaxed"),
                   "variant 'tile': a block branches on a counter or flag that other blocks write"),
            "");
  EXPECT_EQ(begins(OfMemory("under_lock", "under_lock"),
                   "variant 'tile': a block waits in a loop for what another block writes"),
            "");
  for (const char* name : {"shift", "last_block", "queue", "queue_in_place"})
    EXPECT_EQ(OfMemory(name, name), Lines{}) << name;
}

TEST_F(CodeWarningsTest, NoShippedBundleHasAny) {
  for (const auto& folder : std::filesystem::directory_iterator(TUNEONCE_BUNDLE_FOLDER)) {
    if (!std::filesystem::exists(folder.path() / "manifest.json")) continue;
    Result<Bundle> bundle = Bundle::Load(folder.path());
    ASSERT_OK(bundle);
    for (const char* target : {"sm_80", "sm_90", "sm_100", "sm_120"}) {
      ClassifiedBundle::Options options;
      options.target = *Target::Named(target);
      Result<ClassifiedBundle> found = ClassifiedBundle::Of(*bundle, options);
      if (found.ok()) {
        EXPECT_EQ(found->warnings, Lines{}) << folder.path() << " on " << target;
      }
    }
  }
}

}  // namespace
}  // namespace tuneonce
