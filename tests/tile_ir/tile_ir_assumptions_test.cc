// What bytecode assumes of its parameters is read from every version, and no bytes bring the reader down.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "base/file.h"
#include "testing/expect_status.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce {
namespace {

using Kind = CodeAssumption::Kind;
using Read = std::vector<std::tuple<Kind, std::size_t, std::int64_t>>;

std::string BytesOf(const std::string& name) { return *ReadFile(TUNEONCE_TEST_DATA "/tile_ir/" + name + ".tileir"); }

Read AssumptionsOf(const std::string& bytecode, const std::string& entry) {
  Read read;
  Result<TileIrAssumptions> assumed = ReadTileIrAssumptions(bytecode, entry);
  EXPECT_OK(assumed);
  if (!assumed.ok()) return read;
  for (const CodeAssumption& each : assumed->of_parameters) read.emplace_back(each.kind, each.parameter, each.value);
  return read;
}

/// softmax takes x (parameters 0 to 4: address, two extents, two strides) and y (5 to 9) in float32. The expected list
/// is what tileirdisasm prints of the file.
TEST(TileIrAssumptionsTest, DivisorsAndBoundsOfParametersAreReadInOrder) {
  const Read expected = {{Kind::kDivisibleBy, 0, 16}, {Kind::kDivisibleBy, 3, 4}, {Kind::kDivisibleBy, 5, 16},
                         {Kind::kDivisibleBy, 8, 4},  {Kind::kAtLeast, 1, 0},     {Kind::kAtLeast, 2, 0},
                         {Kind::kAtLeast, 3, 0},      {Kind::kDivisibleBy, 3, 4}, {Kind::kAtLeast, 6, 0},
                         {Kind::kAtLeast, 7, 0},      {Kind::kAtLeast, 8, 0},     {Kind::kDivisibleBy, 8, 4}};
  for (const char* version : {"13.1", "13.2", "13.3", "13.4", "13.5"}) {
    const std::string bytecode = BytesOf(std::string("softmax.") + version);
    EXPECT_EQ(AssumptionsOf(bytecode, "softmax"), expected) << version;
    EXPECT_EQ(AssumptionsOf(bytecode, ""), expected) << version;
  }
}

TEST(TileIrAssumptionsTest, ConstantsOfViewsAreRead) {
  using Constants = std::vector<std::optional<std::int64_t>>;
  for (const char* version : {"13.1", "13.2", "13.3", "13.4", "13.5"}) {
    Result<TileIrAssumptions> assumed = ReadTileIrAssumptions(BytesOf(std::string("softmax.") + version), "softmax");
    ASSERT_OK(assumed);
    ASSERT_EQ(assumed->views.size(), 2u) << version;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(assumed->views[i].parameter, 5 * i) << version;
      EXPECT_EQ(assumed->views[i].extents, (Constants{std::nullopt, std::nullopt})) << version;
      EXPECT_EQ(assumed->views[i].strides, (Constants{std::nullopt, 1})) << version;
    }
  }
}

TEST(TileIrAssumptionsTest, AnUnknownEntryIsAnError) {
  EXPECT_ERROR(ReadTileIrAssumptions(BytesOf("softmax.13.3"), "other"), StatusCode::kNotFound, "'other'");
}

TEST(TileIrAssumptionsTest, DamagedBytesAreErrorsOrOtherNumbers) {
  const std::string bytecode = BytesOf("softmax.13.5");
  for (std::size_t i = 0; i < bytecode.size(); ++i) {
    static_cast<void>(ReadTileIrAssumptions(bytecode.substr(0, i), ""));
    std::string damaged = bytecode;
    damaged[i] = static_cast<char>(~damaged[i]);
    static_cast<void>(ReadTileIrAssumptions(damaged, ""));
  }
}

}  // namespace
}  // namespace tuneonce
