from tuneonce.export import ConstantOf, Declaration, blocks, scalar, tensor

bundle = Declaration(dims=[*"ZBHDPSGEL"], grid=blocks("B", "G"), divisible={"B": 16, "P": 16, "E": 16},
    parameters=[tensor("q", "float16", [*"BHD"]), *(tensor(x, "float16", [*"PSGD"]) for x in ("k_cache", "v_cache")),
                tensor("actual_seq_lens", "int32", ["B"]), tensor("block_tables", "int32", ["E"]),
                tensor("output", "float16", [*"ZBHD"], "out"), tensor("lse_out", "float32", ["L"]),
                scalar("stride_block_table", "int32")],
    constants=dict(PAGE_SIZE=ConstantOf("S", [64]), N_KV_HEADS=ConstantOf("G", [4]), BLOCK_D=ConstantOf("D", [128]),
                   QUERY_GROUP_SIZE=ConstantOf("H", [32], lambda h: h // 4), K_SCALE=128**-0.5, V_SCALE=1.0, BLOCK_H=8,
                   KV_LEN_PER_SPLIT=-1, HAS_LSE_OUT=False, TRANS_QK=True, USE_GATHER_PAGE_LOAD=True, NUM_HEAD_BLOCKS=1,
                   NUM_KV_SPLITS=1, LOAD_BLOCK_N=64),
    configs=[dict(BLOCK_N=64 * p, NUM_PAGES_PER_BLOCK=p, occupancy=o) for p in (1, 2) for o in (1, 2)])
