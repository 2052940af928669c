// c (m, n) = a (m, k) b (k, n), summed in float32: CUDA Tile C++ for what matmul.py computes, with the same axes. One
// tile of c per block, in a grid of tiles (ceil(m / TILE_M), ceil(n / TILE_N)). 16 divides n and k, so that the
// compiler sees rows that begin at multiples of 16 bytes, which TMA needs.
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_tile.h"

namespace tiles = ::cuda::tiles;

/// Tensor cores of 9.0 (wgmma) and 10.0 take 64 rows and more, but as few as 8 columns: a tile of fewer rows is
/// computed as c^T = b^T a^T.
constexpr int kFewestRows = 64;

template <typename T, int TILE_M, int TILE_N, int TILE_K>
__tile_global__ void matmul(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int n, int k) {
  using Extents = tiles::extents<int, tiles::dynamic_extent, tiles::dynamic_extent>;
  m = tiles::assume_bounded_below<0>(m);
  n = tiles::assume_divisible<16>(tiles::assume_bounded_below<0>(n));
  k = tiles::assume_divisible<16>(tiles::assume_bounded_below<0>(k));
  const auto a16 = tiles::assume_aligned<16>(a);
  const auto b16 = tiles::assume_aligned<16>(b);
  const auto c16 = tiles::assume_aligned<16>(c);
  tiles::partition_view cs{tiles::tensor_span{c16, Extents{m, n}}, tiles::shape<TILE_M, TILE_N>{}};
  const int row = tiles::bid().x, column = tiles::bid().y, steps = (k + TILE_K - 1) / TILE_K;
  // Ranges instead of `for` statements with a condition, which become loops that tileiras does not pipeline.
  if constexpr (TILE_M < kFewestRows) {
    tiles::partition_view as{tiles::tensor_span{a16, Extents{k, m}, tiles::layout_left{}},
                             tiles::shape<TILE_K, TILE_M>{}};
    tiles::partition_view bs{tiles::tensor_span{b16, Extents{n, k}, tiles::layout_left{}},
                             tiles::shape<TILE_N, TILE_K>{}};
    auto sum = tiles::full<tiles::tile<float, tiles::shape<TILE_N, TILE_M>>>(0.0f);
    for (auto i : tiles::irange(0, steps)) sum = tiles::mma(bs.load_masked(column, i), as.load_masked(i, row), sum);
    cs.store_masked(tiles::element_cast<T>(tiles::transpose(sum)), row, column);
  } else {
    tiles::partition_view as{tiles::tensor_span{a16, Extents{m, k}}, tiles::shape<TILE_M, TILE_K>{}};
    tiles::partition_view bs{tiles::tensor_span{b16, Extents{k, n}}, tiles::shape<TILE_K, TILE_N>{}};
    auto sum = tiles::full<tiles::tile<float, tiles::shape<TILE_M, TILE_N>>>(0.0f);
    for (auto i : tiles::irange(0, steps)) sum = tiles::mma(as.load_masked(row, i), bs.load_masked(i, column), sum);
    cs.store_masked(tiles::element_cast<T>(sum), row, column);
  }
}
