from tuneonce.export import ConstantOf, Declaration, derived, tensor

bundle = Declaration(
    dims=["M", "N"], grid={"pattern": "one_d", "tiles": [["M", 1]]},
    parameters=[tensor("a", "float16", ["M", "N"]), tensor("b", "float16", ["M", "N"]),
                tensor("c", "float16", ["M", "N"], "out"),
                derived("stride", "N")],
    constants={"n_cols": ConstantOf("N", [4096]), "BLOCK_SIZE": 4096, "num_warps": 8})
