// What bytecode shows of memory and loops: loops that are not pipelined, strides, tokens, and blocks that communicate.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "inspect/classification.h"
#include "testing/device_test.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce {
namespace {

KernelEvidence EvidenceOf(const std::string& file, const std::string& entry) {
  Result<KernelEvidence> evidence = TileIrEvidence(*ReadFile(TUNEONCE_TEST_DATA "/tile_ir/" + file + ".tileir"), entry);
  EXPECT_OK(evidence);
  return evidence.ok() ? *evidence : KernelEvidence();
}

using Places = std::set<int>;

TEST(TileIrMemoryTest, AProductInALoopWithoutBoundsIsSeen) {
  EXPECT_EQ(EvidenceOf("product.for", "product").num_products_in_plain_loops, 1);
  EXPECT_EQ(EvidenceOf("product.range", "product").num_products_in_plain_loops, 0);
  EXPECT_EQ(EvidenceOf("matmul", "matmul").num_products_in_plain_loops, 0);
}

TEST(TileIrMemoryTest, StridesAreFollowedThroughTheArithmeticOfTileCpp) {
  const KernelEvidence aligned = EvidenceOf("product.range", "product");
  EXPECT_EQ(aligned.aligned_tensors, (Places{0, 1, 2}));
  EXPECT_EQ(aligned.unaligned_tensors, Places{});
  const KernelEvidence unaligned = EvidenceOf("product.unaligned", "product");
  EXPECT_EQ(unaligned.aligned_tensors, Places{});
  EXPECT_EQ(unaligned.unaligned_tensors, (Places{0, 1, 2}));
  EXPECT_EQ(EvidenceOf("product.for", "product").aligned_tensors, (Places{0, 1, 2})) << "within a loop, too";
}

TEST(TileIrMemoryTest, OnlyTokensOrderALoadAndAStore) {
  EXPECT_EQ(EvidenceOf("shift", "shift").unordered_tensors, Places{});
  EXPECT_EQ(EvidenceOf("shift.without_tokens", "shift").unordered_tensors, Places{6}) << "y, behind 3 of count, 3 of x";
  EXPECT_EQ(EvidenceOf("last_block", "last_block").unordered_tensors, Places{});
  EXPECT_EQ(EvidenceOf("under_lock", "under_lock").unordered_tensors, Places{});
}

TEST(TileIrMemoryTest, BlocksThatCommunicateAreSeen) {
  struct Case {
    const char* name;
    bool waits, has_unordered_signal;
  };
  // Blocks take tiles from a queue, and read nothing of each other.
  const Case cases[] = {{"under_lock", true, false},         {"last_block", false, false},
                        {"last_block_relaxed", false, true}, {"queue", false, false},
                        {"queue_in_place", false, false},    {"shift", false, false}};
  for (const Case& each : cases) {
    const KernelEvidence evidence = EvidenceOf(each.name, each.name);
    EXPECT_EQ(evidence.waits_for_blocks, each.waits) << each.name;
    EXPECT_EQ(evidence.has_unordered_signal, each.has_unordered_signal) << each.name;
  }
}

/// "KERNEL: what is seen of it that is warned of", of all bytecode of the bundles, each text once.
std::set<std::string> SeenInBundles() {
  std::set<std::string> seen;
  for (const auto& file : std::filesystem::recursive_directory_iterator(TUNEONCE_BUNDLE_FOLDER)) {
    if (file.path().extension() != ".tileir") continue;
    const std::string kernel = file.path().parent_path().filename();
    const std::string name = file.path().filename();
    Result<KernelEvidence> evidence = TileIrEvidence(*ReadFile(file.path()), kernel);
    if (!evidence.ok()) {
      seen.insert(name + ": " + evidence.status().message());
      continue;
    }
    // Those of other names are for tensors whose rows begin anywhere.
    const bool is_for_unaligned = name.find(".unaligned_") != std::string::npos;
    if (!is_for_unaligned && !evidence->unaligned_tensors.empty()) seen.insert(kernel + ": unaligned strides");
    if (!evidence->unordered_tensors.empty()) seen.insert(kernel + ": unordered accesses");
    if (evidence->num_products_in_plain_loops > 0) seen.insert(kernel + ": a product in a plain loop");
    if (evidence->has_unordered_signal) seen.insert(kernel + ": an unordered signal");
    if (evidence->waits_for_blocks) seen.insert(kernel + ": blocks wait");
  }
  return seen;
}

TEST(TileIrMemoryTest, NothingOfTheBundlesIsWarnedOfWithoutAReason) {
  EXPECT_EQ(SeenInBundles(), (std::set<std::string>{}));
}

TEST(TileIrMemoryTest, StridesAreAlignedAsAVariantAssumes) {
  auto unaligned_in = [](const std::string& file) {
    Result<KernelEvidence> evidence =
        TileIrEvidence(*ReadFile(TUNEONCE_BUNDLE_FOLDER "/matmul/matmul.64x64x32" + file + ".tileir"), "matmul");
    EXPECT_OK(evidence);
    return evidence->unaligned_tensors;
  };
  // a is M x K, b is K x N, c is M x N; each takes an address, two extents and two strides.
  EXPECT_EQ(unaligned_in(""), Places{});
  EXPECT_EQ(unaligned_in(".any"), Places{}) << "no extent is divisible, but rows are aligned";
  EXPECT_EQ(unaligned_in(".unaligned_K"), Places{0});
  EXPECT_EQ(unaligned_in(".unaligned_N"), (Places{5, 10}));
  EXPECT_EQ(unaligned_in(".unaligned_N_K"), (Places{0, 5, 10}));
}

}  // namespace
}  // namespace tuneonce
