from tuneonce.export import Declaration, blocks, ceil_div, derived, product, tensor, tensors

bundle = Declaration(
    dims=["B", "S", "H"], where=["B * S * H <= 2147479552"],
    key=[{"dim": d, "bucket": "next_pow2"} for d in "BS"] + [{"dim": "H"}],
    parameters=[*tensors("e g", "bfloat16", ["B", "S", "H"]), tensor("h", "bfloat16", ["B", "S", "H"], "out"),
                derived("n_elements", product("B", "S", "H"))],
    constants={"LONG_INDEXING": 0, "enable_fp_fusion": True},
    axes={"BLOCK_SIZE": [1024, 2048]}, baseline={"BLOCK_SIZE": 1024},
    grid=blocks(ceil_div(product("B", "S", "H"), "BLOCK_SIZE")))
