from tuneonce.export import Declaration, dim, scalar, stride, tensor

rows = [stride(f"{t}_ptr", 0, name=f"{t}_row_stride") for t in ("Y", "X", "W", "B", "Mean", "RSTD")]
bundle = Declaration(
    dims=["M", "n_cols"], where=["n_cols <= 4096"], grid={"pattern": "one_d", "tiles": [["M", 1]]},
    parameters=[tensor("Y_ptr", "float16", ["M", "n_cols"], "out"), rows[0],
                tensor("X_ptr", "float16", ["M", "n_cols"]), rows[1],
                tensor("W_ptr", "float16", ["n_cols"]), rows[2], tensor("B_ptr", "float16", ["n_cols"]), rows[3],
                tensor("Mean_ptr", "float32", ["M"], "out"), rows[4], tensor("RSTD_ptr", "float32", ["M"], "out"),
                rows[5],
                dim("n_cols"), scalar("eps", "float32", warmup=1e-6)],
    constants={"BLOCK_SIZE": 4096, "num_warps": 8})
