from tuneonce.export import Declaration, dim, scalar, stride, tensor

strides = [stride(f"{t}_ptr", d, name=f"{c}_stride_{n}") for t, c in (("out", "y"), ("in", "x")) for d,
           n in enumerate("rc")]
bundle = Declaration(
    dims=["M", "N"], where=["N <= 4096"], grid={"pattern": "one_d", "tiles": [["M", 1]]},
    parameters=[tensor("out_ptr", "float16", ["M", "N"], "out"), tensor("INV_RMS", "float32", ["M"], "out"),
                tensor("in_ptr", "float16", ["M", "N"]), tensor("w_ptr", "float16", ["N"]), *strides, dim("N"),
                scalar("eps", "float32", warmup=1e-5)],
    constants={"BLOCK_SIZE": 4096})
