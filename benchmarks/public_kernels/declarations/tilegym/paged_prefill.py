from tuneonce.export import ConstantOf, Declaration, blocks, ceil_div, floor_div, scalar, tensor

# The grid is that of sequences of one length.
bundle = Declaration(dims=[*"THDPSGBE"], grid=blocks("B", "H", ceil_div(floor_div("T", "B"), 128)),
    parameters=[tensor("query", "float16", [*"THD"]), tensor("key_cache", "float16", [*"PSGD"]),
                tensor("value_cache", "float16", [*"PSGD"]), tensor("actual_seq_lens_q", "int32", ["B"]),
                tensor("actual_seq_lens_kv", "int32", ["B"]), tensor("batch_offsets", "int32", ["B"]),
                tensor("block_tables", "int32", ["E"]), tensor("output", "float16", [*"THD"], "out"),
                tensor("lse_output", "float32", ["T", "H"], "out"), scalar("stride_block_table", "int32")],
    constants=dict(PAGE_SIZE=ConstantOf("S", [64]), N_KV_HEADS=ConstantOf("G", [8]), BLOCK_D=ConstantOf("D", [128]),
                   QUERY_GROUP_SIZE=ConstantOf("H", [32], lambda h: h // 8), K_SCALE=128**-0.5, V_SCALE=1.0, BLOCK_M=128,
                   BLOCK_R=0, IS_CAUSAL=True), hint_axes={"occupancy": [1]}, divisible=dict(T=16, P=16, E=16),
    configs=[dict(BLOCK_N=n, LOAD_BLOCK_N=min(n, 64)) for n in (32, 64, 128)])
