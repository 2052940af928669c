from tuneonce.export import ConstantOf, Declaration, tensor


def pow2(n):
    return 1 << (n - 1).bit_length()


bundle = Declaration(
    dims=["M", "N"], parameters=[tensor("a", "float16", ["M", "N"]), tensor("b", "float16", ["M", "N"]),
                                 tensor("c", "float16", ["M", "N"], "out")],
    constants={"TILE_SIZE": ConstantOf("N", [4096, 8192], pow2), "check_bounds": lambda c: c["TILE_SIZE"] != c["N"]},
    grid={"pattern": "fixed", "blocks": ["M"]}, divisible={"M": 16})
