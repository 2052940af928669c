"""C = A B for A (M, K), B (K, N), C (M, N), summed in float32: grid (ceil(M / TILE_M), ceil(N / TILE_N))."""
import cuda.tile as ct
from tuneonce.export import Declaration, dim, tensor


@ct.kernel
def matmul(a, b, c, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int], TILE_K: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    total = ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], TILE_K)):
        a_tile = ct.load(a, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        b_tile = ct.load(b, index=(k, n), shape=(TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a_tile, b_tile, total)
    ct.store(c, index=(m, n), tile=ct.astype(total, c.dtype))


matmul_bundle = Declaration(
    dims=["M", "N", "K"],
    parameters=[tensor("a", "float16", ["M", "K"]), tensor("b", "float16", ["K", "N"]),
                tensor("c", "float16", ["M", "N"], "out"), dim("M"), dim("N"), dim("K")],
    axes={"TILE_M": [64, 128], "TILE_N": [64, 128], "TILE_K": [32, 64]}, hint_axes={"occupancy": [1, 2]},
    baseline={"TILE_M": 128, "TILE_N": 128, "TILE_K": 64, "occupancy": 1},
    grid={"pattern": "tile_coverage", "tiles": [["M", {"axis": "TILE_M"}], ["N", {"axis": "TILE_N"}]]},
    divisible={"M": 16, "N": 16, "K": 16}, cpu="matmul.cpu.cc", work={"bytes": [[2, "M", "K"], [2, "K", "N"], [2, "M", "N"]], "operations": [[2, "M", "N", "K"]]},
    example={"dims": {"M": 4096, "N": 4096, "K": 4096}, "cpu_dims": {"M": 512, "N": 512, "K": 512}})
