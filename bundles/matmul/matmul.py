"""C = A B for A (M, K), B (K, N), C (M, N), summed in float32: grid (ceil(M / TILE_M), ceil(N / TILE_N)).

A tile of few rows is computed as C^T = B^T A^T: the tensor cores of 9.0 and 10.0 take 64 rows and more, but as few as 8
columns."""
import cuda.tile as ct

from matmul_declared import matmul_bundle  # noqa: F401

FEWEST_ROWS = 64  # Of a product of 9.0's (wgmma) and 10.0's tensor cores.


def thin_tile(a, b, m, n, TILE_M, TILE_N, TILE_K):
    total = ct.full((TILE_N, TILE_M), 0.0, dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], TILE_K)):
        a_tile = ct.load(a, index=(k, m), shape=(TILE_K, TILE_M), order=(1, 0), padding_mode=ct.PaddingMode.ZERO)
        b_tile = ct.load(b, index=(n, k), shape=(TILE_N, TILE_K), order=(1, 0), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(b_tile, a_tile, total)
    return ct.transpose(total)


def whole_tile(a, b, m, n, TILE_M, TILE_N, TILE_K):
    total = ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], TILE_K)):
        a_tile = ct.load(a, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        b_tile = ct.load(b, index=(k, n), shape=(TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a_tile, b_tile, total)
    return total


@ct.kernel
def matmul(a, b, c, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int], TILE_K: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    if TILE_M < FEWEST_ROWS:
        ct.store(c, index=(m, n), tile=ct.astype(thin_tile(a, b, m, n, TILE_M, TILE_N, TILE_K), c.dtype))
    else:
        ct.store(c, index=(m, n), tile=ct.astype(whole_tile(a, b, m, n, TILE_M, TILE_N, TILE_K), c.dtype))
