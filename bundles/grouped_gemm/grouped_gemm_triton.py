"""Y = X W of each row's group, as in grouped_gemm.py: grid (T // TILE_M + E, ceil(N / TILE_N))."""
import triton
import triton.language as tl

from grouped_gemm_declared import grouped_gemm_bundle  # noqa: F401


@triton.jit
def group_of(block, offsets, E, TILE_M: tl.constexpr):
    """The last group that begins with this block or before."""
    count = 0
    for part in range(0, E, 256):
        groups = part + tl.arange(0, 256)
        begins = tl.load(offsets + groups, mask=groups < E, other=0)
        count += tl.sum(((begins // TILE_M + groups <= block) & (groups < E)).to(tl.int32))
    return count - 1


@triton.jit
def grouped_gemm(x, w, offsets, y, E, K, N, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    block = tl.program_id(0)
    group = group_of(block, offsets, E, TILE_M)
    begin, end = tl.load(offsets + group), tl.load(offsets + group + 1)
    first = begin + (block - begin // TILE_M - group) * TILE_M
    if first < end:
        rows = (first + tl.arange(0, TILE_M))[:, None]
        columns = (tl.program_id(1) * TILE_N + tl.arange(0, TILE_N))[None, :]
        inner = tl.arange(0, TILE_K)
        x_tile = x + rows.to(tl.int64) * K + inner[None, :]
        w_tile = w + group.to(tl.int64) * K * N + inner[:, None].to(tl.int64) * N + columns
        sums = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
        for k in range(0, K, TILE_K):
            x_values = tl.load(x_tile, mask=(rows < end) & (inner[None, :] < K - k), other=0.0)
            w_values = tl.load(w_tile, mask=(inner[:, None] < K - k) & (columns < N), other=0.0)
            sums = tl.dot(x_values, w_values, sums)
            x_tile += TILE_K
            w_tile += TILE_K * N
        tl.store(y + rows.to(tl.int64) * N + columns, sums.to(y.dtype.element_ty), mask=(rows < end) & (columns < N))
