from tuneonce.export import Declaration, dim, scalar, stride, tensor

strides = [stride(t, d, name=f"{t.lower()}_stride_{n}") for t in "YXR" for d, n in enumerate("rc")]
bundle = Declaration(
    dims=["M", "N"], where=["N <= 4096"], grid={"pattern": "one_d", "tiles": [["M", 1]]},
    parameters=[tensor("Y", "float16", ["M", "N"], "out"), tensor("X", "float16", ["M", "N"]),
                tensor("R", "float16", ["M", "N"]),
                tensor("W", "float16", ["N"]), tensor("B", "float16", ["N"]), *strides, dim("N"),
                scalar("eps", "float32", warmup=1e-5)],
    constants={"BLOCK_SIZE": 4096})
