from tuneonce.export import ConstantOf, Declaration, tensor

bundle = Declaration(
    dims=["M", "N"],
    parameters=[tensor("X", "float16", ["M", "N"]), tensor("Y", "float16", ["M", "N"], "out"),
                tensor("W", "float16", ["N"]),
                tensor("B", "float16", ["N"]), tensor("Mean", "float32", ["M"], "out"),
                tensor("Rstd", "float32", ["M"], "out")],
    constants={"N": ConstantOf("N", [4096, 8192]), "EPS": 1e-5, "WEIGHT_SHIFT": 0.0,
               "BLOCK_SIZE": lambda c: min(32768, 1 << (c["N"].bit_length() - 1))},
    grid={"pattern": "fixed", "blocks": ["M"]}, divisible={"M": 16})
