"""C = A B, of which several blocks share the K of a tile: split_k_matmul_declared.py says it whole. Grid (ceil(M / TILE_M),
ceil(N / TILE_N), splits).

A tile of few rows is computed as C^T = B^T A^T: the tensor cores of 9.0 and 10.0 take 64 rows and more, but as few as 8
columns."""
import cuda.tile as ct

from split_k_matmul_declared import split_k_matmul_bundle  # noqa: F401

FEWEST_ROWS = 64  # Of a product of 9.0's (wgmma) and 10.0's tensor cores.


def thin_tile(a, b, at, first, last, TILE_M, TILE_N, TILE_K):
    m, n = at
    sums = ct.full((TILE_N, TILE_M), 0.0, dtype=ct.float32)
    for k in range(first, last):
        a_tile = ct.load(a, index=(k, m), shape=(TILE_K, TILE_M), order=(1, 0), padding_mode=ct.PaddingMode.ZERO)
        b_tile = ct.load(b, index=(n, k), shape=(TILE_N, TILE_K), order=(1, 0), padding_mode=ct.PaddingMode.ZERO)
        sums = ct.mma(b_tile, a_tile, sums)
    return ct.transpose(sums)


def whole_tile(a, b, at, first, last, TILE_M, TILE_N, TILE_K):
    m, n = at
    sums = ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)
    for k in range(first, last):
        a_tile = ct.load(a, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        b_tile = ct.load(b, index=(k, n), shape=(TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
        sums = ct.mma(a_tile, b_tile, sums)
    return sums


def partial_elements(block, TILE_M, TILE_N):
    """Where a block's sums are in the workspace."""
    rows = block * TILE_M + ct.reshape(ct.arange(TILE_M, dtype=ct.int32), (TILE_M, 1))
    return rows * TILE_N + ct.reshape(ct.arange(TILE_N, dtype=ct.int32), (1, TILE_N))


@ct.kernel
def split_k_matmul(a, b, c, counters, partial, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int],
                   TILE_K: ct.Constant[int]):
    at = (ct.bid(0), ct.bid(1))
    split, splits = ct.bid(2), ct.num_blocks(2)
    num_tiles = ct.cdiv(a.shape[1], TILE_K)
    of_split = ct.cdiv(num_tiles, splits)
    first = split * of_split
    last = ct.minimum(first + of_split, num_tiles)
    if TILE_M < FEWEST_ROWS:
        sums = thin_tile(a, b, at, first, last, TILE_M, TILE_N, TILE_K)
    else:
        sums = whole_tile(a, b, at, first, last, TILE_M, TILE_N, TILE_K)
    if splits == 1:
        ct.store(c, index=at, tile=ct.astype(sums, c.dtype))
    else:
        tile = ct.bid(0) * ct.num_blocks(1) + ct.bid(1)
        ct.scatter(partial, partial_elements(tile * splits + split, TILE_M, TILE_N), sums)
        # Releases what this block wrote, and acquires what those before it did.
        done = ct.atomic_add(counters, tile, 1, memory_order=ct.MemoryOrder.ACQ_REL, memory_scope=ct.MemoryScope.DEVICE)
        if done == splits - 1:
            total = ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)
            for part in range(splits):
                total = total + ct.gather(partial, partial_elements(tile * splits + part, TILE_M, TILE_N))
            ct.store(c, index=at, tile=ct.astype(total, c.dtype))
            ct.scatter(counters, tile, 0)
