#include "testing/device_test.h"
#include "tuneonce/geometry.h"

namespace tuneonce {
namespace {

TEST(GridFieldsTest, EveryPatternSaysWhatItUses) {
  struct Case {
    const char* name;
    std::vector<const char*> fields;
    std::size_t most_tiles;
  };
  const Case cases[] = {{"tile_coverage", {"tiles"}, 3},
                        {"persistent_tiles", {"tiles", "num_ctas", "occupancy"}, 3},
                        {"persistent_rows", {"rows", "occupancy"}, 0},
                        {"attention_2d", {"tiles", "batch", "heads"}, 1},
                        {"one_d", {"tiles"}, 1},
                        {"fixed", {"blocks"}, 0}};
  const char* const all[] = {"tiles", "num_ctas", "occupancy", "rows", "batch", "heads", "blocks", "", "x"};
  for (const Case& each : cases) {
    Result<const GridFields*> fields = GridFields::Of(each.name);
    ASSERT_OK(fields);
    EXPECT_OK((*fields)->CheckField("pattern"));
    for (std::string field : all) {
      bool used = std::find(each.fields.begin(), each.fields.end(), field) != each.fields.end();
      EXPECT_EQ((*fields)->CheckField(field).ok(), used) << each.name << " " << field;
    }
    for (std::size_t count = 0; count < 5; ++count) {
      EXPECT_EQ((*fields)->CheckTiles(count).ok(), count <= each.most_tiles && (count > 0) == (each.most_tiles > 0));
    }
  }
  EXPECT_ERROR(GridFields::Of("custom"), StatusCode::kInvalidArgument, "unknown grid pattern 'custom'; expected ");
}

TEST(GridFieldsTest, AGridThatCannotBeLaunchedSaysWhatItIsMadeOf) {
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {64});
  Config config = space.Enumerate(Target())->front();
  Problem problem;
  problem.dims = Dims(2);
  problem.dims[Dim{0}] = std::int64_t{1} << 40;
  problem.dims[Dim{1}] = 70000;
  GeometryFn covering = Grid::TileCoverage({{"M", tile}, {Dim{1}, 1}});
  ASSERT_OK(covering.Resolve({"M", "N"}));
  EXPECT_ERROR(covering.Check(config, problem), StatusCode::kInvalidArgument,
               "; the grid is tile_coverage of M=1099511627776 by TILE=64, N=70000 by 1");
  GeometryFn attention = Grid::Attention2D({"N", tile}, "M", 8);
  ASSERT_OK(attention.Resolve({"M", "N"}));
  EXPECT_ERROR(attention.Check(config, problem), StatusCode::kInvalidArgument,
               "; the grid is attention_2d of N=70000 by TILE=64, batch M=1099511627776, heads 8");
  GeometryFn null_grid = Grid::Custom(nullptr);
  EXPECT_ERROR(null_grid.Resolve(TermNames()), StatusCode::kInvalidArgument, "the grid function is empty");
  GeometryFn null_geometry = std::function<Geometry(const Config&, const Problem&)>();
  EXPECT_ERROR(null_geometry.Resolve(TermNames()), StatusCode::kInvalidArgument, "the geometry function is empty");
  GeometryFn no_threads = GeometryFn(Grid::Fixed(1)).Block(0);
  EXPECT_ERROR(no_threads.Resolve(TermNames()), StatusCode::kInvalidArgument,
               "block: the constant 0 is too small; at least 1 is possible");
  GeometryFn no_memory = GeometryFn(Grid::Fixed(1)).SharedMemory(0);
  EXPECT_OK(no_memory.Resolve(TermNames()));
}

}  // namespace
}  // namespace tuneonce
