from tuneonce.export import Declaration, blocks, ceil_div, dim, stride, tensor

bundle = Declaration(
    dims=["R", "C", "num_tokens"], key=[{"dim": "num_tokens", "bucket": "next_pow2"}],
    parameters=[tensor("req_to_token", "int32", ["R", "C"], warmup={"uniform": [0, 65536]}),
                tensor("req_pool_indices_tensor", "int64", ["num_tokens"], warmup={"uniform": [0, "R"]}),
                tensor("prefix_lens_tensor", "int64", ["num_tokens"], warmup={"uniform": [1, "C"]}),
                tensor("result", "int64", ["num_tokens"], "out"), dim("num_tokens"),
                stride("req_to_token", 0, name="req_to_token_stride")],
    axes={"BLOCK_SIZE": [128, 256]}, baseline={"BLOCK_SIZE": 256}, grid=blocks(ceil_div("num_tokens", "BLOCK_SIZE")))
