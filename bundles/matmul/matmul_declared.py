"""What the kernels of matmul.py and matmul_triton.py have in common: one bundle, in which their code races."""
from tuneonce.export import Declaration, dim, tensor

TILES = [["M", {"axis": "TILE_M"}], ["N", {"axis": "TILE_N"}]]


def config(backend, tiles, occupancy=1, num_ctas=1, num_warps=0, num_stages=0):
    return {"backend": backend, "TILE_M": tiles[0], "TILE_N": tiles[1], "TILE_K": tiles[2], "occupancy": occupancy,
            "num_ctas": num_ctas, "num_warps": num_warps, "num_stages": num_stages}


matmul_bundle = Declaration(
    version="2", dims=["M", "N", "K"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("a", "float16", ["M", "K"]), tensor("b", "float16", ["K", "N"]),
                tensor("c", "float16", ["M", "N"], "out"), dim("M"), dim("N"), dim("K")],
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}, {"dim": "K"}],
    configs=[
        *(config("tile", (m, n, 64), occupancy) for m in (64, 128) for n in (64, 128) for occupancy in (1, 2)),
        *(config("tile", (m, n, 32)) for m in (64, 128) for n in (64, 128)),
        *(config("tile", (128, n, 32), occupancy=2) for n in (64, 128)),
        config("tile", (128, 128, 64), num_ctas=2),
        config("tile", (128, 256, 64), num_ctas=2), config("tile", (256, 128, 64), num_ctas=2),
        # Half a tile of 256 rows or columns is what one block holds, so that two of them fit a multiprocessor.
        config("tile", (128, 256, 32), occupancy=2, num_ctas=2), config("tile", (256, 128, 32), occupancy=2, num_ctas=2),
        *(config("tile", tiles) for tiles in ((16, 64, 64), (16, 64, 128), (16, 128, 128), (32, 128, 64))),
        # Where rows of b begin anywhere they are loaded element by element: few columns, for many rows.
        config("tile", (128, 32, 64), occupancy=2), config("tile", (256, 32, 128), occupancy=2),
        config("triton", (64, 64, 64), num_warps=4, num_stages=4),
        config("triton", (128, 128, 64), num_warps=8, num_stages=3),
        config("triton", (128, 256, 64), num_warps=8, num_stages=3),
        config("cuda", (64, 64, 32)), config("cuda", (128, 128, 32))],
    baseline=config("tile", (128, 128, 64)),
    # Tiles of 16 and of 32 rows are for 256 and 768 rows at most.
    where=["63 / TILE_M * M <= 768",
           "TILE_M != 256 || device.capability >= 90 && device.capability <= 110",
           "num_ctas != 2 || device.capability >= 90 && device.capability <= 110",
           'backend != "triton" || device.capability == 90',
           'backend != "cuda" || device.capability > 0'],
    grid={"pattern": "tile_coverage", "tiles": TILES},
    divisible={"N": 16, "K": 16}, unaligned=[["N"], ["K"], ["N", "K"]], cpu="matmul.cpu.cc",
    work={"bytes": [[2, "M", "K"], [2, "K", "N"], [2, "M", "N"]], "operations": [[2, "M", "N", "K"]]},
    example={"dims": {"M": 4096, "N": 4096, "K": 4096}, "cpu_dims": {"M": 512, "N": 512, "K": 512}})
