"""C = A B as in matmul.py, by any number of blocks: each takes every num_blocks-th tile of C, row by row."""
import cuda.tile as ct

from persistent_matmul_declared import persistent_matmul_bundle  # noqa: F401


@ct.kernel
def persistent_matmul(a, b, c, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int], TILE_K: ct.Constant[int]):
    tiles_n = ct.cdiv(c.shape[1], TILE_N)
    tiles = ct.cdiv(c.shape[0], TILE_M) * tiles_n
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        m, n = tile // tiles_n, tile % tiles_n
        total = ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)
        for k in range(ct.cdiv(a.shape[1], TILE_K)):
            a_tile = ct.load(a, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
            b_tile = ct.load(b, index=(k, n), shape=(TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
            total = ct.mma(a_tile, b_tile, total)
        ct.store(c, index=(m, n), tile=ct.astype(total, c.dtype))
