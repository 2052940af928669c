"""What the kernels of attention.py and attention_triton.py have in common: one bundle, in which their code races.

o = softmax(scale q k^T) v for S queries and T keys of each head. Of H heads each H / G, side by side, share a head of
k and v (GQA; MQA where G is 1). `causal`: query i sees the keys up to i + T - S, so that the last query sees them all,
as in a prefill of a part. A query that sees no key gets zeros. `scale` is usually 1 / sqrt(D).

The tolerance: probabilities are rounded to half before they are multiplied with v, and each tile size has other ones,
which are relative to another maximum. Of two results each is off by 2^-11 of the largest |v| at most; for |v| up to 4
that is 4e-3 between them. Results near 0 are sums that cancel, so that it is no share of the result."""
from tuneonce.export import ConstantOf, Declaration, blocks, ceil_div, derived, dim, scalar, tensor, tensors

HEAD_DIMS = [64, 128, 256]
LARGEST_SUMS = 16384  # Of a block's output, in float32: with more, tileiras 13.5 spills registers on 9.0.


def config(backend, tiles, occupancy=1, num_ctas=1, num_warps=0, num_stages=0, fast_math=False):
    return {"backend": backend, "TILE_M": tiles[0], "TILE_N": tiles[1], "occupancy": occupancy, "num_ctas": num_ctas,
            "num_warps": num_warps, "num_stages": num_stages, "ftz": fast_math, "approx": fast_math}


attention_bundle = Declaration(
    dims=["S", "T", "B", "H", "G", "D"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("q", "float16", ["B", "H", "S", "D"]), *tensors("k v", "float16", ["B", "G", "T", "D"]),
                tensor("o", "float16", ["B", "H", "S", "D"], "out"), scalar("scale", "float32", warmup=0.125),
                scalar("causal", "bool", warmup=True), *map(dim, "STHGD")],
    more_parameters=[derived("batches", "B")],  # Of CUDA Tile C++.
    key=[{"dim": "S", "bucket": "next_pow2"}, {"dim": "T", "bucket": "next_pow2"}, {"dim": "B", "bucket": "next_pow2"},
         {"dim": "H"}, {"dim": "G"}, {"dim": "D"}, {"value_of": "causal"}],
    constants={"D": ConstantOf("D", HEAD_DIMS)}, option_axes={"ftz": [False, True], "approx": [False, True]},
    configs=[
        *(config("tile", tiles, occupancy) for tiles in ((64, 32), (64, 64), (128, 64), (128, 128))
          for occupancy in (1, 2)),
        config("tile", (64, 64), 4), config("tile", (64, 128), 2),
        *(config("tile", tiles, occupancy, num_ctas=2) for tiles in ((128, 64), (128, 128)) for occupancy in (1, 2)),
        config("tile", (256, 128)),  # Where sums have a memory of their own.
        # Flags of all operations, where exp2 alone flushes subnormal numbers without them.
        *(config("tile", tiles, occupancy, fast_math=True) for tiles in ((64, 64), (128, 64), (128, 128))
          for occupancy in (1, 2)),
        config("tile", (64, 128), 2, fast_math=True), config("tile", (128, 128), 2, num_ctas=2, fast_math=True),
        config("triton", (64, 64), num_warps=4, num_stages=3), config("triton", (128, 64), num_warps=8, num_stages=2),
        config("cuda", (32, 32)), config("cuda", (64, 32))],
    baseline=[{"config": config("tile", (128, 64))}, {"config": config("tile", (64, 64))}],
    where=["H % G == 0",
           "min(TILE_M, 128) * D <= 16384",
           "!ftz || device.capability > 0",
           "num_ctas != 2 || device.capability >= 90 && device.capability <= 110",
           "TILE_M != 256 || device.capability >= 100 && device.capability <= 110",
           'backend != "triton" || device.capability == 90',
           'backend != "cuda" || device.capability > 0'],
    grid=blocks(ceil_div("S", "TILE_M"), "H", "B"), cpu="attention.cpu.cc",
    tolerance={"absolute": 4e-3, "relative": 1e-2},
    work={"bytes": [[4, "B", "H", "S", "D"], [4, "B", "G", "T", "D"]],
          "operations": [[4, "B", "H", "S", "T", "D"], [-2, "B", "H", "S", "S", "D", "causal"]]},
    example={"dims": {"S": 4096, "T": 4096, "B": 2, "H": 32, "G": 8, "D": 128},
             "cpu_dims": {"S": 128, "T": 128, "B": 1, "H": 4, "G": 2, "D": 64},
             "scalars": {"scale": 0.08838834764831845, "causal": 1}})
