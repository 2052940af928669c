"""What the kernel of grouped_gemm.py is, and what it is launched with.

Rows of x (T, K) that are sorted by group (the tokens of a mixture of experts, by expert): those from offsets[e] up to,
but not, offsets[e + 1] are multiplied with w[e] (K, N) to the same rows of y (T, N), summed in float32. offsets has
E + 1 numbers, the first is 0, none is less than the one before; groups may be empty. Rows behind the last one are left
as they are.

Offsets lie on the device, so the grid is an upper bound of the tiles: group e begins with block offsets[e] / TILE_M + e
(rounded down), which leaves room for all of its tiles, since floor((a + n) / t) + 1 - floor(a / t) >= ceil(n / t). So
there are T / TILE_M + E blocks, of which E at most find nothing to do, and no table of tiles is needed.

It is tuned where group g has a share of 1 / (g + 1) of the rows (Zipf's law): few large groups and many small ones. The
configs are from the family's (tuneonce/search_space.h), two of Triton's, and two of CUDA C++, which has no tensor cores.
No config has a cluster: compiled by tileiras 13.5, most of those hang on 9.0 at occupancy 2
(docs/internal/performance_diary.md)."""
from tuneonce.export import Declaration, add, blocks, ceil_div, dim, floor_div, tensor


def config(backend, tiles, occupancy=1, num_ctas=1, num_warps=0, num_stages=0):
    return {"backend": backend, "TILE_M": tiles[0], "TILE_N": tiles[1], "TILE_K": tiles[2], "occupancy": occupancy,
            "num_ctas": num_ctas, "num_warps": num_warps, "num_stages": num_stages}


grouped_gemm_bundle = Declaration(
    dims=["T", "E", "K", "N", "OFFSETS"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("x", "float16", ["T", "K"]), tensor("w", "float16", ["E", "K", "N"]),
                tensor("offsets", "int32", ["OFFSETS"], warmup={"offsets": ["T", 1]}),
                tensor("y", "float16", ["T", "N"], "out", may_be_partial=True), *map(dim, "EKN")],
    key=[{"dim": "T", "bucket": "next_pow2"}, {"dim": "E"}, {"dim": "K"}, {"dim": "N"}],
    configs=[
        *(config("tile", tiles, occupancy) for tiles in ((64, 128, 64), (128, 128, 64)) for occupancy in (1, 2)),
        config("tile", (64, 128, 128)), config("tile", (128, 128, 128)),
        config("tile", (16, 256, 128), 2), config("tile", (32, 256, 64), 2),  # Of groups of few rows.
        config("tile", (128, 256, 64)),
        config("triton", (64, 128, 64), num_warps=4, num_stages=4), config("triton", (128, 128, 64), num_warps=8, num_stages=3),
        config("cuda", (16, 128, 32)), config("cuda", (64, 64, 32))],
    baseline=[{"config": config("tile", (128, 128, 64))}, {"config": config("tile", (64, 128, 64))}],
    where=["OFFSETS == E + 1",
           "TILE_M <= max(64, 2 * T - 1)",
           "TILE_N <= max(128, 2 * N - 1)",
           "TILE_N != 256 || device.capability >= 90 && device.capability <= 110",
           "!(TILE_M == 128 && TILE_K == 128) || device.capability > 0 && device.capability <= 110",
           'backend != "triton" || device.capability == 90',
           'backend != "cuda" || device.capability > 0'],
    grid=blocks(add(floor_div("T", "TILE_M"), "E"), ceil_div("N", "TILE_N")),
    alignments={"offsets": 4}, divisible={"N": 16, "K": 16}, unaligned=[["N"], ["K"], ["N", "K"]],
    cpu="grouped_gemm.cpu.cc",
    work={"bytes": [[2, "T", "K"], [2, "E", "K", "N"], [2, "T", "N"]], "operations": [[2, "T", "K", "N"]]},
    example={"dims": {"T": 8192, "E": 32, "K": 4096, "N": 4096, "OFFSETS": 33},
             "cpu_dims": {"T": 256, "E": 8, "K": 128, "N": 128, "OFFSETS": 9}})
