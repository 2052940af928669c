"""What the kernel of split_k_matmul.py is, and what it is launched with.

c = a b for a (M, K), b (K, N), c (M, N), summed in float32, where M and N are too small for a block per tile to fill a GPU:
SPLITS blocks share the K of a tile. Each writes its sums into a workspace, and the one that finishes last adds them up, in
the order of the splits, so that the result does not depend on which one that was. `counters` tells it that it is the last:
a number per tile of c, 0 before a launch and 0 after it. A workspace cannot be that: what it holds is undefined. Launches
that may run side by side need counters of their own. ceil(M / 16) ceil(N / 64) counters (COUNTERS) are enough for all
configs; where there are fewer, those that need more are left out, and none is needed where SPLITS is 1."""
from tuneonce.export import Declaration, add, blocks, ceil_div, dim, floor_div, product, tensor, workspace

TILES = product(ceil_div("M", "TILE_M"), ceil_div("N", "TILE_N"))
IS_SPLIT = add(1, product(-1, floor_div(1, "SPLITS")))


def config(backend, tiles, splits, occupancy=1, num_warps=0, num_stages=0):
    return {"backend": backend, "TILE_M": tiles[0], "TILE_N": tiles[1], "TILE_K": tiles[2], "SPLITS": splits,
            "occupancy": occupancy, "num_warps": num_warps, "num_stages": num_stages}


split_k_matmul_bundle = Declaration(
    dims=["M", "N", "K", "COUNTERS"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("a", "float16", ["M", "K"]), tensor("b", "float16", ["K", "N"]),
                tensor("c", "float16", ["M", "N"], "out"), tensor("counters", "int32", ["COUNTERS"], "inout", warmup=0),
                workspace("partial", product(IS_SPLIT, "SPLITS", TILES, "TILE_M", "TILE_N"), "float32"),
                dim("M"), dim("N"), dim("K")],
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}, {"dim": "K"}],
    configs=[
        *(config("tile", tiles, splits, 2) for tiles in ((16, 64, 128), (16, 128, 128)) for splits in (1, 2, 4, 8, 16)),
        *(config("tile", tiles, splits) for tiles in ((64, 64, 64), (64, 128, 64)) for splits in (1, 2, 4, 8)),
        *(config("tile", (32, 64, 64), splits, 2) for splits in (4, 8, 16)),
        *(config("tile", (128, 128, 64), splits) for splits in (1, 2, 4)),
        *(config("triton", (16, 64, 128), splits, num_warps=4, num_stages=4) for splits in (4, 16)),
        config("triton", (64, 64, 64), 4, num_warps=4, num_stages=4),
        *(config("cuda", (16, 64, 32), splits) for splits in (1, 16)), config("cuda", (64, 64, 32), 1)],
    baseline=config("tile", (64, 128, 64), 1),
    where=["(1 - 1 / SPLITS) * (ceil_div(M, TILE_M) * ceil_div(N, TILE_N)) <= COUNTERS",
           "SPLITS * TILE_K <= max(TILE_K, K)",
           # Tiles of 16 rows are for 256 at most, and those of 128 for more than 64.
           "16 / TILE_M * M <= 256",
           "TILE_M <= max(64, 2 * M - 1)",
           'backend != "triton" || device.capability == 90',
           'backend != "cuda" || device.capability > 0'],
    grid=blocks(ceil_div("M", "TILE_M"), ceil_div("N", "TILE_N"), "SPLITS"),
    grids={"cpu": blocks(ceil_div("M", "TILE_M"), ceil_div("N", "TILE_N"))},
    alignments={"counters": 4}, divisible={"N": 16, "K": 16}, unaligned=[["N"], ["K"], ["N", "K"]],
    cpu="split_k_matmul.cpu.cc",
    work={"bytes": [[2, "M", "K"], [2, "K", "N"], [2, "M", "N"]], "operations": [[2, "M", "N", "K"]]},
    example={"dims": {"M": 16, "N": 4096, "K": 14336, "COUNTERS": 64},
             "cpu_dims": {"M": 16, "N": 128, "K": 1024, "COUNTERS": 2}})
