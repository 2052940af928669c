from tuneonce.export import ConstantOf, Declaration, blocks, ceil_div, product, tensor

SIZES = dict(GROUP_N=128, GROUP_K=128, BLOCK_SIZE_N=128, BLOCK_SIZE_K=128, GROUP_SIZE_M=16, OUTPUT_DTYPE=0, USE_TMA=1)
ROWS = dict.fromkeys(("STRIDE_AM", "STRIDE_BN"), lambda c: c["K"]) | {"STRIDE_CM": lambda c: c["N"]}
ONES = dict.fromkeys(("STRIDE_AK", "STRIDE_BK", "STRIDE_CN", "STRIDE__AS_K", "STRIDE__BS_K"), 1)
bundle = Declaration(dims=["M", "N", "K", "GK", "GN"], guards=[{"dim": "M", "at_least": "BLOCK_SIZE_M"}],
    parameters=[*(tensor(x, "float8_e4m3", [d, "K"]) for x, d in ("AM", "BN")), tensor("C", "float32", ["M", "N"], "out"),
                tensor("As", "float32", ["M", "GK"]), tensor("Bs", "float32", ["GN", "GK"])],
    constants={"M": ConstantOf("M", [128, 4096]), "N": ConstantOf("N", [4096]), "K": ConstantOf("K", [4096]), **SIZES,
               **ROWS, **ONES, **dict.fromkeys(("STRIDE__AS_M", "STRIDE__BS_N"), lambda c: -(-c["K"] // 128))},
    configs=[dict(BLOCK_SIZE_M=m, SWAP_AB=s, occupancy=o) for m in (128, 16, 32, 64) for s in (0, 1) for o in (1, 2, 4)],
    grid=blocks(product(ceil_div("M", "BLOCK_SIZE_M"), ceil_div("N", 128))), divisible={"GK": 16, "GN": 16})
