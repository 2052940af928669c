from tuneonce.export import ConstantOf, Declaration, tensor


def pow2(n):
    return 1 << (n - 1).bit_length()


bundle = Declaration(
    dims=["M", "N"],
    parameters=[tensor("output", "float16", ["M", "N"], "out"), tensor("input", "float16", ["M", "N"])],
    constants={"N": ConstantOf("N", [1024, 8192]), "TILE_SIZE": ConstantOf("N", [1024, 8192], pow2)},
    grid={"pattern": "fixed", "blocks": ["M"]}, divisible={"M": 16})
