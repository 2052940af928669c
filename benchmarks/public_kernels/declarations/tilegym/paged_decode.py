from tuneonce.export import ConstantOf, Declaration, blocks, scalar, tensor, tensors

FIXED = dict(K_SCALE=128**-0.5, V_SCALE=1.0, NUM_KV_SPLITS=1, KV_LEN_PER_SPLIT=-1, HAS_LSE_OUT=False, TRANS_QK=True,
             USE_GATHER_PAGE_LOAD=True, NUM_HEAD_BLOCKS=1)

bundle = Declaration(dims=["Z", "B", "H", "D", "P", "PS", "G", "E", "L"], divisible={"B": 16, "P": 16, "E": 16}, grid=blocks("B", "G"),
    parameters=[tensor("q", "float16", ["B", "H", "D"]), *tensors("k_cache v_cache", "float16", ["P", "PS", "G", "D"]),
                tensor("actual_seq_lens", "int32", ["B"]), tensor("block_tables", "int32", ["E"]),
                tensor("output", "float16", ["Z", "B", "H", "D"], "out"), tensor("lse_out", "float32", ["L"]),
                scalar("stride_block_table", "int32")],
    constants={"PAGE_SIZE": ConstantOf("PS", [64]), "N_KV_HEADS": ConstantOf("G", [4]), "BLOCK_D": ConstantOf("D", [128]),
               "QUERY_GROUP_SIZE": ConstantOf("H", [32], lambda h: h // 4), **FIXED},
    configs=[dict(BLOCK_H=8, BLOCK_N=n, LOAD_BLOCK_N=64, NUM_PAGES_PER_BLOCK=n // 64, occupancy=o) for n in (64, 128) for o in (1, 2)])
