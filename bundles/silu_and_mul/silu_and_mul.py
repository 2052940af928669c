"""y[:, j] = silu(x[:, j]) * x[:, N + j] for x of N * 2 columns: grid (M, ceil(N / TILE_N))."""
import cuda.tile as ct
from tuneonce.export import Declaration, dim, tensor


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


def config(backend, TILE_N, occupancy):
    return {"backend": backend, "TILE_N": TILE_N, "occupancy": occupancy}


silu_and_mul_bundle = Declaration(
    version="2", dims=["M", "N", "N2"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("x", "float16", ["M", "N2"]), tensor("y", "float16", ["M", "N"], "out"), dim("M"), dim("N")],
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}],
    configs=[*(config("tile", n, occupancy) for n, occupancy in ((256, 1), (512, 1), (1024, 1), (1024, 8), (2048, 1),
                                                                     (2048, 8))),
             *(config("cuda", n, 1) for n in (512, 1024, 2048, 8192))],
    baseline=config("tile", 1024, 1),
    where=["N2 == 2 * N", 'backend != "cuda" || device.capability > 0'],
    grid={"pattern": "tile_coverage", "tiles": [["M", 1], ["N", {"axis": "TILE_N"}]]},
    divisible={"N": 16, "N2": 16}, unaligned=[["N", "N2"]], cpu="silu_and_mul.cpu.cc",
    work={"bytes": [[6, "M", "N"]], "operations": [[5, "M", "N"]]},
    example={"dims": {"M": 4096, "N": 4096, "N2": 8192}})
