"""Y = A B^T of 8-bit floats with scales of blocks: fp8_block_matmul_declared.py says it whole. The scales are applied
to the sum of their 128 products in float32: grid (ceil(M / TILE_M), ceil(N / TILE_N))."""
import cuda.tile as ct

from fp8_block_matmul_declared import fp8_block_matmul_bundle  # noqa: F401


@ct.kernel
def fp8_block_matmul(a, b, scale_a, scale_b, y, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int],
                     TILE_K: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    sums = ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], TILE_K)):
        a_tile = ct.load(a, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        b_tile = ct.load(b, index=(k, n), shape=(TILE_K, TILE_N), order=(1, 0), padding_mode=ct.PaddingMode.ZERO)
        products = ct.mma(a_tile, b_tile, ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32))
        of_rows = ct.load(scale_a, index=(m, k), shape=(TILE_M, 1), padding_mode=ct.PaddingMode.ZERO)
        sums = sums + products * (of_rows * ct.load(scale_b, index=(n, k), shape=(1, 1)))
    ct.store(y, index=(m, n), tile=ct.astype(sums, y.dtype))
