"""y[:, j] = silu(x[:, j]) * x[:, N + j] for x of N * 2 columns: grid (M, ceil(N / TILE_N))."""
import cuda.tile as ct


@ct.kernel
def silu_and_mul(x, y, TILE_N: ct.Constant[int]):
    row = ct.bid(0)
    columns = ct.bid(1) * TILE_N + ct.arange(TILE_N, dtype=ct.int32)
    n = y.shape[1]
    inside = columns < n
    gate = ct.astype(ct.gather(x, (row, columns), mask=inside, padding_value=0), ct.float32)
    up = ct.astype(ct.gather(x, (row, columns + n), mask=inside, padding_value=0), ct.float32)
    silu = gate / (1.0 + ct.exp(-gate))
    ct.scatter(y, (row, columns), ct.astype(silu * up, y.dtype), mask=inside)
