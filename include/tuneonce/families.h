#ifndef TUNEONCE_FAMILIES_H_
#define TUNEONCE_FAMILIES_H_

#include <optional>
#include <string>

#include "tuneonce/api.h"
#include "tuneonce/search_space.h"
#include "tuneonce/target.h"

namespace tuneonce {
inline namespace v0 {

/// Search spaces to start from, one for each family of kernels. They contain the configs that published recipes try.
///
///   SearchSpace space = families::DenseMatmul();
///   IntAxis tile_m = space.FindAxis("TILE_M"), tile_n = space.FindAxis("TILE_N");
///   space.AddAxis("SPLIT_K", {1, 2, 4});   // Multiplies the configs; the baseline gets the first value.
///   space.MaxConfigs(90);
///
/// Every space
/// - has at most 30 configs on a target, including a baseline, which is the fixed config that the recipe runs untuned;
/// - depends on the target: matrix products have one list of configs each for sm_80 to sm_89, sm_90, sm_100 to sm_119
///   and sm_12x, and a short one for the CPU device, whose compiler ignores hints. A condition selects the list.
///   With `only`, the space has that target's list alone, with the same configs in the same order;
/// - has guards for sizes: a tile of which half or more would be padding is pruned, down to the family's smallest tile.
///   The last argument names the dims, and an empty name omits their guards;
/// - has `num_ctas` > 1 only on targets with clusters (sm_90 and newer, not sm_12x), and only for matrix products,
///   whose blocks can share a tile that one of them loads, and for Elementwise, where it was the best of 120 configs.
///   Blocks of row kernels share no data: 12 configs with clusters gained no more than 4 without (TileGym's cross
///   entropy).
///
/// The axes have the names that cuTile's and Triton's kernels use: TILE_M, TILE_N, TILE_K, TILE, and the hints
/// `occupancy` and `num_ctas`. A grid of persistent blocks is divided by num_ctas: Grid::PersistentTiles(tiles,
/// num_ctas, occupancy).
///
/// Sources. TileGym is NVIDIA's collection of cuTile kernels, github.com/NVIDIA/TileGym at 75a1430 (August 2026): its
/// config lists in src/tilegym/ops/cutile and its guide to tuning (skills/tilegym-cutile-autotuning/references), which
/// its authors tuned on A100, H100, B200, GB300 and RTX 5090. Triton stands for the config lists of its tutorials 03,
/// 06, 08 and 09. Sizes of shared memory and registers are from the CUDA C++ Programming Guide, technical
/// specifications per compute capability.
///
/// Thread rule: any thread. Errors: Enumerate returns the errors of the space.
namespace families {

/// The names that a kernel gives the dims of a matrix product of M x K by K x N. An empty name omits the guards for the
/// dim.
struct MatmulDims {
  std::string m = "M";
  std::string n = "N";
  std::string k = "K";
};

/// The names that a kernel gives the dims of attention: the number of queries, the number of keys, and the number of
/// elements of a head. An empty name omits the guards for the dim.
struct AttentionDims {
  std::string queries = "M";
  std::string keys = "N";
  std::string head = "D";
};

/// Returns a space for any kernel whose tiles are fixed: the hint `occupancy` is 1, 2, 4 or 8. Baseline: 1. (TileGym
/// uses it for all kernels without a tile to choose. Small inputs prefer 1 or 2, large ones 4 or 8.)
TUNEONCE_API SearchSpace OccupancyOnly();

/// Returns a space for kernels that read rows twice and scale them (rms_norm, layer_norm, softmax of rows that fit a
/// tile). TILE_N, the number of elements of a row that are processed at a time, is 1024 to 8192 with `occupancy` 2 and
/// 4, or 16384 with 1 and 2. Baseline: 4096 and 4, or 1024 and 4 for short rows. (TileGym's softmax runs at 2 or 4,
/// because from 5 on long rows spill registers. Rows of 16384 in one tile at occupancy 2 were the best of 108 configs
/// for layer_norm and softmax on an H200, 1.2x and 1.07x faster than 4096: docs/spaces.md.) `n` is the dim of the
/// row. A kernel that does not loop over the row needs its own guard, N <= TILE_N.
TUNEONCE_API SearchSpace NormLike(const std::string& n = "N");

/// Returns a space for kernels that read rows once (sums, maxima, cross entropy): TILE_N 1024 to 8192 with `occupancy`
/// 4, 8 and 16, as long as the loaded float32 values take at most half of a multiprocessor's 64 Ki registers. Baseline:
/// 4096 and 4, or 1024 and 4 for short rows. (TileGym uses 8 to 16 for memory-bound kernels, which need more loads in
/// flight than arithmetic does.) `n` is the dim of the row.
TUNEONCE_API SearchSpace Reduction(const std::string& n = "N");

/// Returns a space for kernels that compute each output element from the input elements at its place (gated
/// activations, casts, additions): TILE, the number of elements in a tile, is 1024, 2048 or 4096, with `occupancy` 1,
/// 2, 4 and 16. On sm_90 to sm_119 it also has three configs with `num_ctas` 2, where a cluster of two blocks processes
/// one tile and each thread has more elements: TILE 2048 with `occupancy` 1, and 4096 with 1 and 16. Baseline: TILE
/// 1024 with `occupancy` 1. (TILE 1024 was the best of 256 to 8192 in TileGym's sweep on a B200, and light kernels run
/// with 16 blocks per multiprocessor. TILE 4096 with `num_ctas` 2 and `occupancy` 16 was the best of 120 configs for 64
/// Mi elements on an H100: docs/spaces.md.) `n` is the dim that is divided into tiles.
TUNEONCE_API SearchSpace Elementwise(const std::string& n = "N");

/// Returns a space for kernels that write their input (rotary embedding): `occupancy` 1, 2, 4, 6, 8 and 12. The tile is
/// fixed by heads and head size, and all heads in one tile ran 1.2x faster than half of them. Baseline: 1. (TileGym's
/// rotary embedding tries 1, 7, 9 and 12, and 6 was the best of 112 on an H200: docs/internal/performance_diary.md.)
/// Declare the tensor InOut, so that a search restores it before each run and the caller's tensor does not change.
TUNEONCE_API SearchSpace InPlace();

/// Returns a space for c = a b with one block per tile of c: TILE_M x TILE_N x TILE_K, `occupancy`, `num_ctas`.
/// - sm_80 to sm_89: 64 and 128, TILE_K 32 to 128, occupancy 1 and 2. Larger accumulators spill there.
/// - sm_90: 64 to 256, TILE_K 64 (32 and 128 for the middle ones), clusters of 2 for the larger ones. 256 x 128 with
///   TILE_K 32 and two clusters of 2 was the best of 228 configs for 8192^3 on an H100
///   (docs/internal/performance_diary.md): a block holds half a tile, so that two blocks fit a multiprocessor. 16 x 64
///   is for few rows. 128 x 32 and 256 x 32 are for rows of b that start at any element, which are loaded one element
///   at a time. They were the best of 228 configs for 777 columns on an H200.
/// - sm_100 to sm_119: the same tiles up to 512 x 256, with clusters of 2 and 4, whose blocks share operands, for the
///   larger ones.
/// - sm_12x: 64 and 128, TILE_K 32 and 64, occupancy 1, 2 and 4. Shared memory is 99 KiB, and clusters do not help.
///
/// Baseline: 128 x 128 x 64 (sm_12x: 128 x 64 x 64) in one block, or 64 x 64 x 64 where that is mostly padding. A
/// condition prunes configs for which two stages of 2-byte operands do not fit in shared memory, because loads and
/// products would then alternate. (TileGym's matmul and bmm; Triton's tutorial 03.)
TUNEONCE_API SearchSpace DenseMatmul(const std::optional<Target>& only = std::nullopt, const MatmulDims& dims = {});

/// Returns a space for c = a b with persistent blocks that loop over tiles, for a grid of Grid::PersistentTiles. It has
/// fewer configs than DenseMatmul, because occupancy multiplies the grid, and TILE_K is 64 (32 before sm_90, 128 for
/// few rows and few columns). (TileGym's static persistent matmul; Triton's tutorial 09.)
TUNEONCE_API SearchSpace PersistentMatmul(const std::optional<Target>& only = std::nullopt,
                                          const MatmulDims& dims = {});

/// Returns a space for softmax(q k') v with one block per tile of queries: TILE_M queries x TILE_N keys, `occupancy`,
/// `num_ctas`.
/// - sm_80 to sm_89 and sm_12x: 64 and 128; baseline 64 x 64 at occupancy 2.
/// - sm_90: up to 256 x 128 in one block, and a cluster of 2 for 128 x 128 at occupancy 2, the best of 120 configs on
///   an H200; baseline 128 x 128 at occupancy 2.
/// - sm_100 to sm_119: up to 256 x 128, with a cluster of 2 for that tile; the same baseline.
///
/// A guard keeps the accumulator of TILE_M x head elements within half of the registers, so that heads of 256 get at
/// most 128 queries. (TileGym's fmha, attention_sink and mla; Triton's tutorial 06. Grid: Grid::Attention2D.)
TUNEONCE_API SearchSpace Attention(const std::optional<Target>& only = std::nullopt, const AttentionDims& dims = {});

/// Returns a space for c = a b of 8-bit floats with scales per block: TILE_M 16 to 256 with `occupancy` 1, 2 and 4, and
/// `num_ctas` 2 for 64 on sm_90 and for the largest tile from sm_100 on. TILE_N and TILE_K are 128, the block of a
/// scale, because a tile across two of them would compute an incorrect result. From sm_89 on. Tiles of 64 rows are also
/// tried for fewer rows: sm_90's tensor cores process 64 at a time, and one row took 11 us with them and 31 us without
/// on an H200 (docs/spaces.md). Baseline: TILE_M of 128, or 64 for up to 64 rows, at occupancy 1. (TileGym's
/// template for block scales.) A kernel that can swap its operands for skinny M adds AddAxis("SWAP_AB", {0, 1}), and
/// one with a scale per tensor adds wider tiles with AddConfig.
TUNEONCE_API SearchSpace Fp8Matmul(const std::optional<Target>& only = std::nullopt, const MatmulDims& dims = {});

/// Returns a space for products of many sizes in one launch (mixture of experts) with persistent blocks: TILE_M x
/// TILE_N x TILE_K, `occupancy` 1 and 2, clusters of 2 for the largest tiles from sm_100 on, and tiles of 16 and 32
/// rows for small groups on sm_90. It has few configs, because each costs a compile. Baseline: 128 x 128 x 64, or 64 x
/// 128 x 64 where that is mostly padding. (TileGym's group_gemm.) `dims.m` is the number of rows of all groups
/// together.
TUNEONCE_API SearchSpace GroupedGemm(const std::optional<Target>& only = std::nullopt, const MatmulDims& dims = {});

/// Returns a space for attention over sequences of different lengths (cu_seqlens, paged keys): that of Attention with
/// small tiles on every target, because most sequences are shorter than the longest one. (TileGym's attention_varlen: a
/// cluster of 2 at 256 x 128 gained 13 % on sm_100.) `dims.queries` is the number of queries of all sequences together,
/// and no guard reads the keys.
TUNEONCE_API SearchSpace VarlenAttention(const std::optional<Target>& only = std::nullopt,
                                         const AttentionDims& dims = {});

/// Returns a space for two gated products of one input (gate and up projections): that of DenseMatmul with smaller
/// tiles and mostly occupancy 1, because a block holds two accumulators and loads two weight tiles. (TileGym's
/// linear_gluact: occupancy 2 spills, but was the fastest with clusters of 2 on GB300. On an H200 16 rows were the best
/// of 228 configs for one row, and 256 x 32 with a cluster of 2 for 777 columns.)
TUNEONCE_API SearchSpace DualGemm(const std::optional<Target>& only = std::nullopt, const MatmulDims& dims = {});

}  // namespace families
}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_FAMILIES_H_
