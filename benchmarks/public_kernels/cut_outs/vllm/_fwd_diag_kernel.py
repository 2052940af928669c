from tuneonce.export import ConstantOf, Declaration, blocks, ceil_div, derived, dim, floor_div, product, tensor, tensors

bundle = Declaration(
    dims=["b", "h", "n", "d", "e"], key=[{"dim": "n", "bucket": "next_pow2"}],
    parameters=[*tensors("Q K", "bfloat16", ["b", "h", "n", "d"]), tensor("V", "bfloat16", ["b", "h", "n", "e"]),
                tensor("Out", "bfloat16", ["b", "h", "n", "e"], "out"), tensor("S", "float32", [1, "h", 1, 1]),
                dim("n"), derived("NUM_BLOCK", ceil_div("n", 256))],
    constants={"b": ConstantOf("b", [1]), "h": ConstantOf("h", [8]), "BLOCK": 256,
               **{c: ConstantOf(c, [128]) for c in "de"}},
    axes={"CBLOCK": [32, 64]}, baseline={"CBLOCK": 32},
    grid=blocks(product("b", "h", ceil_div("n", 256)), floor_div(256, "CBLOCK")))
