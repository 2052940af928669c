from tuneonce.export import ConstantOf, Declaration, blocks, ceil_div, floor_div, scalar, tensor, tensors

FIXED = dict(K_SCALE=128**-0.5, V_SCALE=1.0, BLOCK_R=0, IS_CAUSAL=True)

bundle = Declaration(  # The grid is that of sequences of one length.
    dims=["T", "H", "D", "P", "PS", "G", "B", "E"], divisible={"T": 16, "P": 16, "E": 16},
    parameters=[tensor("query", "float16", ["T", "H", "D"]), *tensors("key_cache value_cache", "float16", ["P", "PS", "G", "D"]),
                *tensors("actual_seq_lens_q actual_seq_lens_kv batch_offsets", "int32", ["B"]), tensor("block_tables", "int32", ["E"]),
                tensor("output", "float16", ["T", "H", "D"], "out"), tensor("lse_output", "float32", ["T", "H"], "out"),
                scalar("stride_block_table", "int32")], grid=blocks("B", "H", ceil_div(floor_div("T", "B"), "BLOCK_M")),
    constants={"PAGE_SIZE": ConstantOf("PS", [64]), "N_KV_HEADS": ConstantOf("G", [8]), "BLOCK_D": ConstantOf("D", [128]),
               "QUERY_GROUP_SIZE": ConstantOf("H", [32], lambda h: h // 8), **FIXED},
    configs=[dict(BLOCK_M=128, BLOCK_N=n, LOAD_BLOCK_N=min(n, 64), occupancy=1) for n in (32, 64, 128)])
