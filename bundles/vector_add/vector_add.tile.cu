// z = x + y for any N, BLOCK elements per block: CUDA Tile C++ for what vector_add.py computes. Extents are 64-bit, so
// that N may exceed 2^31 - 1.
#include "cuda_tile.h"

namespace tiles = ::cuda::tiles;

template <int BLOCK>
__tile_global__ void vector_add(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ z,
                                long long n) {
  using Length = tiles::extents<long long, tiles::dynamic_extent>;
  n = tiles::assume_bounded_below<0>(n);
  tiles::partition_view xs{tiles::tensor_span{tiles::assume_aligned<16>(x), Length{n}}, tiles::shape<BLOCK>{}};
  tiles::partition_view ys{tiles::tensor_span{tiles::assume_aligned<16>(y), Length{n}}, tiles::shape<BLOCK>{}};
  tiles::partition_view zs{tiles::tensor_span{tiles::assume_aligned<16>(z), Length{n}}, tiles::shape<BLOCK>{}};
  const int block = tiles::bid().x;
  zs.store_masked(xs.load_masked(block) + ys.load_masked(block), block);
}
