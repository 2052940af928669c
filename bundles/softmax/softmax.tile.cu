// y = softmax(x) by rows: CUDA Tile C++ for what softmax.py computes, with the same axes. TILE_N covers a row, or
// (LOOP 1) is the part of it that is processed at a time, in two passes. A block computes one row, or (ONE_ROW 0) every
// num_blocks-th row. 16 divides N, so that the compiler sees rows that begin at multiples of 16 bytes.
#include "cuda_tile.h"

namespace tiles = ::cuda::tiles;

constexpr float kLeast = -3.4e38f;  // Finite: of a row's first tiles all values may be -infinity.

/// Views are passed by reference: a view that is copied, or captured by a lambda, loses its alignment.
template <int LOOP, typename Inputs, typename Outputs>
__tile__ void softmax_of_row(const Inputs& xs, const Outputs& ys, int row, int steps) {
  constexpr tiles::view_padding_negative_inf_t kPadding{};
  if constexpr (LOOP == 0) {
    const auto values = xs.load_masked(kPadding, row, 0);
    const auto exponents = tiles::exp(values - tiles::reduce_max<1>(values));
    ys.store_masked(exponents / tiles::sum<1>(exponents), row, 0);
  } else {
    using One = tiles::tile<float, tiles::shape<1, 1>>;
    auto largest = tiles::full<One>(kLeast);
    auto total = tiles::full<One>(0.0f);
    for (auto i : tiles::irange(0, steps)) {
      const auto values = xs.load_masked(kPadding, row, i);
      const auto most = tiles::max(largest, tiles::reduce_max<1>(values));
      total = total * tiles::exp(largest - most) + tiles::sum<1>(tiles::exp(values - most));
      largest = most;
    }
    for (auto i : tiles::irange(0, steps)) {
      ys.store_masked(tiles::exp(xs.load_masked(kPadding, row, i) - largest) / total, row, i);
    }
  }
}

template <int TILE_N, int LOOP, int ONE_ROW>
__tile_global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int m, int n) {
  using Rows = tiles::extents<int, tiles::dynamic_extent, tiles::dynamic_extent>;
  m = tiles::assume_bounded_below<0>(m);
  n = tiles::assume_divisible<16>(tiles::assume_bounded_below<0>(n));
  tiles::partition_view xs{tiles::tensor_span{tiles::assume_aligned<16>(x), Rows{m, n}}, tiles::shape<1, TILE_N>{}};
  tiles::partition_view ys{tiles::tensor_span{tiles::assume_aligned<16>(y), Rows{m, n}}, tiles::shape<1, TILE_N>{}};
  const int block = tiles::bid().x, num_blocks = tiles::num_blocks().x, steps = (n + TILE_N - 1) / TILE_N;
  if constexpr (ONE_ROW) {
    softmax_of_row<LOOP>(xs, ys, block, steps);
  } else {
    for (auto row : tiles::irange(block, m, num_blocks)) softmax_of_row<LOOP>(xs, ys, row, steps);
  }
}
