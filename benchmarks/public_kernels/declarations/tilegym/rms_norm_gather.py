from tuneonce.export import ConstantOf, Declaration, tensor

bundle = Declaration(
    dims=["M", "N"],
    parameters=[tensor("x", "float16", ["M", "N"]), tensor("w", "float16", ["N"]),
                tensor("out", "float16", ["M", "N"], "out"),
                tensor("Rstd", "float32", ["M"], "out")],
    constants={"N": ConstantOf("N", [4096, 8192]), "EPS": 1e-5, "OFFSET": 0.0, "TILE_SIZE": 2048},
    grid={"pattern": "fixed", "blocks": ["M"]}, divisible={"M": 16})
