from tuneonce.export import ConstantOf, Declaration, blocks, ceil_div, dim, tensor

bundle = Declaration(
    dims=["M", "N", "K", "KB", "NB"], where=["K == 128 * KB", "N <= 128 * NB"],
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}, {"dim": "K"}],
    parameters=[tensor("a_ptr", "float8_e4m3", ["M", "K"]), tensor("b_ptr", "float8_e4m3", ["N", "K"]),
                tensor("c_ptr", "bfloat16", ["M", "N"], "out"), tensor("a_s_ptr", "float32", ["M", "KB"]),
                tensor("b_s_ptr", "float32", ["NB", "KB"]), dim("M")],
    constants={"N": ConstantOf("N", [4096]), "K": ConstantOf("K", [7168]), "M_BUCKET": 0,  # Of the package's key alone.
               "BLOCK_SIZE_K": 128, "BLOCK_SIZE_N": 128, "num_warps": 8, "num_stages": 3},
    axes={"BLOCK_SIZE_M": [16, 64]}, baseline={"BLOCK_SIZE_M": 64},
    grid=blocks(ceil_div("M", "BLOCK_SIZE_M"), ceil_div("N", 128)))
