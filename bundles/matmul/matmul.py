"""C = A B for A (M, K), B (K, N), C (M, N), summed in float32: grid (ceil(M / TILE_M), ceil(N / TILE_N))."""
import cuda.tile as ct

from matmul_declared import matmul_bundle  # noqa: F401


@ct.kernel
def matmul(a, b, c, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int], TILE_K: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    total = ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], TILE_K)):
        a_tile = ct.load(a, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        b_tile = ct.load(b, index=(k, n), shape=(TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a_tile, b_tile, total)
    ct.store(c, index=(m, n), tile=ct.astype(total, c.dtype))
