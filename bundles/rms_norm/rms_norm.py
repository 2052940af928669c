"""y = x / sqrt(mean(x^2) + eps) * w, one row per block. TILE_N must cover a row."""
import cuda.tile as ct
from tuneonce.export import Declaration, dim, scalar, tensor


@ct.kernel
def rms_norm(x, w, y, eps: float, TILE_N: ct.Constant[int]):
    row = ct.bid(0)
    x_row = ct.astype(ct.load(x, index=(row, 0), shape=(1, TILE_N), padding_mode=ct.PaddingMode.ZERO), ct.float32)
    weight = ct.astype(ct.load(w, index=(0,), shape=(TILE_N,), padding_mode=ct.PaddingMode.ZERO), ct.float32)
    mean_square = ct.sum(x_row * x_row, axis=1, keepdims=True) / x.shape[1]
    scaled = x_row * ct.rsqrt(mean_square + eps) * ct.reshape(weight, (1, TILE_N))
    ct.store(y, index=(row, 0), tile=ct.astype(scaled, y.dtype))


rms_norm_bundle = Declaration(
    dims=["M", "N"],
    parameters=[tensor("x", "float16", ["M", "N"]), tensor("w", "float16", ["N"]),
                tensor("y", "float16", ["M", "N"], "out"), scalar("eps", "float32", warmup=1e-5), dim("M"), dim("N")],
    axes={"TILE_N": [1024, 4096]}, hint_axes={"occupancy": [1, 2, 4]}, baseline={"TILE_N": 4096, "occupancy": 1},
    guards=[{"dim": "N", "at_most": "TILE_N"}], grid={"pattern": "tile_coverage", "tiles": [["M", 1]]},
    divisible={"N": 16}, cpu="rms_norm.cpu.cc", work={"bytes": [[4, "M", "N"], [2, "N"]], "operations": [[4, "M", "N"]]},
    example={"dims": {"M": 4096, "N": 4096}, "scalars": {"eps": 1e-5}})
