from tuneonce.export import ConstantOf, Declaration, tensor


def pow2(n):
    return 1 << (n - 1).bit_length()


bundle = Declaration(
    dims=["M", "N"],
    parameters=[*(tensor(x, "float16", ["M", "N"]) for x in ("dc", "a", "b")),
                *(tensor(x, "float16", ["M", "N"], "out") for x in ("da", "db"))],
    constants={"TILE_SIZE": ConstantOf("N", [4096, 8192], pow2)},
    where=["M >= device.num_sms"],  # With less rows the package splits them.
    grid={"pattern": "fixed", "blocks": ["M"]}, divisible={"M": 16})
