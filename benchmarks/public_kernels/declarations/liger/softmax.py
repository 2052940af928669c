from tuneonce.export import Declaration, dim, stride, tensor

bundle = Declaration(
    dims=["M", "n_cols"], where=["n_cols <= 4096"], grid={"pattern": "one_d", "tiles": [["M", 1]]},
    parameters=[tensor("Y_ptr", "float16", ["M", "n_cols"], "out"), stride("Y_ptr", 0, name="Y_row_stride"),
                tensor("X_ptr", "float16", ["M", "n_cols"]), stride("X_ptr", 0, name="X_row_stride"), dim("n_cols")],
    constants={"BLOCK_SIZE": 4096, "num_warps": 8})
