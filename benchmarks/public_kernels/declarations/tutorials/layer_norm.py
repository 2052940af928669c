from tuneonce.export import Declaration, derived, dim, scalar, tensor

bundle = Declaration(
    dims=["M", "N"], where=["N <= BLOCK_SIZE"],
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}],
    parameters=[tensor("X", "float16", ["M", "N"]), tensor("Y", "float16", ["M", "N"], "out"),
                tensor("W", "float16", ["N"]), tensor("B", "float16", ["N"]), tensor("Mean", "float32", ["M"], "out"),
                tensor("Rstd", "float32", ["M"], "out"),
                derived("stride", "N"), dim("N"), scalar("eps", "float32", warmup=1e-5)],
    axes={"BLOCK_SIZE": [4096]}, constants={"num_warps": 8}, grid={"pattern": "fixed", "blocks": ["M"]})
