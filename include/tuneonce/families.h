#ifndef TUNEONCE_FAMILIES_H_
#define TUNEONCE_FAMILIES_H_

#include <optional>
#include <string>

#include "tuneonce/api.h"
#include "tuneonce/search_space.h"
#include "tuneonce/target.h"

namespace tuneonce {
inline namespace v0 {

/// Search spaces to start from, one for each family of kernels: what the field's recipes try, as code.
///
///   SearchSpace space = families::DenseMatmul();
///   IntAxis tile_m = space.FindAxis("TILE_M"), tile_n = space.FindAxis("TILE_N");
///   space.AddAxis("SPLIT_K", {1, 2, 4});   // Added to: each config with each value; the baseline has the first.
///   space.AllowConfigs(90);
///
/// Every space
/// - has at most 30 configs on a target, and a baseline among them: the fixed config that the recipe runs untuned;
/// - knows its targets: of matrix products one list each for sm_80 to sm_89, sm_90, sm_100 to sm_119 and sm_12x, and a
///   short one for the CPU device, whose compiler knows no hints. A target filter picks the list. With `only`, the
///   space is that target's list alone, and the same configs in the same order;
/// - is guarded by size: a tile of which half or more would be padding is left out, down to the family's smallest. The
///   dims are found by the names that the last argument gives; an empty name leaves its guards out;
/// - has `num_ctas` > 1 only where clusters are (sm_90 and newer, not sm_12x), and only for matrix products, of whose
///   blocks one can load a tile for both, and Elementwise, where it was the best of 120 configs. Rows are shared by
///   nobody: with it 12 configs gained no more than 4 without (TileGym's cross entropy).
///
/// The axes' names are what cuTile's and Triton's kernels call them: TILE_M, TILE_N, TILE_K, TILE; hints `occupancy`
/// and `num_ctas`. A grid of persistent blocks is divided by num_ctas: Grid::PersistentTiles(tiles, num_ctas,
/// occupancy).
///
/// Sources. TileGym: NVIDIA's collection of cuTile kernels, github.com/NVIDIA/TileGym at 75a1430 (August 2026), its
/// config lists in src/tilegym/ops/cutile and its page on tuning (skills/tilegym-cutile-autotuning/references), tuned
/// by its authors on A100, H100, B200, GB300 and RTX 5090. Triton: the config lists of its tutorials 03, 06, 08 and 09.
/// Sizes of shared memory and registers: CUDA C++ Programming Guide, technical specifications per compute capability.
///
/// Thread rule: any thread. Errors: those of the space, which Enumerate returns.
namespace families {

/// What a definition calls the dims of a matrix product of M x K by K x N.
struct MatmulDims {
  std::string m = "M";
  std::string n = "N";
  std::string k = "K";
};

/// What a definition calls the dims of attention: queries and keys of a sequence, elements of a head.
struct AttentionDims {
  std::string queries = "M";
  std::string keys = "N";
  std::string head = "D";
};

/// A kernel whose tiles are given by its shape, of any kind: `occupancy` 1, 2, 4, 8. Baseline: 1. (TileGym, for all
/// that have no tile to choose: small inputs want 1 or 2, large ones 4 or 8.)
TUNEONCE_API SearchSpace OccupancyOnly();

/// Rows that are read twice and scaled (rms_norm, layer_norm, softmax of rows that fit a tile): TILE_N, elements of a
/// row at a time, 1024 to 8192, x `occupancy` 2, 4, and 16384 at 1, 2. Baseline: 4096 and 4, for short rows 1024 and 4.
/// (TileGym's softmax runs at 2 or 4: from 5 on long rows spill registers. Rows of 16384 in one tile at occupancy 2
/// were the best of 108 for layer_norm and softmax on an H200, 1.2 and 1.07 times as fast as by 4096:
/// docs/performance.md.) `n`: the row's dim. A kernel that does not loop over the row needs a guard of its own: N <=
/// TILE_N.
TUNEONCE_API SearchSpace NormLike(const std::string& n = "N");

/// Rows that are read once (sums, maxima, cross entropy): TILE_N 1024 to 8192 x `occupancy` 4, 8, 16, as far as what is
/// resident takes half of a multiprocessor's 64 Ki registers, in float32. Baseline: 4096 and 4, for short rows 1024 and
/// 4. (TileGym: 8 to 16 where memory is the bound, which needs more loads under way than arithmetic does.)
TUNEONCE_API SearchSpace Reduction(const std::string& n = "N");

/// One element in, one out (gated activations, casts, adds): TILE, elements of a block, 1024, 2048, 4096 x `occupancy`
/// 1, 2, 4, 16; on sm_90 to sm_119 also tiles of 2048 and 4096 by clusters of 2, whose threads are fewer, with more
/// elements each. Baseline: 1024 and 1. (1024 was the best of 256 to 8192 in TileGym's sweep on a B200; light kernels
/// take 16 blocks. 4096 by a cluster of 2 at 16 was the best of 120 for 64 Mi elements on an H100:
/// docs/performance.md.) `n`: the dim that is cut into tiles.
TUNEONCE_API SearchSpace Elementwise(const std::string& n = "N");

/// A kernel that writes its input (rotary embedding): `occupancy` 1, 2, 4, 6, 8, 12; its tile is given by heads and
/// head size: all heads in one tile ran 1.2 times as fast as half of them. Baseline: 1. (TileGym's rotary embedding
/// tries 1, 7, 9 and 12; 6 was the best of 112 on an H200: docs/performance.md.) Declare the tensor InOut: a search
/// then restores it before each run, and the caller's stays as it was.
TUNEONCE_API SearchSpace InPlace();

/// c = a b, a block for each tile of c: TILE_M x TILE_N x TILE_K, `occupancy`, `num_ctas`.
/// - sm_80 to sm_89: 64 and 128, TILE_K 32 to 128, occupancy 1, 2. Larger accumulators spill there.
/// - sm_90: 64 to 256, TILE_K 64 (32 and 128 for the middle ones), clusters of 2 for the larger. 256 x 128 with TILE_K
///   of 32 by two clusters of 2 was the best of 228 for 8192^3 on an H100 (docs/performance.md): half a tile is what
///   one block holds, so that two fit a multiprocessor. 16 x 64 is for few rows, and 128 x 32 and 256 x 32 for rows of
///   b that begin at any element, which are loaded one by one: the best of 228 for 777 columns on an H200.
/// - sm_100 to sm_119: the same up to 512 x 256; clusters of 2 and 4, whose blocks share operands, for the larger.
/// - sm_12x: 64 and 128, TILE_K 32 and 64, occupancy 1, 2, 4: shared memory is 99 KiB, and clusters do not pay.
/// Baseline: 128 x 128 x 64 (sm_12x: 128 x 64 x 64) of one block; 64 x 64 x 64 where that is mostly padding. A
/// target filter leaves out what has no room for two stages of 2-byte operands in shared memory, since loads and
/// products would take turns. (TileGym's matmul and bmm; Triton's tutorial 03.)
TUNEONCE_API SearchSpace DenseMatmul(const std::optional<Target>& only = std::nullopt, const MatmulDims& dims = {});

/// The same by blocks that stay and walk over tiles; grid: Grid::PersistentTiles. Fewer configs, since occupancy
/// multiplies the grid, and TILE_K of 64 wins (32 before sm_90; 128 for few rows and few columns). (TileGym's static
/// persistent matmul; Triton's 09.)
TUNEONCE_API SearchSpace PersistentMatmul(const std::optional<Target>& only = std::nullopt,
                                          const MatmulDims& dims = {});

/// softmax(q k') v for a tile of queries: TILE_M queries x TILE_N keys, `occupancy`, `num_ctas`.
/// - sm_80 to sm_89 and sm_12x: 64 and 128; baseline 64 x 64 at occupancy 2.
/// - sm_90: up to 256 x 128, of one block, and a cluster of 2 for 128 x 128 at occupancy 2, the best of 120 on an H200;
///   baseline 128 x 128 at occupancy 2.
/// - sm_100 to sm_119: up to 256 x 128, for which there is a cluster of 2; the same baseline.
/// A guard keeps the accumulator of TILE_M x head elements within half of the registers: heads of 256 get at most 128
/// queries. (TileGym's fmha, attention_sink and mla; Triton's 06. Grid: Grid::Attention2D.)
TUNEONCE_API SearchSpace Attention(const std::optional<Target>& only = std::nullopt, const AttentionDims& dims = {});

/// c = a b of 8-bit floats with scales: TILE_M 16 to 256 x `occupancy` 1, 2, 4, and `num_ctas` 2 for 64 on sm_90 and
/// for the largest from sm_100; TILE_N and TILE_K are 128, the block of a scale: a tile across two of them would be
/// wrong, not slow. From sm_89 on. Tiles of 64 rows are tried for fewer rows, too: sm_90's tensor cores take 64 at a
/// time, and one row by them took 11 us in place of 31 on an H200 (docs/performance.md). Baseline: TILE_M of 128, of 64
/// for up to 64 rows, at occupancy 1. (TileGym's template for block scales.) A kernel that can exchange its operands
/// for skinny M adds that: AddAxis("SWAP_AB", {0, 1}); one with a scale per tensor, wider tiles: AddConfig.
TUNEONCE_API SearchSpace Fp8Matmul(const std::optional<Target>& only = std::nullopt, const MatmulDims& dims = {});

/// Products of many sizes in one launch (mixture of experts), by persistent blocks: TILE_M x TILE_N x TILE_K,
/// `occupancy` 1, 2, from sm_100 clusters of 2 for the largest, and on sm_90 tiles of 16 and 32 rows for groups of few;
/// not many, since a config costs a compile. Baseline: 128 x 128 x 64; 64 x 128 x 64 where that is mostly padding.
/// (TileGym's group_gemm.) `dims.m`: the rows of all groups together.
TUNEONCE_API SearchSpace GroupedGemm(const std::optional<Target>& only = std::nullopt, const MatmulDims& dims = {});

/// Attention over sequences of different lengths (cu_seqlens, paged keys): as Attention, with small tiles on every
/// target, since most sequences are shorter than the longest. (TileGym's attention_varlen: a cluster of 2 at 256 x 128
/// gained 13 % on sm_100.) `dims.queries`: those of all sequences together; no guard is about keys.
TUNEONCE_API SearchSpace VarlenAttention(const std::optional<Target>& only = std::nullopt,
                                         const AttentionDims& dims = {});

/// Two products of one input, gated (gate and up projections): as DenseMatmul with smaller tiles and mostly occupancy
/// 1, since a block holds two accumulators and loads two weight tiles. (TileGym's linear_gluact: occupancy 2 spills,
/// but won with clusters of 2 on GB300. On an H200 16 rows were the best of 228 for one row, and 256 x 32 by a cluster
/// of 2 for 777 columns.)
TUNEONCE_API SearchSpace DualGemm(const std::optional<Target>& only = std::nullopt, const MatmulDims& dims = {});

}  // namespace families
}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_FAMILIES_H_
