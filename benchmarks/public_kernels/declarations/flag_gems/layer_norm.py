from tuneonce.export import Declaration, dim, scalar, tensor

bundle = Declaration(
    dims=["M", "N"], where=["N <= 4096"], grid={"pattern": "one_d", "tiles": [["M", 1]]},
    parameters=[tensor("in_ptr", "float16", ["M", "N"]), tensor("out_ptr", "float16", ["M", "N"], "out"),
                tensor("weight_ptr", "float16", ["N"]), tensor("bias_ptr", "float16", ["N"]),
                tensor("out_mean_ptr", "float16", ["M"], "out"), tensor("out_rstd_ptr", "float16", ["M"], "out"),
                dim("M"), dim("N"), scalar("eps", "float32", warmup=1e-5)],
    constants={"TILE_N": 4096})
