from tuneonce.export import Declaration, blocks, ceil_div, dim, product, strides, tensor

bundle = Declaration(
    dims=["M", "N", "K"], key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}, {"dim": "K"}],
    parameters=[tensor("a_ptr", "int8", ["M", "K"], warmup=1), tensor("b_ptr", "int8", ["K", "N"], warmup=1),
                tensor("c_ptr", "int32", ["M", "N"], "out"), dim("M"), dim("N"), dim("K"),
                *strides("a_ptr", "stride_am stride_ak"), *strides("b_ptr", "stride_bk stride_bn"),
                *strides("c_ptr", "stride_cm stride_cn")],
    constants={"GROUP_M": 8, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3},
    axes={"BLOCK_M": [64, 128]}, baseline={"BLOCK_M": 128},
    grid=blocks(product(ceil_div("M", "BLOCK_M"), ceil_div("N", 128))))
