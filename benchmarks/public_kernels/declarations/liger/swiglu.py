from tuneonce.export import ConstantOf, Declaration, derived, scalar, tensor

bundle = Declaration(
    dims=["M", "N"], grid={"pattern": "one_d", "tiles": [["M", 1]]},
    parameters=[tensor("a_ptr", "float16", ["M", "N"]), tensor("b_ptr", "float16", ["M", "N"]),
                tensor("c_ptr", "float16", ["M", "N"], "out"), derived("stride", "N"),
                scalar("gate_multiplier", "float32", warmup=1.0)],
    constants={"n_cols": ConstantOf("N", [4096]), "BLOCK_SIZE": 4096, "num_warps": 8})
