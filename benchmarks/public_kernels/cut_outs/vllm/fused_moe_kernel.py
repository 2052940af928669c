import triton.language as tl
from tuneonce.export import ConstantOf, Declaration, blocks, ceil_div, derived, dim, product, stride, strides, tensor

# Of weights in bfloat16: no scales, no bias. The tokens are sorted by BLOCK_SIZE_M, so that it is not tuned. The
# example has an odd EM, so that the first variant runs at any.
OFF = dict.fromkeys("b_bias_ptr a_scale_ptr b_scale_ptr".split())
ZEROS = dict.fromkeys("stride_asm stride_ask stride_bse stride_bsk stride_bsn stride_bbe stride_bbn group_n "
                      "group_k".split(), 0)
FALSE = dict.fromkeys("naive_block_assignment use_fp8_w8a8 use_int8_w8a8 use_int8_w8a16 per_channel_quant HAS_BIAS "
                      "SWAP_AB".split(), False)

bundle = Declaration(
    dims=["M", "T", "E", "N", "K", "EM", "X"],
    example={"dims": {"M": 129, "T": 8, "E": 128, "N": 1536, "K": 4096, "EM": 9097, "X": 143}},
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "E"}, {"dim": "N"}, {"dim": "K"}],
    parameters=[tensor("a_ptr", "bfloat16", ["M", "K"]), tensor("b_ptr", "bfloat16", ["E", "N", "K"]),
                tensor("c_ptr", "bfloat16", ["M", "T", "N"], "out"),
                tensor("topk_weights_ptr", "float32", ["M", "T"]),
                tensor("sorted_token_ids_ptr", "int32", ["EM"], warmup={"iota": [0, 1]}),
                tensor("expert_ids_ptr", "int32", ["X"], warmup={"uniform": [0, "E"]}),
                tensor("num_tokens_post_padded_ptr", "int32", [1], warmup="EM"), dim("N"), dim("K"), dim("EM"),
                derived("num_valid_tokens", product("M", "T")), *strides("a_ptr", "stride_am stride_ak"),
                *(stride("b_ptr", d, name=f"stride_b{n}") for d, n in ((0, "e"), (2, "k"), (1, "n"))),
                derived("stride_cm", "N"), derived("stride_cn", 1)],
    constants={"top_k": ConstantOf("T", [8]), "MUL_ROUTED_WEIGHT": True, "compute_type": tl.bfloat16, **OFF, **ZEROS,
               **FALSE, "BLOCK_SIZE_M": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 16, "SPLIT_K": 1, "num_warps": 4,
               "num_stages": 3},
    axes={"BLOCK_SIZE_N": [64, 128]}, baseline={"BLOCK_SIZE_N": 128},
    grid=blocks(product(ceil_div("EM", 64), ceil_div("N", "BLOCK_SIZE_N"))))
