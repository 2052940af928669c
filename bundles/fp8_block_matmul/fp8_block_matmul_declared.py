"""What the kernel of fp8_block_matmul.py is, and what it is launched with.

y = a b^T of 8-bit floats (e4m3: OCP 8-bit floating point specification 1.0) for a (M, K), b (N, K), as weights are
stored, and y (M, N), summed in float32, with scales of blocks (DeepSeek-V3, arXiv:2412.19437, section 3.3): scale_a
(M, ceil(K / 128)) has one for 128 numbers of a row of a, scale_b (ceil(N / 128), ceil(K / 128)) one for 128 x 128 of b.

Configs and tolerance are fp8_matmul's. Tiles have 128 columns and are 128 deep, so that a step of a tile has one scale
of b."""
from tuneonce.export import Declaration, dim, tensor

TILES = [["M", {"axis": "TILE_M"}], ["N", {"axis": "TILE_N"}]]


def config(backend, rows, occupancy=1, num_ctas=1, num_warps=0, num_stages=0):
    return {"backend": backend, "TILE_M": rows, "TILE_N": 128, "TILE_K": 128, "occupancy": occupancy,
            "num_ctas": num_ctas, "num_warps": num_warps, "num_stages": num_stages}


fp8_block_matmul_bundle = Declaration(
    dims=["M", "N", "K", "NB", "KB"],
    parameters=[tensor("a", "float8_e4m3", ["M", "K"]), tensor("b", "float8_e4m3", ["N", "K"]),
                tensor("scale_a", "float32", ["M", "KB"], warmup={"uniform": [0.5, 1.5]}),
                tensor("scale_b", "float32", ["NB", "KB"], warmup={"uniform": [0.5, 1.5]}),
                tensor("y", "bfloat16", ["M", "N"], "out"), *map(dim, ("M", "N", "K", "KB"))],
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}, {"dim": "K"}],
    configs=[*(config("tile", rows, occupancy) for rows in (16, 32, 64, 128) for occupancy in (1, 2, 4)),
             config("tile", 256), config("tile", 128, num_ctas=2), config("tile", 256, num_ctas=2),
             *(config("tile", 64, occupancy, num_ctas=2) for occupancy in (1, 2)),
             config("triton", 16, num_warps=4, num_stages=4), config("triton", 128, num_warps=8, num_stages=3),
             config("cuda", 16), config("cuda", 64)],
    baseline=[{"config": config("tile", rows)} for rows in (128, 64)],
    where=["NB == ceil_div(N, 128)",
           "KB == ceil_div(K, 128)",
           "TILE_M <= max(64, 2 * M - 1)",
           "TILE_M != 256 || device.capability >= 90 && device.capability <= 110",
           "num_ctas != 2 || device.capability >= 90 && device.capability <= 110",
           'backend != "triton" || device.capability == 90',
           'backend != "cuda" || device.capability > 0'],
    targets_of={name: {"min_capability": 89} for name in (
        "tile", "tile_any", "tile_unaligned_N", "tile_unaligned_K", "tile_unaligned_N_K")},
    grid={"pattern": "tile_coverage", "tiles": TILES},
    alignments={"scale_a": 4, "scale_b": 4}, divisible={"N": 16, "K": 16}, unaligned=[["N"], ["K"], ["N", "K"]],
    cpu="fp8_block_matmul.cpu.cc",
    work={"bytes": [[1, "M", "K"], [1, "N", "K"], [2, "M", "N"], [4, "M", "KB"], [4, "NB", "KB"]],
          "operations": [[2, "M", "N", "K"]]},
    example={"dims": {"M": 4096, "N": 4096, "K": 4096, "NB": 32, "KB": 32},
             "cpu_dims": {"M": 256, "N": 256, "K": 256, "NB": 2, "KB": 2}})
