// c = a b, row major, one tile of c per block: what TileIrEvidence is shown of CUDA Tile C++. make_cpp.py compiles it.
// Macros: TILE, the edge of a tile; FOR, a `for` statement in place of a range; ALIGNED, extents that the compiler may
// assume to be multiples of 16.
#include "cuda_fp16.h"
#include "cuda_tile.h"

namespace tiles = ::cuda::tiles;
using namespace tiles::literals;

extern "C" __tile_global__ void product(const __half* __restrict__ a, const __half* __restrict__ b,
                                        __half* __restrict__ c, int m, int n, int k) {
#ifdef ALIGNED
  m = tiles::assume_divisible<16>(m);
  n = tiles::assume_divisible<16>(n);
  k = tiles::assume_divisible<16>(k);
#endif
  using Square = tiles::shape<TILE, TILE>;
  auto of_a = tiles::partition_view{tiles::tensor_span{tiles::assume_aligned(a, 16_ic), tiles::extents{m, k}}, Square{}};
  auto of_b = tiles::partition_view{tiles::tensor_span{tiles::assume_aligned(b, 16_ic), tiles::extents{k, n}}, Square{}};
  auto of_c = tiles::partition_view{tiles::tensor_span{tiles::assume_aligned(c, 16_ic), tiles::extents{m, n}}, Square{}};
  const int row = tiles::bid().x, column = tiles::bid().y;
  auto sum = tiles::full<tiles::tile<float, Square>>(0.0f);
#ifdef FOR
  for (int i = 0; i < (k + TILE - 1) / TILE; ++i) {
#else
  for (auto i : tiles::irange(0, (k + TILE - 1) / TILE)) {
#endif
    sum = tiles::mma(of_a.load_masked(row, i), of_b.load_masked(i, column), sum);
  }
  of_c.store_masked(tiles::element_cast<__half>(sum), row, column);
}
