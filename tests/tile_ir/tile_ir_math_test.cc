// Flush-to-zero and approximate math: what is patched is the file that cuTile writes for a kernel with these flags in
// its source (tests/data/tile_ir/math_kernel.py).
#include <gtest/gtest.h>

#include "base/file.h"
#include "testing/device_test.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce {
namespace {

constexpr TileIrMath kFlush{true, false}, kApproximate{false, true}, kBoth{true, true};

std::string MathFixture(const std::string& name) {
  return *ReadFile(TUNEONCE_TEST_DATA "/tile_ir/" + name + ".tileir");
}

TEST(TileIrMathTest, APatchedFileIsTheFileThatCutileExports) {
  struct Case {
    const char *from, *to;
    TileIrMath math;
  };
  const Case cases[] = {
      {"math.13.1", "math.13.1.ftz.approx", kBoth},        {"math.13.2", "math.13.2.ftz.approx", kBoth},
      {"math.13.3", "math.13.3.ftz.approx", kBoth},        {"math.13.4", "math.13.4.ftz.approx", kBoth},
      {"math.13.5", "math.13.5.ftz.approx", kBoth},        {"math.13.3", "math.13.3.ftz", kFlush},
      {"math.13.3", "math.13.3.approx", kApproximate},     {"math.13.3.ftz", "math.13.3.ftz.approx", kApproximate},
      {"math.13.3.approx", "math.13.3.ftz.approx", kFlush}};
  for (const Case& each : cases) {
    Result<std::string> patched = PatchTileIrMath(MathFixture(each.from), each.math, "math");
    ASSERT_OK(patched);
    EXPECT_NE(*patched, MathFixture(each.from)) << each.from;
    EXPECT_EQ(*patched, MathFixture(each.to)) << each.from << " to " << each.to;
  }
}

TEST(TileIrMathTest, FlagsOfTheSourceStay) {
  const std::string flagged = MathFixture("math.13.3.ftz.approx");
  for (const TileIrMath& math : {TileIrMath(), kFlush, kApproximate, kBoth}) {
    EXPECT_EQ(*PatchTileIrMath(flagged, math, "math"), flagged);
  }
}

TEST(TileIrMathTest, AKernelWithoutFloat32StaysAsItIs) {
  // Its one float32 operation is a matrix product, whose flag is another one.
  EXPECT_EQ(*PatchTileIrMath(MathFixture("matmul"), kBoth, ""), MathFixture("matmul"));
}

TEST(TileIrMathTest, OnlyTheNamedEntryIsPatchedAndHintsAndFlagsCommute) {
  const std::string bytecode = MathFixture("softmax.two_entries");
  const std::vector<TileIrEntry> entries = ReadTileIr(bytecode)->entries;
  std::string both = bytecode;
  for (const TileIrEntry& entry : entries) {
    Result<std::string> one = PatchTileIrMath(bytecode, kBoth, entry.name);
    ASSERT_OK(one);
    EXPECT_NE(*one, bytecode);
    EXPECT_NE(*PatchTileIrMath(both, kBoth, entry.name), both) << "it was not patched with the other entry";
    both = *PatchTileIrMath(both, kBoth, entry.name);
  }
  const Hints hints({{"occupancy", 4}});
  const std::string& name = entries.front().name;
  EXPECT_EQ(*PatchTileIrHints(*PatchTileIrMath(bytecode, kBoth, name), hints, name),
            *PatchTileIrMath(*PatchTileIrHints(bytecode, hints, name), kBoth, name));
  EXPECT_ERROR(PatchTileIrMath(bytecode, kBoth, "nowhere"), StatusCode::kNotFound, "entry 'nowhere' was not found");
}

TEST(TileIrMathTest, ADamagedFileIsAnErrorOrKeepsItsLength) {
  const std::string bytecode = MathFixture("math.13.3");
  for (std::size_t i = 0; i < bytecode.size(); ++i) {
    std::string damaged = bytecode;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    Result<std::string> patched = PatchTileIrMath(damaged, kBoth, "");
    if (patched.ok()) {
      EXPECT_EQ(patched->size(), damaged.size()) << i;
    } else {
      EXPECT_NE(patched.status().message(), "") << i;
    }
    EXPECT_FALSE(PatchTileIrMath(bytecode.substr(0, i), kBoth, "").ok()) << i;
  }
}

}  // namespace
}  // namespace tuneonce
