from tuneonce.export import Declaration, dim, stride, tensor

bundle = Declaration(
    dims=["M", "N", "K"],
    parameters=[tensor("a_ptr", "float16", ["M", "K"]), tensor("b_ptr", "float16", ["K", "N"]),
                tensor("c_ptr", "float16", ["M", "N"], "out"), dim("M"), dim("N"), dim("K"),
                *(stride(f"{x}_ptr", i, name=f"stride_{x}{n}") for x, dims in (("a", "mk"), ("b", "kn"), ("c", "mn"))
                  for i, n in enumerate(dims))],
    constants={"ACTIVATION": ""},
    grid={"pattern": "fixed",
          "blocks": [{"product": [{"ceil_div": ["M", "BLOCK_SIZE_M"]}, {"ceil_div": ["N", "BLOCK_SIZE_N"]}]}]})
