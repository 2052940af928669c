"""Y = silu(X W_gate) (X W_up), element by element, for X (M, K), W (K, N), Y (M, N), summed in float32: both products
of a tile in one block, so that X is read once and neither product goes to memory: grid (ceil(M / TILE_M),
ceil(N / TILE_N))."""
import cuda.tile as ct

from dual_gemm_declared import dual_gemm_bundle  # noqa: F401


@ct.kernel
def dual_gemm(x, w_gate, w_up, y, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int], TILE_K: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    gate = ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)
    up = ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[1], TILE_K)):
        x_tile = ct.load(x, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        gate_tile = ct.load(w_gate, index=(k, n), shape=(TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
        up_tile = ct.load(w_up, index=(k, n), shape=(TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
        gate = ct.mma(x_tile, gate_tile, gate)
        up = ct.mma(x_tile, up_tile, up)
    silu = gate / (1.0 + ct.exp(-gate))
    ct.store(y, index=(m, n), tile=ct.astype(silu * up, y.dtype))
