// y = x / sqrt(mean(x^2) + eps) * w by rows: CUDA Tile C++ for what rms_norm.py computes, with the same axes. TILE_N
// covers a row, or (LOOP 1) is the part of it that is processed at a time, in two passes. A block computes one row, or
// (ONE_ROW 0) every num_blocks-th row. 16 divides N, so that the compiler sees rows that begin at multiples of 16
// bytes.
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_tile.h"

namespace tiles = ::cuda::tiles;

/// Views are passed by reference: a view that is copied, or captured by a lambda, loses its alignment.
template <typename T, int TILE_N, int LOOP, typename Inputs, typename Weights, typename Outputs>
__tile__ void normalize_row(const Inputs& xs, const Weights& ws, const Outputs& ys, float eps, int row, int n) {
  using Line = tiles::shape<1, TILE_N>;
  const float count = static_cast<float>(n);
  if constexpr (LOOP == 0) {
    const auto values = tiles::element_cast<float>(xs.load_masked(row, 0));
    const auto weights = tiles::reshape<Line>(tiles::element_cast<float>(ws.load_masked(0)));
    const auto scale = tiles::rsqrt(tiles::sum<1>(values * values) / count + eps);
    ys.store_masked(tiles::element_cast<T>(values * scale * weights), row, 0);
  } else {
    const int steps = (n + TILE_N - 1) / TILE_N;
    auto squares = tiles::full<tiles::tile<float, Line>>(0.0f);
    for (auto i : tiles::irange(0, steps)) {
      const auto values = tiles::element_cast<float>(xs.load_masked(row, i));
      squares = squares + values * values;
    }
    const auto scale = tiles::rsqrt(tiles::sum<1>(squares) / count + eps);
    for (auto i : tiles::irange(0, steps)) {
      const auto values = tiles::element_cast<float>(xs.load_masked(row, i));
      const auto weights = tiles::reshape<Line>(tiles::element_cast<float>(ws.load_masked(i)));
      ys.store_masked(tiles::element_cast<T>(values * scale * weights), row, i);
    }
  }
}

template <typename T, int TILE_N, int LOOP, int ONE_ROW>
__tile_global__ void rms_norm(const T* __restrict__ x, const T* __restrict__ w, T* __restrict__ y, float eps, int m,
                              int n) {
  using Row = tiles::extents<int, tiles::dynamic_extent>;
  using Rows = tiles::extents<int, tiles::dynamic_extent, tiles::dynamic_extent>;
  m = tiles::assume_bounded_below<0>(m);
  n = tiles::assume_divisible<16>(tiles::assume_bounded_below<0>(n));
  tiles::partition_view xs{tiles::tensor_span{tiles::assume_aligned<16>(x), Rows{m, n}}, tiles::shape<1, TILE_N>{}};
  tiles::partition_view ws{tiles::tensor_span{tiles::assume_aligned<16>(w), Row{n}}, tiles::shape<TILE_N>{}};
  tiles::partition_view ys{tiles::tensor_span{tiles::assume_aligned<16>(y), Rows{m, n}}, tiles::shape<1, TILE_N>{}};
  const int block = tiles::bid().x, num_blocks = tiles::num_blocks().x;
  if constexpr (ONE_ROW) {
    normalize_row<T, TILE_N, LOOP>(xs, ws, ys, eps, block, n);
  } else {
    for (auto row : tiles::irange(block, m, num_blocks)) normalize_row<T, TILE_N, LOOP>(xs, ws, ys, eps, row, n);
  }
}
