from tuneonce.export import Declaration, blocks, ceil_div, derived, product, tensors

bundle = Declaration(
    dims=["M", "H"], where=["M * H <= 2147479552"], key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "H"}],
    parameters=[*tensors("DW e g", "bfloat16", ["M", "H"], "inout"), derived("n_elements", product("M", "H"))],
    constants={"LONG_INDEXING": 0, "enable_fp_fusion": True},
    axes={"BLOCK_SIZE": [1024, 2048]}, baseline={"BLOCK_SIZE": 1024},
    grid=blocks(ceil_div(product("M", "H"), "BLOCK_SIZE")))
