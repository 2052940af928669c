"""What the kernel of varlen_attention.py is, and what it is launched with.

o = softmax(scale q k^T) v within each of several sequences that follow each other in q and o (T, H, D), k and v
(T, G, D): sequence i has the rows from cu_seqlens[i] up to, but not, cu_seqlens[i + 1]. cu_seqlens has one number more
(OFFSETS) than there are sequences, the first is 0, none is less than the one before. Rows behind the last one are left
as they are. Of H heads each H / G, side by side, share a head of k and v (GQA; MQA where G is 1). `causal`: a query
sees the keys up to its own. `scale` is usually 1 / sqrt(D).

The lengths lie on the device, so the grid is an upper bound of the tiles: sequence i begins with block cu_seqlens[i] /
TILE_M + i (rounded down), which leaves room for all of its tiles, since floor((a + n) / t) + 1 - floor(a / t) >= ceil(n
/ t). So there are T / TILE_M + OFFSETS - 1 blocks for a head, of which one per sequence at most finds nothing to do.

It is tuned where sequence i has a share of 1 / (i + 1) of the rows: few long ones and many short ones. What it computes
depends on the lengths, so that only its bytes are declared. The configs are from the family's (tuneonce/search_space.h),
two of Triton's, and two of CUDA C++. Tolerance: see ../attention/attention_declared.py."""
from tuneonce.export import ConstantOf, Declaration, add, blocks, dim, floor_div, scalar, tensor, tensors

HEAD_DIMS = [64, 128]


def config(backend, tiles, occupancy=1, num_warps=0, num_stages=0):
    return {"backend": backend, "TILE_M": tiles[0], "TILE_N": tiles[1], "occupancy": occupancy,
            "num_warps": num_warps, "num_stages": num_stages}


varlen_attention_bundle = Declaration(
    dims=["T", "OFFSETS", "H", "G", "D"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("q", "float16", ["T", "H", "D"]), *tensors("k v", "float16", ["T", "G", "D"]),
                tensor("cu_seqlens", "int32", ["OFFSETS"], warmup={"offsets": ["T", 1]}),
                tensor("o", "float16", ["T", "H", "D"], "out", may_be_partial=True),
                scalar("scale", "float32", warmup=0.125), scalar("causal", "bool", warmup=True),
                *map(dim, ("OFFSETS", "H", "G", "D"))],
    key=[{"dim": "T", "bucket": "next_pow2"}, {"dim": "OFFSETS", "bucket": "next_pow2"}, {"dim": "H"}, {"dim": "G"},
         {"dim": "D"}, {"value_of": "causal"}],
    constants={"D": ConstantOf("D", HEAD_DIMS)},
    configs=[
        config("tile", (64, 64), 2), config("tile", (32, 32), 4), config("tile", (64, 64), 4), config("tile", (64, 128), 2),
        *(config("tile", tiles, occupancy) for tiles in ((128, 64), (128, 128)) for occupancy in (1, 2)),
        config("tile", (256, 64)), config("tile", (256, 128)), config("tile", (256, 128), 2),
        config("triton", (64, 64), num_warps=4, num_stages=3), config("triton", (128, 64), num_warps=8, num_stages=2),
        config("cuda", (32, 32)), config("cuda", (64, 32))],
    baseline=[{"config": config("tile", (128, 128)), "where": "device.capability >= 90 && device.capability <= 110"},
              {"config": config("tile", (64, 64), 2)}],
    where=["H % G == 0",
           "TILE_M <= max(64, 2 * T - 1)",
           "TILE_M != 256 || device.capability >= 100 && device.capability <= 110",
           '!(backend == "tile" && TILE_N == 128) || device.capability >= 90 && device.capability <= 110',
           'backend != "triton" || device.capability == 90',
           'backend != "cuda" || device.capability > 0'],
    grid=blocks(add(floor_div("T", "TILE_M"), "OFFSETS", -1), "H"),
    alignments={"cu_seqlens": 4}, cpu="varlen_attention.cpu.cc",
    tolerance={"absolute": 4e-3, "relative": 1e-2},
    work={"bytes": [[4, "T", "H", "D"], [4, "T", "G", "D"]]},
    example={"dims": {"T": 8192, "OFFSETS": 17, "H": 32, "G": 8, "D": 128},
             "cpu_dims": {"T": 128, "OFFSETS": 5, "H": 4, "G": 2, "D": 64},
             "scalars": {"scale": 0.08838834764831845, "causal": 1}})
