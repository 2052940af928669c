from tuneonce.export import ConstantOf, Declaration, tensor


def pow2(n):
    return 1 << (n - 1).bit_length()


bundle = Declaration(
    dims=["M", "N", "G", "P"],  # G blocks, whose sums are padded to P.
    parameters=[tensor("dx", "float16", ["M", "N"], "out"), tensor("dy", "float16", ["M", "N"]),
                tensor("x", "float16", ["M", "N"]),
                tensor("weight", "float16", ["N"]), tensor("Rstd", "float32", ["M"]),
                tensor("dw_partial", "float32", ["G", "P"], "out")],
    constants={"TILE_M": 4, "TILE_N": ConstantOf("N", [2048, 4096], pow2)},
    grid={"pattern": "fixed", "blocks": ["G"]}, divisible={"M": 16, "P": 16})
