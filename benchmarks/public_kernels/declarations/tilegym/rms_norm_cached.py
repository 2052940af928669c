from tuneonce.export import ConstantOf, Declaration, tensor


def pow2(n):
    return 1 << (n - 1).bit_length()


bundle = Declaration(
    dims=["M", "N"],
    parameters=[tensor("x", "float16", ["M", "N"]), tensor("w", "float16", ["N"]),
                tensor("out", "float16", ["M", "N"], "out"),
                tensor("Rstd", "float32", ["M"], "out")],
    constants={"N": ConstantOf("N", [4096, 8192]), "eps": 1e-5, "offset": 0.0,
               "TILE_SIZE": ConstantOf("N", [4096, 8192], pow2)},
    grid={"pattern": "fixed", "blocks": ["M"]}, divisible={"M": 16})
