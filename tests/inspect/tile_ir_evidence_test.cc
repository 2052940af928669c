// What bytecode is seen to do, of every version; and that no bytes bring the reader of bodies down.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "inspect/classification.h"
#include "testing/device_test.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce {
namespace {

std::string Bytecode(const std::string& name) { return *ReadFile(TUNEONCE_TEST_DATA "/tile_ir/" + name + ".tileir"); }

TEST(TileIrEvidenceTest, OfEachVersionOfTheBytecodeTheSameIsSeen) {
  for (const char* version : {"13.1", "13.2", "13.3", "13.4", "13.5"}) {
    Result<KernelEvidence> evidence = TileIrEvidence(Bytecode(std::string("softmax.") + version), "softmax");
    ASSERT_OK(evidence);
    EXPECT_EQ(evidence->num_reductions, 2) << version;
    EXPECT_TRUE(evidence->applies_reduction) << version;
    EXPECT_EQ(evidence->num_loads, 1) << version;
    EXPECT_EQ(evidence->num_stores, 1) << version;
    EXPECT_EQ(evidence->num_products, 0) << version;
    EXPECT_EQ(evidence->num_in_place, 0) << version;
    EXPECT_EQ(evidence->tile_elements, 1024) << version;
  }
}

TEST(TileIrEvidenceTest, AProductHasItsTile) {
  Result<KernelEvidence> evidence = TileIrEvidence(Bytecode("matmul"), "matmul");
  ASSERT_OK(evidence);
  EXPECT_EQ(evidence->num_products, 1);
  EXPECT_EQ(evidence->tile_m, 64);
  EXPECT_EQ(evidence->tile_n, 64);
  EXPECT_EQ(evidence->tile_k, 64);
  EXPECT_FALSE(evidence->is_persistent);
  EXPECT_STREQ(Classify(*evidence).name(), "dense_matmul");
}

TEST(TileIrEvidenceTest, EachEntryIsReadByItself) {
  std::string bytecode = Bytecode("softmax.two_entries");
  Result<TileIrModule> module = ReadTileIr(bytecode);
  ASSERT_OK(module);
  ASSERT_EQ(module->entries.size(), 2u);
  std::set<std::int64_t> tiles;
  for (const TileIrEntry& entry : module->entries) tiles.insert(TileIrEvidence(bytecode, entry.name)->tile_elements);
  EXPECT_EQ(tiles, (std::set<std::int64_t>{1024, 4096}));
  EXPECT_EQ(TileIrEvidence(bytecode, "nowhere").status().message(), "Tile IR bytecode: no entry 'nowhere'");
}

/// What every file of the bundle's bytecode is classified as.
std::set<std::string> FamiliesIn(const std::string& bundle) {
  std::set<std::string> families;
  for (const auto& file : std::filesystem::directory_iterator(TUNEONCE_BUNDLE_FOLDER "/" + bundle)) {
    if (file.path().extension() != ".tileir") continue;
    Result<KernelEvidence> evidence = TileIrEvidence(*ReadFile(file.path()), bundle);
    families.insert(evidence.ok() ? Classify(*evidence).name() : evidence.status().message());
  }
  return families;
}

TEST(TileIrEvidenceTest, EveryFileOfTheBundlesIsClassifiedAsWhatItIs) {
  const std::map<std::string, std::string> kFamilies = {
      {"attention", "attention"},
      {"decode_attention", "varlen_attention"},  // Lengths that lie on the device.
      {"dual_gemm", "dual_gemm"},
      {"elementwise", "elementwise"},
      {"fp8_block_matmul", "fp8_matmul"},
      {"fp8_matmul", "fp8_matmul"},
      {"grouped_gemm", "grouped_gemm"},
      {"layer_norm", "norm_like"},
      {"matmul", "dense_matmul"},
      {"paged_attention", "varlen_attention"},
      {"persistent_matmul", "persistent_matmul"},
      {"rms_norm", "norm_like"},
      {"rope", "in_place"},
      {"silu_and_mul", "elementwise"},
      {"softmax", "norm_like"},
      {"split_k_matmul", "dense_matmul"},
      {"varlen_attention", "varlen_attention"},
      {"vector_add", "elementwise"}};
  for (const auto& folder : std::filesystem::directory_iterator(TUNEONCE_BUNDLE_FOLDER)) {
    const std::string bundle = folder.path().filename();
    if (std::set<std::string> families = FamiliesIn(bundle); !families.empty()) {
      auto expected = kFamilies.find(bundle);
      ASSERT_NE(expected, kFamilies.end()) << "say what " << bundle << " is";
      EXPECT_EQ(families, std::set<std::string>{expected->second}) << bundle;
    }
  }
}

TEST(TileIrEvidenceTest, AnOperationThatIsNotKnownIsNamedByItsOffset) {
  std::string bytecode = Bytecode("softmax.13.3");
  int num_unknown = 0;
  for (std::size_t i = 12; i < bytecode.size(); ++i) {
    std::string damaged = bytecode;
    damaged[i] = '\x7f';  // 127: beyond the last operation.
    Result<KernelEvidence> evidence = TileIrEvidence(damaged, "softmax");
    if (evidence.ok() || evidence.status().code() == StatusCode::kNotFound) continue;
    ASSERT_EQ(evidence.status().message().rfind("Tile IR bytecode, offset ", 0), 0u) << evidence.status().message();
    if (evidence.status().message().find(": operation 127 is unknown") != std::string::npos) ++num_unknown;
  }
  EXPECT_GT(num_unknown, 10);
}

}  // namespace
}  // namespace tuneonce
