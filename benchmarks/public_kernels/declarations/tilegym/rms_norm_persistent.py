from tuneonce.export import ConstantOf, Declaration, tensor


def pow2(n):
    return 1 << (n - 1).bit_length()


bundle = Declaration(
    dims=["M", "N"],
    parameters=[tensor("X", "float16", ["M", "N"]), tensor("Y", "float16", ["M", "N"], "out"),
                tensor("W", "float16", ["N"]),
                tensor("Rstd", "float32", ["M"], "out")],
    constants={"TILE_SIZE_M": 4, "TILE_SIZE_N": ConstantOf("N", [4096, 8192], pow2), "EPS": 1e-5, "OFFSET": 0.0},
    grid={"pattern": "fixed", "blocks": [{"min": [{"device": "num_sms"}, {"ceil_div": ["M", 4]}]}]},
    divisible={"M": 16})
