from tuneonce.export import ConstantOf, Declaration, tensor

bundle = Declaration(
    dims=["R", "C"], where=["BLOCK_N * C <= 65536"],
    parameters=[tensor("X", "bfloat16", ["R", "C"]), tensor("Y", "bfloat16", ["R", "C"], "out"), tensor("W", "bfloat16", ["C"]),
                tensor("B", "bfloat16", ["C"]), tensor("Mean", "float32", ["R"], "out"), tensor("Rstd", "float32", ["R"], "out")],
    constants={"N": ConstantOf("R", [8192]), "D": ConstantOf("C", [1024, 4096]), "BLOCK_D": lambda c: c["C"],
               "STRIDE_X": lambda c: c["C"], "STRIDE_Y": lambda c: c["C"], "NUM_SMS": lambda c: min(132, -(-c["R"] // c["BLOCK_N"])),
               "EPS": 1e-5, "IS_SWISH": 0, "TRAINING": 1, "COMPUTE_MEAN_AND_RSTD": 1},
    axes={"BLOCK_N": [1, 2, 4, 8, 16, 32]}, hint_axes={"num_worker_warps": [4, 8], "num_ctas": [1]},
    baseline={"BLOCK_N": 1, "num_worker_warps": 4, "num_ctas": 1},
    grid={"pattern": "fixed", "blocks": [{"min": [132, {"ceil_div": ["R", "BLOCK_N"]}]}]})
