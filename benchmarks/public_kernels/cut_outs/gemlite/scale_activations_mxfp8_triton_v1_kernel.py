from tuneonce.export import Declaration, blocks, ceil_div, derived, product, tensor

bundle = Declaration(
    dims=["M", "K", "P", "G"], where=["K == 32 * G", "P >= M"],  # The package pads the scales' rows.
    parameters=[tensor("tensor_ptr", "bfloat16", ["M", "K"]), tensor("out_ptr", "float8_e4m3", ["M", "K"], "out"),
                tensor("scales_ptr", "uint8", ["P", "G"], "out", may_be_partial=True), derived("E", product("M", "K"))],
    constants={"min_val": -448.0, "max_val": 448.0, "eps_exp": -30, "UNROLL": 1, "GROUP_SIZE": 32, "num_stages": 1},
    hint_axes={"num_warps": [4, 1]}, baseline={"num_warps": 4}, key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "K"}],
    grid=blocks(ceil_div(product("M", "K"), 32)))
