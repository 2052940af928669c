from tuneonce.export import ConstantOf, Declaration, stride, tensor

bundle = Declaration(
    dims=["M", "N"], grid={"pattern": "one_d", "tiles": [["M", 1]]},
    parameters=[tensor("Y_ptr", "float16", ["M", "N"], "out"), stride("Y_ptr", 0, name="Y_stride"),
                tensor("X_ptr", "float16", ["M", "N"]), stride("X_ptr", 0, name="X_stride")],
    constants={"n_cols": ConstantOf("N", [4096]), "BLOCK_SIZE": 4096, "num_warps": 8})
