from tuneonce.export import Declaration, blocks, derived, dim, tensor

bundle = Declaration(
    dims=["M", "K"], where=["K <= BLOCK_K"], key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "K"}],
    parameters=[tensor("tensor_ptr", "float16", ["M", "K"]), tensor("scale_ptr", "float32", ["M", 1], "out"),
                tensor("y_ptr", "int8", ["M", "K"], "out"), dim("M"), dim("K"),
                derived("stride_m", "K"), derived("stride_k", 1), derived("stride_sm", 1)],
    constants={"ROUND": True, "UNROLL": 1, "min_val": -128, "max_val": 127, "fp32_scale": True, "BLOCK_M": 1,
               "num_stages": 1},
    axes={"BLOCK_K": [4096, 16384]}, baseline={"BLOCK_K": 16384}, grid=blocks("M"))
