from tuneonce.export import Declaration, dim, stride, tensor

strides = [stride(t.upper(), i, name=f"stride_{t}{n}") for t, dims in (("a", "mk"), ("b", "kn"), ("c", "mn")) for i,
           n in enumerate(dims)]
bundle = Declaration(
    dims=["M", "N", "K"],
    parameters=[tensor("A", "float16", ["M", "K"]), tensor("B", "float16", ["K", "N"]),
                tensor("C", "float16", ["M", "N"], "out"),
                dim("M"), dim("N"), dim("K"), *strides], constants={"GROUP_M": 8},
    grid={"pattern": "fixed",
          "blocks": [{"product": [{"ceil_div": ["M", "BLOCK_M"]}, {"ceil_div": ["N", "BLOCK_N"]}]}]})
