from tuneonce.export import Declaration, dim, scalar, stride, tensor

dims, constants = ["M", "n_cols"], {"casting_mode": 0, "BLOCK_SIZE": 4096, "num_warps": 8, "num_stages": 2}
tensors = [("Y", "float16", dims, "out"), ("S", "float16", dims, "out"), ("X", "float16", dims), ("R", "float16", dims),
           ("W", "float16", ["n_cols"]), ("RSTD", "float32", ["M"], "out")]
pairs = [p for t, *rest in tensors for p in (tensor(f"{t}_ptr", *rest), stride(f"{t}_ptr", 0, name=f"{t}_row_stride"))]
scalars = [scalar("eps", "float32", warmup=1e-6), scalar("offset", "float32", warmup=0.0)]
bundle = Declaration(dims=dims, parameters=[*pairs, dim("n_cols"), *scalars], constants=constants,
                     where=["n_cols <= 4096"], grid={"pattern": "one_d", "tiles": [["M", 1]]})
