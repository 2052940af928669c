from tuneonce.export import ConstantOf, Declaration, blocks, ceil_div, dim, product, tensor, tensors

SIZES = dict(GROUP_N=0, GROUP_K=0, TILE_SIZE_M=128, TILE_SIZE_N=128, TILE_SIZE_K=64, GROUP_SIZE_M=32, MUL_ROUTED_WEIGHT=1, TOP_K=2,
             USE_FP8_W8A8=0, USE_INT8_W8A16=0, EVEN_KS=1)

bundle = Declaration(dims=["A", "E", "N", "K", "num_valid_tokens", "EM", "T", "I", "L"],
    divisible={"A": 16, "EM": 16, "num_valid_tokens": 16}, grid=blocks(product(ceil_div("EM", 128), ceil_div("N", 128))),
    parameters=[tensor("a_ptr", "float16", ["A"]), tensor("b_ptr", "float16", ["E", "N", "K"]),
                tensor("c_ptr", "float16", ["num_valid_tokens", "N"], "out"), *tensors("a_scale_ptr b_scale_ptr", "float16", ["I"]),
                tensor("topk_weights_ptr", "float32", ["num_valid_tokens"]), tensor("sorted_token_ids_ptr", "int32", ["EM"]),
                tensor("expert_ids_ptr", "int32", ["T"]), tensor("num_tokens_post_padded_ptr", "int32", ["L"]),
                dim("EM"), dim("num_valid_tokens")],
    constants={"N": ConstantOf("N", [2048]), "K": ConstantOf("K", [2048]), "A_STRIDE_1": lambda c: c["K"], **SIZES})
