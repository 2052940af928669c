"""Y = A B^T of 8-bit floats with scales of blocks, as in fp8_block_matmul.py: grid (ceil(M / TILE_M), ceil(N / TILE_N))."""
import triton
import triton.language as tl

from fp8_block_matmul_declared import fp8_block_matmul_bundle  # noqa: F401


@triton.jit
def fp8_block_matmul(a, b, scale_a, scale_b, y, M, N, K, KB, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
                     TILE_K: tl.constexpr):
    """TILE_N and TILE_K are those of a block of scales, 128."""
    n = tl.program_id(1)
    rows = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    columns = n * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, TILE_K)
    a_tile = a + rows[:, None].to(tl.int64) * K + inner[None, :]
    b_tile = b + columns[None, :].to(tl.int64) * K + inner[:, None]
    sums = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for k in range(0, KB):
        left = K - k * TILE_K
        a_values = tl.load(a_tile, mask=(rows[:, None] < M) & (inner[None, :] < left), other=0.0)
        b_values = tl.load(b_tile, mask=(columns[None, :] < N) & (inner[:, None] < left), other=0.0)
        of_rows = tl.load(scale_a + rows * KB + k, mask=rows < M, other=0.0)
        sums += tl.dot(a_values, b_values) * (of_rows * tl.load(scale_b + n * KB + k))[:, None]
        a_tile += TILE_K
        b_tile += TILE_K
    tl.store(y + rows[:, None].to(tl.int64) * N + columns[None, :], sums.to(tl.bfloat16),
             mask=(rows[:, None] < M) & (columns[None, :] < N))
