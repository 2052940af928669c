from tuneonce.export import ConstantOf, Declaration, blocks, ceil_div, product, tensor

SIZES = dict(GROUP_N=128, GROUP_K=128, BLOCK_SIZE_N=128, BLOCK_SIZE_K=128, GROUP_SIZE_M=16, OUTPUT_DTYPE=0, USE_TMA=1)
STRIDES = dict(STRIDE_AM=4096, STRIDE_AK=1, STRIDE_BK=1, STRIDE_BN=4096, STRIDE_CM=4096, STRIDE_CN=1, STRIDE__AS_M=32, STRIDE__AS_K=1,
               STRIDE__BS_K=1, STRIDE__BS_N=32)  # Of N and K, which are 4096.

bundle = Declaration(dims=["M", "N", "K", "GK", "GN"], where=["M >= BLOCK_SIZE_M"], divisible={"GK": 16, "GN": 16},
    parameters=[tensor("A", "float8_e4m3", ["M", "K"]), tensor("B", "float8_e4m3", ["N", "K"]), tensor("C", "float32", ["M", "N"], "out"),
                tensor("As", "float32", ["M", "GK"]), tensor("Bs", "float32", ["GN", "GK"])],
    constants={"M": ConstantOf("M", [128, 4096]), "N": ConstantOf("N", [4096]), "K": ConstantOf("K", [4096]), **SIZES, **STRIDES},
    axes={"BLOCK_SIZE_M": [16, 32, 64, 128], "SWAP_AB": [1, 0]}, hint_axes={"occupancy": [1, 2, 4], "num_ctas": [1]},
    baseline={"BLOCK_SIZE_M": 128, "SWAP_AB": 0, "occupancy": 1, "num_ctas": 1},
    grid=blocks(product(ceil_div("M", "BLOCK_SIZE_M"), ceil_div("N", 128))))
