// y = x, one tile per block: what the substitute for Triton's Tile IR back end returns in triton_tile_ir_test.py. The entry
// takes what that back end's takes: pointers and numbers in the kernel's order. make_cpp.py compiles it.
// Macro: ALIGNED, addresses and an extent that the compiler may assume to be multiples of 16.
#include "cuda_tile.h"

namespace tiles = ::cuda::tiles;
using namespace tiles::literals;

extern "C" __tile_global__ void copied(const float* __restrict__ x, float* __restrict__ y, int n) {
#ifdef ALIGNED
  n = tiles::assume_divisible<16>(n);
  x = tiles::assume_aligned(x, 16_ic);
  y = tiles::assume_aligned(y, 16_ic);
#endif
  auto from = tiles::partition_view{tiles::tensor_span{x, tiles::extents{n}}, tiles::shape<256>{}};
  auto to = tiles::partition_view{tiles::tensor_span{y, tiles::extents{n}}, tiles::shape<256>{}};
  to.store_masked(from.load_masked(tiles::bid().x), tiles::bid().x);
}
