"""Rotary embedding in place, of x (tokens, heads, 2 * HALF): grid (tokens,), TILE_H heads at a time."""
import cuda.tile as ct
from tuneonce.export import Declaration, dim, tensor


@ct.kernel
def rope(x, cos, sin, TILE_H: ct.Constant[int], HALF: ct.Constant[int]):
    token = ct.bid(0)
    c = ct.reshape(ct.load(cos, index=(token, 0), shape=(1, HALF)), (1, 1, HALF))
    s = ct.reshape(ct.load(sin, index=(token, 0), shape=(1, HALF)), (1, 1, HALF))
    for block in range(ct.cdiv(x.shape[1], TILE_H)):
        low = ct.astype(ct.load(x, index=(token, block, 0), shape=(1, TILE_H, HALF)), ct.float32)
        high = ct.astype(ct.load(x, index=(token, block, 1), shape=(1, TILE_H, HALF)), ct.float32)
        ct.store(x, index=(token, block, 0), tile=ct.astype(low * c - high * s, x.dtype))
        ct.store(x, index=(token, block, 1), tile=ct.astype(high * c + low * s, x.dtype))


def config(backend, TILE_H, occupancy):
    return {"backend": backend, "TILE_H": TILE_H, "HALF": 64, "occupancy": occupancy}


rope_bundle = Declaration(
    version="2", dims=["T", "H", "D", "R"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("x", "float16", ["T", "H", "D"], "inout"), tensor("cos", "float32", ["T", "R"]),
                tensor("sin", "float32", ["T", "R"]), dim("T"), dim("H")],
    key=[{"dim": "T", "bucket": "next_pow2"}, {"dim": "H"}, {"dim": "R"}],
    configs=[*(config("tile", h, occupancy) for h, occupancy in ((4, 1), (8, 1), (16, 1), (16, 8), (32, 1), (32, 6))),
             *(config("cuda", h, 1) for h in (4, 8, 16))],
    baseline=config("tile", 8, 1),
    where=["R == HALF", "D == 2 * R", 'backend != "cuda" || device.capability > 0'],
    grid={"pattern": "tile_coverage", "tiles": [["T", 1]]},
    divisible={"H": 8, "D": 16, "R": 16}, cpu="rope.cpu.cc",
    work={"bytes": [[4, "T", "H", "D"], [8, "T", "R"]], "operations": [[3, "T", "H", "D"]]},
    example={"dims": {"T": 4096, "H": 32, "D": 128, "R": 64}})
