#include <limits>

#include "testing/device_test.h"
#include "tuneonce/geometry.h"

namespace tuneonce {
namespace {

class GridTest : public ::testing::Test {
 protected:
  GridTest() {
    config_ = space_.Enumerate(Target())->front();
    problem_.dims = Dims(3);
    problem_.dims[Dim{0}] = 1000;
    problem_.dims[Dim{1}] = 500;
    problem_.dims[Dim{2}] = 3;
    target_.num_sms = 132;
    problem_.target = &target_;
  }
  Dim3 Evaluate(Grid grid) {
    EXPECT_OK(grid.Resolve(names_));
    return grid(config_, problem_);
  }

  const std::vector<std::string> names_ = {"M", "N", "B"};
  SearchSpace space_;
  IntAxis tile_ = space_.AddAxis("TILE", {64});
  IntAxis occupancy_ = space_.AddHintAxis("occupancy", {2});
  Config config_;
  Target target_;
  Problem problem_;
};

TEST_F(GridTest, TheSixPatternsGiveTheirFormulas) {
  EXPECT_EQ(Evaluate(Grid::TileCoverage({{"M", tile_}, {"N", 128}})), (Dim3{16, 4, 1}));
  EXPECT_EQ(Evaluate(Grid::TileCoverage({{"M", tile_}, {"N", 128}, {"B", 1}})), (Dim3{16, 4, 3}));
  EXPECT_EQ(Evaluate(Grid::PersistentTiles({{"M", tile_}, {"N", tile_}}, 1, occupancy_)), (Dim3{128, 1, 1}))
      << "16 * 8 tiles are fewer than 132 SMs have room for, and no block goes without one";
  EXPECT_EQ(Evaluate(Grid::PersistentTiles({{"M", tile_}, {"N", 50}}, 1, occupancy_)), (Dim3{160, 1, 1}))
      << "more tiles than SMs, fewer than have room";
  EXPECT_EQ(Evaluate(Grid::PersistentTiles({{"M", tile_}, {"N", 25}}, 1, occupancy_)), (Dim3{132 * 2, 1, 1}));
  EXPECT_EQ(Evaluate(Grid::PersistentTiles({{"M", 1}, {"N", 1}}, 2, occupancy_)), (Dim3{66 * 2, 1, 1}));
  EXPECT_EQ(Evaluate(Grid::PersistentRows("M", occupancy_)), (Dim3{264, 1, 1}));
  EXPECT_EQ(Evaluate(Grid::PersistentRows("B", occupancy_)), (Dim3{3, 1, 1}));
  EXPECT_EQ(Evaluate(Grid::Attention2D({"M", tile_}, "B", 16)), (Dim3{16, 48, 1}));
  EXPECT_EQ(Evaluate(Grid::OneD({"M", 256})), (Dim3{4, 1, 1}));
  EXPECT_EQ(Evaluate(Grid::Fixed(5, tile_, "B")), (Dim3{5, 64, 3}));
  EXPECT_EQ(Evaluate(Grid::Custom([](const Config&, const Problem& p) {
              return Dim3{p.dims[Dim{1}], 2, 3};
            })),
            (Dim3{500, 2, 3}));
}

TEST_F(GridTest, ExtentsAtTheEdgeOfATile) {
  for (auto [extent, blocks] : {std::pair{1, 1}, {63, 1}, {64, 1}, {65, 2}, {128, 2}}) {
    EXPECT_EQ(Evaluate(Grid::OneD({extent, tile_})).x, blocks) << extent;
  }
  EXPECT_EQ(Evaluate(Grid::OneD({std::int64_t{1} << 62, 3})).x, ((std::int64_t{1} << 62) + 2) / 3) << "no overflow";
}

TEST_F(GridTest, ProductsThatDoNotFitAreNotWrapped) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kThirdOfFive = 6148914691236517207;  // Times 3 it is 5, modulo 2^64.
  problem_.dims[Dim{0}] = kThirdOfFive;
  EXPECT_EQ(Evaluate(Grid::PersistentTiles({{"M", 1}, {"B", 1}}, 1, occupancy_)), (Dim3{132 * 2, 1, 1}))
      << "more tiles than SMs, not 5";
  EXPECT_EQ(Evaluate(Grid::PersistentTiles({{"M", 1}, {"M", 1}, {"M", 1}}, 1, 2)), (Dim3{132 * 2, 1, 1}));
  EXPECT_EQ(Evaluate(Grid::Attention2D({"B", 1}, "M", 3)), (Dim3{3, kLargest, 1}));
  EXPECT_EQ(Evaluate(Grid::PersistentRows("B", std::int64_t{1} << 62)), (Dim3{3, 1, 1}));
  problem_.dims[Dim{0}] = kLargest;
  EXPECT_EQ(Evaluate(Grid::OneD({"M", 1})).x, kLargest);
  EXPECT_EQ(Evaluate(Grid::PersistentTiles({{"M", 1}}, 1, kLargest)).x, kLargest);
  EXPECT_EQ(Evaluate(Grid::PersistentTiles({{"B", 1}}, kLargest, 2)), (Dim3{2, 1, 1}));
}

TEST_F(GridTest, NegativeValuesMakeNoGridAndNoneIsNotZero) {
  SearchSpace space;
  IntAxis bad = space.AddAxis("BAD", {0, -1, std::numeric_limits<std::int64_t>::min()});
  Result<std::vector<Config>> configs = space.Enumerate(Target());
  ASSERT_OK(configs);
  for (const Config& config : *configs) {
    for (Grid grid : {Grid::OneD({"M", bad}), Grid::PersistentTiles({{"M", bad}}, 1, 2),
                      Grid::PersistentTiles({{"M", 64}}, bad, 2), Grid::PersistentTiles({{"M", 64}}, 1, bad),
                      Grid::PersistentRows("M", bad), Grid::TileCoverage({{"M", 64}, {"N", bad}})}) {
      ASSERT_OK(grid.Resolve(names_));
      Dim3 blocks = grid(config, problem_);
      EXPECT_TRUE(blocks.x < 0 || blocks.y < 0) << blocks.x << " " << blocks.y << ": 0 would be a launch of nothing";
    }
  }
  for (std::int64_t extent : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    problem_.dims[Dim{0}] = extent;
    for (Grid grid : {Grid::OneD({"M", tile_}), Grid::PersistentTiles({{"M", 64}, {"M", 64}}, 1, 2),
                      Grid::PersistentRows("M", 2), Grid::Attention2D({"M", 64}, 1, 1)}) {
      ASSERT_OK(grid.Resolve(names_));
      EXPECT_LT(grid(config_, problem_).x, 0);
    }
    EXPECT_LT(Evaluate(Grid::Attention2D({"N", 64}, "M", "M")).y, 0);
  }
}

TEST_F(GridTest, UnknownDimsAreNamed) {
  Grid grid = Grid::OneD({"K", 4});
  EXPECT_ERROR(grid.Resolve(names_), StatusCode::kInvalidArgument, "unknown dim 'K'; the kernel has: M, N, B");
  Grid by_index = Grid::OneD({Dim{5}, 4});
  EXPECT_ERROR(by_index.Resolve(names_), StatusCode::kInvalidArgument, "no dim has the index 5");
  Grid four = Grid::TileCoverage({{1, 1}, {1, 1}, {1, 1}, {1, 1}});
  EXPECT_ERROR(four.Resolve(names_), StatusCode::kInvalidArgument, "one to three");
}

TEST_F(GridTest, GeometryCombinesPatternAndTerms) {
  GeometryFn fn =
      GeometryFn(Grid::OneD({"M", tile_})).Block(tile_, 2).Cluster(2).SharedMemory(tile_).ProgrammaticLaunch();
  ASSERT_OK(fn.Resolve(names_));
  Geometry geometry = fn(config_, problem_);
  GeometryFn constant = GeometryFn(Grid::OneD({"M", tile_})).Block(64, 2).SharedMemory(8).ProgrammaticLaunch();
  ASSERT_OK(constant.Resolve(names_));
  EXPECT_EQ(constant(config_, problem_).ToString(), "grid (16, 1, 1), block (64, 2, 1), 8 bytes of shared memory");
  EXPECT_TRUE(constant(config_, problem_).programmatic_launch);
  EXPECT_EQ(geometry.ToString(), "grid (16, 1, 1), block (64, 2, 1), cluster (2, 1, 1), 64 bytes of shared memory");
  EXPECT_TRUE(geometry.programmatic_launch);
  EXPECT_OK(geometry.Check());
}

TEST_F(GridTest, GeometryThatCannotBeLaunchedIsAnError) {
  for (auto change : {+[](Geometry& g) { g.grid.x = 0; }, +[](Geometry& g) { g.grid.y = 65536; },
                      +[](Geometry& g) { g.grid.x = std::int64_t{1} << 31; }, +[](Geometry& g) { g.block.x = 1025; },
                      +[](Geometry& g) { g.cluster.x = -1; }, +[](Geometry& g) { g.shared_memory_bytes = -1; }}) {
    Geometry geometry;
    change(geometry);
    EXPECT_ERROR(geometry.Check(), StatusCode::kInvalidArgument, "cannot be launched");
  }
}

}  // namespace
}  // namespace tuneonce
