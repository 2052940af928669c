"""Y = silu(X W_gate) (X W_up), element by element, as in dual_gemm.py."""
import triton
import triton.language as tl

from dual_gemm_declared import dual_gemm_bundle  # noqa: F401


@triton.jit
def dual_gemm(x, w_gate, w_up, y, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    rows = (tl.program_id(0) * TILE_M + tl.arange(0, TILE_M))[:, None]
    columns = (tl.program_id(1) * TILE_N + tl.arange(0, TILE_N))[None, :]
    inner = tl.arange(0, TILE_K)
    x_tile = x + rows.to(tl.int64) * K + inner[None, :]
    of_w = inner[:, None].to(tl.int64) * N + columns
    gate_tile, up_tile = w_gate + of_w, w_up + of_w
    gate = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    up = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for k in range(0, K, TILE_K):
        is_inside = (inner[:, None] < K - k) & (columns < N)
        x_values = tl.load(x_tile, mask=(rows < M) & (inner[None, :] < K - k), other=0.0)
        gate_values = tl.load(gate_tile, mask=is_inside, other=0.0)
        up_values = tl.load(up_tile, mask=is_inside, other=0.0)
        gate = tl.dot(x_values, gate_values, gate)
        up = tl.dot(x_values, up_values, up)
        x_tile += TILE_K
        gate_tile += TILE_K * N
        up_tile += TILE_K * N
    values = gate / (1.0 + tl.exp(-gate)) * up
    tl.store(y + rows.to(tl.int64) * N + columns, values.to(y.dtype.element_ty), mask=(rows < M) & (columns < N))
