"""What the kernels of dual_gemm.py and dual_gemm_triton.py have in common: one bundle, in which their code races.

A tile has two sums, so the tiles are half as large as matmul's."""
from tuneonce.export import Declaration, dim, tensor, tensors

TILES = [["M", {"axis": "TILE_M"}], ["N", {"axis": "TILE_N"}]]


def config(backend, tiles, occupancy=1, num_ctas=1, num_warps=0, num_stages=0, num_worker_warps=None):
    return {"backend": backend, "TILE_M": tiles[0], "TILE_N": tiles[1], "TILE_K": tiles[2], "occupancy": occupancy,
            "num_ctas": num_ctas, "num_worker_warps": num_worker_warps, "num_warps": num_warps, "num_stages": num_stages}


dual_gemm_bundle = Declaration(
    dims=["M", "N", "K"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("x", "float16", ["M", "K"]), *tensors("w_gate w_up", "float16", ["K", "N"]),
                tensor("y", "float16", ["M", "N"], "out"), dim("M"), dim("N"), dim("K")],
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}, {"dim": "K"}],
    configs=[
        *(config("tile", (m, n, k), occupancy) for m, n in ((64, 64), (64, 128), (128, 64)) for k in (32, 64)
          for occupancy in (1, 2)),
        config("tile", (128, 128, 32)), config("tile", (128, 128, 64)),
        config("tile", (128, 128, 64), num_worker_warps=8),
        *(config("tile", (128, 128, 64), occupancy, num_ctas=2) for occupancy in (1, 2)),
        config("tile", (256, 64, 64), num_ctas=2),
        config("tile", (16, 64, 128)), config("tile", (16, 128, 64)), config("tile", (16, 128, 64), 2, num_ctas=2),
        # Where rows of weights begin anywhere: see matmul.
        config("tile", (128, 32, 64), 2), config("tile", (256, 32, 128), 2), config("tile", (256, 32, 128), 2, num_ctas=2),
        config("triton", (64, 64, 64), num_warps=4, num_stages=4),
        config("triton", (128, 64, 64), num_warps=4, num_stages=3),
        config("triton", (128, 128, 64), num_warps=8, num_stages=3),
        config("cuda", (64, 64, 32)), config("cuda", (128, 64, 32))],
    baseline=config("tile", (128, 64, 64)),
    # Tiles of 16 rows are for 256 rows at most.
    where=["16 / TILE_M * M <= 256",
           "TILE_M != 256 || device.capability >= 90 && device.capability <= 110",
           "num_ctas != 2 || device.capability >= 90 && device.capability <= 110",
           'backend != "triton" || device.capability == 90',
           'backend != "cuda" || device.capability > 0'],
    grid={"pattern": "tile_coverage", "tiles": TILES},
    divisible={"N": 16, "K": 16}, unaligned=[["N"], ["K"], ["N", "K"]], cpu="dual_gemm.cpu.cc",
    work={"bytes": [[2, "M", "K"], [4, "K", "N"], [2, "M", "N"]], "operations": [[4, "M", "N", "K"]]},
    example={"dims": {"M": 4096, "N": 14336, "K": 4096}, "cpu_dims": {"M": 256, "N": 512, "K": 512}})
