"""What the kernel of fp8_matmul.py is, and what it is launched with.

y = scale_a scale_b (a b^T) of 8-bit floats (e4m3: OCP 8-bit floating point specification 1.0) for a (M, K), b (N, K),
as weights are stored, and y (M, N), summed in float32. A scale is one number for the whole tensor, on the device.

The configs are the family's (tuneonce/search_space.h), narrow ones for few rows, two of Triton's, and two of CUDA C++,
which has no tensor cores.
Tensor cores for 8-bit floats are there from 8.9 on; before, the CUDA C++ builds the configs of the Tile IR.

The tolerance: y is rounded to 8 bits, and tensor cores of 9.0 add up in 14 (arXiv:2412.19437, section 3.3.2)."""
from tuneonce.export import Declaration, dim, tensor, tensors

TILES = [["M", {"axis": "TILE_M"}], ["N", {"axis": "TILE_N"}]]


def config(backend, rows, occupancy=1, num_ctas=1, num_warps=0, num_stages=0, columns=128, depth=128):
    return {"backend": backend, "TILE_M": rows, "TILE_N": columns, "TILE_K": depth, "occupancy": occupancy,
            "num_ctas": num_ctas, "num_warps": num_warps, "num_stages": num_stages}


fp8_matmul_bundle = Declaration(
    dims=["M", "N", "K", "ONE"],
    parameters=[tensor("a", "float8_e4m3", ["M", "K"]), tensor("b", "float8_e4m3", ["N", "K"]),
                *tensors("scale_a scale_b", "float32", ["ONE"], warmup={"uniform": [0.5, 1.5]}),
                tensor("y", "bfloat16", ["M", "N"], "out"), dim("M"), dim("N"), dim("K")],
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}, {"dim": "K"}],
    configs=[*(config("tile", rows, occupancy) for rows in (16, 32, 64, 128) for occupancy in (1, 2, 4)),
             config("tile", 256), config("tile", 128, num_ctas=2), config("tile", 256, num_ctas=2),
             *(config("tile", 64, occupancy, num_ctas=2) for occupancy in (1, 2)),
             # Few rows have too few blocks of 128 columns.
             *(config("tile", rows, 2, columns=columns) for rows in (16, 64) for columns in (32, 64)),
             config("tile", 64, 2, num_ctas=2, columns=64), config("tile", 64, columns=64, depth=256),
             config("triton", 16, num_warps=4, num_stages=4), config("triton", 128, num_warps=8, num_stages=3),
             config("cuda", 16), config("cuda", 64)],
    baseline=[{"config": config("tile", rows)} for rows in (128, 64)],
    where=["ONE == 1",
           "TILE_M <= max(64, 2 * M - 1)",
           # Tiles of 32 and of 64 columns are for 256 and 768 rows at most.
           "127 / TILE_N * M <= 768",
           "TILE_M != 256 || device.capability >= 90 && device.capability <= 110",
           "num_ctas != 2 || device.capability >= 90 && device.capability <= 110",
           'backend != "triton" || device.capability == 90',
           'backend != "cuda" || device.capability > 0'],
    targets_of={name: {"min_capability": 89} for name in (
        "tile", "tile_any", "tile_unaligned_N", "tile_unaligned_K", "tile_unaligned_N_K")},
    grid={"pattern": "tile_coverage", "tiles": TILES},
    alignments={"scale_a": 4, "scale_b": 4}, divisible={"N": 16, "K": 16}, unaligned=[["N"], ["K"], ["N", "K"]],
    cpu="fp8_matmul.cpu.cc",
    work={"bytes": [[1, "M", "K"], [1, "N", "K"], [2, "M", "N"]], "operations": [[2, "M", "N", "K"]]},
    example={"dims": {"M": 4096, "N": 4096, "K": 4096, "ONE": 1}, "cpu_dims": {"M": 256, "N": 256, "K": 256}})
