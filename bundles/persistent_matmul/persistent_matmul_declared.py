"""What the kernels of persistent_matmul.py and persistent_matmul_triton.py have in common: one bundle, in which their
code races."""
from tuneonce.export import Declaration, dim, tensor

TILES = [["M", {"axis": "TILE_M"}], ["N", {"axis": "TILE_N"}]]


def config(backend, tiles, occupancy=1, num_ctas=1, num_warps=0, num_stages=0):
    return {"backend": backend, "TILE_M": tiles[0], "TILE_N": tiles[1], "TILE_K": tiles[2], "occupancy": occupancy,
            "num_ctas": num_ctas, "num_warps": num_warps, "num_stages": num_stages}


persistent_matmul_bundle = Declaration(
    version="2", dims=["M", "N", "K"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("a", "float16", ["M", "K"]), tensor("b", "float16", ["K", "N"]),
                tensor("c", "float16", ["M", "N"], "out"), dim("M"), dim("N"), dim("K")],
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}, {"dim": "K"}],
    configs=[
        *(config("tile", (m, n, 64), occupancy) for m in (64, 128) for n in (64, 128) for occupancy in (1, 2)),
        config("tile", (128, 128, 64), num_ctas=2),
        config("tile", (128, 256, 64), num_ctas=2), config("tile", (256, 128, 64), num_ctas=2),
        config("tile", (128, 64, 128), num_ctas=2), config("tile", (16, 64, 128)), config("tile", (16, 128, 64)),
        config("tile", (128, 32, 64), occupancy=2), config("tile", (256, 32, 128), occupancy=2),  # See matmul.
        config("triton", (64, 64, 64), occupancy=2, num_warps=4, num_stages=4),
        config("triton", (128, 128, 64), num_warps=8, num_stages=3),
        config("triton", (128, 256, 64), num_warps=8, num_stages=3),
        config("cuda", (64, 64, 64), occupancy=2), config("cuda", (128, 128, 64))],
    baseline=config("tile", (128, 128, 64)),
    # Tiles of 16 rows are for 256 rows at most.
    where=["16 / TILE_M * M <= 256",
           "TILE_M != 256 || device.capability >= 90 && device.capability <= 110",
           "num_ctas != 2 || device.capability >= 90 && device.capability <= 110",
           'backend != "triton" || device.capability == 90',
           'backend != "cuda" || device.capability > 0'],
    grid={"pattern": "persistent_tiles", "tiles": TILES, "num_ctas": {"axis": "num_ctas"},
          "occupancy": {"axis": "occupancy"}},
    divisible={"N": 16, "K": 16}, unaligned=[["N"], ["K"], ["N", "K"]], cpu="persistent_matmul.cpu.cc",
    work={"bytes": [[2, "M", "K"], [2, "K", "N"], [2, "M", "N"]], "operations": [[2, "M", "N", "K"]]},
    example={"dims": {"M": 4096, "N": 4096, "K": 4096}, "cpu_dims": {"M": 512, "N": 512, "K": 512}})
