from tuneonce.export import ConstantOf, Declaration, tensor


def pow2(n):
    return 1 << (n - 1).bit_length()


bundle = Declaration(
    dims=["M", "N"],
    parameters=[tensor("output", "float16", ["M", "N"], "out"), tensor("input", "float16", ["M", "N"])],
    constants={"N_ROWS": ConstantOf("M", [4096]), "TILE_SIZE": ConstantOf("N", [1024, 8192], pow2),
               "DIM_COLS": lambda c: c["N"]},
    hint_axes={"num_worker_warps": [None, 4, 8]}, baseline={"num_worker_warps": None},
    grid={"pattern": "persistent_rows", "rows": "M", "occupancy": 4})
