"""C = A B, of which several blocks share the K of a tile, as in split_k_matmul.py: grid (ceil(M / TILE_M), ceil(N / TILE_N),
splits)."""
import triton
import triton.language as tl

from split_k_matmul_declared import split_k_matmul_bundle  # noqa: F401


@triton.jit
def split_k_matmul(a, b, c, counters, partial, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
                   SPLITS: tl.constexpr):
    split = tl.program_id(2)
    of_split = tl.cdiv(tl.cdiv(K, TILE_K), SPLITS) * TILE_K
    begin = split * of_split
    end = tl.minimum(begin + of_split, K)
    in_rows, in_columns, inner = tl.arange(0, TILE_M), tl.arange(0, TILE_N), tl.arange(0, TILE_K)
    rows = (tl.program_id(0) * TILE_M + in_rows)[:, None]
    columns = (tl.program_id(1) * TILE_N + in_columns)[None, :]
    a_tile = a + rows.to(tl.int64) * K + begin + inner[None, :]
    b_tile = b + (begin + inner[:, None]).to(tl.int64) * N + columns
    sums = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for k in range(begin, end, TILE_K):
        a_values = tl.load(a_tile, mask=(rows < M) & (inner[None, :] < end - k), other=0.0)
        b_values = tl.load(b_tile, mask=(inner[:, None] < end - k) & (columns < N), other=0.0)
        sums = tl.dot(a_values, b_values, sums)
        a_tile += TILE_K
        b_tile += TILE_K * N
    of_c = c + rows.to(tl.int64) * N + columns
    is_in_c = (rows < M) & (columns < N)
    if SPLITS == 1:
        tl.store(of_c, sums.to(c.dtype.element_ty), mask=is_in_c)
    else:
        tile = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
        in_tile = in_rows[:, None] * TILE_N + in_columns[None, :]
        first = partial + tile.to(tl.int64) * SPLITS * TILE_M * TILE_N
        tl.store(first + split * TILE_M * TILE_N + in_tile, sums)
        tl.debug_barrier()  # All of the block have stored before one of it says so.
        # Releases what this block wrote, and acquires what those before it did.
        done = tl.atomic_add(counters + tile, 1, sem="acq_rel", scope="gpu")
        if done == SPLITS - 1:
            total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
            for part in range(0, SPLITS):
                total += tl.load(first + part * TILE_M * TILE_N + in_tile, cache_modifier=".cg")
            tl.store(of_c, total.to(c.dtype.element_ty), mask=is_in_c)
            tl.store(counters + tile, 0)
