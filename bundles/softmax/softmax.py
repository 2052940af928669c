"""y = softmax(x) by rows, one row per block. TILE_N must cover a row."""
import cuda.tile as ct
from tuneonce.export import Declaration, dim, tensor


@ct.kernel
def softmax(x, y, TILE_N: ct.Constant[int]):
    row = ct.bid(0)
    x_row = ct.astype(ct.load(x, index=(row, 0), shape=(1, TILE_N), padding_mode=ct.PaddingMode.NEG_INF), ct.float32)
    exponent = ct.exp(x_row - ct.max(x_row, axis=1, keepdims=True))
    ct.store(y, index=(row, 0), tile=ct.astype(exponent / ct.sum(exponent, axis=1, keepdims=True), y.dtype))


softmax_bundle = Declaration(
    dims=["M", "N"],
    parameters=[tensor("x", "float32", ["M", "N"]), tensor("y", "float32", ["M", "N"], "out"), dim("M"), dim("N")],
    axes={"TILE_N": [1024, 4096]}, hint_axes={"occupancy": [1, 2, 4]}, baseline={"TILE_N": 4096, "occupancy": 1},
    guards=[{"dim": "N", "at_most": "TILE_N"}], grid={"pattern": "tile_coverage", "tiles": [["M", 1]]},
    divisible={"N": 16}, cpu="softmax.cpu.cc", work={"bytes": [[8, "M", "N"]], "operations": [[5, "M", "N"]]},
    example={"dims": {"M": 4096, "N": 4096}})
