"""What the kernel of decode_attention.py is, and what it is launched with.

o = softmax(scale q k^T) v for one new query per sequence: q and o (B, H, D), caches k and v (B, G, C, D), of which
sequence b has the first lengths[b] keys, at most C (capacity); of none come zeros. Of H heads each H / G, side by
side, share a head of k and v (GQA; MQA where G is 1). `scale` is usually 1 / sqrt(D). The lengths lie on the device, so
that one graph serves them all.

SPLITS blocks share the keys of a sequence and a head of k and v (T. Dao, D. Haziza, F. Massa, G. Sizov,
Flash-Decoding, https://crfm.stanford.edu/2023/10/12/flashdecoding.html): each writes its output and the log2 of its sum
of exponents into workspaces, and the one that finishes last weighs them, in the order of the splits, so that the result
does not depend on which one that was. `counters` tells it that it is the last: a number per sequence and head, 0 before
a launch and 0 after it. A workspace cannot be that: what it holds is undefined. Launches that may run side by side need
counters of their own.

A block has 16 heads of those that share keys, so that tensor cores have rows enough and the cache is read once for
them; of more heads blocks read it again.

It is tuned where all lengths are C; `work` is of that. SPLITS * TILE_N is at most the bound of C's bucket. Tolerance:
see ../attention/attention_declared.py."""
from tuneonce.export import (ConstantOf, Declaration, add, blocks, ceil_div, dim, floor_div, product, scalar, tensor,
                             tensors, workspace)

HEAD_DIMS = [64, 128, 256]
HEADS = 16  # Of a block: the fewest rows of the tensor cores' products (m16n8k16).
SPLITS = [1, 2, 4, 8, 16, 32]
GROUPS = product("G", ceil_div(floor_div("H", "G"), HEADS))  # Blocks for one sequence, but for splits.
IS_SPLIT = add(1, product(-1, floor_div(1, "SPLITS")))
PARTIAL_ROWS = product(IS_SPLIT, "SPLITS", GROUPS, HEADS, "B")


def config(backend, tile_n, splits, occupancy=1, num_warps=0, num_stages=0):
    return {"backend": backend, "TILE_N": tile_n, "SPLITS": splits, "occupancy": occupancy,
            "num_warps": num_warps, "num_stages": num_stages}


decode_attention_bundle = Declaration(
    dims=["B", "C", "H", "G", "D"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("q", "float16", ["B", "H", "D"]), *tensors("k v", "float16", ["B", "G", "C", "D"]),
                tensor("lengths", "int32", ["B"], warmup="C"), tensor("o", "float16", ["B", "H", "D"], "out"),
                tensor("counters", "int32", ["B", "H"], "inout", warmup=0), scalar("scale", "float32", warmup=0.125),
                workspace("partial_o", product(PARTIAL_ROWS, "D"), "float32"),
                workspace("partial_lse", PARTIAL_ROWS, "float32"), *map(dim, "CHGD")],
    key=[{"dim": "B", "bucket": "next_pow2"}, {"dim": "C", "bucket": "next_pow2"}, {"dim": "H"}, {"dim": "G"},
         {"dim": "D"}],
    constants={"D": ConstantOf("D", HEAD_DIMS)},
    configs=[*(config("tile", tile_n, splits, 2) for tile_n in (64, 128, 256) for splits in SPLITS),
             *(config("tile", 64, splits, 4) for splits in SPLITS[:4]),
             *(config("triton", 64, splits, num_warps=4, num_stages=3) for splits in (4, 16)),
             *(config("cuda", 64, splits) for splits in SPLITS)],
    baseline=config("tile", 64, 1, 2),
    where=["H % G == 0",
           "SPLITS * TILE_N <= max(64, 2 * C - 1)",
           'backend != "triton" || device.capability == 90',
           'backend != "cuda" || device.capability > 0'],
    grid=blocks("SPLITS", GROUPS, "B"), grids={"cpu": blocks("H", "B")},
    alignments={"lengths": 4, "counters": 4}, cpu="decode_attention.cpu.cc",
    tolerance={"absolute": 4e-3, "relative": 1e-2},
    work={"bytes": [[4, "B", "G", "C", "D"], [4, "B", "H", "D"]], "operations": [[4, "B", "H", "C", "D"]]},
    # 40 heads: of 32 one G needs as many blocks as two, which `bundle check` takes for a grid that is rounded down.
    example={"dims": {"B": 16, "C": 8192, "H": 40, "G": 8, "D": 128},
             "cpu_dims": {"B": 2, "C": 256, "H": 4, "G": 2, "D": 64}, "scalars": {"scale": 0.08838834764831845}})
