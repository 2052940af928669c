// o = softmax(scale q k^T) v: CUDA Tile C++ for what attention.py computes, with the same axes; attention_declared.py
// states the semantics. A block holds TILE_M queries of a head in registers and processes TILE_N keys at a time, with
// the maximum and the sum of its rows so far (M. Milakov, N. Gimelshein, arXiv:1805.02867; T. Dao, arXiv:2307.08691):
// first the keys that every query of the block sees, then those of which some are masked. Blocks with the most keys
// come first: grid (ceil(S / TILE_M), H, B). Tensors are contiguous; D, the size of a head, is a constant of the code.
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_tile.h"

namespace tiles = ::cuda::tiles;

constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLeast = -3.4e38f;  // Finite: a row may have seen no key yet, and its scores may all be -infinity.
constexpr float kInfinity = __builtin_bit_cast(float, 0x7f800000u);

/// Adds the tile `at` of the keys and values of `head` to the greatest score, the sum of exponents and the output so
/// far. `last`: of each query, the last key that it sees. Views are passed by reference: a view that is copied, or
/// captured by a lambda, loses its alignment.
template <bool MASKED, typename T, int TILE_M, int TILE_N, int D, typename Queries, typename Keys, typename Values,
          typename Last, typename Column, typename Sums>
__tile__ void add_keys(const Queries& queries, const Keys& ks, const Values& vs, int head, int at, float scale,
                       const Last& last, Column& largest, Column& total, Sums& sums) {
  using Scores = tiles::tile<float, tiles::shape<TILE_M, TILE_N>>;
  constexpr tiles::round_subnormals_to_zero_t kFlush{};
  const auto keys = tiles::reshape<tiles::shape<D, TILE_N>>(ks.load_masked(0, at, head));
  const auto values = tiles::reshape<tiles::shape<TILE_N, D>>(vs.load_masked(head, at, 0));
  auto scores = tiles::mma(queries, keys, tiles::full<Scores>(0.0f)) * scale;
  if constexpr (MASKED) {
    const auto numbers = tiles::iota<tiles::tile<int, tiles::shape<TILE_N>>>();
    const auto columns = at * TILE_N + tiles::reshape<tiles::shape<1, TILE_N>>(numbers);
    scores = tiles::select(columns <= last, scores, tiles::full<Scores>(-kInfinity));
  }
  const auto most = tiles::max(largest, tiles::reduce_max<1>(scores));
  const auto exponents = tiles::exp2(scores - most, kFlush);
  const auto factor = tiles::exp2(largest - most, kFlush);
  sums = tiles::mma(tiles::element_cast<T>(exponents), values, sums * factor);
  total = total * factor + tiles::sum<1>(exponents);
  largest = most;
}

template <typename T, int TILE_M, int TILE_N, int D>
__tile_global__ void attention(const T* __restrict__ q, const T* __restrict__ k, const T* __restrict__ v,
                               T* __restrict__ o, float scale, bool causal, int s, int t, int h, int g, int batches) {
  // 64-bit, since the stride from one head to the next, T D, may exceed 2^31 - 1. Extents are made of parameters alone:
  // the host encodes TMA's maps then; with one of the grid's extents each block would write its maps to global memory.
  using Heads = tiles::extents<long long, tiles::dynamic_extent, tiles::dynamic_extent, D>;
  using TransposedHeads = tiles::extents<long long, D, tiles::dynamic_extent, tiles::dynamic_extent>;
  using Column = tiles::tile<float, tiles::shape<TILE_M, 1>>;
  s = tiles::assume_bounded_below<0>(s);
  t = tiles::assume_bounded_below<0>(t);
  h = tiles::assume_bounded_below<0>(h);
  g = tiles::assume_bounded_below<0>(g);
  batches = tiles::assume_bounded_below<0>(batches);
  const int batch = tiles::bid().z, head = tiles::bid().y;
  const int block = static_cast<int>(tiles::num_blocks().x) - 1 - static_cast<int>(tiles::bid().x);
  const int query_head = batch * h + head, key_head = batch * g + head * g / h;
  const Heads of_queries{batches * h, s}, of_keys{batches * g, t};
  tiles::partition_view qs{tiles::tensor_span{tiles::assume_aligned<16>(q), of_queries}, tiles::shape<1, TILE_M, D>{}};
  tiles::partition_view ks{
      tiles::tensor_span{tiles::assume_aligned<16>(k), TransposedHeads{t, batches * g}, tiles::layout_left{}},
      tiles::shape<D, TILE_N, 1>{}};
  tiles::partition_view vs{tiles::tensor_span{tiles::assume_aligned<16>(v), of_keys}, tiles::shape<1, TILE_N, D>{}};
  tiles::partition_view os{tiles::tensor_span{tiles::assume_aligned<16>(o), of_queries}, tiles::shape<1, TILE_M, D>{}};

  // Query i sees the keys up to i + moved.
  const int first = block * TILE_M, moved = causal ? t - s : t;
  const int seen_by_all = tiles::min(tiles::max(first + 1 + moved, 0), t);
  const int seen = tiles::min(tiles::max(first + TILE_M + moved, 0), t);
  const auto numbers = tiles::iota<tiles::tile<int, tiles::shape<TILE_M>>>();
  const auto last = tiles::min(first + tiles::reshape<tiles::shape<TILE_M, 1>>(numbers) + moved, t - 1);
  const auto queries = tiles::reshape<tiles::shape<TILE_M, D>>(qs.load_masked(query_head, block, 0));
  auto largest = tiles::full<Column>(kLeast);
  auto total = tiles::full<Column>(0.0f);
  auto sums = tiles::full<tiles::tile<float, tiles::shape<TILE_M, D>>>(0.0f);
  const int whole = seen_by_all / TILE_N;
  scale = scale * kLog2E;
  for (auto i : tiles::irange(0, whole)) {
    add_keys<false, T, TILE_M, TILE_N, D>(queries, ks, vs, key_head, i, scale, last, largest, total, sums);
  }
  for (auto i : tiles::irange(whole, (seen + TILE_N - 1) / TILE_N)) {
    add_keys<true, T, TILE_M, TILE_N, D>(queries, ks, vs, key_head, i, scale, last, largest, total, sums);
  }
  const auto result = sums / tiles::select(total > 0.0f, total, tiles::full<Column>(1.0f));
  os.store_masked(tiles::reshape<tiles::shape<1, TILE_M, D>>(tiles::element_cast<T>(result)), query_head, block, 0);
}
