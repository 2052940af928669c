"""C = A B as in matmul_triton.py, by any number of programs: each takes every num_programs-th tile of C, row by row."""
import triton
import triton.language as tl

from persistent_matmul_declared import persistent_matmul_bundle  # noqa: F401


@triton.jit
def persistent_matmul(a, b, c, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    tiles_n = tl.cdiv(N, TILE_N)
    for tile in range(tl.program_id(0), tl.cdiv(M, TILE_M) * tiles_n, tl.num_programs(0)):
        rows = (tile // tiles_n * TILE_M + tl.arange(0, TILE_M))[:, None]
        columns = (tile % tiles_n * TILE_N + tl.arange(0, TILE_N))[None, :]
        inner = tl.arange(0, TILE_K)
        a_tile = a + rows.to(tl.int64) * K + inner[None, :]
        b_tile = b + inner[:, None].to(tl.int64) * N + columns
        total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
        for k in range(0, K, TILE_K):
            a_values = tl.load(a_tile, mask=(rows < M) & (inner[None, :] < K - k), other=0.0)
            b_values = tl.load(b_tile, mask=(inner[:, None] < K - k) & (columns < N), other=0.0)
            total = tl.dot(a_values, b_values, total)
            a_tile += TILE_K
            b_tile += TILE_K * N
        tl.store(c + rows.to(tl.int64) * N + columns, total.to(c.dtype.element_ty), mask=(rows < M) & (columns < N))
