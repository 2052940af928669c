"""Y = scale_a scale_b (A B^T) of 8-bit floats, as in fp8_matmul.py. Each tile's products are summed by tensor cores, and these
sums in float32: grid (ceil(M / TILE_M), ceil(N / TILE_N))."""
import triton
import triton.language as tl

from fp8_matmul_declared import fp8_matmul_bundle  # noqa: F401


@triton.jit
def fp8_matmul(a, b, scale_a, scale_b, y, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    rows = (tl.program_id(0) * TILE_M + tl.arange(0, TILE_M))[:, None]
    columns = (tl.program_id(1) * TILE_N + tl.arange(0, TILE_N))[None, :]
    inner = tl.arange(0, TILE_K)
    a_tile = a + rows.to(tl.int64) * K + inner[None, :]
    b_tile = b + columns.to(tl.int64) * K + inner[:, None]
    sums = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for k in range(0, K, TILE_K):
        a_values = tl.load(a_tile, mask=(rows < M) & (inner[None, :] < K - k), other=0.0)
        b_values = tl.load(b_tile, mask=(columns < N) & (inner[:, None] < K - k), other=0.0)
        sums += tl.dot(a_values, b_values)
        a_tile += TILE_K
        b_tile += TILE_K
    sums *= tl.load(scale_a) * tl.load(scale_b)
    tl.store(y + rows.to(tl.int64) * N + columns, sums.to(tl.bfloat16), mask=(rows < M) & (columns < N))
