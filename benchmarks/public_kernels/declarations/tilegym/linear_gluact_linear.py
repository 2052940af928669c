from tuneonce.export import ConstantOf, Declaration, tensor

bundle = Declaration(
    dims=["M", "N", "K"],
    parameters=[tensor("Input", "float16", ["M", "K"]), *(tensor(x, "float16", ["N", "K"]) for x in ("Weight_act", "Weight_noact")),
                *(tensor(x, "float16", ["M", "N"], "out") for x in ("Act_out", "Noact_out", "Mul_out"))],
    constants={"M": ConstantOf("M", [1024, 4096]), "N1": ConstantOf("N", [1024, 4096]), "K": ConstantOf("K", [1024, 2048]),
               "GROUP_M": 8, "ACT_TYPE": 0},
    configs=[dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_ctas=1, occupancy=1)
             for m, n, k in ((128, 128, 64), (128, 128, 32), (64, 64, 64), (32, 32, 32), (32, 64, 32))],
    grid={"pattern": "fixed", "blocks": [{"product": [{"ceil_div": ["M", "BLOCK_M"]}, {"ceil_div": ["N", "BLOCK_N"]}]}]})
