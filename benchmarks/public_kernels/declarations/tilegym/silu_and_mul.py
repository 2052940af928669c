from tuneonce.export import ConstantOf, Declaration, tensor


def pow2(n):
    return 1 << (n - 1).bit_length()


bundle = Declaration(
    dims=["M", "N2", "N"], where=["N2 == 2 * N"],
    parameters=[tensor("input", "float16", ["M", "N2"]), tensor("output", "float16", ["M", "N"], "out")],
    constants={"TOTAL_HIDDEN_SIZE": ConstantOf("N", [4096, 8192]), "TILE_SIZE": ConstantOf("N", [4096, 8192], pow2)},
    hint_axes={"occupancy": [None, 1, 2, 4, 8, 12, 16], "num_ctas": [1, 2], "num_worker_warps": [8]},
    baseline={"occupancy": None, "num_ctas": 1, "num_worker_warps": 8},
    grid={"pattern": "fixed", "blocks": ["M"]}, divisible={"M": 16, "N2": 16})
